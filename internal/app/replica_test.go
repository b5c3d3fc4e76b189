package app_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/replica"
	"contactbase/internal/replica/fakes3"
	objects "contactbase/internal/replica/store"
	"contactbase/internal/testkit"
)

// openReplicated returns an app whose responses wait for a store, that store, and the replica. With a lease, it
// is already serving.
func openReplicated(t *testing.T, timeout, lease time.Duration) (*app.App, *fakes3.Store, *replica.Replica) {
	t.Helper()
	store := fakes3.New()
	t.Cleanup(store.Close)
	folder := filepath.Join(t.TempDir(), "pb_data")
	copied, err := replica.Open(replica.Config{URL: store.URL("x"), Mode: replica.Sync, Interval: time.Hour, Timeout: timeout, Lease: lease}, folder)
	if err != nil {
		t.Fatal(err)
	}
	if lease > 0 {
		if err := copied.RunStandby(t.Context(), t.Logf); err != nil {
			t.Fatal(err)
		}
	}
	base := newBase(folder, "")
	a := app.New(base, app.Config{Replica: copied})
	if err := base.Bootstrap(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		store.Resume()
		err := base.OnTerminate().Trigger(&core.TerminateEvent{App: base}, func(*core.TerminateEvent) error { return base.ResetBootstrapState() })
		if err != nil && (lease == 0 || !errors.Is(err, replica.ErrFenced)) {
			t.Error(err)
		}
	})
	if err := a.RunAllMigrations(); err != nil {
		t.Fatal(err)
	}
	return a, store, copied
}

// In sync mode, no response reports success before the store has the data, whoever wrote it.
func TestAnswersWaitForTheReplica(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/contacts"
	a, store, _ := openReplicated(t, 300*time.Millisecond, 0)
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, testkit.Tenant(t, a, "Acme")))
	var known string
	testkit.Eventually(t, "the first snapshot", func() bool {
		known, _ = client.Do("POST", path, `{"name":"Ada"}`, "Idempotency-Key", "ada").Data()["id"].(string)
		return known != ""
	})
	store.Stall()
	create := func() *testkit.Answer {
		return client.Do("POST", path, `{"name":"Grace"}`, "Idempotency-Key", "grace")
	}
	held := create()
	expectUnreplicated(t, "a create", held)
	expectUnreplicated(t, "a remembered answer", create())
	expectUnreplicated(t, "an update that changes nothing", client.Do("PATCH", path+"/"+known, `{"name":"Ada"}`))
	if got := client.Do("GET", path+"/"+known, ""); got.Status != http.StatusOK {
		t.Errorf("while the store stalls a read is %d %s", got.Status, got.Body)
	}
	store.Resume()
	got := settled(t, create)
	if got.Status != http.StatusCreated || got.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("once the store continues the answer is %d %s", got.Status, got.Body)
	}
	again := func() *testkit.Answer { return client.Do("PATCH", path+"/"+known, `{"name":"Ada"}`) }
	if got := settled(t, again); got.Status != http.StatusOK {
		t.Errorf("once the store continues an update that changes nothing is %d %s", got.Status, got.Body)
	}
	if count := testkit.Count(t, a, "SELECT count(*) FROM contacts", nil); count != 2 {
		t.Errorf("there are %d contacts", count)
	}
}

// In sync mode, no error reveals data that the store does not have: the client would not ask again.
func TestErrorsWaitForTheReplica(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/contacts"
	a, store, copied := openReplicated(t, 300*time.Millisecond, 0)
	base := testkit.Serve(t, a)
	client := testkit.NewClient(t, base, testkit.Key(t, a, testkit.Tenant(t, a, "Acme")))
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	store.Stall()
	requests := []struct {
		what string
		do   func() *testkit.Answer
		code string // of the error once the store is reachable again
	}{
		{"PUT that only creates", func() *testkit.Answer {
			return client.Do("PUT", path+"/by-external-id/1", `{"name":"Bob"}`, "If-None-Match", "*")
		}, "precondition_failed"},
		{"POST with an external id", func() *testkit.Answer {
			return client.Do("POST", path, `{"name":"Cy","externalId":"2"}`)
		}, "validation_failed"},
		{"atomic batch", func() *testkit.Answer {
			return client.Do("POST", path+"/batch", `{"atomic":true,"items":[{"action":"create","contact":{"name":"Di","externalId":"3"}}]}`)
		}, "batch_failed"},
	}
	for _, r := range requests {
		expectUnreplicated(t, "a "+r.what, r.do())
		expectUnreplicated(t, "the repeat of a "+r.what, r.do())
	}
	if got := testkit.NewClient(t, base, "wrong").Do("POST", path, `{"name":"Eve"}`); got.Code() != "invalid_api_key" {
		t.Errorf("while the store stalls a wrong key is %d %s", got.Status, got.Body)
	}
	if got := client.Do("POST", path, "x", "Content-Type", "text/plain"); got.Code() != "unsupported_media_type" {
		t.Errorf("while the store stalls a wrong media type is %d %s", got.Status, got.Body)
	}
	store.Resume()
	for _, r := range requests {
		if got := settled(t, r.do); got.Code() != r.code {
			t.Errorf("once the store continues the repeat of a %s is %d %s", r.what, got.Status, got.Body)
		}
	}
}

