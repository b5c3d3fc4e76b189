package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"contactbase/internal/activity"
	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// exchange is a message and its response's code, 0 for a result.
type exchange struct {
	name, message, id string
	status, code      int
	header            []string
}

// called returns a tool call with another id and additional parameters.
func called(id, parameters string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + parameters + `}`
}

var (
	// goodCalls reach their tools, whatever the result.
	goodCalls = []exchange{
		{"a number", called("7", `{"name":"search_contacts"}`), "7", 200, 0, nil},
		{"a large number", called("9007199254740993", `{"name":"search_contacts"}`), "9007199254740993", 200, 0, nil},
		{"a larger number", called("-123456789012345678901234567890", `{"name":"search_contacts"}`), "-123456789012345678901234567890", 200, 0, nil},
		{"a fraction", called("1.50e+3", `{"name":"search_contacts"}`), "1.50e+3", 200, 0, nil},
		{"a string", called(`"a\u0041\"\n"`, `{"name":"search_contacts"}`), `"a\u0041\"\n"`, 200, 0, nil},
		{"two ids", called(`7, "id" : "8"`, `{"name":"search_contacts"}`), `"8"`, 200, 0, nil},
		{"an unknown id", called("7", `{"name":"get_contact","arguments":{"id":"a/b"}}`), "7", 200, 0, nil},
	}
	// badCalls name a tool and are invalid.
	badCalls = []exchange{
		{"an object for an id", called(`{"a":1}`, `{"name":"search_contacts"}`), "null", 400, -32600, nil},
		{"a bool for an id", called("true", `{"name":"search_contacts"}`), "null", 400, -32600, nil},
		{"null for an id", called("null", `{"name":"search_contacts"}`), "null", 400, -32600, nil},
		{"no id", strings.Replace(search, `"id":1,`, "", 1), "null", 400, -32600, nil},
		{"another version", strings.Replace(search, "2.0", "1.0", 1), "1", 400, -32600, nil},
		{"no version", strings.Replace(search, `"jsonrpc":"2.0",`, "", 1), "1", 400, -32600, nil},
		{"a list of arguments", called("9007199254740993", `{"name":"search_contacts","arguments":[1]}`), "9007199254740993", 200, -32602, nil},
		{"a list of parameters", called("7", `["search_contacts"]`), "7", 200, -32602, nil},
		{"an unknown tool", called("7", `{"name":"forget_contact"}`), "7", 200, -32602, nil},
		{"an unknown protocol", search, "1", 400, -32600, []string{"Mcp-Protocol-Version", "2020-01-01"}},
		{"no stream accepted", search, "1", 400, -32600, []string{"Accept", "application/json"}},
	}
	otherMessages = []exchange{
		{"a list of tools", listTools, "1", 200, 0, nil},
		{"an unknown method", strings.Replace(listTools, "list", "lost", 1), "1", 400, -32601, nil},
		{"nothing", "{}", "null", 400, -32600, nil},
	}
)

// Protocol errors are JSON-RPC error objects, and every response has its message's id, byte for byte. Whatever its
// content, a message costs one request of the key's limit and counts once. Over the limit, only a call that reaches
// its tool gets a tool result.
func TestMessages(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	const burst = 2
	for kind, exchanges := range map[string][]exchange{"good": goodCalls, "bad": badCalls, "other": otherMessages} {
		for _, x := range exchanges {
			tenant := testkit.Record(t, i, "tenants", map[string]any{"name": "Limited", "apiEnabled": true, "rateLimit": burst * 6}).Id
			key := testkit.Key(t, i, tenant)
			answer := i.post(t, key, x.message, x.header...)
			var object struct {
				JSONRPC string
				ID      json.RawMessage
				Result  json.RawMessage
				Error   *struct {
					Code    int
					Message string
				}
			}
			err := json.Unmarshal(answer.Body, &object)
			code := 0
			if object.Error != nil {
				code = object.Error.Code
			}
			if err != nil || answer.Status != x.status || object.JSONRPC != "2.0" || string(object.ID) != x.id || code != x.code ||
				(object.Result == nil) == (object.Error == nil) || answer.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %d %s (%v)", x.name, answer.Status, answer.Body, err)
			}
			if left := testkit.NewClient(t, i.base, key).Do("GET", "/api/ext/v1/contacts", "").Header.Get("RateLimit"); !strings.Contains(left, "r=0;") {
				t.Errorf("%s: of two requests there are left %s", x.name, left)
			}
			limited := i.post(t, key, x.message, x.header...)
			isTold := limited.Status == 200 && strings.Contains(string(limited.Body), `rate_limited: This key has made too many requests. Try again in`) && strings.Contains(string(limited.Body), `"isError":true`)
			isRefused := limited.Status == 429 && limited.Code() == "rate_limited" && limited.Header.Get("Retry-After") != ""
			if kind == "good" && !isTold || kind != "good" && !isRefused {
				t.Errorf("%s beyond the limit: %d %s", x.name, limited.Status, limited.Body)
			}
			testkit.CountActivity(t, i)
			want := activity.Calls{Answered: 1, Limited: 1} // the list of contacts, and the limited message
			if x.status == 200 {
				want.Answered++
			} else {
				want.Refused++
			}
			if got := i.calls(t, key); got != want {
				t.Errorf("%s: counted are %+v, not %+v", x.name, got, want)
			}
		}
	}
}

// calls returns the requests counted for the key.
func (i *installation) calls(t *testing.T, key string) activity.Calls {
	t.Helper()
	record, err := i.FindFirstRecordByData("api_keys", "hash", credential.Hash(key))
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Calls(t, i, record.Id)
}

// A message that costs nothing is not counted, and a tool call counts as the tool's request.
func TestCallsOfMessages(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	key, reader := testkit.Key(t, i, i.tenant), testkit.Key(t, i, i.tenant, string(credential.ContactsRead))
	i.post(t, key, search, "Origin", "https://evil.example") // costs nothing
	i.post(t, key, "nonsense")
	i.post(t, key, called("1", `{"name":"create_contact","arguments":{"phone":"030"}}`))
	i.post(t, key, called("1", `{"name":"get_contact","arguments":{"id":"0mm8yqpxck3w9xa"}}`))
	i.post(t, key, search)
	i.post(t, reader, called("1", `{"name":"create_contact","arguments":{"name":"Ada"}}`))
	testkit.CountActivity(t, i)
	for key, want := range map[string]activity.Calls{key: {Answered: 1, Refused: 3}, reader: {Refused: 1}} {
		if got := i.calls(t, key); got != want {
			t.Errorf("counted are %+v, not %+v", got, want)
		}
	}
}
