package contact_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// edit is a place in a file of the module, and what is written in front of it.
type edit struct {
	file, before, add string
	places            int // how many there are
}

// newField is all that adds the field jobTitle to the contacts, besides its migration.
var newField = []edit{
	{tableFile, "\tCreated    string //", "\tJobTitle   string\n", 1},
	{tableFile, "}\n\n// Field describes", `	{
		Name: "jobTitle", Limit: 100, normalize: normalizeText,
		Searched: true, Sortable: true, Filter: filterExternalID,
		of: func(c *Contact) *string { return &c.JobTitle },
	},
`, 1},
	{descriptionFile, "createdAt, updatedAt]\n      additionalProperties: true\n      properties:\n        id:\n          type: string\n          description: Identifies the contact.", "jobTitle, ", 1},
	{descriptionFile, "        createdAt:\n          $ref: '#/components/schemas/Time'\n        updatedAt:", "        jobTitle:\n          type: [string, 'null']\n          maxLength: 100\n", 1},
	{descriptionFile, "        id:\n          description: Ignored", "        jobTitle:\n          type: [string, 'null']\n          description: At most 100 characters.\n", 1},
	{descriptionFile, "    InboundChallenge:\n", "        jobTitle:\n          type: [string, number, boolean, 'null']\n", 1},
	{descriptionFile, "createdAt, -createdAt, updatedAt,", "jobTitle, -jobTitle, ", 1},
	{descriptionFile, "email, phone or company, regardless", "jobTitle, ", 1},
	{descriptionFile, "        - $ref: '#/components/parameters/UpdatedSince'\n", "        - $ref: '#/components/parameters/JobTitleFilter'\n", 4},
	{descriptionFile, "    UpdatedSince:\n", "    JobTitleFilter:\n      name: jobTitle\n      in: query\n      description: Only contacts with this title.\n" +
		"      schema:\n        type: string\n", 1},
}

const (
	tableFile       = "internal/contact/field.go"
	descriptionFile = "api/openapi.yaml"
	migrationFile   = "migrations/1999999999_job_title.go"
)

// The server needs a new field in three files: the table of fields, a migration and the OpenAPI document;
// CONTRIBUTING.md lists what clients and documents need. With an overlay of these, the new field is written, listed,
// searched, sent to webhooks and received from senders, over HTTP, and TestFieldsAreAlikeAtEveryDoor tries it in files.
// The go command compiles what has changed since the last run, and keeps the result.
func TestNewFieldInTheServer(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "compiles the server with an additional field")
	module, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	o := overlay{Replace: map[string]string{}, folder: t.TempDir()}
	for file, text := range withNewField(t, module) {
		o.add(t, filepath.Join(module, file), text)
	}
	const parts = "testdata/new_field/"
	o.add(t, filepath.Join(module, migrationFile), readText(t, parts+"migration.go"))
	// instead of this file
	o.add(t, filepath.Join(module, "internal/contact/new_field_test.go"), readText(t, parts+"new_field_test.go"))

	tests := exec.CommandContext(t.Context(), "go", "test", "-v", "-vet=off", "-ldflags=-s -w", "-overlay", o.write(t),
		"-run", "^(TestNewField|TestFields.*|TestLists.*)$", ".")
	if out, err := tests.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestNewField ") {
		t.Errorf("with the new field: %v\n%s", err, out)
	}
}

// The places where TestNewFieldInTheServer adds the field are there.
func TestPlacesOfANewField(t *testing.T) {
	t.Parallel()
	withNewField(t, filepath.Join("..", ".."))
}

// withNewField returns the files that the new field changes, by their paths in the module.
func withNewField(t *testing.T, module string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range newField {
		if files[e.file] == "" {
			files[e.file] = readText(t, filepath.Join(module, e.file))
		}
		text := files[e.file]
		if n := strings.Count(text, e.before); n != e.places {
			t.Fatalf("%s has %d places, not %d, with %q", e.file, n, e.places, e.before)
		}
		files[e.file] = strings.ReplaceAll(text, e.before, e.add+e.before)
	}
	return files
}

// overlay is the files that the go command reads instead of others.
type overlay struct {
	Replace map[string]string // paths of files by the paths that they replace
	folder  string            // that has these files
}

func (o *overlay) add(t *testing.T, path, text string) {
	t.Helper()
	file := filepath.Join(o.folder, filepath.Base(path))
	writeText(t, file, text)
	o.Replace[path] = file
}

// write returns the path of the file that describes the overlay.
func (o *overlay) write(t *testing.T) string {
	t.Helper()
	encoded, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.folder, "overlay.json")
	writeText(t, path, string(encoded))
	return path
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
