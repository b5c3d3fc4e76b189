package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/event"
)

// shippedIndexes are the indexes that the program relies on, by collection. Shipped fields need no list: they
// are System fields.
var shippedIndexes = map[string][]string{
	"tenants":  {},
	"api_keys": {"idx_api_keys_hash", "idx_api_keys_tenant", "idx_api_keys_expires"},
	"contacts": {
		"idx_contacts_created", "idx_contacts_updated",
		"idx_contacts_phone", "idx_contacts_externalId",
	},
	"webhooks":         {"idx_webhooks_tenant"},
	"inbound_webhooks": {"idx_inbound_webhooks_tokenHash", "idx_inbound_webhooks_tenant"},
	"events":           {"idx_events_contact", "idx_events_created", "idx_events_feed"},
	"deliveries": {
		"idx_deliveries_event", "idx_deliveries_due", "idx_deliveries_webhook",
		"idx_deliveries_line", "idx_deliveries_retried",
	},
	"delivery_attempts": {"idx_delivery_attempts_delivery"},
	"tenant_members": {
		"idx_tenant_members_email", "idx_tenant_members_tenant",
		"idx_tenant_members_invitation", "idx_tenant_members_key",
	},
	"audit_log":        {"idx_audit_log_tenant", "idx_audit_log_created"},
	"inbound_requests": {"idx_inbound_requests_inbound", "idx_inbound_requests_created", "idx_inbound_requests_tenant"},
}

// bindSchemaGuard protects the shipped schema from mistakes in the dashboard; admins may still add fields and
// indexes. It binds to requests, not models, so that migrations are free.
func bindSchemaGuard(app core.App) {
	app.OnCollectionUpdateRequest().BindFunc(func(e *core.CollectionRequestEvent) error {
		before, err := e.App.FindCollectionByNameOrId(e.Collection.Id)
		if err != nil {
			return e.NotFoundError("", err)
		}
		if fault := guard(before, e.Collection); fault != nil {
			return e.BadRequestError("The API relies on this part of the collection; it cannot be changed.", fault)
		}
		return e.Next()
	})
	app.OnCollectionDeleteRequest().BindFunc(func(e *core.CollectionRequestEvent) error {
		if shippedIndexes[e.Collection.Name] != nil {
			return e.BadRequestError(
				fmt.Sprintf("The API relies on the collection %q; it cannot be deleted.", e.Collection.Name), nil,
			)
		}
		return e.Next()
	})
	app.OnCollectionsImportRequest().BindFunc(guardImport)
}

// guardImport imports collections in a transaction, and rolls it back if that changes the shipped schema.
func guardImport(e *core.CollectionsImportRequestEvent) error {
	outer := e.App
	defer func() { e.App = outer }()
	return outer.RunInTransaction(func(tx core.App) error {
		e.App = tx
		name, fault, err := compare(tx, e.Next)
		if fault != nil {
			return e.BadRequestError(fmt.Sprintf("The import changes a part of the "+
				"collection %q that the API relies on; leave that part as it is.", name), fault)
		}
		return err
	})
}

// compare calls change, and returns the name of a shipped collection that it breaks, with the reason.
func compare(tx core.App, change func() error) (name string, broken, err error) {
	before, err := shippedCollections(tx)
	if err != nil {
		return "", nil, err
	}
	if err := change(); err != nil {
		return "", nil, err
	}
	after, err := shippedCollections(tx)
	if err != nil {
		return "", nil, err
	}
	for name, collection := range before {
		if broken := guard(collection, after[name]); broken != nil {
			return name, broken, nil
		}
	}
	return "", nil, nil
}

// GuardMigration runs a migration of an extension in the transaction of tx. It returns an error if that changes a part
// of a shipped collection that the program relies on.
func GuardMigration(tx core.App, migration func() error) error {
	name, broken, err := compare(tx, migration)
	if broken != nil {
		return fmt.Errorf("it changes the collection %q: %w", name, broken)
	}
	return err
}

