package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"contactbase/internal/testenv"
)

// model is the SDK's client with a key. It can move from one server to another.
type model struct {
	*mcp.ClientSession
	t   *testing.T
	key string

	mu   sync.Mutex
	host string
}

// RoundTrip implements http.RoundTripper.
func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+m.key)
	m.mu.Lock()
	r.URL.Host = m.host
	m.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// moveTo sends later requests to another server.
func (m *model) moveTo(s *server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.host = strings.TrimPrefix(s.base, "http://")
}

func (s *server) model(key string) *model {
	s.t.Helper()
	m := &model{t: s.t, key: key}
	m.moveTo(s)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := client.Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.base + "/mcp", HTTPClient: &http.Client{Transport: m}}, nil)
	if err != nil {
		s.t.Fatalf("connecting a model: %v", err)
	}
	s.t.Cleanup(func() { session.Close() })
	m.ClientSession = session
	return m
}

// call calls a tool that must succeed, and returns its result.
func (m *model) call(tool string, arguments map[string]any) map[string]any {
	m.t.Helper()
	result, err := m.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		m.t.Fatalf("%s: %v", tool, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		m.t.Fatalf("%s %v says %q", tool, arguments, text)
	}
	return parse[map[string]any](m.t, text)
}

// A model does the main job across a kill of the server, because there are no sessions to lose.
func TestModels(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL), "secret"), nil)
	s := i.serve()
	m := s.model(key)
	created := m.call("create_contact", map[string]any{"name": "Ada Lovelace", "email": "ada@example.com"})["data"].(map[string]any)
	if d := r.await(t, "the event of a model's contact", atLeast(1))[0]; d.Error != "" || d.Type != "contact.created" || d.Contact != created["id"] {
		t.Errorf("the delivery is %+v", d)
	}
	s.kill()
	m.moveTo(i.serve())
	found := m.call("search_contacts", map[string]any{"q": "lovelace"})["data"].([]any)
	if len(found) != 1 || found[0].(map[string]any)["id"] != created["id"] {
		t.Errorf("the search finds %v", found)
	}
	changed := m.call("update_contact", map[string]any{"id": created["id"], "company": "Engines"})["data"].(map[string]any)
	if read := m.call("get_contact", map[string]any{"id": created["id"]})["data"].(map[string]any); changed["company"] != "Engines" || fmt.Sprint(read) != fmt.Sprint(changed) {
		t.Errorf("the contact was changed to %v and is %v", changed, read)
	}
}

// inspector is the protocol's official client for the command line.
type inspector struct {
	t   *testing.T
	url string
}

func newInspector(t *testing.T, s *server) inspector {
	t.Helper()
	if _, err := os.Stat("inspector/node_modules"); err != nil {
		lack(t, "e2e/inspector has no packages: run npm ci there")
	}
	if _, err := exec.LookPath("node"); err != nil {
		lack(t, "there is no Node.js here")
	}
	return inspector{t, s.base + "/mcp"}
}

// run runs the inspector with a key.
func (n inspector) run(key string, args ...string) outcome {
	n.t.Helper()
	all := []string{"inspector/node_modules/.bin/mcp-inspector", "--cli", n.url, "--transport", "http", "--stored-auth-only", "--header", "Authorization: Bearer " + key}
	command := exec.CommandContext(n.t.Context(), "node", append(all, args...)...)
	command.Env = append(os.Environ(), "HOME="+n.t.TempDir())
	return finish(n.t, command)
}

func TestInspector(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "installs the MCP Inspector with npm")
	i, _, key := newKey(t)
	reader := str(t, i.one("key", "create", "Acme", "--permission", "contacts:read"), "key")
	n := newInspector(t, i.serve())
	for key, want := range map[string][]string{
		key:    {"create_contact", "get_contact", "search_contacts", "update_contact"},
		reader: {"get_contact", "search_contacts"},
	} {
		got := n.run(key, "--method", "tools/list", "--strict") // which finds schemas that some models do not understand
		var names []string
		for _, tool := range parse[struct{ Tools []struct{ Name string } }](t, got.stdout).Tools {
			names = append(names, tool.Name)
		}
		if slices.Sort(names); got.code != 0 || !slices.Equal(names, want) {
			t.Errorf("the tools are %v: %+v", names, got)
		}
	}
	created := n.run(key, "--method", "tools/call", "--tool-name", "create_contact", "--tool-arg", "name=Ada", "--tool-arg", `phone="+44 20 7946 0001"`)
	if created.code != 0 || !strings.Contains(created.stdout, "+442079460001") {
		t.Errorf("creating a contact: %+v", created)
	}
	for what, tc := range map[string]struct {
		got  outcome
		want string
	}{
		"a wrong phone":    {n.run(key, "--method", "tools/call", "--tool-name", "create_contact", "--tool-arg", "name=Ada", "--tool-arg", `phone="030"`), "validation_failed: The contact is invalid: phone: "},
		"a read-only key":  {n.run(reader, "--method", "tools/call", "--tool-name", "create_contact", "--tool-arg", "name=Ada"), ""},
		"an unknown key":   {n.run("cmk_wrong", "--method", "tools/list"), ""},
		"an unknown field": {n.run(key, "--method", "tools/call", "--tool-name", "create_contact", "--tool-arg", "name=Ada", "--tool-arg", "mood=good"), "mood: "},
	} {
		if tc.got.code == 0 || !strings.Contains(tc.got.stdout, tc.want) || strings.Contains(tc.got.stdout+tc.got.stderr, "cmk_") {
			t.Errorf("%s: %+v", what, tc.got)
		}
	}
}
