package routes_test

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
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/retention"
	"contactbase/internal/testkit"
)

// require adds an admin's collection that requires the contact, and another that cascades with it and is
// required by a third.
func require(t *testing.T, app core.App, contactID, cascadingID string) {
	t.Helper()
	about := core.RelationField{Name: "about", Required: true, MaxSelect: 1}
	cascading := about
	cascading.CascadeDelete = true
	testkit.AddRelated(t, app, "invoices", "contacts", about)
	testkit.AddRelated(t, app, "notes", "contacts", cascading)
	testkit.AddRelated(t, app, "signatures", "notes", about)
	testkit.Record(t, app, "invoices", map[string]any{"about": contactID})
	note := testkit.Record(t, app, "notes", map[string]any{"about": cascadingID})
	testkit.Record(t, app, "signatures", map[string]any{"about": note.Id})
}

// A deletion that a relation prevents fails alone: the other items of the request are applied, and concurrent writers
// are not affected.
func TestForbiddenDeletionsFailAlone(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	sender := newSender(t, f, "full", nil)
	create := func(name string) string {
		return client.Do("POST", "/api/ext/v1/contacts", fmt.Sprintf(`{"name":%q}`, name)).Data()["id"].(string)
	}
	used, indirectly, free := create("Used"), create("Used indirectly"), create("Free")
	require(t, f.App, used, indirectly)

	for id, relation := range map[string]string{used: "about of the collection invoices", indirectly: "the collection signatures"} {
		answer := sender.expect("400 in_use", fmt.Sprintf(`{"action":"delete","id":%q}`, id))
		if message := answer.JSON()["error"].(map[string]any)["message"].(string); !strings.Contains(message, relation) {
			t.Errorf("the message %q does not name the relation %s", message, relation)
		}
	}
	answer := sender.expect("created:1 deleted:1 failed:2",
		fmt.Sprintf(`[{"action":"delete","id":%q},{"name":"New"},{"action":"delete","id":%q},{"action":"delete","id":%q}]`, used, indirectly, free))
	results := answer.Data()["results"].([]any)
	for _, i := range []int{0, 2} {
		if fault := results[i].(map[string]any)["error"].(map[string]any); fault["code"] != "in_use" {
			t.Errorf("item %d fails with %v", i, fault)
		}
	}
	for id, want := range map[string]int{used: 200, indirectly: 200, free: 404} {
		if got := client.Do("GET", "/api/ext/v1/contacts/"+id, "").Status; got != want {
			t.Errorf("the contact %s answers %d instead of %d", id, got, want)
		}
	}
	var notes int
	if err := f.App.DB().Select("count(*)").From("notes").Row(&notes); err != nil || notes != 1 {
		t.Errorf("%d notes are left, %v", notes, err)
	}

	stranger := testkit.Record(t, f.App, "tenants", map[string]any{"name": "Stranger", "apiEnabled": true, "rateLimit": 1_000_000})
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, stranger.Id))
	var writers, refused sync.WaitGroup
	var done atomic.Bool
	for range 8 {
		writers.Go(func() {
			for !done.Load() {
				if got := other.Do("POST", "/api/ext/v1/contacts", `{"name":"Innocent"}`); got.Status != 201 && got.Status != 429 {
					t.Errorf("a stranger's request is answered %d %s", got.Status, got.Body)
				}
			}
		})
	}
	for range 5 {
		refused.Go(func() {
			for range 3 {
				if got := sender.Do("POST", sender.path, fmt.Sprintf(`{"action":"delete","id":%q}`, used)); got.Status != 400 && got.Status != 429 {
					t.Errorf("a forbidden deletion is answered %d %s", got.Status, got.Body)
				}
			}
		})
	}
	refused.Wait()
	done.Store(true)
	writers.Wait()
}

// lateBody is a request body that arrives only after the request was authorized and something else happened.
type lateBody struct {
	*strings.Reader
	once sync.Once
	then func()
}

func (b *lateBody) Read(into []byte) (int, error) {
	b.once.Do(b.then)
	return b.Reader.Read(into)
}

