package hooks_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
)

// auditor checks the audit log as it grows.
type auditor struct {
	t    *testing.T
	app  core.App
	seen int
}

// expect checks the entries since the last call, such as "superuser root@example.com updated tenants [name]".
func (a *auditor) expect(what string, want ...string) {
	a.t.Helper()
	page, err := audit.List(a.app, audit.Query{Limit: 1000})
	if err != nil {
		a.t.Fatal(err)
	}
	var got []string
	for _, line := range slices.Backward(page.Lines[:len(page.Lines)-a.seen]) {
		got = append(got, fmt.Sprint(line.ActorKind, " ", line.ActorName, " ", line.Action, " ", line.Collection, " ", line.Fields))
	}
	a.seen = len(page.Lines)
	if !slices.Equal(got, want) {
		a.t.Errorf("%s: the entries are\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// person saves a member, or a portal link, and returns its record and a token.
func person(t *testing.T, app core.App, tenantID, name, role string, link bool) (*core.Record, string) {
	t.Helper()
	record := testkit.Record(t, app, "tenant_members", map[string]any{
		"tenant": tenantID, "name": name, "role": role, "link": link, "email": name + "@example.com", "password": "a long password", "verified": true,
	})
	token, err := record.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	return record, token
}

// do sends a request that must succeed, and returns the id in the response.
func do(t *testing.T, client *testkit.Client, method, path, body string, header ...string) string {
	t.Helper()
	got := client.Do(method, path, body, header...)
	if got.Status < 200 || got.Status > 299 {
		t.Fatalf("%s %s gives %d %s", method, path, got.Status, got.Body)
	}
	id, _ := got.JSON()["id"].(string)
	return id
}

// in returns the address of a collection's records, or of one of them.
func in(collection, id string) string {
	return strings.TrimSuffix("/api/collections/"+collection+"/records/"+id, "/")
}

// Every action has one entry with its actor and the names of the changed fields, and no value.
func TestAuditOfEveryAction(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root := admin(t, app)
	log := &auditor{t: t, app: app}
	const by = "superuser root@example.com "

	tenantID := do(t, root, "POST", in("tenants", ""), `{"name":"Acme","apiEnabled":true}`)
	log.expect("a new tenant", by+"created tenants [apiEnabled name]")
	do(t, root, "PATCH", in("tenants", tenantID), `{"name":"Acme Ltd","rateLimit":10}`)
	log.expect("a changed tenant", by+"updated tenants [name rateLimit]")
	do(t, root, "PATCH", in("tenants", tenantID), `{"name":"Acme Ltd"}`)
	log.expect("a tenant that stays as it is")

	key := do(t, root, "POST", in("api_keys", ""), `{"tenant":"`+tenantID+`","name":"website"}`)
	do(t, root, "PATCH", in("api_keys", key), `{"permissions":["contacts:read"],"hash":"x","lastUsed":"2026-01-01 00:00:00.000Z"}`)
	do(t, root, "POST", "/api/integrations/keys/"+key+"/rotate", `{"overlapHours":1}`)
	do(t, root, "PATCH", in("api_keys", key), `{"revoked":"2026-01-01 00:00:00.000Z"}`)
	log.expect("a key", by+"created api_keys [name]", by+"updated api_keys [permissions]",
		by+"created api_keys [name permissions]", by+"rotated api_keys [expires]", by+"revoked api_keys [revoked]")

	webhook := do(t, root, "POST", in("webhooks", ""), `{"tenant":"`+tenantID+`","url":"https://example.com","secret":"first secret","headers":{"X-Token":"hunter2"}}`)
	do(t, root, "PATCH", in("webhooks", webhook), `{"secret":"second secret","headers":{"X-Token":"hunter3"}}`)
	do(t, root, "POST", "/api/integrations/webhooks/"+webhook+"/rotate", "")
	do(t, root, "POST", "/api/integrations/webhooks/"+webhook+"/recover", `{"since":"2026-01-01T00:00:00Z","dryRun":true}`)
	do(t, root, "POST", "/api/integrations/webhooks/"+webhook+"/recover", `{"since":"2026-01-01T00:00:00Z"}`)
	log.expect("a webhook", by+"created webhooks [headers secret url]", by+"updated webhooks [headers secret]", by+"rotated webhooks [secret]", by+"recovered webhooks []")

	inbound := do(t, root, "POST", in("inbound_webhooks", ""), `{"tenant":"`+tenantID+`","name":"forms","access":"full"}`)
	do(t, root, "POST", "/api/integrations/inbound/"+inbound+"/rotate", "")
	do(t, root, "PATCH", in("inbound_webhooks", inbound), `{"verifySecret":"a third secret, longer"}`)
	do(t, root, "DELETE", in("inbound_webhooks", inbound), "")
	log.expect("an inbound webhook", by+"created inbound_webhooks [access name token]", by+"rotated inbound_webhooks [token]",
		by+"updated inbound_webhooks [verifySecret]", by+"deleted inbound_webhooks []")

	do(t, root, "GET", "/api/integrations/contacts/export?tenant="+tenantID, "")
	log.expect("an export", by+"exported contacts []")

	do(t, root, "DELETE", "/api/collections/api_keys/truncate", "")
	log.expect("truncating", by+"deleted api_keys []", by+"deleted api_keys []")

	do(t, root, "DELETE", in("tenants", tenantID), "")
	log.expect("deleting the tenant", by+"deleted tenants []")
	assertNoValues(t, app, "first secret", "second secret", "a third secret, longer", "hunter", "cmk_", "cmi_",
		"whsec_")
}

// The entry of a deletion has the last name of the record, or the shortened URL of a webhook. Names of people are none.
func TestAuditOfDeletedNames(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root := admin(t, app)
	tenantID := testkit.Tenant(t, app, "Acme")
	ann, _ := person(t, app, tenantID, "ann", "admin", false)
	do(t, root, "DELETE", in("tenant_members", ann.Id), "")
	for _, r := range []struct{ collection, values, want string }{
		{"api_keys", `"name":"website"`, "website"},
		{"webhooks", `"url":"https://example.com/secret"`, "https://example.com/sec…"},
		{"webhooks", `"url":"https://example.com/secret","name":"CRM"`, "CRM"},
		{"inbound_webhooks", `"name":"forms","access":"full"`, "forms"},
	} {
		id := do(t, root, "POST", in(r.collection, ""), `{"tenant":"`+tenantID+`",`+r.values+`}`)
		do(t, root, "DELETE", in(r.collection, id), "")
		page, err := audit.List(app, audit.Query{Limit: 1, Action: string(audit.Deleted)})
		if err != nil {
			t.Fatal(err)
		}
		if got := page.Lines[0]; got.Record != id || got.RecordName != r.want {
			t.Errorf("the deletion of %s is %+v", r.want, got)
		}
	}
	page, err := audit.List(app, audit.Query{Limit: 1, Action: string(audit.Deleted), Collection: "tenant_members"})
	if err != nil {
		t.Fatal(err)
	}
	if got := page.Lines[0]; got.RecordName != "" || len(got.Changes) > 0 {
		t.Errorf("the deletion of a member is %+v", got)
	}
}

// Members, links, commands and the program itself are actors too.
func TestAuditActors(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root := admin(t, app)
	tenantID := testkit.Tenant(t, app, "Acme")
	ann, annToken := person(t, app, tenantID, "ann", "admin", false)
	link, linkToken := person(t, app, tenantID, "support", "admin", true)
	log := &auditor{t: t, app: app}
	log.expect("records of the program", "system  created tenants [apiEnabled name]", "system  created tenant_members [email name notify password role verified]",
		"system  link_created tenant_members [email link name notify password role verified]")

	webhook := do(t, root, "POST", in("webhooks", ""), `{"tenant":"`+tenantID+`","url":"https://example.com"}`, "Authorization", annToken)
	do(t, root, "PATCH", in("webhooks", webhook), `{"name":"CRM"}`, "Authorization", linkToken)
	log.expect("a member and a link", "member ann@example.com created webhooks [secret url]", "link support updated webhooks [name]")

	do(t, root, "PATCH", in("tenant_members", ann.Id), `{"password":"another password","passwordConfirm":"another password"}`)
	do(t, root, "PATCH", in("tenant_members", ann.Id), `{"tokenKey:autogenerate":""}`)
	do(t, root, "DELETE", in("tenant_members", link.Id), "")
	const by = "superuser root@example.com "
	log.expect("members", by+"updated tenant_members [password]", by+"updated tenant_members [tokenKey]", by+"revoked tenant_members []")

	signIn := func(collection, identity, password string) (token string) {
		got := root.Do("POST", "/api/collections/"+collection+"/auth-with-password", `{"identity":"`+identity+`","password":"`+password+`"}`, "Authorization", "")
		token, _ = got.JSON()["token"].(string)
		return token
	}
	token := signIn("tenant_members", "ann@example.com", "another password")
	signIn("tenant_members", "ann@example.com", "a wrong password")
	do(t, root, "POST", "/api/collections/tenant_members/auth-refresh", "", "Authorization", token)
	signIn("_superusers", "root@example.com", "a long password")
	do(t, root, "POST", "/api/collections/_superusers/auth-refresh", "")
	do(t, root, "POST", "/api/collections/tenant_members/impersonate/"+ann.Id, `{"duration":600}`)
	log.expect("signing in", "member ann@example.com signed_in tenant_members []", by+"signed_in _superusers []", by+"signed_in tenant_members []")

	record, err := app.FindRecordById("tenant_members", ann.Id)
	if err != nil {
		t.Fatal(err)
	}
	reset, err := record.NewPasswordResetToken()
	if err != nil {
		t.Fatal(err)
	}
	do(t, root, "POST", "/api/collections/tenant_members/confirm-password-reset",
		`{"token":"`+reset+`","password":"third password","passwordConfirm":"third password"}`, "Authorization", "")
	log.expect("a new password by mail", "member ann@example.com updated tenant_members [password]")

	operator := audit.Operator()
	if err := audit.As(app, operator).RunInTransaction(func(tx core.App) error {
		record, err := tx.FindRecordById("webhooks", webhook)
		if err != nil {
			return err
		}
		return tx.Delete(record)
	}); err != nil {
		t.Fatal(err)
	}
	log.expect("a command", "command "+operator.Name+" deleted webhooks []")
	assertNoValues(t, app, "another password", "third password")
}

// A change that is rolled back has no entry, and each change in a batch has one.
func TestAuditOfTransactions(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	app.Settings().Batch.Enabled = true
	if err := app.Save(app.Settings()); err != nil {
		t.Fatal(err)
	}
	root := admin(t, app)
	tenantID := testkit.Tenant(t, app, "Acme")
	log := &auditor{t: t, app: app}
	log.expect("a tenant", "system  created tenants [apiEnabled name]")

	rollback := errors.New("rolled back")
	err := audit.As(app, audit.Operator()).RunInTransaction(func(tx core.App) error {
		if err := tx.Save(newKey(t, tx, tenantID)); err != nil {
			return err
		}
		return rollback
	})
	if !errors.Is(err, rollback) {
		t.Fatal(err)
	}
	log.expect("a transaction that is rolled back")

	request := func(method, url, body string) string {
		return `{"method":"` + method + `","url":"` + url + `","body":` + body + `}`
	}
	create := request("POST", "/api/collections/api_keys/records", `{"tenant":"`+tenantID+`","name":"website"}`)
	rename := request("PATCH", "/api/collections/tenants/records/"+tenantID, `{"name":"Umbrella"}`)
	invalid := request("POST", "/api/collections/api_keys/records", `{"name":""}`)
	if got := root.Do("POST", "/api/batch", `{"requests":[`+create+","+invalid+`]}`); got.Status != 400 {
		t.Fatalf("an invalid batch gives %d %s", got.Status, got.Body)
	}
	log.expect("a batch that fails")
	do(t, root, "POST", "/api/batch", `{"requests":[`+create+","+rename+`]}`)
	log.expect("a batch", "superuser root@example.com created api_keys [name]", "superuser root@example.com updated tenants [name]")
}

func newKey(t *testing.T, app core.App, tenantID string) *core.Record {
	t.Helper()
	collection, err := app.FindCachedCollectionByNameOrId("api_keys")
	if err != nil {
		t.Fatal(err)
	}
	record := core.NewRecord(collection)
	record.Load(map[string]any{"tenant": tenantID, "name": "test"})
	return record
}

// No request changes the audit log, not even one of a superuser, and no statement does. Only retention deletes entries.
func TestAuditCannotBeChanged(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	app.Settings().Batch.Enabled = true
	if err := app.Save(app.Settings()); err != nil {
		t.Fatal(err)
	}
	root := admin(t, app)
	testkit.Tenant(t, app, "Acme")
	page, err := audit.List(app, audit.Query{Limit: 10})
	if err != nil || len(page.Lines) != 1 {
		t.Fatalf("the entries are %v (%v)", page, err)
	}
	entry := page.Lines[0]
	path := in("audit_log", entry.ID)
	for _, request := range [][3]string{
		{"POST", in("audit_log", ""), `{"action":"created"}`},
		{"PATCH", path, `{"actorName":"nobody"}`},
		{"DELETE", path, ""},
		{"DELETE", "/api/collections/audit_log/truncate", ""},
		{"DELETE", "/api/collections/audit_log", ""},
		{"PATCH", "/api/collections/audit_log", `{"deleteRule":""}`},
		{"POST", "/api/batch", `{"requests":[{"method":"DELETE","url":"` + path + `"}]}`},
		{"POST", "/api/sql", `{"query":"DELETE FROM audit_log"}`},
		{"POST", "/api/sql", `{"query":"UPDATE audit_log SET actorName = ''"}`},
		{"POST", "/api/sql", `{"query":"REPLACE INTO audit_log (id, actorName) VALUES ('` + entry.ID + `', '')"}`},
	} {
		if got := root.Do(request[0], request[1], request[2]); got.Status < 400 || got.Status > 499 {
			t.Errorf("%v gives %d %s", request, got.Status, got.Body)
		}
	}
	if got := testkit.NewClient(t, root.Base, "").Do("GET", in("audit_log", ""), ""); got.Status != 403 {
		t.Errorf("a guest gets %d %s", got.Status, got.Body)
	}
	if after, err := audit.List(app, audit.Query{Limit: 10}); err != nil || fmt.Sprint(after) != fmt.Sprint(page) {
		t.Errorf("the entries were %v and are %v (%v)", page, after, err)
	}

	now := time.Now()
	testkit.Execute(t, app, "INSERT INTO audit_log (id, actorKind, action, fields, created) VALUES ('an0ld3ntry00001', 'system', 'created', '[]', {:at})",
		dbx.Params{"at": stamp.Stored(now.Add(-48 * time.Hour))})
	if err := audit.Prune(t.Context(), app, now.Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if after, err := audit.List(app, audit.Query{Limit: 10}); err != nil || fmt.Sprint(after) != fmt.Sprint(page) {
		t.Errorf("after pruning, the entries are %v (%v)", after, err)
	}
	if _, err := app.DB().NewQuery("DELETE FROM audit_log").Execute(); err == nil {
		t.Error("pruning leaves the audit log open")
	}
}

// assertNoValues checks that the audit log contains none of the texts.
func assertNoValues(t *testing.T, app core.App, texts ...string) {
	t.Helper()
	var rows []dbx.NullStringMap
	if err := app.DB().Select("*").From("audit_log").All(&rows); err != nil || len(rows) == 0 {
		t.Fatalf("%d entries (%v)", len(rows), err)
	}
	for _, text := range texts {
		if strings.Contains(fmt.Sprint(rows), text) {
			t.Errorf("the audit log contains %q", text)
		}
	}
}
