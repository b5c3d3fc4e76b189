package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// A machine that may have been replaced rejects all requests, also reads: its data may be old.
func TestFencedMachineRefusesRequests(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/contacts"
	a, store, copied := openReplicated(t, time.Second, 5*time.Second)
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, testkit.Tenant(t, a, "Acme")))
	testkit.Eventually(t, "the first snapshot", func() bool {
		return client.Do("POST", path, `{"name":"Ada"}`, "Idempotency-Key", "ada").Status == http.StatusCreated
	})
	if got := client.Do("GET", path, ""); got.Status != http.StatusOK {
		t.Errorf("while it serves a read is %d %s", got.Status, got.Body)
	}
	store.Stall()
	<-copied.Lost()
	for _, method := range []string{"GET", "POST"} {
		if got := client.Do(method, path, `{"name":"Grace"}`); got.Status != http.StatusServiceUnavailable || got.Code() != "standby" {
			t.Errorf("once it is fenced %s is %d %s", method, got.Status, got.Body)
		}
	}
}

// A machine that loses its lease while a write waits for the replica does not say that nothing was written: the write
// is stored, and can reach the next machine.
func TestWritesOfAFencedMachine(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/contacts"
	a, store, copied := openReplicated(t, time.Minute, 5*time.Second)
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, testkit.Tenant(t, a, "Acme")))
	testkit.Eventually(t, "the first snapshot", func() bool { return copied.Acknowledge(t.Context()) == nil })
	known, _ := client.Do("PUT", path+"/by-external-id/1", `{"name":"Ada"}`).Data()["id"].(string)
	store.Stall()
	writes := map[string]func() *testkit.Answer{
		"a create": func() *testkit.Answer { return client.Do("POST", path, `{"name":"Grace"}`) },
		"a change": func() *testkit.Answer { return client.Do("PATCH", path+"/"+known, `{"name":"Ada L."}`) },
	}
	answers := map[string]chan *testkit.Answer{}
	for what, write := range writes {
		answer := make(chan *testkit.Answer, 1)
		answers[what] = answer
		go func() { answer <- write() }()
	}
	testkit.Eventually(t, "the writes", func() bool {
		return testkit.Count(t, a, "SELECT count(*) FROM contacts WHERE name IN ('Grace', 'Ada L.')", nil) == 2
	})
	<-copied.Lost()
	store.Resume()
	for what, answer := range answers {
		expectUnreplicated(t, what, <-answer)
	}
	if got := writes["a create"](); got.Code() != "standby" {
		t.Errorf("once it is fenced, a create is %d %s", got.Status, got.Body)
	}
}

// A read that a machine began while it served is not answered once another machine may have written.
func TestReadsOfAFencedMachine(t *testing.T) {
	t.Parallel()
	const path = "/api/ext/v1/contacts"
	a, store, copied := openReplicated(t, time.Second, 5*time.Second)
	a.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.BindFunc(func(e *core.RequestEvent) error {
			if e.Request.Header.Get("X-Late") != "" {
				store.Stall()
				<-copied.Lost()
			}
			return e.Next()
		})
		return e.Next()
	})
	client := testkit.NewClient(t, testkit.Serve(t, a), testkit.Key(t, a, testkit.Tenant(t, a, "Acme")))
	testkit.Eventually(t, "the first snapshot", func() bool { return client.Do("GET", path, "").Status == http.StatusOK })
	if got := client.Do("GET", path, "", "X-Late", "1"); got.Code() != "standby" || got.Header.Get("Retry-After") == "" || got.Header.Get("Etag") != "" {
		t.Errorf("once it is fenced, a read that began before is %d %s", got.Status, got.Body)
	}
}