// The transaction repeats the checks of a request: while it waits for the writer lock, or for its body, it must not
// write to a deleted tenant or with a key that has ended.
func TestWhatLetARequestInIsCheckedAgain(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	base := testkit.Serve(t, app)
	httpClient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	for what, end := range map[string]func(tenant, key *core.Record) error{
		"the tenant is deleted": func(tenant, _ *core.Record) error {
			return errors.Join(app.Delete(tenant), retention.Sweep(t.Context(), app, testkit.Deliveries(app)))
		},
		"the feature is switched off": func(tenant, _ *core.Record) error {
			tenant.Set("apiEnabled", false)
			return app.Save(tenant)
		},
		"the key is revoked": func(_, key *core.Record) error {
			key.Set("revoked", time.Now())
			return app.Save(key)
		},
	} {
		for _, request := range []struct{ method, path string }{{"POST", "/contacts"}, {"PATCH", "/contacts/<known>"}, {"POST", "<hook>"}} {
			if request.path == "<hook>" && what == "the key is revoked" {
				continue
			}
			tenant := testkit.Record(t, app, "tenants", map[string]any{"name": what, "apiEnabled": true})
			key := testkit.Record(t, app, "api_keys", map[string]any{"tenant": tenant.Id, "name": "late"})
			known, err := testkit.Create(app, tenant.Id, contact.Changes{"name": "Known"})
			if err != nil {
				t.Fatal(err)
			}
			address := base + "/api/ext/v1" + strings.Replace(request.path, "<known>", known.ID, 1)
			if request.path == "<hook>" {
				address = base + "/api/hooks/" + testkit.Inbound(t, app, tenant.Id, "full", nil)
			}
			body := &lateBody{Reader: strings.NewReader(`{"name":"Late"}`), then: func() {
				if err := end(fresh(t, app, tenant), fresh(t, app, key)); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}}
			late, err := http.NewRequestWithContext(t.Context(), request.method, address, body)
			if err != nil {
				t.Fatal(err)
			}
			late.ContentLength = 15
			late.Header.Set("X-Api-Key", credential.Minted(key))
			late.Header.Set("Content-Type", "application/json")
			late.Header.Set("Expect", "100-continue") // arrives once the request was authorized
			response, err := httpClient.Do(late)
			if err != nil {
				t.Fatal(err)
			}
			answer := testkit.ReadAnswer(t, response)
			if answer.Status != 401 && answer.Status != 403 || request.path == "<hook>" && answer.Code() == "invalid_api_key" {
				t.Errorf("%s while %s %s is under way: %d %s", what, request.method, request.path, answer.Status, answer.Body)
			}
			var written int
			if err := app.DB().Select("count(*)").From("contacts").Where(dbx.HashExp{"name": "Late"}).Row(&written); err != nil || written != 0 {
				t.Errorf("%s, and %s %s writes all the same, %v", what, request.method, request.path, err)
			}
			if what == "the tenant is deleted" {
				wantNothing(t, app, tenant.Id)
			}
		}
	}
}

// fresh returns the record as stored.
func fresh(t *testing.T, app core.App, record *core.Record) *core.Record {
	t.Helper()
	found, err := app.FindRecordById(record.Collection(), record.Id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantNothing(t *testing.T, app core.App, tenantID string) {
	t.Helper()
	for _, table := range []string{"contacts", "events", "deliveries", "webhooks", "api_keys", "inbound_webhooks", "inbound_requests", "_contactSearch"} {
		var left int
		err := app.DB().Select("count(*)").From(table).Where(dbx.HashExp{"tenant": tenantID}).Row(&left)
		if err != nil || left != 0 {
			t.Errorf("%s has %d rows of a tenant that is gone, %v", table, left, err)
		}
	}
}

// A tenant that is deleted during many writes leaves nothing behind.
func TestDeletedTenantsLeaveNothing(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	base := testkit.Serve(t, app)
	for round := range 3 {
		tenantID := testkit.Record(t, app, "tenants", map[string]any{"name": fmt.Sprint("Gone ", round), "apiEnabled": true, "rateLimit": 1_000_000}).Id
		client := testkit.NewClient(t, base, testkit.Key(t, app, tenantID))
		testkit.Webhook(t, app, tenantID, "https://example.com", "a long secret")
		known := client.Do("POST", "/api/ext/v1/contacts", `{"name":"Known"}`).Data()["id"].(string)
		var writers sync.WaitGroup
		written := make(chan struct{}, 100_000)
		for writer := range 12 {
			token := testkit.Inbound(t, app, tenantID, "full", nil)
			writers.Go(func() {
				for status := 0; status != 401 && status != 429; { // as for an unknown key
					switch {
					case writer < 6:
						status = client.Do("POST", "/api/ext/v1/contacts", `{"name":"Late"}`, "Idempotency-Key", fmt.Sprint(writer, len(written))).Status
					case writer < 8:
						status = client.Do("PATCH", "/api/ext/v1/contacts/"+known, fmt.Sprintf(`{"company":"%d-%d"}`, writer, len(written))).Status
					default:
						answer := client.Do("POST", "/api/hooks/"+token, `{"name":"Late"}`)
						if status = answer.Status; status == 401 && answer.Code() != "invalid_token" {
							t.Errorf("a late call is answered %s", answer.Body)
						}
					}
					if status >= 500 {
						t.Errorf("a late request is answered %d", status)
					}
					written <- struct{}{}
				}
			})
		}
		for range 40 {
			<-written
		}
		record, err := app.FindRecordById("tenants", tenantID)
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Delete(record); err != nil {
			t.Fatal(err)
		}
		if err := retention.Sweep(t.Context(), app, testkit.Deliveries(app)); err != nil { // while the last requests arrive
			t.Fatal(err)
		}
		writers.Wait()
		wantNothing(t, app, tenantID)
	}
}
