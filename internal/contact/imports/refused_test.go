package imports_test

import (
	"strings"
	"testing"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// A refusal has the row number that a spreadsheet shows and the rejected values. The report uses the separator of the
// file, and an import reads it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 101)
	for separator, name := range map[string]string{",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			acme := testkit.Tenant(t, app, "Acme")
			text := strings.ReplaceAll("externalId;firstName;lastName;email;phone\n"+
				"1;Ada;;ada@example.com;\n"+
				"\n\r\n"+
				"2;Grace;;nonsense;0123\n"+
				"3;\"two\nlines\";;hedy@example.com;\n"+
				";;;;\n"+
				"4;Alan;;"+long+";\n", ";", separator)
			stored := store(t, app, acme, "\n"+text)
			if stored.Total != 4 {
				t.Fatalf("there are %d rows", stored.Total)
			}
			for _, phase := range []struct {
				status imports.Status
				begin  func() error
			}{
				{imports.Checked, func() error { return check(app, stored.ID, stored.Mapping, "externalId") }},
				{imports.Done, func() error { return start(app, stored.ID, stored.Mapping, "externalId") }},
			} {
				if err := phase.begin(); err != nil {
					t.Fatal(err)
				}
				got := work(t, app, stored.ID)
				if got.Status != phase.status || len(got.Refusals) != 2 {
					t.Fatalf("the import is %+v", got)
				}
				checkRefusals(t, got.Refusals, long)
			}
			var report strings.Builder
			if err := imports.WriteRefused(app, stored.ID, stored.Format, &report); err != nil || !strings.Contains(report.String(), strings.Join([]string{"externalId", "firstName"}, separator)) {
				t.Fatalf("the report is %q (%v)", report.String(), err)
			}
			again := store(t, app, acme, report.String())
			if again.Total != 2 || strings.Join(again.Mapping, ",") != strings.Join(stored.Mapping, ",")+",," {
				t.Errorf("the report is read as %+v", again)
			}
		})
	}
}

// checkRefusals checks the refusals of rows 6 and 9, before which are two blank lines: the name in row 7 has two
// lines, and row 8 has no values.
func checkRefusals(t *testing.T, refusals []imports.Refusal, long string) {
	t.Helper()
	if refusals[0].Row != 6 || refusals[1].Row != 9 {
		t.Errorf("the rows are %d and %d", refusals[0].Row, refusals[1].Row)
	}
	if field := refusals[0].Fields["email"]; field.Value != "nonsense" || field.Message == "" {
		t.Errorf("in row 6 are %+v", refusals[0].Fields)
	}
	if value := refusals[1].Fields["email"].Value; value != strings.TrimSuffix(long, "éé")+"…" {
		t.Errorf("a long value is shown as %q", value)
	}
}

// If only the line "sep=" of a file names its separator, the report uses commas, which an import recognizes.
func TestRareSeparator(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	stored := store(t, app, acme, "sep=^\nname^email\nAda^nonsense@\n")
	begin(t, app, stored, "email", start)
	if got := work(t, app, stored.ID); len(got.Refusals) != 1 || got.Refusals[0].Row != 2 {
		t.Fatalf("the import is %+v", got)
	}
	var report strings.Builder
	if err := imports.WriteRefused(app, stored.ID, stored.Format, &report); err != nil || !strings.Contains(report.String(), "name,email,reason,row\n") {
		t.Errorf("the report is %q (%v)", report.String(), err)
	}
}
