package hooks_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/retention"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

// outbox returns the types and payloads of all events, oldest first.
func outbox(t *testing.T, app core.App) (kinds []string, payloads []map[string]any) {
	t.Helper()
	var rows []struct {
		ID      string `db:"id"`
		Type    string `db:"type"`
		Payload string `db:"payload"`
	}
	if err := app.DB().NewQuery("SELECT id, type, payload FROM events ORDER BY rowid").All(&rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var payload map[string]any
		if err := json.Unmarshal([]byte(row.Payload), &payload); err != nil {
			t.Fatal(err)
		}
		if payload["id"] != "evt_"+row.ID || payload["type"] != row.Type {
			t.Errorf("the payload of %s %s is %s", row.ID, row.Type, row.Payload)
		}
		kinds, payloads = append(kinds, row.Type), append(payloads, payload)
	}
	return kinds, payloads
}

func admin(t *testing.T, app core.App) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, testkit.Serve(t, app), "")
	client.Header.Set("Authorization", testkit.SuperuserToken(t, app))
	return client
}

func TestEveryWritePathEmits(t *testing.T) {
	t.Parallel()
	woken := make(chan struct{}, 100)
	app := testkit.NewApp(t, func() { woken <- struct{}{} })
	tenantID := testkit.Tenant(t, app, "Acme")
	client := admin(t, app)

	created := client.Do("POST", "/api/collections/contacts/records", `{"tenant":"`+tenantID+`","name":" Ada ","phone":"+49 30 1234"}`)
	if created.Status != 200 || created.JSON()["name"] != "Ada" || created.JSON()["phone"] != "+49301234" {
		t.Fatalf("the records API gives %d %s", created.Status, created.Body)
	}
	id := created.JSON()["id"].(string)
	client.Do("PATCH", "/api/collections/contacts/records/"+id, `{"company":"Engines"}`)
	client.Do("PATCH", "/api/collections/contacts/records/"+id, `{"company":"Engines"}`) // changes nothing
	if got := client.Do("PATCH", "/api/collections/contacts/records/"+id, `{"phone":"030"}`); got.Status != 400 {
		t.Errorf("an invalid phone gives %d", got.Status)
	}
	_, payloads := outbox(t, app)
	update := payloads[1] // after the creation
	if got, _ := json.Marshal(update["previous"]); string(got) != `{"company":null}` {
		t.Errorf("previous is %s", got)
	}
	settings := client.Do("PATCH", "/api/settings", `{"batch":{"enabled":true,"maxRequests":10,"timeout":3}}`)
	if settings.Status != 200 {
		t.Fatalf("enabling batches gives %d %s", settings.Status, settings.Body)
	}
	batch := client.Do("POST", "/api/batch", `{"requests":[
		{"method":"POST","url":"/api/collections/contacts/records","body":{"tenant":"`+tenantID+`","email":"b@example.com"}},
		{"method":"DELETE","url":"/api/collections/contacts/records/`+id+`"}]}`)
	if batch.Status != 200 {
		t.Fatalf("the batch gives %d %s", batch.Status, batch.Body)
	}
	testkit.Sweep(t, app)
	kinds, payloads := outbox(t, app)
	if got := strings.Join(kinds, " "); got != "contact.created contact.updated contact.created contact.deleted" {
		t.Fatalf("the outbox holds %s", got)
	}
	// the deleted contact's events have no recipients and are erased
	for i, payload := range payloads {
		data := payload["data"].(map[string]any)
		if _, named := data["name"]; named != (i == 2) || i != 2 && data["id"] != id {
			t.Errorf("event %d holds %v", i, data)
		}
	}
	for range 4 {
		<-woken
	}
}

// A transaction that rolls back takes the events with it.
func TestRollbackEmitsNothing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t, func() { t.Error("woken after a rollback") })
	tenantID := testkit.Tenant(t, app, "Acme")
	err := app.RunInTransaction(func(tx core.App) error {
		testkit.Record(t, tx, "contacts", map[string]any{"tenant": tenantID, "name": "Ada"})
		return http.ErrAbortHandler
	})
	if err == nil {
		t.Fatal("the transaction committed")
	}
	if kinds, _ := outbox(t, app); len(kinds) != 0 {
		t.Errorf("the outbox holds %v", kinds)
	}
}

