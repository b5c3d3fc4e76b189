import type { IAuthenticateGeneric, Icon, ICredentialTestRequest, ICredentialType, INodeProperties } from 'n8n-workflow';

/** An API key and the address of the installation that it belongs to. */
export class ContactbaseApi implements ICredentialType {
	name = 'contactbaseApi';

	displayName = 'Contactbase API';

	icon: Icon = { light: 'file:../icons/contactbase.svg', dark: 'file:../icons/contactbase.dark.svg' };

	documentationUrl = 'https://example.com/contactbase/docs/n8n';

	properties: INodeProperties[] = [
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			required: true,
			default: '',
			placeholder: 'https://crm.example.com',
			description: 'The address of the installation, without /api',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			required: true,
			default: '',
			description: 'A key of your tenant: cmk_… The test, the triggers and reading contacts need the permission contacts:read.',
		},
	];

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
	};

	test: ICredentialTestRequest = {
		request: {
			baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
			url: '/api/ext/v1/contacts?limit=1',
		},
	};
}
