package hooks_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// fill inserts n records of a tenant. values has the values of further columns, as SQL.
func fill(t *testing.T, app core.App, collection, tenantID string, n int, values map[string]string) {
	t.Helper()
	columns, selected := "", ""
	for column, value := range values {
		columns, selected = columns+", ["+"["+column+"]]", selected+", "+value
	}
	var filled int
	if err := app.DB().NewQuery("SELECT count(*) FROM {{" + collection + "}}").Row(&filled); err != nil {
		t.Fatal(err)
	}
	testkit.Execute(t, app, "INSERT INTO {{"+collection+"}} ([[id]], [[tenant]]"+columns+") WITH RECURSIVE n(i) AS (SELECT {:from} UNION ALL SELECT i + 1 FROM n WHERE i < {:to}) "+
		"SELECT printf('f%014d', i), {:tenant}"+selected+" FROM n", dbx.Params{"from": filled, "to": filled + n - 1, "tenant": tenantID})
}

// unique has a value of the column that must be unique in each collection.
var unique = map[string]map[string]string{
	"api_keys":         {"hash": "i"},
	"webhooks":         {"url": "'https://example.com'"},
	"inbound_webhooks": {"tokenHash": "i"},
	"tenant_members":   {"tokenKey": "printf('%030d', i)", "email": "i || '@example.org'"},
}

// with returns the values of fill for a collection, and one more.
func with(collection, column, value string) map[string]string {
	values := map[string]string{column: value}
	for name, value := range unique[collection] {
		values[name] = value
	}
	return values
}

// limited checks that an error is about the bound on a tenant's records.
func limited(t *testing.T, what string, err error, says string) {
	t.Helper()
	var faults validation.Errors
	if !errors.As(err, &faults) {
		t.Errorf("%s: %v", what, err)
		return
	}
	var fault validation.Error
	if !errors.As(faults["tenant"], &fault) || fault.Code() != tenant.LimitReached || !strings.Contains(fault.Error(), says) {
		t.Errorf("%s: %v, not %q", what, err, says)
	}
}

// A tenant has a number of records at most, by whichever door they come. Others keep theirs.
func TestBounds(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	root := testkit.NewClient(t, d.base, "")
	root.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	d.app.Settings().Batch.Timeout = 600 // seconds; hashing a password takes long on a busy machine
	if err := d.app.Save(d.app.Settings()); err != nil {
		t.Fatal(err)
	}
	for collection, c := range map[string]struct {
		most   int
		values string // JSON of another record
		says   string
	}{
		"api_keys":         {100, `"name":"more"`, "The tenant can have at most 100 active API keys. Revoke or delete some, or ask the administrator to raise --maxKeys."},
		"webhooks":         {100, `"url":"https://hooks.example.com"`, "The tenant can have at most 100 webhooks. Delete some, or ask the administrator to raise --maxWebhooks."},
		"inbound_webhooks": {100, `"name":"more","access":"full"`, "The tenant can have at most 100 inbound webhooks. Delete some, or ask the administrator to raise --maxInbound."},
		"tenant_members": {
			500, `"role":"viewer","email":"%d@example.net","password":"a long password","passwordConfirm":"a long password"`,
			"The tenant can have at most 500 members. Delete some, or ask the administrator to raise --maxMembers.",
		},
	} {
		var there int
		if err := d.app.DB().Select("count(*)").From(collection).Where(dbx.HashExp{"tenant": d.acme.tenant}).Row(&there); err != nil {
			t.Fatal(err)
		}
		if collection == member.CollectionName {
			there-- // the portal link
		}
		fill(t, d.app, collection, d.acme.tenant, c.most-there-1, unique[collection])
		made := 0
		body := func(tenantID string) string {
			made++
			return strings.ReplaceAll(`{"tenant":"`+tenantID+`",`+c.values+`}`, "%d", fmt.Sprint(collection, made))
		}
		path := in(collection, "")
		last := do(t, root, "POST", path, body(d.acme.tenant))
		refused := func(client *testkit.Client) {
			t.Helper()
			got := d.expect(400, client, "POST", path, body(d.acme.tenant))
			fault, _ := got.JSON()["data"].(map[string]any)["tenant"].(map[string]any)
			if fault["code"] != "validation_limit_reached" || fault["message"] != c.says {
				t.Errorf("one more of %s is refused with %s", collection, got.Body)
			}
		}
		refused(root)
		refused(d.as(d.admin))
		batch := fmt.Sprintf(`{"requests":[{"method":"DELETE","url":"%[1]s"},{"method":"POST","url":"%[2]s","body":%[3]s},{"method":"POST","url":"%[2]s","body":%[4]s}]}`,
			in(collection, last), path, body(d.acme.tenant), body(d.acme.tenant))
		got := d.expect(400, root, "POST", "/api/batch", batch)
		if !strings.Contains(string(got.Body), "validation_limit_reached") {
			t.Errorf("a batch with one more of %s is refused with %s", collection, got.Body)
		}
		do(t, root, "POST", path, body(d.other.tenant))
		do(t, root, "DELETE", in(collection, last), "")
		do(t, root, "POST", path, body(d.acme.tenant))
		refused(root)
	}
}

