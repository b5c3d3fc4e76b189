import type { IDataObject, INodeExecutionData, INodeType, INodeTypeDescription, IPollFunctions } from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';

import { request } from '../request';

const pageSize = 1_000; // the most that the API returns at once
const maxPages = 10; // read in one poll; the next one continues

/** Starts a workflow with the events since the last poll. It needs no address that Contactbase can reach. */
export class ContactbaseFeedTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Contactbase Feed Trigger',
		name: 'contactbaseFeedTrigger',
		icon: { light: 'file:../../icons/contactbase.svg', dark: 'file:../../icons/contactbase.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle: '={{$parameter["types"].join(", ")}}',
		description: 'Start workflows with new events of the feed, also behind a firewall',
		defaults: { name: 'Contactbase Feed Trigger' },
		polling: true,
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'contactbaseApi', required: true }],
		properties: [
			{
				displayName: 'Event Types',
				name: 'types',
				type: 'multiOptions',
				options: [
					{ name: 'API Key Expires Soon', value: 'key.expiring' },
					{ name: 'Contact Created', value: 'contact.created' },
					{ name: 'Contact Deleted', value: 'contact.deleted' },
					{ name: 'Contact Updated', value: 'contact.updated' },
					{ name: 'Webhook Disabled', value: 'webhook.disabled' },
					{ name: 'Webhook Failing', value: 'webhook.failing' },
					{ name: 'Webhook Works Again', value: 'webhook.recovered' },
				],
				default: [],
				description: 'The types to start with. Leave empty for all changes of contacts.',
			},
			{
				displayName: 'If n8n was stopped for longer than events are kept, an item of the type <b>cursor_expired</b> comes first, then the oldest event that is left: read all contacts again.',
				name: 'notice',
				type: 'notice',
				default: '',
			},
		],
	};

	async poll(this: IPollFunctions): Promise<INodeExecutionData[][] | null> {
		const types = (this.getNodeParameter('types') as string[]).join(',');
		if (this.getMode() === 'manual') {
			const sample = await read.call(this, types, '', 1); // the oldest event, as an example
			return sample.events.length > 0 ? [this.helpers.returnJsonArray(sample.events)] : null;
		}
		const state = this.getWorkflowStaticData('node');
		const events: IDataObject[] = [];
		let cursor = state.cursor as string | undefined;
		for (let page = 0, more = true; more && page < maxPages; page++) {
			const next = await read.call(this, types, cursor, pageSize);
			events.push(...next.events);
			({ cursor, more } = next);
		}
		state.cursor = cursor; // not before all pages were read: if one fails, the next poll reads them again
		return events.length > 0 ? [this.helpers.returnJsonArray(events)] : null;
	}
}

/** Returns the events after the cursor. Without a cursor there are none, and the returned one is where to begin. */
async function read(
	this: IPollFunctions,
	types: string,
	after: string | undefined,
	limit: number,
): Promise<{ events: IDataObject[]; cursor: string; more: boolean }> {
	const qs: IDataObject = { limit };
	if (types) qs.types = types;
	if (after !== undefined) qs.after = after;
	const { statusCode, body } = await request.call(this, 0, { method: 'GET', url: '/events', qs }, [410]);
	if (statusCode === 410) {
		const { message } = (body as { error: IDataObject }).error;
		return { events: [{ type: 'cursor_expired', message }], cursor: '', more: true };
	}
	const { data, cursor, hasMore } = body as { data: IDataObject[]; cursor: string; hasMore: boolean };
	return { events: data, cursor, more: hasMore };
}
