package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/testkit"
)

// A check groups what it finds by kind, with the number of rows and the first ten of them. The rows of each kind can be
// read, which an import reads again without the problems.
func TestFindings(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	long := strings.Repeat("x", 300)
	var text strings.Builder
	text.WriteString("externalId,name,email,phone\n")
	for n := range 12 { // rows 2 to 13
		fmt.Fprintf(&text, "a%d,Ada,nonsense@,\n", n)
	}
	text.WriteString("b,Bob,bob@example.com,030 123\n" + // 14
		"c,Cleo,cleo@example.com,\n" + // 15
		"d,Dan,CLEO@example.com,\n" + // 16: another person
		"d,Dan,dan@example.com,\n" + // 17: the same ID
		"e,,,\n" + // 18
		"f," + long + ",,\n" + // 19
		"g,Gus,gus@example.com,,,,,more\n" + // 20
		"h,Hal,hal@example.com; other@example.com,\n" + // 21
		",Cleo,cleo@example.com,\n") // 22 is the contact of row 15
	stored := store(t, app, acme, text.String())
	begin(t, app, stored, "", check)
	checked := work(t, app, stored.ID)
	got := map[string]string{}
	for _, f := range checked.Findings {
		got[string(f.Kind)+" "+f.Field] = fmt.Sprint(f.Count, f.Rows)
	}
	for finding, want := range map[string]string{
		"invalid_email email": "12 [2 3 4 5 6 7 8 9 10 11]", "invalid_phone phone": "1 [14]", "shared_email email": "1 [16]",
		"repeated_id externalId": "1 [17]", "no_identity ": "1 [18]", "too_long name": "1 [19]", "cells ": "1 [20]", "left_out email": "1 [21]",
	} {
		if got[finding] != want {
			t.Errorf("%s is %q, want %q", finding, got[finding], want)
		}
		delete(got, finding)
	}
	if len(got) > 0 {
		t.Errorf("found are also %v", got)
	}
	if first := checked.Findings[0]; first.Kind != sheet.InvalidEmail || checked.Findings[1].Kind == sheet.SharedEmail {
		t.Errorf("refused rows are not first: %+v", checked.Findings)
	}
	if !slices.ContainsFunc(checked.Refusals, func(r imports.Refusal) bool { return r.Row == 20 }) || !slices.ContainsFunc(checked.Notes, func(n imports.Note) bool { return n.Row == 21 }) {
		t.Errorf("a row of a finding is missing: %+v %+v", checked.Refusals, checked.Notes)
	}
	for kind, want := range map[string]int{"refused": 15, "warnings": 5} {
		report := problems(t, app, stored.ID, kind)
		if lines := strings.Count(report, "\n"); lines != want+1 || !strings.HasPrefix(report, "\ufeffexternalId,name,email,phone,Problem\n") {
			t.Errorf("%s are\n%s", kind, report)
		}
		again := store(t, app, acme, report)
		if !slices.Equal(again.Mapping, append(slices.Clone(stored.Mapping), "")) || again.Total != want {
			t.Errorf("%s are read as %v", kind, again.Mapping)
		}
		begin(t, app, again, "", check)
		work(t, app, again.ID)
		if second := problems(t, app, again.ID, kind); strings.Count(second, "Problem") != 1 {
			t.Errorf("again they are\n%s", second)
		}
	}
	begin(t, app, stored, "", start)
	done := work(t, app, stored.ID)
	if len(done.Findings) != len(checked.Findings) || strings.Count(problems(t, app, stored.ID, "warnings"), "\n") != 5 {
		t.Errorf("after the import, found are %+v and\n%s", done.Findings, problems(t, app, stored.ID, "warnings"))
	}
}

// A row that becomes a contact of its own although a stored one has its address is a finding, until it is matched by email.
func TestFindingsOfStoredAddresses(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	for address, tenant := range map[string]string{"ada@example.com": acme, "cleo@example.com": testkit.Tenant(t, app, "Other")} {
		for range 2 {
			if _, err := testkit.Create(app, tenant, contact.Changes{contact.Email: address}); err != nil {
				t.Fatal(err)
			}
		}
	}
	stored := store(t, app, acme, "externalId,name,email\na,Ada,ADA@example.com\nb,Bob,bob@example.com\nc,Cleo,cleo@example.com\n,Ada,ada@example.com\n")
	begin(t, app, stored, "", check)
	checked := work(t, app, stored.ID)
	if got := fmt.Sprint(checked.Findings, checked.Notes); got != "[email: 2 rows with the email address of an earlier row or of another contact: 2, 5] "+
		"[{2 email: another contact has this address} {5 email: an earlier row with this address is another contact}]" {
		t.Errorf("found are %s", got)
	}
	begin(t, app, stored, contact.Email, check)
	if byEmail := work(t, app, stored.ID); len(byEmail.Findings) != 0 || byEmail.RowsCreated != 2 {
		t.Errorf("by email, found are %+v", byEmail)
	}
}

func problems(t *testing.T, app core.App, id, kind string) string {
	t.Helper()
	var report strings.Builder
	if err := imports.WriteProblems(t.Context(), app, id, kind, &report); err != nil {
		t.Fatal(err)
	}
	return report.String()
}

// A check with other choices forgets what an earlier one has found, also of many rows.
func TestFindingsOfTheLastCheck(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	var text strings.Builder
	text.WriteString("name,phone\n")
	for n := range 1_250 {
		fmt.Fprintf(&text, "Ann %d,030 %d\n", n, 10_000+n)
	}
	stored := store(t, app, testkit.Tenant(t, app, "Acme"), text.String())
	begin(t, app, stored, "", check)
	if checked := work(t, app, stored.ID); len(checked.Findings) != 1 || checked.Findings[0].Count != 1_250 {
		t.Fatalf("found are %+v", checked.Findings)
	}
	if err := imports.Check(app, stored.ID, sheet.Choices{Mapping: stored.Mapping, Country: "DE"}); err != nil {
		t.Fatal(err)
	}
	if begun := find(t, app, stored.ID); len(begun.Findings)+len(begun.Notes) != 0 {
		t.Errorf("at first, found are %+v %+v", begun.Findings, begun.Notes)
	}
	checked := work(t, app, stored.ID)
	if left := testkit.Count(t, app, "SELECT count(*) FROM _importNotes", nil); len(checked.Findings) != 0 || left != 0 {
		t.Errorf("found are %+v, and %d notes", checked.Findings, left)
	}
}

// A column of addresses is the email whatever its heading, unless another column is.
func TestAddressesAreTheEmail(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	for text, want := range map[string]string{
		"Name,Reach me at\nAda,ada@example.com\nBob,nonsense\nCleo,cleo@example.com\n": "name,email",
		"Name,Zustellung\nAda,ada@example.com\n":                                       "name,email",
		"Name,Zustellung,Email\nAda,boss@example.com,ada@example.com\n":                "name,,email",
		"Name,Zustellung\nAda,at @home\nBob,@bob\n":                                    "name,",
	} {
		if got := strings.Join(store(t, app, acme, text).Mapping, ","); got != want {
			t.Errorf("%q is mapped to %s", text, got)
		}
	}
}
