package routes_test

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"contactbase/internal/activity"
	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// Each request counts for its key, even without the permission. Rejected ones are stored, with nothing that the
// client sent except the request id.
func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	began := time.Now()
	client, f := newAPI(t)
	reader := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, string(credential.ContactsRead)))
	client.Do("POST", contactsPath, `{"name":"Ada Lovelace"}`)
	client.Do("GET", contactsPath+"?q=secret", "")
	client.Do("GET", contactsPath+"/0mm8yqpxck3w9xa?secret=1", "", "X-Request-Id", "mine")
	client.Do("GET", contactsPath+"/secret@example.com", "")
	client.Do("GET", contactsPath+"?secret=1", "")
	client.Do("PUT", contactsPath+"/by-external-id/secret%2F1815", `{"email":"no address"}`)
	reader.Do("POST", contactsPath, `{"name":"secret"}`)
	testkit.NewClient(t, f.base, "cmk_wrong").Do("GET", contactsPath, "")
	testkit.NewClient(t, f.base, "").Do("BREW", contactsPath, "")
	client.Do("POST", "/api/hooks/secret", "{}") // not an API request
	client.Do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Accept", "application/json, text/event-stream")

	revoked, expired := endedKeys(t, f)

	testkit.CountActivity(t, f.App)
	now := time.Now()
	of := func(key string) (counts activity.Calls, kept string) {
		t.Helper()
		calls, err := activity.FailedCalls(f.App, key, activity.CallFilter{}, now)
		for _, c := range calls {
			kept += fmt.Sprintln(c.Method, strings.TrimPrefix(c.Path, contactsPath), c.Status, strings.TrimSpace(c.Code+" "+c.Parameters))
			if c.RequestID == "" || c.At.Before(began.Truncate(time.Second)) {
				t.Errorf("kept is %+v", c)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return testkit.Calls(t, f.App, key), kept
	}
	keyID := func(key string) string {
		t.Helper()
		record, err := f.App.FindFirstRecordByData("api_keys", "hash", credential.Hash(key))
		if err != nil {
			t.Fatal(err)
		}
		return record.Id
	}
	for name, want := range map[string]struct {
		key, kept string
		counts    activity.Calls
	}{
		"a revoked one":  {revoked, "PATCH /x 401 invalid_api_key\n", activity.Calls{Answered: 1, Refused: 1}},
		"an expired one": {expired, "GET  401 invalid_api_key\n", activity.Calls{Answered: 1, Refused: 1}},
		"the key": {keyID(client.Header.Get("X-API-Key")), "PUT /by-external-id/… 400 validation_failed\nGET  400 invalid_parameter secret\n" +
			"GET /… 404 not_found\nGET /0mm8yqpxck3w9xa 404 not_found\n", activity.Calls{Answered: 3, Refused: 4}},
		"one that may only read": {keyID(reader.Header.Get("X-API-Key")), "POST  403 insufficient_permission\n", activity.Calls{Refused: 1}},
		"none":                   {"", "GET  401 invalid_api_key\nother  405 method_not_allowed\nGET  401 invalid_api_key\n", activity.Calls{Refused: 3}},
	} {
		counts, kept := of(want.key)
		if counts != want.counts || kept != want.kept {
			t.Errorf("of %s counted are %+v, and kept\n%s", name, counts, kept)
		}
	}
	slowest, err := activity.SlowestCalls(f.App, keyID(client.Header.Get("X-API-Key")), activity.CallFilter{}, now)
	paths := map[string]int{}
	for _, call := range slowest {
		paths[strings.TrimPrefix(call.Path, contactsPath)]++
	}
	if err != nil || !maps.Equal(paths, map[string]int{"": 2, "/mcp": 1}) {
		t.Errorf("the slowest are %v (%v)", slowest, err)
	}
	calls, err := activity.FailedCalls(f.App, keyID(client.Header.Get("X-API-Key")), activity.CallFilter{}, now)
	if err != nil || calls[3].RequestID != "mine" {
		t.Errorf("the request id is %q (%v)", calls[3].RequestID, err)
	}
}

// endedKeys returns the ids of a revoked and an expired key, each used before and after its end. Clients cannot tell
// them from an unknown key.
func endedKeys(t *testing.T, f *fixture) (revoked, expired string) {
	t.Helper()
	stranger := testkit.NewClient(t, f.base, credential.Mint(credential.KeyPrefix)).Do("GET", contactsPath, "", "X-Request-Id", "same")
	end := func(field, method, path string) string {
		plain := testkit.Key(t, f.App, f.tenant)
		record, err := f.App.FindFirstRecordByData("api_keys", "hash", credential.Hash(plain))
		if err != nil {
			t.Fatal(err)
		}
		client := testkit.NewClient(t, f.base, plain)
		client.Do("GET", contactsPath, "")
		record.Set(field, time.Now().Add(-time.Hour))
		if err := f.App.Save(record); err != nil {
			t.Fatal(err)
		}
		answer := client.Do(method, contactsPath+path, "", "X-Request-Id", "same")
		answer.Header.Del("Date")
		stranger.Header.Del("Date")
		if answer.Status != 401 || !bytes.Equal(answer.Body, stranger.Body) || !reflect.DeepEqual(answer.Header, stranger.Header) {
			t.Errorf("%s, the caller is told %v %s, and a stranger %v %s", field, answer.Header, answer.Body, stranger.Header, stranger.Body)
		}
		return record.Id
	}
	return end("revoked", "PATCH", "/x"), end("expires", "GET", "")
}
