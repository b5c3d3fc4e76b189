import type { Icon, ICredentialType, INodeProperties } from 'n8n-workflow';

/** The secret with which a webhook signs its requests. */
export class ContactbaseWebhookApi implements ICredentialType {
	name = 'contactbaseWebhookApi';

	displayName = 'Contactbase Webhook Secret API';

	icon: Icon = { light: 'file:../icons/contactbase.svg', dark: 'file:../icons/contactbase.dark.svg' };

	documentationUrl = 'https://example.com/contactbase/docs/n8n';

	properties: INodeProperties[] = [
		{
			displayName: 'Secret',
			name: 'secret',
			type: 'string',
			typeOptions: { password: true },
			required: true,
			default: '',
			placeholder: 'whsec_…',
			description: 'Shown once, when the webhook is created or its secret rotated',
		},
	];
}