func TestCredentialsAreShownOnce(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	client := admin(t, app)
	for collection, tc := range map[string]struct {
		body   string
		secret string
		hidden []string
	}{
		"api_keys":         {`{"tenant":"` + tenantID + `","name":"k","hash":"mine","prefix":"mine"}`, "key", []string{"hash"}},
		"webhooks":         {`{"tenant":"` + tenantID + `","url":"https://example.com/h"}`, "secret", []string{"secret", "previousSecret", "olderSecrets"}},
		"inbound_webhooks": {`{"tenant":"` + tenantID + `","name":"i","access":"full","tokenHash":"mine","verifySecret":"verify me, sender"}`, "token", []string{"tokenHash", "verifySecret"}},
	} {
		path := "/api/collections/" + collection + "/records"
		created := client.Do("POST", path, tc.body)
		secret, _ := created.JSON()[tc.secret].(string)
		if created.Status != 200 || len(secret) < 38 || strings.Contains(string(created.Body), "@") {
			t.Errorf("creating in %s gives %d %s", collection, created.Status, created.Body)
			continue
		}
		if collection != "webhooks" && created.JSON()["prefix"] != secret[:12] {
			t.Errorf("the prefix of %s is %v, the credential %s", collection, created.JSON()["prefix"], secret)
		}
		id := created.JSON()["id"].(string)
		changed := client.Do("PATCH", path+"/"+id, `{"name":"new","hash":"x","tokenHash":"x","prefix":"x","secret":""}`)
		for what, answer := range map[string]*testkit.Answer{
			"reading": client.Do("GET", path+"/"+id, ""), "listing": client.Do("GET", path, ""), "changing": changed,
		} {
			if answer.Status != 200 || strings.Contains(string(answer.Body), secret) ||
				strings.Contains(string(answer.Body), "verify me, sender") {
				t.Errorf("%s in %s gives %d %s", what, collection, answer.Status, answer.Body)
			}
			for _, field := range tc.hidden {
				if _, there := answer.JSON()[field]; there {
					t.Errorf("%s in %s shows %s", what, collection, field)
				}
			}
		}
		if stored, err := app.FindRecordById(collection, id); err != nil {
			t.Error(err)
		} else if collection == "api_keys" && stored.GetString("hash") != credential.Hash(secret) || collection == "inbound_webhooks" && stored.GetString("tokenHash") != credential.Hash(secret) {
			t.Errorf("the hash in %s is not the credential's", collection)
		}
	}
	url, _ := client.Do("POST", "/api/collections/inbound_webhooks/records", `{"tenant":"`+tenantID+`","name":"i","access":"upsert"}`).JSON()["url"].(string)
	if !strings.HasPrefix(url, app.Settings().Meta.AppURL+"/api/hooks/cmi_") {
		t.Errorf("the address is %q", url)
	}
	typed := client.Do("POST", "/api/collections/webhooks/records", `{"tenant":"`+tenantID+`","url":"https://example.com","secret":"my own secret"}`)
	if typed.JSON()["secret"] != "my own secret" {
		t.Errorf("a typed secret gives %s", typed.Body)
	}
	for _, bad := range []string{`"secret":"short"`, `"secret":"` + strings.Repeat("a", 257) + `"`, `"headers":["x"]`, `"headers":{"Host":"x"}`, `"headers":{"a b":"x"}`, `"headers":{"X-A":"a\nb"}`} {
		if got := client.Do("POST", "/api/collections/webhooks/records", `{"tenant":"`+tenantID+`","url":"https://example.com",`+bad+`}`); got.Status != 400 {
			t.Errorf("%s gives %d", bad, got.Status)
		}
	}
}

// Nobody can read the values of a webhook's headers, not even a superuser: responses have only their names.
func TestWebhookHeadersAreHidden(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	client := testkit.NewClient(t, testkit.Serve(t, app), "")
	client.Header.Set("Authorization", testkit.SuperuserToken(t, app))
	const path = "/api/collections/webhooks/records"
	created := client.Do("POST", path, `{"tenant":"`+testkit.Tenant(t, app, "Acme")+`","url":"https://example.com","headers":{"X-Token":"hunter2","X-A":"b"},"sealedHeaders":"{}"}`)
	id, _ := created.JSON()["id"].(string)
	for what, got := range map[string]*testkit.Answer{
		"creating": created,
		"reading":  client.Do("GET", path+"/"+id, ""),
		"changing": client.Do("PATCH", path+"/"+id, `{"name":"CRM","sealedHeaders":"{}"}`),
		"keeping":  client.Do("PATCH", path+"/"+id, `{"headers":{"X-Token":null,"X-A":"c"}}`),
	} {
		names, _ := json.Marshal(got.JSON()["headerNames"])
		if got.Status != 200 || string(names) != `["X-A","X-Token"]` || strings.Contains(string(got.Body), "hunter2") || strings.Contains(string(got.Body), `"headers"`) {
			t.Errorf("%s: %d %s", what, got.Status, got.Body)
		}
	}
	record, err := app.FindRecordById("webhooks", id)
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := webhook.SentHeaders(app, record.GetString("sealedHeaders")); sent["X-Token"] != "hunter2" || sent["X-A"] != "c" {
		t.Errorf("sent are %v, %v", sent, err)
	}
}

