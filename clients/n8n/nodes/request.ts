import { createHash } from 'node:crypto';

import type { IDataObject, IExecuteFunctions, IHttpRequestOptions, IN8nHttpFullResponse, IPollFunctions, JsonObject } from 'n8n-workflow';
import { NodeApiError, sleep } from 'n8n-workflow';

const maxRetries = 3;
const longestWait = 60; // seconds; if the server asks for more, the request fails

/** An error of the API, as its envelope has it. */
interface Refusal {
	code: string;
	message: string;
	requestId: string;
	fields?: Record<string, { code: string; message: string }>;
}

/**
 * Calls the API below `/api/ext/v1` and returns the response. It retries what the server asks to repeat, and throws a NodeApiError
 * for any other error.
 */
export async function request(
	this: IExecuteFunctions | IPollFunctions,
	itemIndex: number,
	options: Pick<IHttpRequestOptions, 'method' | 'url' | 'qs' | 'body'>,
	accepted: number[] = [],
): Promise<IN8nHttpFullResponse> {
	const { baseUrl } = await this.getCredentials<{ baseUrl: string }>('contactbaseApi', itemIndex);
	for (let retries = 0; ; retries++) {
		const response = (await this.helpers.httpRequestWithAuthentication.call(this, 'contactbaseApi', {
			...options,
			baseURL: `${baseUrl.replace(/\/+$/, '')}/api/ext/v1`,
			headers: options.method === 'POST' ? { 'Idempotency-Key': idempotencyKey.call(this, itemIndex, options) } : {},
			json: true,
			returnFullResponse: true,
			ignoreHttpStatusErrors: true,
			sendCredentialsOnCrossOriginRedirect: false,
		})) as IN8nHttpFullResponse;
		const status = response.statusCode;
		if (status < 300 || accepted.includes(status)) return response;
		const wait = Number(response.headers['retry-after'] ?? 1);
		if ((status !== 429 && status !== 503) || retries === maxRetries || !(wait <= longestWait)) {
			throw errorOf.call(this, response, itemIndex);
		}
		await sleep(wait * 1000);
	}
}

/** Returns the same key whenever an execution sends the same request for the same item, so that a retry of the node writes nothing twice. */
function idempotencyKey(this: IExecuteFunctions | IPollFunctions, itemIndex: number, { url, body }: Pick<IHttpRequestOptions, 'url' | 'body'>): string {
	const parts = [this.getExecutionId(), this.getNode().id, itemIndex, url, body];
	return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function errorOf(this: IExecuteFunctions | IPollFunctions, { statusCode, body }: IN8nHttpFullResponse, itemIndex: number): NodeApiError {
	const refusal = (body as IDataObject | undefined)?.error as Refusal | undefined;
	if (!refusal?.code) {
		const message = `${statusCode}: not a response of Contactbase. Check the base URL`;
		return new NodeApiError(this.getNode(), {}, { message, httpCode: String(statusCode), itemIndex });
	}
	const fields = Object.entries(refusal.fields ?? {}).map(([name, fault]) => `${name}: ${fault.message}`);
	return new NodeApiError(this.getNode(), refusal as unknown as JsonObject, {
		message: [refusal.message, ...fields].join(' '),
		description: `${refusal.code}, request ID ${refusal.requestId}`,
		httpCode: String(statusCode),
		itemIndex,
	});
}
