package cmd

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// If the rejected rows cannot be written, nothing is imported, and the imported file stays unchanged.
func TestImportChecksTheFileForRejectedRows(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	folder := t.TempDir()
	file := filepath.Join(folder, "contacts.csv")
	const sheet = "name,email\nAda,ada@example.com\nBob,nonsense\n"
	if err := os.WriteFile(file, []byte(sheet), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link.csv")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{file, link, filepath.Join(folder, "nowhere", "refused.csv"), folder} {
		command := NewContactCommand(app)
		command.SetArgs([]string{"import", "Acme", file, "--refused", refused})
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.Execute(); err == nil || !strings.HasPrefix(err.Error(), "--refused: ") {
			t.Errorf("the refused rows to %s: %v", refused, err)
		}
	}
	if content, err := os.ReadFile(file); string(content) != sheet {
		t.Errorf("the file that was imported is %q, %v", content, err)
	}
	if count, err := app.CountRecords("contacts"); err != nil || count != 0 {
		t.Errorf("%d contacts are there, %v", count, err)
	}
}

// An invalid value of a flag causes an error that begins with the flag and says which values it takes.
func TestRefusedFlagsOfContacts(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	file := filepath.Join(t.TempDir(), "contacts.csv")
	if err := os.WriteFile(file, []byte("name\nAda\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"--filter must be NAME=VALUE": {"export", "Acme", "-", "--filter", "q"},
		"--filter updatedsince: is not a parameter of this request; the filters are createdBefore, ": {"export", "Acme", "-", "--filter", "updatedsince=2026"},
		"--match must be one of id, externalId, email, phone, none":                                  {"import", "Acme", file, "--match", "name"},
		"--existing must be one of update, fill, skip":                                               {"import", "Acme", file, "--existing", "x"},
		"--new must be one of create, skip":                                                          {"import", "Acme", file, "--new", "x"},
		"--country must be a two-letter country code":                                                {"import", "Acme", file, "--country", "Germany"},
		"The file cannot be read: its row 3 is blank":                                                {"import", "Acme", file, "--headings", "3"},
		"--match must be a field that a column is mapped to":                                         {"import", "Acme", file, "--match", "email"},
	} {
		command := NewContactCommand(app)
		command.SetArgs(args)
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.Execute(); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v ends with %v", args, err)
		}
	}
}

