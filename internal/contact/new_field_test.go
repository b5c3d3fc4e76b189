package contact_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// edit is a place in a file of the module, and what is written in front of it.
type edit struct{ file, before, add string }

// newField is all that adds the field jobTitle to the contacts, besides its migration.
var newField = []edit{
	{tableFile, "\tCreated    string //", "\tJobTitle   string\n"},
	{tableFile, "}\n\n// Field is what", `	{
		Name: "jobTitle", Limit: 100, normalize: normalizeText,
		Searched: true, Sortable: true, Filter: filterExternalID,
		Aliases: []string{"position"},
		of:      func(c *Contact) *string { return &c.JobTitle },
	},
`},
	{descriptionFile, "createdAt, updatedAt]\n      additionalProperties: true\n      properties:\n        id:\n          type: string\n          description: Identifies the contact.", "jobTitle, "},
	{descriptionFile, "        createdAt:\n          $ref: '#/components/schemas/Time'\n        updatedAt:", "        jobTitle:\n          type: [string, 'null']\n          maxLength: 100\n"},
	{descriptionFile, "        id:\n          description: Ignored", "        jobTitle:\n          type: [string, 'null']\n          description: At most 100 characters.\n"},
	{descriptionFile, "    InboundResponse:\n", "        jobTitle:\n          type: [string, number, boolean, 'null']\n"},
	{descriptionFile, "createdAt, -createdAt, updatedAt,", "jobTitle, -jobTitle, "},
	{descriptionFile, "email, phone or company; case and", "jobTitle, "},
	{descriptionFile, "        - $ref: '#/components/parameters/UpdatedSince'\n", "        - $ref: '#/components/parameters/JobTitleFilter'\n"},
	{descriptionFile, "    UpdatedSince:\n", "    JobTitleFilter:\n      name: jobTitle\n      in: query\n      description: Only contacts with this title.\n" +
		"      schema:\n        type: string\n"},
}

const (
	tableFile       = "internal/contact/field.go"
	descriptionFile = "api/openapi.yaml"
	migrationFile   = "migrations/1999999999_job_title.go"
)

// A field is added in three files: the table of fields, a migration and the OpenAPI document. In a copy of the module
// that is done, and then the new field is written, listed, searched, told and received there, over HTTP.
func TestNewFieldTakesThreeFiles(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	module := t.TempDir()
	copyModule(t, filepath.Join("..", ".."), module)
	for _, e := range newField {
		path := filepath.Join(module, e.file)
		text := readText(t, path)
		if strings.Count(text, e.before) != 1 {
			t.Fatalf("%s has %d places, not one, with %q", e.file, strings.Count(text, e.before), e.before)
		}
		writeText(t, path, strings.Replace(text, e.before, e.add+e.before, 1))
	}
	const parts = "testdata/new_field/"
	writeText(t, filepath.Join(module, migrationFile), readText(t, parts+"migration.go"))
	writeText(t, filepath.Join(module, "internal/contact/new_field_test.go"), readText(t, parts+"new_field_test.go")) // in place of this file

	tests := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-ldflags=-s -w", "-run", "^(TestNewField|TestFields.*|TestLists.*)$", "./internal/contact")
	tests.Dir = module
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("with the new field: %v\n%s", err, out)
	}
}

// copyModule copies what the program and the tests of this package are built from.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	unneeded := map[string]bool{"node_modules": true, "e2e": true, "bench": true}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (unneeded[entry.Name()] || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case entry.Type().IsRegular():
			writeText(t, filepath.Join(to, name), readText(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("copying the module: %v", err)
	}
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
