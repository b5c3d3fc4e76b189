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
	method     string // of what it asks the API
	aboutOne   bool   // contact, whose id is an argument
}

var no = new(false)

// tools are all that there are.
var tools = []*tool{
	{
		Tool: sdk.Tool{
			Name:  "search_contacts",
			Title: "Search contacts",
			Description: `Finds contacts, the oldest first unless sorted. Returns {"data": [contact, …], "hasMore": boolean}; ` +
				"where hasMore is true, call again with offset increased by the number of contacts in data. Without arguments it lists all contacts.",
			InputSchema: object(searchProperties, false),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsRead,
		method:     http.MethodGet,
	},
	{
		Tool: sdk.Tool{
			Name:        "get_contact",
			Title:       "Read a contact",
			Description: `Reads one contact with all its fields, those of this installation among them. Returns {"data": contact}.`,
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
			Description: `Creates a contact. It needs a name or an email. Fields that this installation added are taken by the names ` +
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
			Title: "Change a contact",
			Description: `Changes the fields that are given and keeps the others; null clears a field. A contact keeps a name or an email. ` +
				`Fields that this installation added are taken by the names that get_contact shows. Returns {"data": contact}.`,
			InputSchema: object(changeProperties(), true, "id"),
			Annotations: &sdk.ToolAnnotations{IdempotentHint: true, OpenWorldHint: no},
		},
		permission: credential.ContactsWrite,
		method:     http.MethodPatch,
		aboutOne:   true,
	},
}

// properties are those of a JSON schema, by name.
type properties = map[string]any

func object(p properties, others bool, required ...string) map[string]any {
	schema := map[string]any{"type": "object", "properties": p, "additionalProperties": others}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

var idProperty = properties{"type": "string", "description": "The id of the contact."}

var searchProperties = properties{
	"q": properties{
		"type": "string", "maxLength": list.MaxSearch,
		"description": "Words that all have to be found, each as a part of the name, email, phone or company; case and accents do not matter.",
	},
	"email":        properties{"type": "string", "description": "Only contacts with this e-mail address. Upper and lower case are the same."},
	"phone":        properties{"type": "string", "description": "Only contacts with this phone number in international format, such as +4930123456."},
	"externalId":   properties{"type": "string", "description": "Only the contact that another system knows by this identifier."},
	"updatedSince": properties{"type": "string", "format": "date-time", "description": "Only contacts created or changed at this time or later."},
	"sort":         properties{"type": "string", "enum": list.Sorts(), "default": "createdAt"},
	"limit":        properties{"type": "integer", "minimum": 1, "maximum": list.MaxLimit, "default": list.DefaultLimit},
	"offset":       properties{"type": "integer", "minimum": 0, "default": 0, "description": "How many contacts to skip."},
}

// fieldHints say of fields what their limits do not.
var fieldHints = map[string]string{
	"phone":      "In international format: a plus sign and 3 to 15 digits, such as +4930123456. Spaces and - . / ( ) are removed.",
	"externalId": "The identifier by which another system knows the contact. No two contacts have the same.",
}

// contactProperties are the fields that every installation has, of a JSON type or a list of them.
func contactProperties(types any) properties {
	p := properties{}
	for _, field := range contact.Fields {
		property := properties{"type": types}
		if field.Name == "email" {
			property["format"] = "email"
		}
		if field.Name != "phone" { // which is longer before its separators are removed
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
