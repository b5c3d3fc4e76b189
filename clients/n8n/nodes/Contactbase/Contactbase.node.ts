import type { IDataObject, IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeConnectionTypes } from 'n8n-workflow';

import { batch, operations } from './operations';
import { properties } from './properties';

/** Reads and writes contacts. */
export class Contactbase implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Contactbase',
		name: 'contactbase',
		icon: { light: 'file:../../icons/contactbase.svg', dark: 'file:../../icons/contactbase.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
		description: 'Read and write the contacts of your CRM',
		defaults: { name: 'Contactbase' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'contactbaseApi', required: true }],
		properties,
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const operation = this.getNodeParameter('operation', 0) as string;
		if (operation === 'batch') return [await batch.call(this)];
		const output: INodeExecutionData[] = [];
		for (let item = 0; item < this.getInputData().length; item++) {
			try {
				const found: IDataObject | IDataObject[] = await operations[operation].call(this, item);
				output.push(...this.helpers.constructExecutionMetaData(this.helpers.returnJsonArray(found), { itemData: { item } }));
			} catch (error) {
				if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: item });
				output.push({ json: { error: (error as Error).message }, pairedItem: { item } });
			}
		}
		return [output];
	}
}
