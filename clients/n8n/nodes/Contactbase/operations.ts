import type { IDataObject, IExecuteFunctions, INodeExecutionData, JsonObject } from 'n8n-workflow';
import { jsonParse, NodeApiError, tryToParseDateTime } from 'n8n-workflow';

import { request } from '../request';

const pageSize = 200; // the most that the API returns at once

/** The operations on one item: each returns what the item becomes. */
export const operations: Record<string, (this: IExecuteFunctions, item: number) => Promise<IDataObject | IDataObject[]>> = {
	async create(item) {
		return contact(await request.call(this, item, { method: 'POST', url: '/contacts', body: fieldsOf.call(this, item) }));
	},

	async get(item) {
		return contact(await request.call(this, item, { method: 'GET', url: `/contacts/${segment.call(this, 'contactId', item)}` }));
	},

	async getAll(item) {
		const all = this.getNodeParameter('returnAll', item) as boolean;
		const limit = all ? Infinity : (this.getNodeParameter('limit', item) as number);
		const { other, updatedSince, ...rest } = this.getNodeParameter('filters', item, {}) as IDataObject;
		const qs: IDataObject = { ...rest, ...objectOf(other) };
		if (updatedSince) qs.updatedSince = tryToParseDateTime(updatedSince, this.getTimezone()).toUTC().toISO();
		const found: IDataObject[] = [];
		for (let cursor: string | undefined = ''; cursor !== undefined && found.length < limit; ) {
			qs.limit = Math.min(pageSize, limit - found.length);
			if (cursor) qs.cursor = cursor;
			const { body, headers } = await request.call(this, item, { method: 'GET', url: '/contacts', qs });
			found.push(...(body as { data: IDataObject[] }).data);
			cursor = nextCursor(headers.link);
		}
		return found;
	},

	async update(item) {
		const url = `/contacts/${segment.call(this, 'contactId', item)}`;
		return contact(await request.call(this, item, { method: 'PATCH', url, body: fieldsOf.call(this, item) }));
	},

	async delete(item) {
		await request.call(this, item, { method: 'DELETE', url: `/contacts/${segment.call(this, 'contactId', item)}` });
		return { deleted: true };
	},

	async upsert(item) {
		const url = `/contacts/by-external-id/${segment.call(this, 'externalId', item)}`;
		return contact(await request.call(this, item, { method: 'PUT', url, body: fieldsOf.call(this, item) }));
	},
};

/** Writes the contacts of all items, in as few calls as possible. Each item becomes its result: `status`, and `contact` or `error`. */
export async function batch(this: IExecuteFunctions): Promise<INodeExecutionData[]> {
	const size = this.getNodeParameter('batchSize', 0) as number;
	const output: INodeExecutionData[] = [];
	const count = this.getInputData().length;
	for (let start = 0; start < count; start += size) {
		const chunk = Array.from({ length: Math.min(size, count - start) }, (_, i) => start + i);
		try {
			const items = chunk.map((item) => batchItem.call(this, item));
			const { body } = await request.call(this, start, { method: 'POST', url: '/contacts/batch', body: { items } });
			for (const { index, ...json } of (body as { data: { results: IDataObject[] } }).data.results) {
				output.push({ json, pairedItem: { item: start + (index as number) } });
			}
		} catch (error) {
			if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: start });
			output.push(...chunk.map((item) => ({ json: { error: (error as Error).message }, pairedItem: { item } })));
		}
	}
	return output;
}

function batchItem(this: IExecuteFunctions, item: number): IDataObject {
	const action = this.getNodeParameter('action', item) as string;
	if (action === 'delete') return { action, id: this.getNodeParameter('contactId', item) as string };
	const body: IDataObject = { action, contact: fieldsOf.call(this, item) };
	if (action === 'update') body.id = this.getNodeParameter('contactId', item) as string;
	if (action === 'upsert') body.match = this.getNodeParameter('match', item) as string;
	return body;
}

/** Returns the fields to write: those that were added in the node, the custom fields among them by their own names. */
function fieldsOf(this: IExecuteFunctions, item: number): IDataObject {
	const { customFields, ...fields } = this.getNodeParameter('fields', item, {}) as IDataObject;
	return { ...fields, ...objectOf(customFields) };
}

/** Returns a JSON parameter, which is text or, as an expression, an object. */
function objectOf(value: unknown): IDataObject {
	if (typeof value !== 'string') return (value ?? {}) as IDataObject;
	return value.trim() === '' ? {} : jsonParse<IDataObject>(value, { errorMessage: 'Custom fields and other parameters must be JSON objects' });
}

/** Returns a parameter for the path of a URL. */
function segment(this: IExecuteFunctions, name: string, item: number): string {
	return encodeURIComponent(this.getNodeParameter(name, item) as string);
}

function contact({ body }: { body: unknown }): IDataObject {
	return (body as { data: IDataObject }).data;
}

/** Returns the cursor of the next page from the Link header. */
function nextCursor(link: unknown): string | undefined {
	const address = typeof link === 'string' ? /^<([^>]*)>.*rel="next"/.exec(link)?.[1] : undefined;
	return address === undefined ? undefined : (new URL(address, 'http://localhost').searchParams.get('cursor') ?? undefined);
}
