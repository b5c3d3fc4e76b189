package docs_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// The programs of the guide copy all contacts, apply their changes, and write contacts back.
func TestSyncPrograms(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	app := testkit.NewApp(t)
	base, tenant := testkit.Serve(t, app), testkit.Tenant(t, app, "Acme")
	key := testkit.Key(t, app, tenant)
	client := testkit.NewClient(t, base, key)
	guide, err := os.ReadFile("sync.md")
	if err != nil {
		t.Fatal(err)
	}
	library, err := filepath.Abs("../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	folder := t.TempDir()
	run := func(n int, want string, more ...string) {
		t.Helper()
		program := strings.ReplaceAll(programs[n][1], "https://crm.example.com", base) + strings.Join(more, "")
		command := exec.CommandContext(t.Context(), python, "-c", program)
		command.Dir = folder
		command.Env = append(os.Environ(), "CONTACTBASE_KEY="+key, "PYTHONPATH="+library, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := command.CombinedOutput(); err != nil || string(out) != want+"\n" {
			t.Fatalf("program %d prints %q (%v), not %q", n, out, err, want)
		}
	}
	id := client.Do(http.MethodPost, "/api/ext/v1/contacts", `{"name":"Ada"}`).Data()["id"].(string)
	client.Do(http.MethodPost, "/api/ext/v1/contacts", `{"name":"Charles"}`)
	run(0, "2 contacts")
	client.Do(http.MethodPatch, "/api/ext/v1/contacts/"+id, `{"name":"Ada King"}`)
	run(1, "2 created, 0 updated, 0 failed")
	run(0, "4 contacts")
	run(1, "0 created, 0 updated, 0 failed")
	run(2, "updated Grace Hopper")
	run(2, "changed since the copy: Grace Hopper")
	record, err := app.FindRecordById("contacts", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Delete(record); err != nil {
		t.Fatal(err)
	}
	run(0, "3 contacts")
	run(0, "3 contacts\n[('Old',)] [('x2',)]", lateEvents)
}

// lateEvents are what a receiver of webhooks may get, with the contacts and orders that remain.
const lateEvents = `
def event(type, id, name, second, **more):
    at = f"2026-03-04T16:20:{second:02}.000Z"
    return {"type": type, "timestamp": at, "data": {"id": id, "name": name, "email": None, "updatedAt": at}, **more}

database.execute("INSERT INTO orders VALUES ('1', 'x1')")
for late in (
    event("contact.created", "x1", "Gone", 1),
    event("contact.updated", "x2", "Old", 5),
    event("contact.updated", "x2", "Older", 4),
    event("contact.deleted", "x1", "Gone", 3, mergedInto="x2"),
    event("contact.updated", "x1", "Gone", 2),
):
    apply(late)
print(*(database.execute(query).fetchall() for query in (
    "SELECT name FROM contacts WHERE id IN ('x1', 'x2')", "SELECT contact FROM orders")))
`
