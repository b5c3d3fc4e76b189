package move_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"

	"contactbase/internal/contact"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
)

// The row of the archive that hostile changes modify.
const one = " WHERE rowid = (SELECT max(rowid) - 1 FROM "

// Anyone who knows the passphrase can write any database. It is rejected as a whole unless it is what an export
// writes and leads to no rows of others.
var hostile = map[string]struct{ statements, says string }{
	"a contact of another tenant":           {"UPDATE contacts SET tenant = '{resident}'" + one + "contacts)", "values of contacts.tenant refer to rows of tenants that do not exist or belong to another tenant"},
	"a contact of no tenant":                {"UPDATE contacts SET tenant = ''" + one + "contacts)", "values of contacts.tenant"},
	"a key of another tenant":               {"UPDATE api_keys SET tenant = '{resident}'", "values of api_keys.tenant"},
	"a member of another tenant":            {"UPDATE tenant_members SET tenant = '{resident}'", "values of tenant_members.tenant"},
	"a webhook of another tenant":           {"UPDATE webhooks SET tenant = '{resident}'", "values of webhooks.tenant"},
	"an inbound webhook of another tenant":  {"UPDATE inbound_webhooks SET tenant = '{resident}'", "values of inbound_webhooks.tenant"},
	"a request of another inbound webhook":  {"UPDATE inbound_requests SET inbound = 'inbound00000000'", "values of inbound_requests.inbound"},
	"a person of another request":           {"INSERT INTO _inboundPeople VALUES ('x', 'x')", "values of _inboundPeople.request"},
	"a remembered answer of another tenant": {"UPDATE _idempotency SET tenant = '{resident}'", "values of _idempotency.tenant"},
	"a remembered answer of another's":      {"UPDATE _idempotency SET contact = '{contact}'", "_idempotency.contact refer to rows of contacts that belong to another tenant"},
	"an event of another tenant":            {"UPDATE events SET tenant = '{resident}'" + one + "events)", "values of events.tenant"},
	"an event about another's contact":      {"UPDATE events SET contact = '{contact}'" + one + "events)", "events.contact refer to rows of contacts that belong to another tenant"},
	"an event with the ID of a mark":        {"DELETE FROM deliveries; UPDATE events SET id = '000000000000000'" + one + "events)", "events have an ID that the feed uses as a mark"},
	"a feed behind another's event":         {"UPDATE _eventsGone SET before = '{event}'", "_eventsGone.before refer to rows of events that belong to another tenant"},
	"a delivery of another's event":         {"UPDATE deliveries SET event = '{event}'" + one + "deliveries)", "values of deliveries.event refer to rows of events that do not exist"},
	"a delivery to another's webhook":       {"UPDATE deliveries SET webhook = '{webhook}'" + one + "deliveries)", "values of deliveries.webhook refer to rows of webhooks that do not exist"},
	"a delivery of another tenant":          {"UPDATE deliveries SET tenant = '{resident}'" + one + "deliveries)", "values of deliveries.tenant"},
	"two tenants":                           {"INSERT INTO tenants SELECT apiEnabled, created, 'second000000000', name, rateLimit, updated, country FROM tenants", "contains 2 tenants"},
	"no tenant":                             {"DELETE FROM tenants; DELETE FROM contacts; DELETE FROM tenant_members; DELETE FROM api_keys; DELETE FROM webhooks; DELETE FROM inbound_webhooks; DELETE FROM inbound_requests; DELETE FROM _inboundPeople; DELETE FROM _inboundCrowds; DELETE FROM _idempotency; DELETE FROM events; DELETE FROM deliveries; DELETE FROM _eventsGone", "contains 0 tenants"},
	"the tenant that is here":               {"UPDATE contacts SET tenant = '{resident}'; UPDATE tenant_members SET tenant = '{resident}'; UPDATE api_keys SET tenant = '{resident}'; UPDATE webhooks SET tenant = '{resident}'; UPDATE inbound_webhooks SET tenant = '{resident}'; UPDATE inbound_requests SET tenant = '{resident}'; UPDATE _inboundCrowds SET tenant = '{resident}'; UPDATE _idempotency SET tenant = '{resident}'; UPDATE events SET tenant = '{resident}'; UPDATE deliveries SET tenant = '{resident}'; UPDATE _eventsGone SET tenant = '{resident}'; UPDATE tenants SET id = '{resident}'", "already exists in this installation"},
	"an id that is taken":                   {"UPDATE contacts SET id = '{contact}'" + one + "contacts)", "values of id in contacts are already used by another tenant"},
	"a key that is taken":                   {"UPDATE api_keys SET hash = '{hash}'", "values of hash in api_keys are already used by another tenant"},
	"a key twice":                           {"INSERT INTO api_keys SELECT created, expires, hash, 'second000000000', lastUsed, name, permissions, prefix, revoked, tenant, updated FROM api_keys", "values of hash are in api_keys more than once"},
	"an external id twice":                  {"UPDATE contacts SET externalId = 'x'", "values of tenant, externalId are in contacts more than once"},
	"a trigger":                             {"CREATE TRIGGER x AFTER INSERT ON contacts BEGIN DELETE FROM contacts; END", "trigger x, which does not belong"},
	"a view":                                {"CREATE VIEW x AS SELECT * FROM contacts", "view x, which does not belong"},
	"a view instead of a table":             {"DROP TABLE _eventsGone; CREATE VIEW _eventsGone AS SELECT id AS tenant, '' AS event, '' AS before FROM tenants", "view _eventsGone, which does not belong"},
	"an index":                              {"CREATE INDEX x ON contacts (name)", "index x, which does not belong"},
	"a table":                               {"CREATE TABLE x (y)", "table x, which does not belong"},
	"a virtual table":                       {"CREATE VIRTUAL TABLE x USING fts5(y)", "which does not belong"},
	"a virtual table instead of a table":    {"DROP TABLE _eventsGone; CREATE VIRTUAL TABLE _eventsGone USING fts5(tenant, event, before)", "which does not belong"},
	"statistics":                            {"ANALYZE", "table sqlite_stat1, which does not belong"},
	"a generated column":                    {"ALTER TABLE contacts ADD COLUMN x ANY AS (name)", "contacts"},
	"a column of another table":             {"ALTER TABLE contacts ADD COLUMN hash ANY", "the field contacts.hash, which this installation lacks"},
	"a column with a quote":                 {"ALTER TABLE contacts ADD COLUMN \"x` ANY); DROP TABLE tenants; --\" ANY", "which this installation lacks"},
	"a column with a default":               {"ALTER TABLE contacts DROP COLUMN company; ALTER TABLE contacts ADD COLUMN company ANY DEFAULT 'x'", "table contacts, which does not belong"},
	"a column less":                         {"ALTER TABLE deliveries DROP COLUMN lastError", "lacks the field deliveries.lastError"},
	"a table less":                          {"DROP TABLE _eventsGone", "lacks the field _eventsGone"},
	"another order":                         {"ALTER TABLE contacts RENAME TO old; CREATE TABLE contacts AS SELECT * FROM old; DROP TABLE old", "table contacts, which does not belong"},
	"a table with two names":                {"UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'events') WHERE name = 'contacts'", "rejected"},
	"a table without its index":             {"DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_contacts_1'", "rejected"},
	"a table that allows NULL":              {"UPDATE sqlite_schema SET sql = replace(sql, ', PRIMARY KEY (`id`)', '') WHERE name = 'contacts'; DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_contacts_1'", "rejected"},
	"an id of NULL":                         {"ALTER TABLE contacts RENAME TO old; CREATE TABLE contacts (id ANY) STRICT; INSERT INTO contacts VALUES (NULL); UPDATE sqlite_schema SET sql = (SELECT replace(sql, '\"old\"', '`contacts`') FROM sqlite_schema WHERE name = 'old') WHERE name = 'contacts'; DELETE FROM sqlite_schema WHERE tbl_name = 'old'", "rejected"},
	"a number of a row":                     {"UPDATE contacts SET rowid = 1000000" + one + "contacts)", "are not numbered from 1"},
	"a negative number of a row":            {"UPDATE contacts SET rowid = -1 WHERE rowid = 1", "are not numbered from 1"},
	"a gap":                                 {"DELETE FROM contacts WHERE rowid = 3", "are not numbered from 1"},
	"a text instead of a number":            {"UPDATE deliveries SET attempts = 'many'", "invalid value in attempts: must be a number"},
	"a fraction of an attempt":              {"UPDATE deliveries SET attempts = 0.5", "invalid value in attempts: must be a number"},
	"a negative number of attempts":         {"UPDATE deliveries SET attempts = -1", "invalid value in attempts: must be a number"},
	"a number instead of a text":            {"UPDATE contacts SET name = 1", "invalid value in name: must be text"},
	"bytes instead of a text":               {"UPDATE contacts SET name = x'00'", "invalid value in name: must be text"},
	"NULL instead of a text":                {"UPDATE contacts SET name = NULL", "invalid value in name: must be text"},
	"an id that is a path":                  {"UPDATE contacts SET id = '../etc'" + one + "contacts)", "invalid value in id: must be the ID of a record"},
	"an empty id":                           {"UPDATE contacts SET id = ''" + one + "contacts)", "invalid value in id: must be the ID of a record"},
	"neither true nor false":                {"UPDATE webhooks SET disabled = 2", "invalid value in disabled: must be true or false"},
	"no date":                               {"UPDATE deliveries SET nextAttempt = 'tomorrow'", "invalid value in nextAttempt: must be a date"},
	"no list":                               {"UPDATE api_keys SET permissions = '{}'", "invalid value in permissions: must be a list"},
	"no JSON":                               {"UPDATE events SET payload = '{'", "invalid value in payload: must be JSON"},
	"a text as a status":                    {"UPDATE _idempotency SET status = 'x'", "invalid value in status: must be a whole number"},
	"a large row":                           {"UPDATE contacts SET name = printf('%.*c', 70000000, 'x')" + one + "contacts)", "more than 32 MiB"},
	"a large schema":                        {"UPDATE sqlite_schema SET sql = sql || printf('%.*c', 2000000, ' ') WHERE name = 'contacts'", "rejected"},
	"another encoding":                      {"UPDATE sqlite_schema SET sql = 'nonsense' WHERE name = 'contacts'", "rejected"},
	"many tables":                           {"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO sqlite_schema SELECT 'table', 'x' || i, 'x' || i, 2, 'CREATE TABLE x' || i || ' (y)' FROM n", "not a tenant archive"},
	"small pages":                           {"PRAGMA page_size = 4096; VACUUM", "not a tenant archive"},
	"a newer schema":                        {"PRAGMA user_version = 2000000000", "comes from a newer version"},
	"an older schema":                       {"PRAGMA user_version = 1", "comes from an older version"},
	"another database":                      {"PRAGMA application_id = 0", "not a tenant archive"},
}

