package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"contactbase/internal/testenv"
)

// Code that is generated from the OpenAPI document of a server compiles, and does the main job with that server.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "runs other generators of clients with Node.js, and compiles what they generate")
	i, tenant := newTenant(t)
	key := str(t, i.one("key", "create", tenant, "--name", "clients"), "key")
	s := i.serve()
	w := newWorkshop(t, s, tenant, key)
	t.Run("oapi-codegen", func(t *testing.T) {
		t.Parallel()
		w.needModules(t)
		w.run(t, "go", "go", "tool", "oapi-codegen", "-config", "oapi-codegen.yaml", "../openapi.json")
		w.run(t, "go", "go", "run", ".")
		if err := os.Mkdir(filepath.Join(w.folder, "go", "plain"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.run(t, "go", "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "plain", "-o", "plain/plain.gen.go", "../openapi.json")
		w.run(t, "go", "go", "vet", "./...") // what its defaults generate compiles too
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		w.needNode(t)
		generators := []string{"openapi-typescript", "hey-api", "orval"}
		for _, generator := range generators {
			w.run(t, ".", "npm", "run", "--silent", generator)
		}
		w.run(t, ".", "npm", "exec", "--", "tsc", "--project", ".")
		for _, generator := range generators {
			w.run(t, ".", "node", "built/"+generator+".js")
		}
	})
	t.Run("linters", func(t *testing.T) {
		t.Parallel()
		w.needNode(t)
		w.run(t, ".", "npm", "run", "--silent", "lint")
	})
	t.Run("Postman", func(t *testing.T) {
		t.Parallel()
		w.needNode(t)
		w.checkCollection(t, s)
	})
}

// workshop is a copy of the directory clients, in which code can be generated, with the OpenAPI document of a server.
type workshop struct {
	folder string
	tenant string
	key    string // of the tenant
	env    []string
}

func newWorkshop(t *testing.T, s *server, tenant, key string) *workshop {
	t.Helper()
	w := &workshop{folder: t.TempDir(), tenant: tenant, key: key}
	w.env = append(os.Environ(), "BASE="+s.base, "KEY="+key, "GOTOOLCHAIN=local", "GOWORK=off", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	copySources(t, "clients", w.folder)
	if err := os.MkdirAll(filepath.Join(w.folder, "go", "contacts"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(t, "openapi.json", s.client("").do(http.MethodGet, "/openapi.json", "").body)
	return w
}

// copySources copies a directory, and links to its Node.js packages.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, path[len(from):])
		if entry.Name() == "node_modules" {
			packages, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(packages, target); err != nil {
				return err
			}
			return fs.SkipDir
		}
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// needNode skips the test if Node.js or the packages of the directory are not installed.
func (w *workshop) needNode(t *testing.T) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("npm"); err != nil {
		missing = "there is no npm here"
	} else if _, err := os.Stat(filepath.Join(w.folder, "node_modules")); err != nil {
		missing = w.folder + " has no packages: run task clients"
	}
	if missing != "" {
		lack(t, missing)
	}
}

// needModules skips the test if the modules of the generated Go client cannot be downloaded.
func (w *workshop) needModules(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download")
	command.Dir, command.Env = filepath.Join(w.folder, "go"), w.env
	if out, err := command.CombinedOutput(); err != nil {
		lack(t, fmt.Sprintf("go mod download in e2e/clients/go: %v\n%s", err, out))
	}
}

// lack skips a test that lacks something, or fails it in continuous integration.
func lack(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

// run runs a command in a directory of the workshop, and fails the test if the command fails.
func (w *workshop) run(t *testing.T, folder string, command ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir, c.Env = filepath.Join(w.folder, folder), w.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	t.Logf("%v\n%s", command, out)
}

func (w *workshop) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.folder, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *workshop) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(w.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// The ids in the examples of the OpenAPI document, which the requests of the collection use.
const (
	exampleContact = "0mm8yqpxck3w9xa"
	exampleRecord  = "r3c0rd000000001"
	exampleTenant  = "t3n4nt000000001"
)

// checkCollection sends all requests of the Postman collection. It sets only keys and values that the server generates:
// the token in the URL of an inbound webhook, and the ids of deliveries and stored calls.
func (w *workshop) checkCollection(t *testing.T, s *server) {
	t.Helper()
	w.run(t, ".", "npm", "run", "--silent", "postman")
	admin := s.signIn()
	seeded := w.seed(t, s, admin)
	collection := parse[map[string]any](t, string(w.read(t, "collection.json")))
	if edited := enter(collection, seeded); edited != len(seeded) {
		t.Errorf("of %d requests to enter something in, %d are there", len(seeded), edited)
	}
	content, err := json.Marshal(collection)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "collection.json", content)
	w.run(t, ".", "npm", "run", "--silent", "newman", "--", "--env-var", "bearerToken="+w.key, "--env-var", "apiKey="+admin.header["Authorization"],
		"--reporters", "json", "--reporter-json-export", "report.json")
	report := parse[struct {
		Run struct {
			Executions []struct {
				Item     struct{ Name string }
				Response struct{ Code int }
			}
		}
	}](t, string(w.read(t, "report.json")))
	for _, e := range report.Run.Executions {
		if e.Response.Code < 200 || e.Response.Code > 299 {
			t.Errorf("%s: %d", e.Item.Name, e.Response.Code)
		}
	}
	if sent := len(report.Run.Executions); sent < 15 {
		t.Errorf("only %d requests were sent", sent)
	}
}

// seed creates the records of the examples. It returns the values that the server generates, by the names
// of their requests.
func (w *workshop) seed(t *testing.T, s *server, admin *client) map[string]string {
	t.Helper()
	create := func(collection string, record map[string]any) map[string]any {
		body, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		return admin.expect(http.StatusOK, http.MethodPost, "/api/collections/"+collection+"/records", string(body)).json()
	}
	tenant := str(t, create("tenants", map[string]any{"id": exampleTenant, "name": "Example", "apiEnabled": true}), "id")
	create("contacts", map[string]any{"id": exampleContact, "tenant": w.tenant, "name": "Ada"})
	for id, owner := range map[string]string{"0mm8yqrv004tzqe": w.tenant, "0mm9zzzv004tzqe": w.tenant, "0mmb3q9xck3w9xa": tenant, "0mmb3q9xv004tzq": tenant} {
		create("contacts", map[string]any{"id": id, "tenant": owner, "name": "Ada"}) // duplicates to merge
	}
	create("webhooks", map[string]any{"id": exampleRecord, "tenant": tenant, "url": newReceiver(t).URL})
	create("api_keys", map[string]any{"id": exampleRecord, "tenant": tenant, "name": "example"})
	inbound := create("inbound_webhooks", map[string]any{"id": exampleRecord, "tenant": tenant, "name": "example", "access": "full"})
	token := str(t, inbound, "token")
	ping := admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/webhooks/"+exampleRecord+"/ping", "").data()
	s.client("").expect(http.StatusOK, http.MethodPost, "/api/hooks/"+token, `{"name":"Grace"}`)
	calls := admin.expect(http.StatusOK, http.MethodGet, "/api/collections/inbound_requests/records", "").json()
	call := calls["items"].([]any)[0].(map[string]any)
	entries := map[string]string{
		"Probe an inbound webhook":            token,
		"Send contacts to an inbound webhook": token,
		"Redeliver an event":                  str(t, ping, "delivery"),
		"Get a delivery":                      str(t, ping, "delivery"),
		"List the attempts of a delivery":     str(t, ping, "delivery"),
		"Get a request to an inbound webhook": str(t, call, "id"),
		"Replay a stored inbound request":     str(t, call, "id"),
		"Create a portal link":                tenant,
		"Revoke all portal links of a tenant": tenant,
	}
	sheets := s.signIn()
	sheets.header["Content-Type"] = "text/csv"
	for _, step := range []string{"Read an import", "Check an import (dry run)", "Start an import", "Cancel an import", "Download the rejected rows"} {
		stored := sheets.expect(http.StatusOK, http.MethodPost, "/api/integrations/imports?name=contacts.csv&tenant="+tenant, "Name;E-Mail;Remarks\nAda;ada@example.com;\n")
		entries[step] = str(t, stored.data(), "id") // each step has an import of its own, whatever their order
	}
	return entries
}

// enter sets the variable in the path of the requests with these names, and returns their number.
func enter(folder map[string]any, values map[string]string) (entered int) {
	items, _ := folder["item"].([]any)
	for _, item := range items {
		item := item.(map[string]any)
		entered += enter(item, values)
		name, _ := item["name"].(string)
		value, wanted := values[name]
		if !wanted {
			continue
		}
		address := item["request"].(map[string]any)["url"].(map[string]any)
		for _, variable := range address["variable"].([]any) {
			variable.(map[string]any)["value"] = value
			entered++
		}
	}
	return entered
}
