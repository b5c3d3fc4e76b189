package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"contactbase/internal/testenv"
)

// In the browser, a file becomes contacts: its columns are detected, a preview shows the effect, and the
// page can be reloaded.
func TestBrowserImport(t *testing.T) {
	t.Parallel()
	i, tenant := newTenant(t)
	s := i.serve()
	file := filepath.Join(t.TempDir(), "customers.csv")
	if err := os.WriteFile(file, []byte(sheetOf(1_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := s.newBrowser().signIn(s)
	b.integrations("/imports", "Import and export")
	b.sees("No imports yet")
	b.look("imports-empty")
	b.click("Import contacts")
	b.wait("the field of the file", labelled("File"))
	b.do(chromedp.SetUploadFiles(`input[type="file"]`, []string{file}))
	b.click("Upload file")
	b.sees("Müller 0 · Müller 1 · Müller 2")
	b.chooseField("Nachname", "name")
	b.look("import-mapping")
	b.click("Check")
	b.sees("990 would be created")
	b.sees("Row Field Value Reason 2 Email nonsense is not a valid email address")
	b.sees("10 rows with an invalid email address")
	b.sees("Download rejected rows")
	b.look("import-checked")
	b.integrations("/imports", "Import and export")
	b.says("customers.csv", "Created", "–") // which nothing is yet
	b.says("customers.csv", "Rejected", "10")
	b.says("customers.csv", "Warnings", "0")
	b.click("customers.csv")
	b.sees("990 would be created")
	b.chooseField("E-Mail", "company")
	b.wait("that this has to be checked first", `!document.querySelector(".page").innerText.includes("Import 990 rows")`)
	b.sees("The choices below have changed. Check the import again.")
	b.chooseField("E-Mail", "email")
	b.wait("the summary above the columns", `document.querySelector(".integrations-import").getBoundingClientRect().top < document.querySelector("[aria-label=Columns]").getBoundingClientRect().top`)
	b.click("Import 990 rows")
	b.sees("990 created")
	b.sees("Done")
	b.run("location.reload()")
	b.sees("990 created")
	b.look("import-done")
	if n := s.signIn().do(http.MethodGet, "/api/collections/contacts/records?perPage=1&filter=tenant='"+tenant+"'", "").json()["totalItems"]; n != 990.0 {
		t.Errorf("there are %v contacts", n)
	}
	b.integrations("/imports", "Import and export")
	b.sees("customers.csv")
	b.click("Export contacts")
	b.look("export")
	b.choose("Format", "CSV for spreadsheets")
	b.run(`window.exported = ""; const create = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => (window.exported = text)); return create.call(URL, blob) }`)
	b.click("Export")
	b.wait("the exported contacts", `window.exported.split("\n").length === 992 && window.exported.includes("Müller 999,p999@example.com")`)
	b.integrations("/imports", "Import and export")
	b.click("customers.csv")
	b.click("Show created contacts")
	b.sees("990 contacts")
	b.sees("Only contacts that this import created.")
	b.look("import-contacts")
	b.fill("Search by name, email, phone or company", "p999@example.com")
	b.sees("1 contact found")
	b.run("location.reload()")
	b.sees("1 contact found")
	b.click("this import")
	b.click("Undo")
	b.sees("990 contacts that customers.csv created will be deleted.")
	b.look("import-undo")
	b.click("Delete 990 contacts")
	b.sees("990 contacts deleted, 0 kept")
	b.sees("Undone")
	b.integrations("/imports/nobody", "Import")
	b.sees("This import is no longer listed")
	b.integrations("/audit", "Audit log")
	b.choose("What", "Undone")
	b.wait("the filter in the address", `location.hash.includes("action=undone")`)
	b.says("customers.csv", "What", "Undone")
	b.look("audit")
}

// A column of IDs would make contacts of their own of rows whose addresses are known: the check says so, and a button
// matches them by their address.
func TestBrowserImportMatchesByEmail(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	s := i.serve()
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace","email":"ada@example.com"}`)
	b := s.newBrowser()
	b.open(s.link(tenant, "admin"))
	b.arrived("Overview")
	b.portal("/imports", "Import and export")
	b.uploadCSV(t, "CRM ID,Name,Email\nA1,Ada,ada@example.com\nA2,Bob,bob@example.com\n")
	b.click("Check")
	b.sees("1 would be created, 1 would be updated")
	b.click("Use as External ID")
	b.click("Check")
	b.sees("2 would be created, 0 would be updated")
	b.sees("1 row with an email address that an earlier row or another contact has")
	b.look("import-shared-email")
	b.click("Match by email")
	b.sees("The choices below have changed. Check the import again.")
	b.click("Check")
	b.sees("1 would be created, 1 would be updated")
	b.click("Import 2 rows")
	b.sees("1 created, 1 updated")
	found := s.client(key).expect(http.StatusOK, http.MethodGet, contactsPath+"?externalId=A1", "")
	if text := fmt.Sprint(found); !strings.Contains(text, "ada@example.com") {
		t.Errorf("the contact with the ID is %s", text)
	}
}

// A file can be read again from another row, and with a country in small letters, without another upload.
func TestBrowserImportReadsAgain(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "reads a file again from another row; the test of imports in a browser reads one")
	i := newInstallation(t).superuser()
	i.one("tenant", "create", "Acme")
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/imports", "Import and export")
	b.uploadCSV(t, "Email,Name,Phone\nName,Email,Phone\nAnn Reed,ann@example.com; other@example.com,030 5550144\nBob,bob@example.com,030 5550145\n")
	b.sees("Name · Ann Reed · Bob")
	b.click("Read the file again")
	b.fill("Row of the headings", "2")
	b.click("Read again")
	b.sees("Ann Reed · Bob")
	b.sees("the headings are in row 2; not imported is what is above them: Email Name Phone")
	b.fill("Country", "de")
	b.click("Check")
	b.sees("2 would be created")
	b.sees(`email: the first valid value of a list counts; "other@example.com" left out`)
	b.look("import-warnings")
	b.click("Import 2 rows")
	b.sees("2 created")
	b.integrations("/imports", "Import and export")
	b.says("people.csv", "Warnings", "1")
	b.sees("Cancelled")
	b.look("imports")
}

// A running import can be watched and cancelled.
func TestBrowserImportIsCancelled(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "imports until it is cancelled; the tests of imports cancel without a browser")
	i, tenant := newTenant(t)
	s := i.serve()
	admin := s.signIn()
	admin.header["Content-Type"] = "text/csv"
	id := str(t, admin.do(http.MethodPost, "/api/integrations/imports?name=customers.csv&tenant="+tenant, sheetOf(100_000)).data(), "id")
	admin.header["Content-Type"] = "application/json"
	slowImports(t, openData(t, i.data))
	b := s.newBrowser().signIn(s)
	const plan = `{"mapping":["name","email","externalId"],"match":"externalId"}`
	admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/imports/"+id+"/check", plan)
	b.integrations("/imports/"+id, "Import")
	b.sees("Checking")
	b.barMoves()
	admin.expect(http.StatusOK, http.MethodPost, "/api/integrations/imports/"+id+"/start", plan)
	b.sees("Running")
	b.barMoves()
	b.look("import-running")
	b.click("Cancel import")
	b.sees("Cancelled")
	b.look("import-cancelled")
}

// barMoves waits until the progress bar of an import has moved twice without a reload.
func (b *browser) barMoves() {
	b.t.Helper()
	b.run("window.place = 0")
	for range 2 {
		b.wait("a bar that moves", `(() => {
			const value = document.querySelector(".integrations-import progress")?.position;
			return value > window.place && value < 1 && (window.place = value);
		})()`)
	}
}

// chooseField chooses the field of a column.
func (b *browser) chooseField(column, field string) {
	b.t.Helper()
	selected := "document.querySelector('select[aria-label=" + quote("Field for "+column) + "]')"
	b.run("(() => { const el = " + selected + "; el.value = " + quote(field) + `; el.dispatchEvent(new Event("change")) })()`)
}

// uploadCSV uploads people.csv on the page of imports.
func (b *browser) uploadCSV(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "people.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.click("Import contacts")
	b.wait("the field of the file", labelled("File"))
	b.do(chromedp.SetUploadFiles(`input[type="file"]`, []string{file}))
	b.click("Upload file")
}