func TestHostileArchives(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.receive(t)
	s.freeze(t)
	archive, target := s.export(t), newTarget(t)
	resident := testkit.Tenant(t, target, "Another")
	known, err := testkit.Create(target, resident, contact.Changes{"name": "Resident"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Key(t, target, resident)
	ids := strings.NewReplacer(
		"{resident}", resident, "{contact}", known.ID, "{event}", str(t, target, "SELECT id FROM events WHERE tenant = {:tenant}", resident),
		"{webhook}", str(t, target, "SELECT id FROM webhooks WHERE {:tenant} != ''", resident), "{hash}", str(t, target, "SELECT hash FROM api_keys WHERE tenant = {:tenant}", resident),
	)
	before, resume := dump(t, target), false
	for name, tc := range hostile {
		changed := tampered(t, archive, ids.Replace(tc.statements))
		resume = !resume // makes no difference without an interrupted import
		if err := importInto(t.Context(), t, target, changed, func(g *move.Target) { g.Resume = resume }); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: the import ends with %v", name, err)
		}
		unchanged(t, target, before)
	}
	if err := importInto(t.Context(), t, target, tampered(t, archive, "VACUUM"), nil); err != nil {
		t.Errorf("an archive without changes: %v", err)
	}
}

// A tampered archive does not continue the import of a valid one.
func TestResumeWithHostileArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t, 20)
	s.freeze(t)
	archive, target := s.export(t), newTarget(t)
	ctx, cut := context.WithCancel(t.Context())
	if err := importInto(ctx, t, target, archive, func(g *move.Target) { g.Progress = func(int, int) { cut() } }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := dump(t, target)
	changed := tampered(t, archive, "UPDATE api_keys SET hash = 'of a stranger'")
	for _, other := range [][]byte{changed, sealed(t, unsealed(t, archive), nil), archive[:len(archive)-1]} {
		if err := importInto(t.Context(), t, target, other, func(g *move.Target) { g.Resume = true }); err == nil {
			t.Error("it is continued")
		}
		unchanged(t, target, before)
	}
	if err := importInto(t.Context(), t, target, archive, func(g *move.Target) { g.Resume = true }); err != nil {
		t.Error(err)
	}
	equal(t, s, target)
}