// PocketBase's own errors also reveal stored data.
func TestErrorsOfTheDashboardWaitForTheReplica(t *testing.T) {
	t.Parallel()
	a, store, copied := openReplicated(t, 300*time.Millisecond, 0)
	admin := testkit.NewClient(t, testkit.Serve(t, a), "")
	admin.Header.Set("Authorization", superuserToken(t, a))
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	store.Stall()
	create := func() *testkit.Answer {
		return admin.Do("POST", "/api/collections/_superusers/records", `{"email":"ada@example.com","password":"1234567890","passwordConfirm":"1234567890"}`)
	}
	for range 2 {
		if got := create(); got.Status != http.StatusServiceUnavailable {
			t.Errorf("while the store stalls a superuser's account is %d %s", got.Status, got.Body)
		}
	}
	store.Resume()
	if got := settled(t, create); got.Status != http.StatusBadRequest {
		t.Errorf("once the store continues the repeat is %d %s", got.Status, got.Body)
	}
}

// The feed ends where the replica ends, for requests that wait as well.
func TestFeedEndsWhereTheReplicaDoes(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/"
	a, store, copied := openReplicated(t, 300*time.Millisecond, 0)
	tenant := testkit.Tenant(t, a, "Acme")
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, tenant))
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	read := func(query string) (events []any, cursor string) {
		t.Helper()
		got := client.Do("GET", path+"events"+query, "")
		if got.Status != http.StatusOK {
			t.Fatalf("the feed is %d %s", got.Status, got.Body)
		}
		return got.JSON()["data"].([]any), got.JSON()["cursor"].(string)
	}
	_, start := read("")
	create := func() *testkit.Answer {
		return client.Do("POST", path+"contacts", `{"name":"Ada"}`, "Idempotency-Key", "ada")
	}
	if got := settled(t, create); got.Status != http.StatusCreated {
		t.Fatalf("a create is %d %s", got.Status, got.Body)
	}
	store.Stall()
	expectUnreplicated(t, "a create", client.Do("POST", path+"contacts", `{"name":"Grace"}`))
	events, cursor := read("?after=" + start)
	if len(events) != 1 {
		t.Errorf("while the store stalls the feed has %d events", len(events))
	}
	if events, behind := read("?after=" + cursor); len(events) != 0 || behind != cursor {
		t.Errorf("while the store stalls there are %d events behind the acknowledged one, and the cursor %s", len(events), behind)
	}
	if _, end := read(""); end != cursor {
		t.Errorf("while the store stalls the feed ends at %s, not at %s", end, cursor)
	}
	waited := make(chan []any)
	go func() {
		got := client.Do("GET", path+"events?wait=30&after="+cursor, "")
		events, _ := got.JSON()["data"].([]any)
		waited <- events
	}()
	store.Resume()
	if events := <-waited; len(events) != 1 {
		t.Errorf("once the store continues who waits gets %d events", len(events))
	}
}

// Before the first upload, the end of the feed is unknown.
func TestFeedWaitsForTheFirstUpload(t *testing.T) {
	t.Parallel()
	a, store, _ := openReplicated(t, 300*time.Millisecond, 0)
	store.Stall()
	key := testkit.Key(t, a, testkit.Tenant(t, a, "Acme"))
	client := testkit.NewClient(t, testkit.Serve(t, a), key)
	for _, query := range []string{"", "?after="} {
		expectUnreplicated(t, "the feed", client.Do("GET", "/api/ext/v1/events"+query, ""))
	}
	store.Resume()
	testkit.Eventually(t, "the feed", func() bool { return client.Do("GET", "/api/ext/v1/events", "").Status == http.StatusOK })
}