// PocketBase's own collection of users would be open to all.
func TestNobodyRegisters(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	if _, err := app.FindCollectionByNameOrId("users"); err != nil {
		t.Fatal(err) // otherwise this proves nothing
	}
	guest := testkit.NewClient(t, testkit.Serve(t, app), "")
	got := guest.Do("POST", "/api/collections/users/records", `{"email":"a@example.com","password":"a long password","passwordConfirm":"a long password"}`)
	if got.Status != 403 {
		t.Errorf("a guest registers: %d", got.Status)
	}
	if total, err := app.CountRecords("users"); err != nil || total != 0 {
		t.Errorf("there are %d users (%v)", total, err)
	}
	if got := guest.Do("GET", "/api/collections/users/records", ""); got.Status != 403 {
		t.Errorf("a guest lists the users: %d", got.Status)
	}
}

// A name that another tenant has is refused, if the request asks for that.
func TestTwoTenantsOfOneName(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	root := admin(t, app)
	do(t, root, "POST", in("tenants", ""), `{"name":"Acme"}`)
	other := do(t, root, "POST", in("tenants", ""), `{"name":"Umbrella"}`)
	for method, path := range map[string]string{"POST": in("tenants", ""), "PATCH": in("tenants", other)} {
		got := root.Do(method, path+"?sameName=false", `{"name":"Acme"}`)
		data, _ := got.JSON()["data"].(map[string]any)
		fault, _ := data["name"].(map[string]any)
		if got.Status != 400 || fault["code"] != "validation_tenant_name_taken" {
			t.Errorf("%s gives %d %s", method, got.Status, got.Body)
		}
		id := do(t, root, method, path, `{"name":"Acme"}`)
		do(t, root, "PATCH", in("tenants", id), `{"name":"Acme","rateLimit":10}`) // which keeps its name
	}
}

func TestTenantsStayApart(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	first, second := testkit.Tenant(t, app, "First"), testkit.Tenant(t, app, "Second")
	for _, collection := range []string{"contacts", "api_keys", "webhooks", "inbound_webhooks"} {
		record := testkit.Record(t, app, collection, map[string]any{"tenant": first, "name": "A", "url": "https://example.com", "access": "full"})
		record, err := app.FindRecordById(collection, record.Id)
		if err != nil {
			t.Fatal(err)
		}
		record.Set("tenant", second)
		if err := app.Save(record); err == nil {
			t.Errorf("a record of %s moves to another tenant", collection)
		}
	}
}

func TestDeletingATenant(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	gone, kept := testkit.Tenant(t, app, "Gone"), testkit.Tenant(t, app, "Kept")
	for _, tenantID := range []string{gone, kept} {
		key := testkit.Key(t, app, tenantID)
		webhook := testkit.Webhook(t, app, tenantID, "https://example.com", "a long secret")
		testkit.Inbound(t, app, tenantID, "full", nil)
		testkit.Record(t, app, "contacts", map[string]any{"tenant": tenantID, "name": "A", "externalId": key[:10]})
		eventID := testkit.Write(t, app, tenantID, "x", event.ContactCreated)
		delivery := testkit.Record(t, app, "deliveries", map[string]any{"tenant": tenantID, "event": eventID, "webhook": webhook, "status": "pending"})
		testkit.Record(t, app, "delivery_attempts", map[string]any{"delivery": delivery.Id, "number": 1})
		inbound, err := app.FindFirstRecordByData("inbound_webhooks", "tenant", tenantID)
		if err != nil {
			t.Fatal(err)
		}
		testkit.Record(t, app, "inbound_requests", map[string]any{"tenant": tenantID, "inbound": inbound.Id, "status": 200})
	}
	testkit.FanOut(t, app)
	before := rowCounts(t, app)
	record, err := app.FindRecordById("tenants", gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	if _, err := app.FindRecordById("tenants", gone); err == nil {
		t.Error("the tenant is there until all that belonged to it is gone")
	}
	if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil {
		t.Fatal(err)
	}
	for table, count := range rowCounts(t, app) {
		if count*2 != before[table] {
			t.Errorf("%s had %d rows and has %d", table, before[table], count)
		}
	}
}

func rowCounts(t *testing.T, app core.App) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"tenants", "api_keys", "contacts", "webhooks", "inbound_webhooks", "events", "deliveries", "delivery_attempts", "inbound_requests", "_contactSearch"} {
		var count int
		if err := app.DB().Select("count(*)").From(table).Row(&count); err != nil {
			t.Fatal(err)
		}
		if count == 0 {
			t.Errorf("%s is empty", table)
		}
		counts[table] = count
	}
	return counts
}

