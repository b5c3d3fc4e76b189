package move_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/move"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	if _, err := s.tryExport(t); err == nil || !strings.Contains(err.Error(), "--freeze") {
		t.Errorf("an open tenant is exported: %v", err)
	}
	s.freeze(t)
	archive := s.export(t)
	for row, table := range map[string]string{
		"INSERT INTO contacts (id, tenant, name) VALUES ({:id}, 'somebody', 'x')":           "contacts",
		"INSERT INTO events (id, tenant, type) VALUES ({:id}, 'somebody', 'x')":             "events",
		"INSERT INTO webhooks (id, tenant, url) VALUES ({:id}, 'somebody', 'x')":            "webhooks",
		"INSERT INTO api_keys (id, tenant, hash) VALUES ({:id}, 'somebody', 'x')":           "api_keys",
		"INSERT INTO deliveries (id, tenant, status) VALUES ({:id}, 'somebody', 'x')":       "deliveries",
		"INSERT INTO inbound_webhooks (id, tenant) VALUES ({:id}, 'somebody')":              "inbound_webhooks",
		"INSERT INTO tenant_members (id, tenant, tokenKey) VALUES ({:id}, 'somebody', 'x')": "tenant_members",
		"INSERT INTO api_keys (tenant, hash) SELECT 'somebody', {:hash}":                    "api_keys",
		"INSERT INTO inbound_webhooks (tenant, tokenHash) SELECT 'somebody', {:token}":      "inbound_webhooks",
	} {
		target := newTarget(t)
		testkit.Execute(t, target, row, dbx.Params{
			"id":    str(t, s.app, "SELECT id FROM "+table+" WHERE tenant = {:tenant} LIMIT 1", s.tenant),
			"hash":  str(t, s.app, "SELECT hash FROM api_keys WHERE tenant = {:tenant}", s.tenant),
			"token": str(t, s.app, "SELECT tokenHash FROM inbound_webhooks WHERE tenant = {:tenant}", s.tenant),
		})
		before := dump(t, target)
		if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), " in "+table+" are already used by another tenant") {
			t.Errorf("where %s has run, the import ends with %v", row, err)
		}
		unchanged(t, target, before)
	}
}

// An address that belongs to somebody here is named before anything is written.
func TestTakenAddress(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	target := newTarget(t)
	resident := str(t, target, "SELECT id FROM tenants WHERE {:tenant} != ''", s.tenant)
	taken := testkit.Record(t, target, "tenant_members", map[string]any{"tenant": resident, "role": "viewer", "email": "ada@example.com", "password": "a long password"})
	before := dump(t, target)
	archive := s.export(t)
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "the member ada@example.com already belongs to another tenant") {
		t.Errorf("the import ends with %v", err)
	}
	unchanged(t, target, before)
	if err := target.Delete(taken); err != nil {
		t.Fatal(err)
	}
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Error(err)
	}
}

// A tenant with more records than the installation allows is refused before anything is written, with the flag that
// raises the bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	for i := range 3 {
		testkit.Webhook(t, s.app, s.tenant, "https://hooks.example.com", "a secret of mine")
		testkit.Inbound(t, s.app, s.tenant, "full", nil)
		testkit.Key(t, s.app, s.tenant)
		testkit.Record(t, s.app, "tenant_members", map[string]any{"tenant": s.tenant, "role": "viewer", "email": fmt.Sprint(i, "@example.com"), "password": "a long password"})
	}
	testkit.Record(t, s.app, "api_keys", map[string]any{"tenant": s.tenant, "name": "ended", "revoked": "2026-01-01 00:00:00.000Z"})
	s.freeze(t)
	archive := s.export(t)
	enough := tenant.Bounds{Keys: 4, Webhooks: 4, Inbound: 4, Members: 4}
	for want, lower := range map[string]func(*tenant.Bounds){
		"the tenant has 4 active API keys, and this installation allows 3: raise --maxKeys for the import":     func(b *tenant.Bounds) { b.Keys-- },
		"the tenant has 4 webhooks, and this installation allows 3: raise --maxWebhooks for the import":        func(b *tenant.Bounds) { b.Webhooks-- },
		"the tenant has 4 inbound webhooks, and this installation allows 3: raise --maxInbound for the import": func(b *tenant.Bounds) { b.Inbound-- },
		"the tenant has 4 members, and this installation allows 3: raise --maxMembers for the import":          func(b *tenant.Bounds) { b.Members-- },
	} {
		target, bounds := newTarget(t), enough
		lower(&bounds)
		before := dump(t, target)
		err := importInto(t.Context(), t, target, archive, func(g *move.Target) { g.Bounds = bounds })
		if err == nil || err.Error() != "the archive is rejected: "+want {
			t.Errorf("the import ends with %v, not with %q", err, want)
		}
		unchanged(t, target, before)
	}
	if err := importInto(t.Context(), t, newTarget(t), archive, func(g *move.Target) { g.Bounds = enough }); err != nil {
		t.Errorf("within the bounds: %v", err)
	}
}

// An export contains no files, and an import needs all of the tenant's custom fields.
func TestCustomFields(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	fields := func(app core.App, vip core.Field) {
		t.Helper()
		collection, err := app.FindCollectionByNameOrId("contacts")
		if err != nil {
			t.Fatal(err)
		}
		collection.Fields.Add(vip, &core.JSONField{Name: "tags"}, &core.NumberField{Name: "score"}, &core.SelectField{Name: "kinds", MaxSelect: 2, Values: []string{"a", "b"}},
			&core.FileField{Name: "photo", MaxSelect: 1})
		if err := app.Save(collection); err != nil {
			t.Fatal(err)
		}
	}
	fields(s.app, &core.BoolField{Name: "vip"})
	testkit.Execute(t, s.app, "UPDATE contacts SET vip = 1, tags = '{\"a\": [1.0, null]}', score = 1.5, kinds = '[\"a\"]', photo = 'x.png' WHERE rowid % 2 = 0", nil)
	s.freeze(t)
	if _, err := s.tryExport(t); err == nil || !strings.Contains(err.Error(), "have an invalid value in photo: must be empty") {
		t.Errorf("an export of files ends with %v", err)
	}
	if _, err := s.app.NonconcurrentDB().NewQuery("UPDATE _moves SET open = 1; UPDATE contacts SET photo = ''; UPDATE _moves SET open = 0").Execute(); err != nil {
		t.Fatal(err)
	}
	archive := s.export(t)
	target := newTarget(t)
	err := importInto(t.Context(), t, target, archive, nil)
	for _, name := range []string{"contacts.vip", "contacts.tags", "contacts.score", "contacts.kinds"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	fields(target, &core.TextField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "of contacts have an invalid value in vip: must be text") {
		t.Errorf("another type gives %v", err)
	}
	target = newTarget(t)
	fields(target, &core.BoolField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
}

// A database that exceeds its limit is rejected and leaves nothing behind.
func TestRoom(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	target := newTarget(t)
	before := dump(t, target)
	bomb := sealed(t, make([]byte, 256<<20), nil)
	for name, archive := range map[string][]byte{"a bomb": bomb, "a large tenant": s.export(t)} {
		err := importInto(t.Context(), t, target, archive, func(g *move.Target) { g.Room = 64 << 10 })
		if err == nil || !strings.Contains(err.Error(), "not enough disk space") {
			t.Errorf("%s, of %d bytes, ends with %v", name, len(archive), err)
		}
		unchanged(t, target, before)
	}
}
