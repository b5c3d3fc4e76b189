package mcp

import (
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
)

// tool is what a model can call.
type tool struct {
	sdk.Tool
	permission credential.Permission
	method     string // of its API request
	aboutOne   bool   // about a contact, whose id is an argument
}

var no = new(false)

// tools are all tools.
var tools = []*tool{
	{
		Tool: sdk.Tool{
			Name:  "search_contacts",
			Title: "Search contacts",
			Description: `Finds contacts, oldest first unless sorted. Returns {"data": [contact, …], "hasMore": boolean}; ` +
				"if hasMore is true, call again with offset increased by the number of contacts in data. Without " +
				"arguments it lists all contacts. Custom fields are arguments too, by their names, and match " +
				"exactly. For them and the company an administrator adds an index first.",
			InputSchema: object(searchProperties, true),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsRead,
		method:     http.MethodGet,
	},
	{
		Tool: sdk.Tool{
			Name:        "get_contact",
			Title:       "Read a contact",
			Description: `Reads one contact with all its fields, including custom fields. Returns {"data": contact}.`,
			InputSchema: object(properties{"id": idProperty}, false, "id"),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsRead,
		method:     http.MethodGet,
		aboutOne:   true,
	},
	{
		Tool: sdk.Tool{
			Name:  "create_contact",
			Title: "Create a contact",
			Description: `Creates a contact. It needs a name or an email. Custom fields have the names ` +
				`that get_contact shows. Returns {"data": contact}.`,
			InputSchema: object(contactProperties("string"), true),
			Annotations: &sdk.ToolAnnotations{DestructiveHint: no, OpenWorldHint: no},
		},
		permission: credential.ContactsWrite,
		method:     http.MethodPost,
	},
	{
		Tool: sdk.Tool{
			Name:  "update_contact",
			Title: "Update a contact",
			Description: `Changes the given fields and keeps the others; null clears a field. ` +
				`A contact must keep a name or an email. ` +
				`Custom fields have the names that get_contact shows. Returns {"data": contact}.`,
			InputSchema: object(changeProperties(), true, "id"),
			Annotations: &sdk.ToolAnnotations{IdempotentHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsWrite,
		method:     http.MethodPatch,
		aboutOne:   true,
	},
	{
		Tool: sdk.Tool{
			Name:  "delete_contact",
			Title: "Delete a contact",
			Description: "Deletes one contact for good, with what is stored about it. Ask before you delete. " +
				"The ID of a contact that was merged deletes nothing.",
			InputSchema: object(properties{"id": idProperty}, false, "id"),
			Annotations: &sdk.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsDelete,
		method:     http.MethodDelete,
		aboutOne:   true,
	},
}

// properties are the properties of a JSON schema, by name.
type properties = map[string]any

func object(p properties, others bool, required ...string) map[string]any {
	schema := map[string]any{"type": "object", "properties": p, "additionalProperties": others}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

var idProperty = properties{"type": "string", "description": "The ID of the contact."}

var searchProperties = properties{
	"q": properties{
		"type": "string", "maxLength": list.MaxSearch,
		"description": "Search words. Each must occur in the name, email, phone or company, regardless of case and accents.",
	},
	"email": properties{
		"type": "string", "description": "Only contacts with this email address, regardless of case.",
	},
	"phone": properties{"type": "string", "description": "Only contacts with " +
		"this phone number in international format, such as +4930123456."},
	"externalId": properties{
		"type": "string", "description": "Only the contact with this identifier in another system.",
	},
	"company": properties{"type": "string", "description": "Only contacts of exactly this company. " +
		"Without an index it is an error: then use q."},
	"createdSince": properties{
		"type": "string", "format": "date-time", "description": "Only contacts created at this time or later.",
	},
	"createdBefore": properties{
		"type": "string", "format": "date-time", "description": "Only contacts created before this time.",
	},
	"updatedSince": properties{
		"type": "string", "format": "date-time",
		"description": "Only contacts created or changed at this time or later.",
	},
	"updatedBefore": properties{
		"type": "string", "format": "date-time", "description": "Only contacts not changed at this time or later.",
	},
	"sort":  properties{"type": "string", "enum": list.Sorts(), "default": "createdAt"},
	"limit": properties{"type": "integer", "minimum": 1, "maximum": list.MaxLimit, "default": list.DefaultLimit},
	"offset": properties{
		"type": "integer", "minimum": 0, "default": 0, "description": "How many contacts to skip.",
	},
}

// fieldHints describe what the limits of a field do not say.
var fieldHints = map[string]string{
	"phone": "In international format: a plus sign and 3 to 15 digits, " +
		"such as +4930123456. Spaces and - . / ( ) are removed.",
	"externalId": "The contact's identifier in another system. It must be unique.",
}

// contactProperties returns the built-in fields, with a JSON type or a list of types.
func contactProperties(types any) properties {
	p := properties{}
	for _, field := range contact.Fields {
		property := properties{"type": types}
		if field.Name == "email" {
			property["format"] = "email"
		}
		if field.Name != "phone" { // it may be longer before its separators are removed
			property["maxLength"] = field.Limit
		}
		if hint := fieldHints[field.Name]; hint != "" {
			property["description"] = hint
		}
		p[field.Name] = property
	}
	return p
}

func changeProperties() properties {
	p := contactProperties([]string{"string", "null"})
	p["id"] = idProperty
	return p
}
