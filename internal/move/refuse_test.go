package move_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/move"
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
	if _, err := move.Open(bytes.NewReader(archive), int64(len(archive)), "another passphrase"); !errors.Is(err, move.ErrPassphrase) {
		t.Errorf("another passphrase gives %v", err)
	}
	if _, err := move.Open(bytes.NewReader(archive[:len(archive)/2]), int64(len(archive)/2), passphrase); err == nil {
		t.Error("half an archive opens")
	}
	for at := 100; at < len(archive)-3000; at += len(archive) / 6 {
		target, damaged := newTarget(t), bytes.Clone(archive)
		damaged[at] ^= 0xff
		opened, err := move.Open(bytes.NewReader(damaged), int64(len(damaged)), passphrase)
		if err == nil {
			g := &move.Target{App: target, Deliveries: testkit.Deliveries(target), Archive: opened, Progress: silent}
			err = g.Import(t.Context())
		}
		if err == nil { // what is damaged is said twice
			equal(t, s, target)
			continue
		}
		if n := testkit.Count(t, target, "SELECT count(*) FROM tenants", nil); n != 1 {
			t.Errorf("something of it is there: %v", err)
		}
	}
	taken := newTarget(t)
	testkit.Execute(t, taken, "INSERT INTO contacts (id, tenant, name) VALUES ({:id}, 'somebody', 'x')", dbx.Params{"id": str(t, s.app, "SELECT id FROM contacts WHERE tenant = {:tenant} LIMIT 1", s.tenant)})
	if err := importInto(t.Context(), t, taken, archive, nil); err == nil || !strings.Contains(err.Error(), "belong to somebody else") {
		t.Errorf("an id that is taken gives %v", err)
	}
	if n := testkit.Count(t, taken, "SELECT count(*) FROM _moves", nil); n != 0 {
		t.Error("the import has begun")
	}
}

// A file that was changed is told by its checksum, and a manifest by its seal.
func TestChangedArchives(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	archive := s.export(t)
	for name, tc := range map[string]struct{ from, to, want string }{
		"contacts.jsonl": {"p1@example.com", "q1@example.com", "contacts.jsonl is not what its manifest says"},
		"events.jsonl":   {"\n", "\n{}\n", "events.jsonl is not what its manifest says"},
		"manifest.json":  {"Acme", "Acne", "does not open this archive"},
	} {
		changed := replaced(t, archive, name, func(text []byte) []byte { return bytes.Replace(text, []byte(tc.from), []byte(tc.to), 1) })
		opened, err := move.Open(bytes.NewReader(changed), int64(len(changed)), passphrase)
		target := newTarget(t)
		if err == nil {
			err = (&move.Target{App: target, Deliveries: testkit.Deliveries(target), Archive: opened, Progress: silent}).Import(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with another %s it ends with %v", name, err)
		}
		if n := testkit.Count(t, target, "SELECT count(*) FROM tenants", nil); n != 1 {
			t.Errorf("with another %s something is there", name)
		}
	}
}

func TestCustomFields(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	fields := func(app core.App, vip core.Field) {
		t.Helper()
		collection, err := app.FindCollectionByNameOrId("contacts")
		if err != nil {
			t.Fatal(err)
		}
		collection.Fields.Add(vip, &core.JSONField{Name: "tags"}, &core.NumberField{Name: "score"}, &core.SelectField{Name: "kinds", MaxSelect: 2, Values: []string{"a", "b"}})
		if err := app.Save(collection); err != nil {
			t.Fatal(err)
		}
	}
	fields(s.app, &core.BoolField{Name: "vip"})
	testkit.Execute(t, s.app, "UPDATE contacts SET vip = 1, tags = '{\"a\": [1.0, null]}', score = 1.5, kinds = '[\"a\"]' WHERE rowid % 2 = 0", nil)
	s.freeze(t)
	archive := s.export(t)
	target := newTarget(t)
	err := importInto(t.Context(), t, target, archive, nil)
	for _, name := range []string{"contacts.vip bool", "contacts.tags json", "contacts.score number", "contacts.kinds select[]"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	fields(target, &core.TextField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "contacts.vip is bool there and text here") {
		t.Errorf("another type gives %v", err)
	}
	target = newTarget(t)
	fields(target, &core.BoolField{Name: "vip"})
	if err := importInto(t.Context(), t, target, archive, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, s, target)
}
