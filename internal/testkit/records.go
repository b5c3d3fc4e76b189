package testkit

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/inbound"
)

// Record saves a record and returns it.
func Record(tb testing.TB, app core.App, collection string, values map[string]any) *core.Record {
	tb.Helper()
	found, err := app.FindCachedCollectionByNameOrId(collection)
	if err != nil {
		tb.Fatalf("finding the collection %q: %v", collection, err)
	}
	record := core.NewRecord(found)
	record.Load(values)
	if err := app.Save(record); err != nil {
		tb.Fatalf("saving a record of %q: %v", collection, err)
	}
	return record
}

// Tenant saves a tenant with the API enabled and returns its id.
func Tenant(tb testing.TB, app core.App, name string) string {
	tb.Helper()
	return Record(tb, app, "tenants", map[string]any{"name": name, "apiEnabled": true}).Id
}

// Key saves an API key and returns its plaintext. Without permissions it has all of them.
func Key(tb testing.TB, app core.App, tenantID string, permissions ...string) string {
	tb.Helper()
	return credential.Minted(Record(tb, app, credential.CollectionName, map[string]any{
		"tenant": tenantID, "name": "test", "permissions": permissions,
	}))
}

// Webhook saves a webhook for all events and returns its id.
func Webhook(tb testing.TB, app core.App, tenantID, url, secret string) string {
	tb.Helper()
	return Record(tb, app, "webhooks", map[string]any{"tenant": tenantID, "url": url, "secret": secret}).Id
}

// Inbound saves an inbound webhook and returns its token.
func Inbound(tb testing.TB, app core.App, tenantID, access string, more map[string]any) string {
	tb.Helper()
	values := map[string]any{"tenant": tenantID, "name": "test", "access": access}
	for name, value := range more {
		values[name] = value
	}
	return credential.Minted(Record(tb, app, inbound.CollectionName, values))
}

// SuperuserToken saves a superuser and returns a token of it.
func SuperuserToken(tb testing.TB, app core.App) string {
	tb.Helper()
	record := Record(tb, app, core.CollectionNameSuperusers, map[string]any{
		"email": "root@example.com", "password": "a long password", "passwordConfirm": "a long password",
	})
	token, err := record.NewAuthToken()
	if err != nil {
		tb.Fatalf("signing in a superuser: %v", err)
	}
	return token
}