// GuardCollections also protects the shipped schema from what hooks of extensions do, except while own migrations
// change it.
func GuardCollections(app core.App, migrating func() bool) {
	app.OnCollectionUpdate().BindFunc(func(e *core.CollectionEvent) error {
		if migrating() {
			return e.Next()
		}
		before, err := e.App.FindCollectionByNameOrId(e.Collection.Id)
		if err != nil {
			return err
		}
		if broken := guard(before, e.Collection); broken != nil {
			return broken
		}
		return e.Next()
	})
	app.OnCollectionDelete().BindFunc(func(e *core.CollectionEvent) error {
		if shippedIndexes[e.Collection.Name] != nil && !migrating() {
			return fmt.Errorf("the API relies on the collection %q; it cannot be deleted", e.Collection.Name)
		}
		return e.Next()
	})
}

func shippedCollections(app core.App) (map[string]*core.Collection, error) {
	found := map[string]*core.Collection{}
	for name := range shippedIndexes {
		collection, err := app.FindCollectionByNameOrId(name)
		if err != nil {
			return nil, fmt.Errorf("reading the collection %q: %w", name, err)
		}
		found[name] = collection
	}
	return found, nil
}

// guard returns an error if the change of a shipped collection would break the program.
func guard(before, after *core.Collection) error {
	indexes, shipped := shippedIndexes[before.Name]
	if !shipped {
		return nil
	}
	for _, field := range before.Fields {
		if !field.GetSystem() {
			continue
		}
		now := after.Fields.GetById(field.GetId())
		if now == nil || !sameField(field, now) {
			return validation.Errors{"fields": validation.NewError("validation_shipped_field",
				fmt.Sprintf("The field %q belongs to the program; add your own field instead.", field.GetName()))}
		}
	}
	for _, name := range indexes {
		if before.GetIndex(name) != after.GetIndex(name) {
			return validation.Errors{"indexes": validation.NewError("validation_shipped_index",
				fmt.Sprintf("The index %q belongs to the program; add your own index instead.", name))}
		}
	}
	if !slices.EqualFunc(rulesOf(before), rulesOf(after), sameRule) {
		return validation.Errors{"rules": validation.NewError("validation_shipped_rule",
			"The rules belong to the program: they keep integrators out and members inside their tenant.")}
	}
	if before.Name == contact.CollectionName {
		for _, name := range contact.ReservedFieldNames {
			if slices.Contains(after.Fields.FieldNames(), name) {
				return validation.Errors{"fields": validation.NewError("validation_reserved_field",
					fmt.Sprintf("The API's contact object already has the name %q; choose another.", name))}
			}
		}
	}
	return nil
}

func rulesOf(c *core.Collection) []*string {
	rules := []*string{c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule, c.DeleteRule}
	if c.IsAuth() {
		rules = append(rules, c.AuthRule, c.ManageRule)
	}
	return rules
}

func sameRule(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func sameField(a, b core.Field) bool {
	encodedA, errA := json.Marshal(a)
	encodedB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(encodedA, encodedB)
}

// fixed has the collections that refuse to create, change or delete records, with the error that superusers get.
// The program writes their rows with SQL.
var fixed = map[string]string{
	audit.CollectionName: "Nobody can change the audit log.", // triggers refuse SQL, too
	event.CollectionName: "Nobody can create, change or delete events, " +
		"because webhooks and the feed rely on them. To erase a person's data, delete the contact.",
}

func bindFixedRows(app core.App) {
	for collection, reason := range fixed {
		refuse := func(*core.RecordEvent) error { return apis.NewForbiddenError(reason, nil) }
		app.OnRecordCreate(collection).BindFunc(refuse)
		app.OnRecordUpdate(collection).BindFunc(refuse)
		app.OnRecordDelete(collection).BindFunc(refuse)
	}
}