func TestSchemaGuard(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	client := admin(t, app)
	read := func(name string) map[string]any {
		return client.Do("GET", "/api/collections/"+name, "").JSON()
	}
	patch := func(name string, change func(map[string]any)) int {
		collection := read(name)
		change(collection)
		body, err := json.Marshal(collection)
		if err != nil {
			t.Fatal(err)
		}
		return client.Do("PATCH", "/api/collections/"+name, string(body)).Status
	}
	field := func(collection map[string]any, name string) map[string]any {
		for _, f := range collection["fields"].([]any) {
			if f.(map[string]any)["name"] == name {
				return f.(map[string]any)
			}
		}
		return nil
	}
	for what, status := range map[string]int{
		"adding a field": patch("contacts", func(c map[string]any) {
			c["fields"] = append(c["fields"].([]any), map[string]any{"name": "score", "type": "number"})
		}),
		"adding an index": patch("contacts", func(c map[string]any) {
			c["indexes"] = append(c["indexes"].([]any), "CREATE INDEX `mine` ON `contacts` (`score`)")
		}),
	} {
		if status != 200 {
			t.Errorf("%s gives %d", what, status)
		}
	}
	for what, status := range map[string]int{
		"a reserved name": patch("contacts", func(c map[string]any) {
			c["fields"] = append(c["fields"].([]any), map[string]any{"name": "createdAt", "type": "text"})
		}),
		"loosening a field":   patch("contacts", func(c map[string]any) { field(c, "name")["max"] = 9999 }),
		"renaming a field":    patch("contacts", func(c map[string]any) { field(c, "name")["name"] = "title" }),
		"freeing a field":     patch("contacts", func(c map[string]any) { field(c, "name")["system"] = false }),
		"showing a hash":      patch("api_keys", func(c map[string]any) { field(c, "hash")["hidden"] = false }),
		"dropping the fields": patch("contacts", func(c map[string]any) { c["fields"] = []any{} }),
		"dropping an index":   patch("contacts", func(c map[string]any) { c["indexes"] = []any{} }),
		"opening the rules":   patch("contacts", func(c map[string]any) { c["listRule"] = "" }),
		"renaming":            patch("contacts", func(c map[string]any) { c["name"] = "people" }),
		"deleting":            client.Do("DELETE", "/api/collections/contacts", "").Status,
		"importing": client.Do("PUT", "/api/collections/import",
			`{"collections":[{"id":"`+read("api_keys")["id"].(string)+`","name":"api_keys","type":"base","listRule":""}]}`).Status,
	} {
		if status != 400 {
			t.Errorf("%s gives %d", what, status)
		}
	}
	if field(read("contacts"), "score") == nil || read("api_keys")["listRule"] == "" {
		t.Error("the admin's own field is gone, or a rule is open")
	}
	if status := patch("contacts", func(c map[string]any) {
		c["indexes"] = c["indexes"].([]any)[:4]
		c["fields"] = c["fields"].([]any)[:9]
	}); status != 200 {
		t.Errorf("removing what the admin added gives %d", status)
	}
}

// The order of (createdAt, id) is the commit order, even if the clock stops or goes back.
func TestContactsSortInCommitOrder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenantID := testkit.Tenant(t, app, "Acme")
	future := time.Now().Add(time.Hour).UTC().Format("2006-01-02 15:04:05.000Z")
	testkit.Record(t, app, "contacts", map[string]any{"id": "zzzzzzzzzzzzzzz", "tenant": tenantID, "name": "first"})
	if _, err := app.NonconcurrentDB().NewQuery("UPDATE contacts SET created = {:at}").Bind(dbx.Params{"at": future}).Execute(); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		err := app.RunInTransaction(func(tx core.App) error {
			_, err := testkit.Create(tx, tenantID, contact.Changes{"name": "next"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var ordered bool
	err := app.DB().NewQuery("SELECT group_concat(a, ',') = group_concat(b, ',') FROM (SELECT " +
		"row_number() OVER (ORDER BY rowid) a, row_number() OVER (ORDER BY created, id) b FROM contacts ORDER BY rowid)").Row(&ordered)
	if err != nil || !ordered {
		t.Errorf("the contacts are out of order (%v)", err)
	}
}
