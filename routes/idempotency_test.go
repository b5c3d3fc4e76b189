package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

func TestIdempotency(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	const body = `{"name":"Ada"}`
	first := client.Do("POST", contactsPath, body, "Idempotency-Key", "k-1")
	for _, key := range []string{"k-1", `"k-1"`} {
		again := client.Do("POST", contactsPath, body, "Idempotency-Key", key)
		if again.Status != 201 || string(again.Body) != string(first.Body) || again.Header.Get("Idempotency-Replayed") != "true" ||
			again.Header.Get("Location") != first.Header.Get("Location") || again.Header.Get("ETag") != first.Header.Get("ETag") {
			t.Errorf("a repeat with %s gives %d %s %v", key, again.Status, again.Body, again.Header)
		}
	}
	if first.Header.Get("Idempotency-Replayed") != "" {
		t.Error("the first answer says that it is a repeat")
	}
	if got := client.Do("POST", contactsPath, `{"name":"Bob"}`, "Idempotency-Key", "k-1"); got.Status != 422 || got.Code() != "idempotency_key_reused" {
		t.Errorf("another body gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("POST", contactsPath, `{"phone":"x"}`, "Idempotency-Key", "k-2"); got.Status != 400 {
		t.Errorf("an invalid body gives %d", got.Status)
	}
	if got := client.Do("POST", contactsPath, body, "Idempotency-Key", "k-2"); got.Status != 201 || got.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the corrected body gives %d %s", got.Status, got.Body)
	}
	for _, key := range []string{`"k-1`, `k-1"`, `"`} { // a quote at one end is part of the key
		if got := client.Do("POST", contactsPath, body, "Idempotency-Key", key); got.Status != 201 || got.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("the key %s gives %d %s", key, got.Status, got.Body)
		}
	}
	for _, key := range []string{strings.Repeat("ü", 255), `"` + strings.Repeat("a", 255) + `"`} {
		if got := client.Do("POST", contactsPath, body, "Idempotency-Key", key); got.Status != 201 {
			t.Errorf("a key of 255 characters gives %d %s", got.Status, got.Body)
		}
	}
	for _, key := range []string{" ", `""`, strings.Repeat("a", 256), `"` + strings.Repeat("ü", 256) + `"`} {
		if got := client.Do("POST", contactsPath, body, "Idempotency-Key", key); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("the key %q gives %d %s", key, got.Status, got.Body)
		}
	}
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant))
	if got := other.Do("POST", contactsPath, `{"name":"Bob"}`, "Idempotency-Key", "k-1"); got.Status != 201 {
		t.Errorf("the same key under another API key gives %d", got.Status)
	}
	total, err := f.App.CountRecords("contacts")
	if err != nil || total != 8 {
		t.Errorf("there are %d contacts, not 8 (%v)", total, err)
	}

	// a repeat does not undo a deletion
	gone := client.Do("POST", contactsPath, `{"name":"Eve"}`, "Idempotency-Key", "k-3").Data()["id"].(string)
	record, err := f.App.FindRecordById("contacts", gone)
	if err == nil {
		err = f.App.Delete(record)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"name":"Eve"}`, body} {
		if got := client.Do("POST", contactsPath, body, "Idempotency-Key", "k-3"); got.Status != 422 || got.Code() != "idempotency_key_reused" {
			t.Errorf("after the deletion of its contact %s gives %d %s", body, got.Status, got.Body)
		}
	}
	if left := testkit.Count(t, f.App, "SELECT count(*) FROM _idempotency WHERE body LIKE '%Eve%'", nil); left != 0 {
		t.Error("the deleted contact is in a remembered response")
	}

	// another process remembers, and forgets after 24 hours
	secondBase := testkit.Serve(t, testkit.Reopen(t, f.App))
	second := testkit.NewClient(t, secondBase, client.Header.Get("X-API-Key"))
	if got := second.Do("POST", contactsPath, body, "Idempotency-Key", "k-1"); got.Header.Get("Idempotency-Replayed") != "true" {
		t.Error("another server does not remember the key")
	}
	if _, err := f.App.NonconcurrentDB().NewQuery("UPDATE _idempotency SET created = '2020-01-01 00:00:00.000Z'").Execute(); err != nil {
		t.Fatal(err)
	}
	if got := client.Do("POST", contactsPath, `{"name":"Bob"}`, "Idempotency-Key", "k-1"); got.Status != 201 || got.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the key after 24 hours gives %d %s", got.Status, got.Body)
	}
}

// Of many concurrent requests with one key, one creates; the others get its response or are told to wait.
func TestIdempotencyUnderConcurrency(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	answers := make(chan *testkit.Answer)
	for range 16 {
		go func() { answers <- client.Do("POST", contactsPath, `{"name":"Ada"}`, "Idempotency-Key", "k") }()
	}
	for range 16 {
		if answer := <-answers; answer.Status != 201 && answer.Code() != "idempotency_key_in_use" {
			t.Errorf("got %d %s", answer.Status, answer.Body)
		}
	}
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 1 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
}

// Nobody waits for an invalid request, and it waits for nobody: it is answered while another one writes.
func TestInvalidRequestsDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	merge := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location() + "/merge"
	key := client.Do("POST", contactsPath, `{"name":"Bob"}`, "Idempotency-Key", "k")
	err := f.App.RunInTransaction(func(tx core.App) error {
		if _, err := tx.DB().NewQuery("UPDATE tenants SET name = 'Writing'").Execute(); err != nil {
			return err
		}
		for _, tt := range []struct{ path, body, key, code string }{
			{contactsPath, `{"name":1}`, "", "validation_failed"},
			{contactsPath, `{"name":1}`, "new", "validation_failed"},
			{contactsPath, `{"name":1}`, "k", "idempotency_key_reused"},
			{contactsPath + "/batch", `{"items":[]}`, "new", "validation_failed"},
			{merge, `{"from":[]}`, "new", "validation_failed"},
		} {
			if got := client.Do("POST", tt.path, tt.body, "Idempotency-Key", tt.key); got.Code() != tt.code {
				t.Errorf("POST %s %s with the key %q gives %d %s", tt.path, tt.body, tt.key, got.Status, got.Body)
			}
		}
		return nil
	})
	if err != nil || key.Status != http.StatusCreated {
		t.Errorf("got %d, %v", key.Status, err)
	}
}