// The dashboard's SQL console runs what looks like a read on the read-only connections.
func TestConsoleWaitsForTheReplica(t *testing.T) {
	t.Parallel()
	a, store, copied := openReplicated(t, 300*time.Millisecond, 0)
	testkit.Tenant(t, a, "Acme")
	admin := testkit.NewClient(t, testkit.Serve(t, a), "")
	admin.Header.Set("Authorization", superuserToken(t, a))
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	const taken = `{"query":"WITH names AS (SELECT 'Other') UPDATE tenants SET name = (SELECT * FROM names)"}`
	got := settled(t, func() *testkit.Answer { return admin.Do("POST", "/api/sql", taken) })
	if got.Status != http.StatusBadRequest {
		t.Errorf("what is taken for a read is %d %s", got.Status, got.Body)
	}
	if count := testkit.Count(t, a, "SELECT count(*) FROM tenants WHERE name = 'Other'", nil); count != 0 {
		t.Error("what is taken for a read has changed something")
	}
	rename := func() *testkit.Answer {
		return admin.Do("POST", "/api/sql", `{"query":"UPDATE tenants SET name = 'Other'"}`)
	}
	store.Stall()
	if got := rename(); got.Status != http.StatusServiceUnavailable {
		t.Errorf("while the store stalls a statement is %d %s", got.Status, got.Body)
	}
	if count := testkit.Count(t, a, "SELECT count(*) FROM tenants WHERE name = 'Other'", nil); count != 1 {
		t.Error("the statement has not changed anything")
	}
	store.Resume()
	if got := settled(t, rename); got.Status != http.StatusOK {
		t.Errorf("once the store continues a statement is %d %s", got.Status, got.Body)
	}
}

// settled repeats a request, as clients do, until the replica has acknowledged it: a busy machine may need longer
// than the timeout.
func settled(t *testing.T, do func() *testkit.Answer) (got *testkit.Answer) {
	t.Helper()
	testkit.Eventually(t, "the replica", func() bool {
		got = do()
		return got.Status != http.StatusServiceUnavailable
	})
	return got
}

// expectUnreplicated fails if a response reports success.
func expectUnreplicated(t *testing.T, what string, got *testkit.Answer) {
	t.Helper()
	if got.Status != http.StatusServiceUnavailable || got.Code() != "unreplicated" || got.Header.Get("Retry-After") == "" {
		t.Errorf("while the store stalls %s is %d %s", what, got.Status, got.Body)
	}
	for _, name := range []string{"Location", "Etag", "Idempotency-Replayed"} {
		if value := got.Header.Get(name); value != "" {
			t.Errorf("while the store stalls %s has %s: %s", what, name, value)
		}
	}
}

// No receiver learns of a contact that may be lost with the machine.
func TestDeliveriesWaitForTheReplica(t *testing.T) {
	t.Parallel()
	a, store, copied := openReplicated(t, 300*time.Millisecond, 0)
	a.BindWorkers()
	tenant := testkit.Tenant(t, a, "Acme")
	testkit.Webhook(t, a, tenant, "inspect:", "")
	testkit.Serve(t, a)
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	store.Stall()
	id := testkit.Write(t, a, tenant, "contact00000001", event.ContactCreated)
	testkit.Eventually(t, "the engine has read the event and fanned it out", func() bool {
		return testkit.Count(t, a, "SELECT count(*) FROM deliveries", nil) == 1
	})
	if got := testkit.DeliveryOf(t, a, id); got.Attempts != 0 {
		t.Errorf("while the store stalls: %+v", got)
	}
	store.Resume()
	testkit.Eventually(t, "it is delivered once the store continues", func() bool {
		return testkit.DeliveryOf(t, a, id).Status == delivery.StatusDelivered
	})
}

func TestReplicaIsWatched(t *testing.T) {
	t.Parallel()
	a, store, _ := openReplicated(t, time.Second, 0)
	a.BindWorkers()
	base := testkit.Serve(t, a)
	admin := testkit.NewClient(t, base, "")
	admin.Header.Set("Authorization", superuserToken(t, a))
	status := func() map[string]any { return admin.Do("GET", "/api/integrations/replica", "").Data() }
	testkit.Eventually(t, "the first snapshot", func() bool { return status()["state"] == "active" })
	if got := reasons(t, admin); got != "" {
		t.Errorf("the reasons are %q", got)
	}
	a.Counter.Stop() // its writes would cause a snapshot
	emptied, err := objects.Open(store.URL("x"), objects.CredentialsFrom(os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "a failed restore test", func() bool { // Litestream may be about to upload its first snapshot
		if err := emptied.DeleteFolder(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		note, err := replica.RequestRestoreTest(t.Context(), a.DataDir())
		if err != nil {
			t.Fatal(err)
		}
		return note.Error != ""
	})
	if faults := status()["faults"].([]any); len(faults) != 1 || !strings.Contains(faults[0].(string), "restore test") {
		t.Errorf("the faults are %q", faults)
	}
	testkit.Eventually(t, "the reason", func() bool { return strings.HasPrefix(reasons(t, admin), "replica: the last restore test failed") })
}

func superuserToken(t *testing.T, a *app.App) string {
	t.Helper()
	superusers, err := a.FindCollectionByNameOrId(core.CollectionNameSuperusers)
	if err != nil {
		t.Fatal(err)
	}
	superuser := core.NewRecord(superusers)
	superuser.SetEmail("root@example.com")
	superuser.SetPassword("1234567890")
	if err := a.Save(superuser); err != nil {
		t.Fatal(err)
	}
	token, err := superuser.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
