package mcp_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"contactbase/internal/testkit"
)

// FuzzMessage posts any message. The response is one of JSON-RPC, with the id of the message if it has one, or an
// error of the API.
func FuzzMessage(f *testing.F) {
	app := testkit.NewApp(f)
	tenant := testkit.Record(f, app, "tenants", map[string]any{"name": "Acme", "apiEnabled": true, "rateLimit": 100_000_000})
	i, key := &installation{app, testkit.Serve(f, app), tenant.Id}, testkit.Key(f, app, tenant.Id)
	for _, exchanges := range [][]exchange{goodCalls, badCalls, otherMessages} {
		for _, x := range exchanges {
			f.Add(x.message)
		}
	}
	for _, message := range []string{
		"", "null", "[]", "{", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		called("1", `{"name":"create_contact","arguments":{"name":"Ada","email":"a@b"}}`), called("1", `{"name":"update_contact","arguments":{"id":"x","name":null}}`),
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		answer := i.post(t, key, message)
		if answer.Status == http.StatusAccepted {
			return
		}
		var object struct {
			JSONRPC       string
			ID            json.RawMessage
			Result, Error any
		}
		if err := json.Unmarshal(answer.Body, &object); err != nil || answer.Status != 200 && (answer.Status < 400 || answer.Status >= 500) {
			t.Fatalf("%q gives %d %s: %v", message, answer.Status, answer.Body, err)
		}
		if answer.Code() == "" && (object.JSONRPC != "2.0" || len(object.ID) == 0 || (object.Result == nil) == (object.Error == nil)) {
			t.Errorf("%q gives %d %s", message, answer.Status, answer.Body)
		}
	})
}