// An existing file stays until the new one is complete.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "contacts.csv")
	failure := errors.New("no more")
	for _, step := range []struct {
		content string
		err     error
		want    string
	}{{"first", nil, "first"}, {"second", failure, "first"}, {"third", nil, "third"}} {
		err := writeFile(name, func(to io.Writer) error {
			_, err := io.WriteString(to, step.content)
			return errors.Join(err, step.err)
		})
		if content, _ := os.ReadFile(name); !errors.Is(err, step.err) || string(content) != step.want {
			t.Errorf("after %q there is %q, %v", step.content, content, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	err := writeFile(link, func(to io.Writer) error { _, err := io.WriteString(to, "fourth"); return err })
	if kind, _ := os.Lstat(link); err != nil || kind.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", kind, err)
	}
	if content, err := os.ReadFile(name); string(content) != "fourth" {
		t.Errorf("behind the link there is %q, %v", content, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if err := writeFile(os.DevNull, func(to io.Writer) error { _, err := io.WriteString(to, "x"); return err }); err != nil {
		t.Errorf("to %s: %v", os.DevNull, err)
	}
}

func TestExportSaysWhatItWrote(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	file := filepath.Join(t.TempDir(), "contacts.csv")
	command := NewContactCommand(app)
	command.SetArgs([]string{"export", "Acme", file, "--json"})
	var out strings.Builder
	command.SetOut(&out)
	command.SetErr(io.Discard)
	err := command.Execute()
	if content, _ := os.ReadFile(file); err != nil || len(content) == 0 || !strings.Contains(out.String(), `"contacts": 0`) {
		t.Errorf("it wrote %q and said %q, %v", content, out.String(), err)
	}
}

// The error about columns without a field says why they have none and what to do.
func TestImportNamesColumnsWithoutAField(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	for headings, want := range map[string]string{
		"name;;Notizen": `columns not recognized: "Notizen". Nothing was imported. Map a column with --column 'Notizen=FIELD', skip it with --column 'Notizen=', or skip them all with --ignoreUnknown`,
		"name;it's":     `columns not recognized: "it's". Nothing was imported. Rename these columns, or skip them all with --ignoreUnknown`,
		"Company;Firma;E-Mail;Email;;X": `columns not recognized: "X". Nothing was imported. ` +
			`Map a column with --column 'X=FIELD', skip it with --column 'X=', or skip them all with --ignoreUnknown`,
	} {
		file := filepath.Join(t.TempDir(), "contacts.csv")
		if err := os.WriteFile(file, []byte(headings+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		command := NewContactCommand(app)
		command.SetArgs([]string{"import", "Acme", file})
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s ends with %v", headings, err)
		}
	}
}

// A file has up to 1,000 columns, and an import takes up to 200 of them. The file may be standard input.
func TestImportOfManyColumns(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	for columns, want := range map[int]string{999: "", 1_000: "more than 1,000 cells"} {
		command := NewContactCommand(app)
		command.SetArgs([]string{"import", "Acme", "-", "--ignoreUnknown"})
		command.SetIn(strings.NewReader("email" + strings.Repeat(",Property", columns) + "\nada@example.com\n"))
		command.SetOut(io.Discard)
		command.SetErr(io.Discard)
		if err := command.Execute(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d columns: %v", columns, err)
		}
	}
	command := NewContactCommand(app)
	command.SetArgs([]string{"import", "Acme", "-"})
	command.SetIn(strings.NewReader("name" + strings.Repeat(",email", 200) + "\nAda\n"))
	command.SetOut(io.Discard)
	command.SetErr(io.Discard)
	if err := command.Execute(); err == nil || !strings.Contains(err.Error(), "at most 200 can be imported") {
		t.Errorf("201 columns: %v", err)
	}
}

// The encoding of a file that may be in several ones must be chosen: a dry run shows samples, and nothing is imported.
func TestImportAsksForTheEncoding(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Tenant(t, app, "Acme")
	file := filepath.Join(t.TempDir(), "contacts.csv")
	if err := os.WriteFile(file, []byte("name,email\nKu\xe8era,a@example.com\nL\xe8ne,b@example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) (string, error) {
		var out bytes.Buffer
		command := NewContactCommand(app)
		command.SetArgs(append([]string{"import", "Acme", file, "--json"}, flags...))
		command.SetOut(&out)
		command.SetErr(io.Discard)
		err := command.Execute()
		return out.String(), err
	}
	for _, flags := range [][]string{{}, {"--dryRun"}} {
		out, err := run(flags...)
		if err == nil || !strings.Contains(err.Error(), "windows-1250 (Kučera, Lčne)") {
			t.Errorf("with %v: %v", flags, err)
		}
		if !strings.Contains(out, `"encodings": [`) && !strings.Contains(out, `"encodings":[{"encoding":"`) {
			t.Errorf("with %v: %s", flags, out)
		}
	}
	if count, err := app.CountRecords("contacts"); err != nil || count != 0 {
		t.Errorf("%d contacts are there, %v", count, err)
	}
	if _, err := run("--encoding", "ebcdic"); err == nil || !strings.Contains(err.Error(), "ebcdic") {
		t.Errorf("an unknown encoding: %v", err)
	}
	if out, err := run("--encoding", "CP1250"); err != nil || !strings.Contains(out, `windows-1250`) {
		t.Errorf("with the encoding: %s, %v", out, err)
	}
	if _, err := app.FindFirstRecordByData("contacts", "name", "Kučera"); err != nil {
		t.Error(err)
	}
}

// The command writes and reads workbooks by the names and the contents of files.
func TestWorkbookCommands(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	testkit.Record(t, app, "contacts", map[string]any{"tenant": acme, "name": "=Ada", "email": "ada@example.com", "phone": "+49301234"})
	folder := t.TempDir()
	file, refused := filepath.Join(folder, "contacts.XLSX"), filepath.Join(folder, "refused.xlsx")
	do := func(args ...string) (string, error) {
		command := NewContactCommand(app)
		command.SetArgs(args)
		var out strings.Builder
		command.SetOut(&out)
		command.SetErr(io.Discard)
		err := command.Execute()
		return out.String(), err
	}
	if _, err := do("export", "Acme", file); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(content), "PK") {
		t.Fatalf("the export begins with %.10q (%v)", content, err)
	}
	renamed := filepath.Join(folder, "contacts.csv")
	if err := os.Rename(file, renamed); err != nil {
		t.Fatal(err)
	}
	if out, err := do("import", "Acme", renamed, "--sheet", "Contacts", "--json"); err != nil || !strings.Contains(out, `"unchanged": 1`) {
		t.Errorf("the import says %s (%v)", out, err)
	}
	if _, err := do("import", "Acme", renamed, "--sheet", "Other"); err == nil || !strings.Contains(err.Error(), `choose one of "Contacts"`) {
		t.Errorf("another sheet: %v", err)
	}
	if err := os.WriteFile(file, []byte("name,email\nBob,nonsense@\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := do("import", "Acme", file, "--refused", refused); err == nil || !strings.Contains(err.Error(), "1 of 1 rows were rejected") {
		t.Errorf("with a refused row the command ends with %v", err)
	}
	if listed, err := imports.List(app, acme); err != nil || listed[0].Name != "contacts.XLSX" {
		t.Errorf("the list of imports has %q (%v), not the file's name alone", listed[0].Name, err)
	}
	warnings := filepath.Join(folder, "warnings.csv")
	out, err := do("import", "Acme", refused, "--dryRun", "--json", "--warnings", warnings)
	if err == nil || !strings.Contains(out, `"refused": 1`) || !strings.Contains(out, `"kind": "invalid_email"`) {
		t.Errorf("the refused rows: %s (%v)", out, err)
	}
	if content, err := os.ReadFile(warnings); err != nil || string(content) != "\ufeffname,email,reason,row,Problem\n" {
		t.Errorf("the rows with warnings are %q (%v)", content, err)
	}
}

// The command prints which column became which field, and stops before it would drop an unknown one.
func TestImportPrintsItsMapping(t *testing.T) {
	t.Parallel()
	const german = "Vorname;Nachname;E-Mail;Telefon;Firma;Notizen\nAda;Lovelace;ada@example.com;+4930123456;Acme;x\n"
	const json = `"mapping":{"Vorname":"firstName","Nachname":"lastName","E-Mail":"email","Telefon":"phone","Firma":"company"}`
	for _, c := range []struct {
		args     []string
		fails    bool
		out      []string
		contacts int
	}{
		{nil, true, []string{"Telefon → phone"}, 0},
		{[]string{"--json"}, true, []string{json, `"unknown":["Notizen"]`, `"ignored":[]`, `"dryRun":false`}, 0},
		{[]string{"--json", "--dryRun"}, true, []string{json, `"unknown":["Notizen"]`, `"created":1`, `"dryRun":true`}, 0},
		{[]string{"--dryRun"}, true, []string{"Telefon → phone", "created    1"}, 0},
		{[]string{"--dryRun", "--ignoreUnknown"}, false, []string{"Firma → company", "Notizen is not imported", "created    1"}, 0},
		{[]string{"--json", "--dryRun", "--ignoreUnknown"}, false, []string{json, `"ignored":["Notizen"]`, `"unknown":[]`, `"created":1`, `"refused":0`, `"dryRun":true`}, 0},
		{[]string{"--json", "--column", "Notizen="}, false, []string{json, `"ignored":["Notizen"]`, `"created":1`, `"updated":0`, `"unchanged":0`}, 1},
		{[]string{"--json", "--column", "Notizen=company"}, false, []string{`"Notizen":"company"`, `"ignored":["Firma"]`, `"unknown":[]`}, 1},
		{[]string{"--json", "--column", "Notizen=company", "--column", "Firma="}, false, []string{`"Notizen":"company"`, `"ignored":["Firma"]`}, 1},
	} {
		app := testkit.NewApp(t)
		testkit.Tenant(t, app, "Acme")
		file := filepath.Join(t.TempDir(), "contacts.csv")
		if err := os.WriteFile(file, []byte(german), 0o600); err != nil {
			t.Fatal(err)
		}
		command := NewContactCommand(app)
		for _, sub := range command.Commands() {
			sub.SilenceUsage = true // like the executable
		}
		command.SetArgs(append([]string{"import", "Acme", file}, c.args...))
		var out strings.Builder
		command.SetOut(&out)
		command.SetErr(io.Discard)
		if err := command.Execute(); (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "--ignoreUnknown") {
			t.Errorf("%v ends with %v", c.args, err)
		}
		said := out.String()
		if slices.Contains(c.args, "--json") {
			var compact bytes.Buffer
			if err := stdjson.Compact(&compact, []byte(said)); err != nil {
				t.Errorf("%v: %v in %s", c.args, err, said)
			}
			said = compact.String()
		}
		for _, want := range c.out {
			if !strings.Contains(said, want) {
				t.Errorf("%v says %s, without %s", c.args, said, want)
			}
		}
		if got := testkit.Count(t, app, "SELECT count(*) FROM contacts", nil); got != c.contacts {
			t.Errorf("%v: %d contacts are there", c.args, got)
		}
		if stored := testkit.Count(t, app, "SELECT count(*) FROM _imports", nil); c.fails && stored != 0 && !slices.Contains(c.args, "--dryRun") {
			t.Errorf("%v: %d imports are stored", c.args, stored)
		}
		if cancelled := testkit.Count(t, app, "SELECT count(*) FROM _imports WHERE status = 'cancelled'", nil); cancelled != 0 {
			t.Errorf("%v: a dry run ends as cancelled", c.args)
		}
	}
}

// The command adds an index and removes it, and does without confirmation only what is quick.
func TestContactIndex(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.AddFields(t, app, &core.BoolField{Name: "vip"}, &core.JSONField{Name: "meta"}, &core.TextField{Name: "limit"})
	index := func(args ...string) (string, error) {
		var out bytes.Buffer
		command := NewContactCommand(app)
		command.SetArgs(append([]string{"index", "--json"}, args...))
		command.SetOut(&out)
		command.SetErr(&out)
		err := command.Execute()
		var compact bytes.Buffer
		if err == nil && stdjson.Compact(&compact, out.Bytes()) != nil {
			t.Errorf("%v prints %s", args, out.String())
		}
		return compact.String(), err
	}
	for _, field := range []string{"name", "email", "meta", "limit", "nothing", "vip`"} {
		if _, err := index(field); err == nil || !strings.Contains(err.Error(), "company, vip") {
			t.Errorf("an index for %s: %v", field, err)
		}
	}
	for _, step := range []struct{ args, want string }{
		{"vip", `{"field":"vip","index":"idx_contacts_vip"}`},
		{"vip", `{"field":"vip","index":"idx_contacts_vip"}`},
		{"company --yes", `{"field":"company","index":"idx_contacts_company"}`},
		{"vip --remove", `{"removed":"idx_contacts_vip"}`},
	} {
		if got, err := index(strings.Fields(step.args)...); got != step.want || err != nil {
			t.Errorf("index %s prints %s, %v", step.args, got, err)
		}
	}
	if _, err := index("vip", "--remove"); err == nil || !strings.Contains(err.Error(), "no index") {
		t.Errorf("removing an index that does not exist: %v", err)
	}
	testkit.ChangeContacts(t, app, func(contacts *core.Collection) { contacts.AddIndex("idx_own", false, "`tenant`, `vip`, `id`", "") })
	if _, err := index("vip", "--remove"); err == nil || !strings.Contains(err.Error(), "idx_own") {
		t.Errorf("removing an administrator's own index: %v", err)
	}
	testkit.ChangeContacts(t, app, func(contacts *core.Collection) { contacts.RemoveIndex("idx_own") })
	_, err := app.NonconcurrentDB().NewQuery("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) " +
		"INSERT INTO contacts (id, tenant, name) SELECT 'bulk' || i, {:tenant}, 'Bulk' FROM n").Bind(dbx.Params{"tenant": tenant}).Execute()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index("vip"); err == nil || !strings.Contains(err.Error(), "20000 contacts takes about") || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("an index that takes long: %v", err)
	}
}