// What a tenant has beyond a bound can still be changed, and nothing comes back.
func TestBeyondABound(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root, tenantID := admin(t, app), testkit.Tenant(t, app, "Acme")
	for _, collection := range []string{"api_keys", "webhooks", "inbound_webhooks", "tenant_members"} {
		values := with(collection, "name", "'old'")
		if collection == "inbound_webhooks" {
			values["access"] = "'full'"
		}
		if collection == "tenant_members" {
			values["role"], values["password"] = "'viewer'", "'x'"
		}
		fill(t, app, collection, tenantID, 600, values)
		do(t, root, "PATCH", in(collection, "f00000000000007"), `{"name":"new"}`)
		do(t, root, "DELETE", in(collection, "f00000000000008"), "")
	}
	if got := root.Do("POST", in("webhooks", ""), `{"tenant":"`+tenantID+`","url":"https://example.com"}`); got.Status != 400 {
		t.Errorf("one more gives %d %s", got.Status, got.Body)
	}
}

// Keys that have ended do not count as active, but they have a bound of their own. A revocation is never refused.
func TestBoundOfEndedKeys(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root, tenantID := admin(t, app), testkit.Tenant(t, app, "Acme")
	past := "'" + stamp.Stored(time.Now().Add(-time.Hour)) + "'"
	fill(t, app, "api_keys", tenantID, 499, with("api_keys", "revoked", past))
	fill(t, app, "api_keys", tenantID, 500, with("api_keys", "expires", past))
	create := func() *testkit.Answer {
		return root.Do("POST", in("api_keys", ""), `{"tenant":"`+tenantID+`","name":"x"}`)
	}
	first, second := create(), create()
	if first.Status != 200 || second.Status != 200 {
		t.Fatalf("below the bound: %s %s", first.Body, second.Body)
	}
	for _, key := range []*testkit.Answer{first, second} {
		do(t, root, "PATCH", in("api_keys", key.JSON()["id"].(string)), `{"revoked":"2026-01-01T00:00:00Z"}`)
	}
	if got := create(); got.Status != 400 || !strings.Contains(string(got.Body), "The tenant can have at most 1000 revoked or expired API keys. Delete some.") {
		t.Errorf("with 1,001 ended keys: %d %s", got.Status, got.Body)
	}
	do(t, root, "DELETE", in("api_keys", "f00000000000001"), "")
	do(t, root, "DELETE", in("api_keys", "f00000000000002"), "")
	if got := create(); got.Status != 200 {
		t.Errorf("with 999 ended keys: %d %s", got.Status, got.Body)
	}
}

// A later expiry makes an expired key count again, and ending a key's expiry does not.
func TestBoundOfReactivatedKeys(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root, tenantID := admin(t, app), testkit.Tenant(t, app, "Acme")
	values := with("api_keys", "expires", "CASE WHEN i < 100 THEN '2999-01-01 00:00:00.000Z' ELSE '2020-01-01 00:00:00.000Z' END")
	values["name"] = "'x'"
	fill(t, app, "api_keys", tenantID, 101, values)
	active, expired := in("api_keys", "f00000000000001"), in("api_keys", "f00000000000100")
	do(t, root, "PATCH", active, `{"expires":""}`)
	for _, expires := range []string{"", "2999-01-01T00:00:00Z"} {
		if got := root.Do("PATCH", expired, `{"expires":"`+expires+`"}`); got.Status != 400 || !strings.Contains(string(got.Body), "100 active API keys") {
			t.Errorf("an expired key is renewed: %d %s", got.Status, got.Body)
		}
	}
	do(t, root, "PATCH", expired, `{"name":"y"}`)
	do(t, root, "PATCH", active, `{"expires":"2020-01-01T00:00:00Z"}`)
	do(t, root, "PATCH", expired, `{"expires":""}`)
}

