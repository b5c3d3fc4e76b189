import { createHmac, timingSafeEqual } from 'node:crypto';

import type {
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	IDataObject,
	INodeCredentialTestResult,
	INodeType,
	INodeTypeDescription,
	IWebhookFunctions,
	IWebhookResponseData,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';

/** Starts a workflow with each event of a webhook. Requests without a valid signature are answered with 401. */
export class ContactbaseTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Contactbase Trigger',
		name: 'contactbaseTrigger',
		icon: { light: 'file:../../icons/contactbase.svg', dark: 'file:../../icons/contactbase.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle: 'webhook',
		// n8n lists this node and Contactbase as one, with this description
		description: 'Start workflows with events of your CRM, or read and write its contacts',
		defaults: { name: 'Contactbase Trigger' },
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'contactbaseWebhookApi', required: true, testedBy: 'secretTest' }],
		webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
		properties: [
			{
				displayName: 'Create a webhook with the production URL of this node under <b>Integrations → Webhooks</b>, in the dashboard or the portal. Its secret is shown once: paste it into the credential.',
				name: 'notice',
				type: 'notice',
				default: '',
			},
			{
				displayName: 'Ignore Test Events',
				name: 'ignorePings',
				type: 'boolean',
				default: true,
				description: 'Whether to accept test events without starting the workflow',
			},
		],
	};

	// a person creates the webhook in the dashboard or the portal, so n8n has nothing to register
	webhookMethods = {
		default: {
			async checkExists(): Promise<boolean> {
				return true;
			},
			async create(): Promise<boolean> {
				return true;
			},
			async delete(): Promise<boolean> {
				return true;
			},
		},
	};

	methods = {
		credentialTest: {
			/** A secret cannot be tried without a request, so this only finds what cannot be one. */
			async secretTest(this: ICredentialTestFunctions, credential: ICredentialsDecrypted): Promise<INodeCredentialTestResult> {
				const secret = credential.data?.secret as string | undefined;
				return secret && secret.length >= 8 && secret === secret.trim()
					? { status: 'OK', message: 'The secret is tried when a request arrives' }
					: { status: 'Error', message: 'A secret has at least 8 characters, and no space around it' };
			},
		},
	};

	async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
		const { secret } = await this.getCredentials<{ secret: string }>('contactbaseWebhookApi');
		const { rawBody } = this.getRequestObject();
		if (!isSigned(rawBody, this.getHeaderData()['x-signature'], secret)) {
			this.getResponseObject().status(401).json({ error: 'The signature is missing or invalid.' });
			return { noWebhookResponse: true };
		}
		const event = this.getBodyData();
		if (event.type === 'webhook.ping' && this.getNodeParameter('ignorePings', true)) return { webhookResponse: { ok: true } };
		return { workflowData: [this.helpers.returnJsonArray(event as IDataObject)] };
	}
}

/** Reports whether the signature is the HMAC-SHA256 of the raw body in hex, keyed with the secret. It compares in constant time. */
function isSigned(body: Buffer | undefined, signature: string | string[] | undefined, secret: string): boolean {
	if (!body || !secret || typeof signature !== 'string') return false;
	const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'));
	const given = Buffer.from(signature);
	return given.length === expected.length && timingSafeEqual(given, expected);
}
