package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// installation is a served app with one tenant.
type installation struct {
	*tests.TestApp
	base   string
	tenant string
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	now := time.Now() // a stopped clock: spent limits do not refill
	app := testkit.NewAppAt(t, func() time.Time { return now })
	return &installation{app, testkit.Serve(t, app), testkit.Tenant(t, app, "Acme")}
}

// bearer adds a key to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects the SDK's own client.
func (i *installation) dial(ctx context.Context, key string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: i.base + "/mcp", HTTPClient: &http.Client{Transport: bearer(key)}, MaxRetries: -1,
	}, nil)
}

// model calls tools like a language model.
type model struct {
	*sdk.ClientSession
	t *testing.T
}

func (i *installation) model(t *testing.T, key string) *model {
	t.Helper()
	session, err := i.dial(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &model{session, t}
}

// call returns a tool's text, and whether it is an error.
func (m *model) call(tool, arguments string) (text string, failed bool) {
	m.t.Helper()
	params := &sdk.CallToolParams{Name: tool}
	if arguments != "" {
		params.Arguments = json.RawMessage(arguments)
	}
	result, err := m.CallTool(m.t.Context(), params)
	if err != nil {
		m.t.Fatalf("%s: %v", tool, err)
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// contact returns the contact that a tool returns.
func (m *model) contact(tool, arguments string) map[string]any {
	m.t.Helper()
	text, failed := m.call(tool, arguments)
	var answer struct{ Data map[string]any }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || failed {
		m.t.Fatalf("%s %s says %q", tool, arguments, text)
	}
	return answer.Data
}

// found returns the names of the contacts that a search finds.
func (m *model) found(arguments string) (names []string, more bool) {
	m.t.Helper()
	text, failed := m.call("search_contacts", arguments)
	var page struct {
		Data    []struct{ Name string }
		HasMore bool
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil || failed {
		m.t.Fatalf("search_contacts %s says %q", arguments, text)
	}
	for _, c := range page.Data {
		names = append(names, c.Name)
	}
	return names, page.HasMore
}

// refused checks that a tool's error begins with the code and contains the words.
func (m *model) refused(tool, arguments, code, words string) {
	m.t.Helper()
	text, failed := m.call(tool, arguments)
	if !failed || !strings.HasPrefix(text, code+": ") || !strings.Contains(text, words) || !strings.HasSuffix(text, ".") {
		m.t.Errorf("%s %.100s says %q", tool, arguments, text)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	m := i.model(t, testkit.Key(t, i, i.tenant))
	ada := m.contact("create_contact", `{"name":"Ada","email":"ada@example.com","phone":"+44 20 7946-0001"}`)
	if ada["phone"] != "+442079460001" {
		t.Errorf("the contact is %v", ada)
	}
	id := ada["id"].(string)
	changed := m.contact("update_contact", fmt.Sprintf(`{"id":%q,"company":"Engines","phone":null}`, id))
	if changed["company"] != "Engines" || changed["phone"] != nil || changed["name"] != "Ada" {
		t.Errorf("the changed contact is %v", changed)
	}
	if got := m.contact("get_contact", fmt.Sprintf(`{"id":%q}`, id)); got["company"] != "Engines" {
		t.Errorf("the contact that is read is %v", got)
	}
	for n := range 3 {
		m.contact("create_contact", fmt.Sprintf(`{"name":"Grace %d","phone":"+4930123450%d"}`, n, n))
	}
	for arguments, want := range map[string]string{
		``:                                   "[Ada Grace 0 Grace 1 Grace 2] false",
		`{"q":"ENGIN"}`:                      "[Ada] false",
		`{"q":"Grace","limit":2}`:            "[Grace 0 Grace 1] true",
		`{"q":"Grace","limit":2,"offset":2}`: "[Grace 2] false",
		`{"phone":"+49301234501","q":null}`:  "[Grace 1] false",
		`{"sort":"-name","limit":1}`:         "[Grace 2] true",
	} {
		if names, more := m.found(arguments); fmt.Sprint(names, more) != want {
			t.Errorf("a search with %s finds %v %v, not %s", arguments, names, more, want)
		}
	}
}

// Mistakes are tool results with the API's code and message.
func TestMistakes(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	m := i.model(t, testkit.Key(t, i, i.tenant))
	stranger := testkit.Tenant(t, i, "Stranger")
	foreign := i.model(t, testkit.Key(t, i, stranger)).contact("create_contact", `{"name":"Secret"}`)["id"].(string)
	for _, tc := range []struct{ tool, arguments, code, words string }{
		{"create_contact", `{}`, "validation_failed", "name: "},
		{"create_contact", `{"name":"A","phone":"030"}`, "validation_failed", "phone: must be in international format"},
		{"create_contact", `{"name":1}`, "validation_failed", "name: "},
		{"create_contact", `{"name":"A","mood":"good"}`, "validation_failed", "mood: "},
		{"create_contact", `{"name":"` + strings.Repeat("a", 64<<10) + `"}`, "payload_too_large", "65536 bytes"},
		{"search_contacts", `{"limit":"many"}`, "invalid_parameter", "limit: must be an integer"},
		{"search_contacts", `{"sort":"age"}`, "invalid_parameter", "sort: must be one of"},
		{"search_contacts", `{"age":3}`, "invalid_parameter", "age: "},
		{"get_contact", `{}`, "validation_failed", "id: must be the ID of a contact"},
		{"get_contact", `{"id":7}`, "validation_failed", "id: "},
		{"get_contact", `{"id":"../../integrations"}`, "validation_failed", "id: "},
		{"get_contact", `{"id":".."}`, "validation_failed", "id: "},
		{"get_contact", `{"id":"nobody"}`, "not_found", "does not exist"},
		{"get_contact", `{"id":"` + foreign + `"}`, "not_found", "does not exist"},
		{"update_contact", `{"name":"A"}`, "validation_failed", "id: "},
		{"update_contact", `{"id":"` + foreign + `","name":"Mine"}`, "not_found", "does not exist"},
	} {
		m.refused(tc.tool, tc.arguments, tc.code, tc.words)
	}
	if names, _ := m.found(`{}`); len(names) > 0 {
		t.Errorf("the tenant has the contacts %v", names)
	}
	for tool, arguments := range map[string]string{"forget_contact": `{}`, "get_contact": `["a"]`} {
		if _, err := m.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}); err == nil {
			t.Errorf("%s with %s is not an error of the protocol", tool, arguments)
		}
	}
}

// A model sees the tools that its key may use, and an explanation if it calls another.
func TestPermissions(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	for permission, want := range map[string]string{
		"contacts:read":   "get_contact search_contacts",
		"contacts:write":  "create_contact update_contact",
		"contacts:delete": "delete_contact",
		"":                "create_contact get_contact search_contacts update_contact",
	} {
		var permissions []string
		if permission != "" {
			permissions = []string{permission}
		}
		m := i.model(t, testkit.Key(t, i, i.tenant, permissions...))
		list, err := m.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("a key with %q sees %s", permission, got)
		}
		if list.CacheScope != "private" {
			t.Errorf("the list may be kept for others: %q", list.CacheScope)
		}
		if permission == "contacts:read" {
			m.refused("create_contact", `{"name":"A"}`, "insufficient_permission", "contacts:write")
		}
		if permission == "contacts:write" {
			m.refused("search_contacts", `{}`, "insufficient_permission", "contacts:read")
		}
	}
}

// A model deletes a contact only if its key may, and never the one that remains of merged contacts.
func TestDeletion(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	m := i.model(t, testkit.Key(t, i, i.tenant, "contacts:read", "contacts:write", "contacts:delete"))
	ada := m.contact("create_contact", `{"name":"Ada"}`)["id"].(string)
	i.model(t, testkit.Key(t, i, i.tenant)).refused("delete_contact", `{"id":"`+ada+`"}`, "insufficient_permission", "contacts:delete")
	old := m.contact("create_contact", `{"name":"Old"}`)["id"].(string)
	err := i.RunInTransaction(func(tx core.App) error {
		_, err := (&contact.Merge{ID: ada, From: []string{old}}).Apply(tx, i.tenant)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	m.refused("delete_contact", `{"id":"`+old+`"}`, "merged_contact", "use its own ID")
	m.refused("delete_contact", `{}`, "validation_failed", "id: ")
	got, err := m.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete_contact", Arguments: json.RawMessage(`{"id":"` + ada + `"}`)})
	if err != nil || got.IsError || got.Content[0].(*sdk.TextContent).Text != "The contact was deleted." {
		t.Errorf("a deletion gives %+v, %v", got, err)
	}
	m.refused("delete_contact", `{"id":"`+ada+`"}`, "not_found", "does not exist")
	m.refused("get_contact", `{"id":"`+ada+`"}`, "not_found", "does not exist")
}

// An admin's changes apply to the next call: nothing is cached between calls.
func TestChangesCountAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	m := i.model(t, testkit.Key(t, i, i.tenant))
	contacts, err := i.FindCollectionByNameOrId("contacts")
	if err != nil {
		t.Fatal(err)
	}
	contacts.Fields.Add(&core.NumberField{Name: "score"})
	if err := i.Save(contacts); err != nil {
		t.Fatal(err)
	}
	if c := m.contact("create_contact", `{"name":"Ada","score":7}`); c["score"] != 7.0 {
		t.Errorf("the contact with a field of the admin's is %v", c)
	}
	m.refused("create_contact", `{"name":"Ada","score":"seven"}`, "validation_failed", "score: ")
	tenant, err := i.FindRecordById("tenants", i.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("apiEnabled", false)
	if err := i.Save(tenant); err != nil {
		t.Fatal(err)
	}
	if _, err := m.CallTool(t.Context(), &sdk.CallToolParams{Name: "search_contacts"}); err == nil {
		t.Error("a tenant without the feature can call tools")
	}
}

// The schemas describe exactly what the API accepts.
func TestSchemas(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	testkit.AddFields(t, i, &core.BoolField{Name: "vip"})
	m := i.model(t, testkit.Key(t, i, i.tenant))
	guide, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]map[string]any{}
	for tool, err := range m.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = tool.InputSchema.(map[string]any)
		if tool.Description == "" || !bytes.Contains(guide, []byte("| `"+tool.Name+"` |")) {
			t.Errorf("%s is not described", tool.Name)
		}
	}
	property := func(tool, name string) map[string]any {
		found, _ := schemas[tool]["properties"].(map[string]any)[name].(map[string]any)
		if found == nil {
			t.Errorf("%s has no %s", tool, name)
		}
		return found
	}
	for _, field := range contact.Fields {
		for _, tool := range []string{"create_contact", "update_contact"} {
			if limit, limited := property(tool, field.Name)["maxLength"]; limited && limit != float64(field.Limit) {
				t.Errorf("%s has a limit of %v for %s", tool, limit, field.Name)
			}
		}
		if field.Filter != nil {
			property("search_contacts", field.Name)
		}
	}
	longest := strings.Repeat("a", int(property("create_contact", "name")["maxLength"].(float64)))
	m.contact("create_contact", `{"name":"`+longest+`"}`)
	m.refused("create_contact", `{"name":"`+longest+`a"}`, "validation_failed", "name: ")

	for _, sent := range []string{`{"company":"Engines"}`, `{"vip":true}`} {
		m.refused("search_contacts", sent, "invalid_parameter", "needs an index")
	}
	for _, field := range []string{"company", "vip"} {
		if err := list.AddIndex(i, field); err != nil {
			t.Fatal(err)
		}
	}
	m.contact("create_contact", `{"name":"Ada","vip":true,"company":"Engines"}`)
	if names, _ := m.found(`{"vip":true,"company":"Engines"}`); !slices.Equal(names, []string{"Ada"}) {
		t.Errorf("a filter by a custom field finds %v", names)
	}
	examples := map[string]string{
		"q": `"Ada"`, "email": `"ada@example.com"`, "phone": `"+4930123456"`, "externalId": `"crm-1"`, "company": `"Engines"`, "limit": "200", "offset": "0",
		"createdSince": `"2026-01-31T12:00:00Z"`, "createdBefore": `"2026-01-31T12:00:00Z"`, "updatedSince": `"2026-01-31T12:00:00Z"`, "updatedBefore": `"2026-01-31T12:00:00Z"`,
	}
	for name := range schemas["search_contacts"]["properties"].(map[string]any) {
		if name != "sort" {
			m.found(fmt.Sprintf(`{%q:%s}`, name, examples[name]))
		}
	}
	for _, order := range property("search_contacts", "sort")["enum"].([]any) {
		m.found(fmt.Sprintf(`{"sort":%q}`, order))
	}
}