// Only a passphrase opens an archive, and only with a limited work factor.
func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	target := newTarget(t)
	before := dump(t, target)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	encrypted := func(recipient age.Recipient) []byte {
		t.Helper()
		var archive bytes.Buffer
		to, err := age.Encrypt(&archive, recipient)
		if err == nil {
			compressed := gzip.NewWriter(to)
			err = errors.Join(compressed.Close(), to.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		return archive.Bytes()
	}
	for name, tc := range map[string]struct {
		archive []byte
		says    string
	}{
		"a public key":       {encrypted(identity.Recipient()), "does not open"},
		"much work":          {bytes.Replace(sealed(t, nil, nil), []byte(" 10\n"), []byte(" 19\n"), 1), "work factor too large"},
		"an endless line":    {append([]byte("age-encryption.org/v1\n-> "), bytes.Repeat([]byte("a"), 8<<20)...), "2 MiB"},
		"nothing":            {nil, "not a tenant archive"},
		"another file":       {[]byte("PK\x03\x04"), "not a tenant archive"},
		"no database":        {sealed(t, nil, nil), "not a tenant archive"},
		"another database":   {sealed(t, []byte(strings.Repeat("no database", 1000)), nil), "not a tenant archive"},
		"another passphrase": {nil, ""},
	} {
		change := func(*move.Target) {}
		if name == "another passphrase" {
			s := newSource(t, 2)
			s.freeze(t)
			tc.archive, tc.says = s.export(t), move.ErrPassphrase.Error()
			change = func(g *move.Target) { g.Passphrase = "another passphrase" }
		}
		if err := importInto(t.Context(), t, target, tc.archive, change); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: the import ends with %v", name, err)
		}
		unchanged(t, target, before)
	}
}