// A rotation replaces a key, so it may exceed the bounds, but not without end.
func TestBoundsOfRotations(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	fill(t, d.app, "api_keys", d.acme.tenant, 99, unique["api_keys"])
	fill(t, d.app, "api_keys", d.acme.tenant, 1_000, with("api_keys", "revoked", "'2020-01-01 00:00:00.000Z'"))
	path := "/api/integrations/keys/" + d.acme.ids["api_keys"] + "/rotate"
	d.expect(200, d.as(d.admin), "POST", path, `{"overlapHours":1}`)
	fill(t, d.app, "api_keys", d.acme.tenant, 1_098, unique["api_keys"])
	d.expect(200, d.as(d.admin), "POST", path, `{"overlapHours":1}`)
	got := d.expect(400, d.as(d.admin), "POST", path, `{"overlapHours":1}`)
	if got.Code() != "validation_failed" || got.FieldCode("tenant") != "limit_reached" || !strings.Contains(string(got.Body), "2200 API keys") {
		t.Errorf("a rotation without end is refused with %s", got.Body)
	}
	if _, err := credential.Rotate(d.app, d.acme.ids["api_keys"], credential.Rotation{}, time.Now()); err == nil {
		t.Error("a rotation by a command is not refused")
	}
}

// Portal links are counted apart from members, as long as they work.
func TestBoundOfLinks(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root, tenantID := admin(t, app), testkit.Tenant(t, app, "Acme")
	path := "/api/integrations/tenants/" + tenantID + "/portal-link"
	link := with("tenant_members", "link", "1")
	link["expires"] = "CASE WHEN i < 999 THEN '2999-01-01 00:00:00.000Z' ELSE '2020-01-01 00:00:00.000Z' END"
	fill(t, app, "tenant_members", tenantID, 1_100, link)
	if got := root.Do("POST", path, ""); got.Status != 200 {
		t.Errorf("link 1,000: %d %s", got.Status, got.Body)
	}
	got := root.Do("POST", path, "")
	if got.Status != 400 || got.Code() != "validation_failed" || got.FieldCode("tenant") != "limit_reached" ||
		!strings.Contains(string(got.Body), "can have at most 1000 portal links. Revoke some, or wait until they expire") {
		t.Errorf("link 1,001: %d %s", got.Status, got.Body)
	}
	made := root.Do("POST", membersPath, `{"tenant":"`+tenantID+`","role":"viewer","email":"ada@example.com","password":"a long password","passwordConfirm":"a long password"}`)
	if made.Status != http.StatusOK {
		t.Fatalf("a member beside the links: %d %s", made.Status, made.Body)
	}
	if got := root.Do("PATCH", membersPath+"/"+made.JSON()["id"].(string), `{"link":true}`); got.Status != 400 {
		t.Errorf("a member becomes link 1,001: %d %s", got.Status, got.Body)
	}
}

// Of two that create the last record at once, in two processes, one is refused.
func TestBoundsAtOnce(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	other := testkit.Reopen(t, app)
	fill(t, app, "webhooks", tenantID, 90, unique["webhooks"])
	collection, err := app.FindCollectionByNameOrId("webhooks")
	if err != nil {
		t.Fatal(err)
	}
	var made atomic.Int32
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			record := core.NewRecord(collection)
			record.Load(map[string]any{"tenant": tenantID, "url": "https://example.com"})
			err := []core.App{app, other}[i%2].Save(record)
			if err == nil {
				made.Add(1)
				return
			}
			limited(t, "one more", err, "100 webhooks")
		})
	}
	group.Wait()
	if made.Load() != 10 {
		t.Errorf("%d of 10 were created", made.Load())
	}
}
