package integrations_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/xuri/excelize/v2"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

const importsPath = "/api/integrations/imports"

func TestOnlySuperusersImportAndExport(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	for _, request := range [][2]string{
		{"GET", importsPath}, {"POST", importsPath + "?tenant=" + f.tenant}, {"GET", "/api/integrations/contacts/fields"}, {"GET", importsPath + "/x"},
		{"POST", importsPath + "/x/check"}, {"POST", importsPath + "/x/start"}, {"POST", importsPath + "/x/cancel"},
		{"GET", importsPath + "/x/refused"}, {"GET", importsPath + "/x/problems?kind=refused"}, {"POST", importsPath + "/x/undo"}, {"GET", "/api/integrations/contacts/export?tenant=" + f.tenant},
	} {
		if got := client.Do(request[0], request[1], ""); got.Status != http.StatusUnauthorized {
			t.Errorf("%v gives a key %d %s", request, got.Status, got.Body)
		}
	}
}

// A file is uploaded, checked and imported, and an export equals it.
func TestImportAndExport(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	work := func() {
		t.Helper()
		if err := imports.Work(t.Context(), f.App); err != nil {
			t.Fatal(err)
		}
	}
	upload := func(text string) *testkit.Answer {
		t.Helper()
		return admin.Do("POST", importsPath+"?tenant="+f.tenant+"&name=contacts.csv", text, "Content-Type", "text/csv")
	}
	if fields := admin.Do("GET", "/api/integrations/contacts/fields", ""); !strings.Contains(string(fields.Body), `"firstName"`) {
		t.Errorf("the fields are %s", fields.Body)
	}
	stored := upload("Name;E-Mail;Phone;Remarks\r\n=Ada;ada@example.com;+49301234;x\r\nGrace;nonsense;;y\r\n").Data()
	path := importsPath + "/" + stored["id"].(string)
	plan := `{"mapping":["name","email","phone",""],"match":"email"}`
	if answer := admin.Do("POST", path+"/check", plan); answer.Data()["status"] != "checking" {
		t.Fatalf("the check begins with %s", answer.Body)
	}
	work()
	checked := admin.Do("GET", path, "").Data()
	if counts := checked["counts"].(map[string]any); checked["status"] != "checked" || counts["created"] != 1.0 || counts["refused"] != 1.0 {
		t.Errorf("the check tells %v", checked)
	}
	refusal := checked["refusals"].([]any)[0].(map[string]any)
	if email := refusal["fields"].(map[string]any)["email"].(map[string]any); refusal["row"] != 3.0 || email["value"] != "nonsense" {
		t.Errorf("the first refusal is %v", refusal)
	}
	admin.Do("POST", path+"/start", plan)
	work()
	if done := admin.Do("GET", path, "").Data(); done["status"] != "done" || done["position"] != 2.0 {
		t.Errorf("the import is %v", done)
	}
	if refused := admin.Do("GET", path+"/refused", ""); !strings.Contains(string(refused.Body), "Grace;nonsense;;y;") {
		t.Errorf("refused are %s", refused.Body)
	}
	if again := admin.Do("POST", path+"/start", plan); again.Status != http.StatusBadRequest {
		t.Errorf("it begins again: %d %s", again.Status, again.Body)
	}
	if listed := admin.Do("GET", importsPath, "").JSON()["data"].([]any); len(listed) != 1 {
		t.Errorf("listed are %v", listed)
	}

	exported := admin.Do("GET", "/api/integrations/contacts/export?tenant="+f.tenant+"&q=ada", "")
	if !strings.Contains(string(exported.Body), ",'=Ada,ada@example.com,+49301234,") || !strings.Contains(exported.Header.Get("Content-Disposition"), ".csv") {
		t.Errorf("exported are %s", exported.Body)
	}
	data := admin.Do("GET", "/api/integrations/contacts/export?for=data&tenant="+f.tenant, "")
	if !strings.HasPrefix(string(data.Body), `"id",name,`) || !strings.Contains(string(data.Body), ",=Ada,ada@example.com,+49301234,") {
		t.Errorf("an export for programs is %q", data.Body)
	}
	if none := admin.Do("GET", "/api/integrations/contacts/export?tenant="+f.tenant+"&q=grace", ""); strings.Count(string(none.Body), "\n") != 1 {
		t.Errorf("exported are %s", none.Body)
	}
	back := upload(string(exported.Body)).Data()
	admin.Do("POST", importsPath+"/"+back["id"].(string)+"/start", `{"mapping":["","name","email","phone","company","externalId","",""],"match":"email"}`)
	work()
	if done := admin.Do("GET", importsPath+"/"+back["id"].(string), "").Data(); done["counts"].(map[string]any)["unchanged"] != 1.0 {
		t.Errorf("what was exported comes back as %v", done)
	}
}

// The choices of an import are those of the command, and its answer says what was made of the file.
func TestChoicesOfImports(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	testkit.Record(t, f.App, "contacts", map[string]any{"tenant": f.tenant, "name": "Ada", "phone": "+49301234"})
	stored := admin.Do("POST", importsPath+"?tenant="+f.tenant+"&headings=2", "Customers 2026\nName;Phone;Mobile;Team\nA.;030 1234;;x\nA.;030 1234;;x\nBob;;030 5678;y\n", "Content-Type", "text/csv")
	path := importsPath + "/" + stored.Data()["id"].(string)
	for _, wrong := range []string{`{"match":"name"}`, `{"existing":"replace"}`, `{"new":"no"}`, `{"country":"Germany"}`, `{"match":"email"}`} {
		if got := admin.Do("POST", path+"/check", wrong); got.Status != http.StatusBadRequest {
			t.Errorf("%s gives %d %s", wrong, got.Status, got.Body)
		}
	}
	admin.Do("POST", path+"/check", `{"match":"phone","existing":"fill","new":"skip","country":"de","strict":true}`)
	if err := imports.Work(t.Context(), f.App); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(admin.Do("GET", path, "").Data())
	for _, want := range []string{
		`"headings":2`, `"above":["Customers 2026"]`, `"ignored":["Team"]`, `"mapping":["name","phone","phone",""]`, `"match":"phone","`, `"existing":"fill"`, `"new":"skip"`, `"strict":true`,
		`"dryRun":true`, `"counts":{"created":0,"refused":0,"repeated":1,"skipped":1,"unchanged":2,"updated":0,"warnings":0}`, `"notes":[{"row":4,"text":"is the same contact as row 3"}]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("without %s: %s (%v)", want, got, err)
		}
	}
}

// An import whose encoding is not certain has candidates, is checked, and does not start until the file is uploaded with
// its encoding. The country of the tenant can decide.
func TestUnknownEncoding(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	const file = "name;email\nKu\xe8era;a@example.com\nL\xe8ne;b@example.com\n"
	upload := func(query string) map[string]any {
		return admin.Do("POST", importsPath+"?tenant="+f.tenant+query, file, "Content-Type", "text/csv").Data()
	}
	undecided := upload("")
	if candidates, _ := undecided["encodings"].([]any); len(candidates) < 2 {
		t.Fatalf("got %v", undecided)
	}
	path := importsPath + "/" + undecided["id"].(string)
	if got := admin.Do("POST", path+"/check", `{}`); got.Status != http.StatusOK {
		t.Errorf("the check gives %d %s", got.Status, got.Body)
	}
	if got := admin.Do("POST", path+"/start", `{}`); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), `"unknown_encoding"`) {
		t.Errorf("the start gives %d %s", got.Status, got.Body)
	}
	for query, want := range map[string]string{"&encoding=cp1250": "windows-1250", "&encoding=macintosh": "macintosh"} {
		if got := upload(query); got["encoding"] != want || got["encodings"] != nil {
			t.Errorf("%s gives %v", query, got)
		}
	}
	if got := admin.Do("POST", importsPath+"?tenant="+f.tenant+"&encoding=ebcdic", file, "Content-Type", "text/csv"); got.Status != http.StatusBadRequest {
		t.Errorf("an unknown encoding gives %d %s", got.Status, got.Body)
	}
	owner, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	owner.Set("country", "CZ")
	if err := f.App.Save(owner); err != nil {
		t.Fatal(err)
	}
	if got := upload(""); got["encoding"] != "windows-1250" || got["encodings"] != nil {
		t.Errorf("with the country: %v", got)
	}
}

// A workbook is uploaded, checked and imported like CSV, its refused rows are a workbook, and an export as a
// workbook equals it.
func TestWorkbooks(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	run := func(query, text, action, match string) map[string]any {
		t.Helper()
		stored := admin.Do("POST", importsPath+"?tenant="+f.tenant+query, text, "Content-Type", workbookType).Data()
		path := importsPath + "/" + stored["id"].(string)
		plan, err := json.Marshal(map[string]any{"mapping": stored["mapping"], "match": match})
		if err != nil {
			t.Fatal(err)
		}
		admin.Do("POST", path+action, string(plan))
		if err := imports.Work(t.Context(), f.App); err != nil {
			t.Fatal(err)
		}
		return admin.Do("GET", path, "").Data()
	}
	book := excelize.NewFile()
	defer book.Close()
	_, err := book.NewSheet("Customers")
	for cell, value := range map[string]any{"A1": "Name", "B1": "E-Mail", "C1": "Phone", "A2": "=Ada", "B2": "ada@example.com", "C2": "+49301234", "B4": "nonsense", "C4": 491701234567} {
		err = errors.Join(err, book.SetCellValue("Customers", cell, value))
	}
	var file strings.Builder
	if err := errors.Join(err, book.Write(&file)); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"/check", "/start"} {
		got := run("&name=customers.csv&sheet=customers", file.String(), action, "email")
		counts, refusal := got["counts"].(map[string]any), got["refusals"].([]any)[0].(map[string]any)
		if counts["created"] != 1.0 || counts["refused"] != 1.0 || refusal["row"] != 4.0 || refusal["fields"].(map[string]any)["email"].(map[string]any)["value"] != "nonsense" {
			t.Errorf("%s does %v", action, got)
		}
		refused := admin.Do("GET", importsPath+"/"+got["id"].(string)+"/refused", "")
		if name := refused.Header.Get("Content-Disposition"); refused.Header.Get("Content-Type") != workbookType || !strings.Contains(name, `"refused.xlsx"`) {
			t.Errorf("refused rows are %q", refused.Header)
		}
		if again := run("", string(refused.Body), "/check", "email"); again["total"] != 1.0 || again["counts"].(map[string]any)["refused"] != 1.0 {
			t.Errorf("the refused rows come back as %v", again)
		}
	}
	const export = "/api/integrations/contacts/export?format=xlsx&tenant="
	exported := admin.Do("GET", export+f.tenant+"&q=ada", "")
	if name := exported.Header.Get("Content-Disposition"); exported.Header.Get("Content-Type") != workbookType || !strings.Contains(name, `.xlsx"`) {
		t.Errorf("exported are %q", exported.Header)
	}
	if back := run("", string(exported.Body), "/start", "id"); back["counts"].(map[string]any)["unchanged"] != 1.0 {
		t.Errorf("what was exported comes back as %v", back)
	}
	for path, want := range map[string]string{
		importsPath + "?sheet=Nobody&tenant=" + f.tenant:                  `has no sheet named \"Nobody\"`,
		"/api/integrations/contacts/export?format=ods&tenant=" + f.tenant: "format: must be csv, xlsx or vcf",
	} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.HasPrefix(path, importsPath)]
		if got := admin.Do(method, path, file.String(), "Content-Type", workbookType); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
	testkit.AddFields(t, f.App, &core.TextField{Name: "notes", Max: 100_000})
	long := testkit.Record(t, f.App, "contacts", map[string]any{"tenant": f.tenant, "name": "Long", "notes": strings.Repeat("x", 32_768)})
	if got := admin.Do("GET", export+f.tenant, ""); got.Status != http.StatusBadRequest || !strings.Contains(string(got.Body), long.Id) || !strings.Contains(string(got.Body), "must be csv") {
		t.Errorf("a cell that is too long gives %d %.500s", got.Status, got.Body)
	}
}

func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", importsPath + "?tenant=unknown", "name\nAda\n", http.StatusNotFound},
		{"POST", importsPath + "?tenant=" + f.tenant, "", http.StatusBadRequest},
		{"POST", importsPath + "?tenant=" + f.tenant, "[{\"name\":\"Ada\"}]", http.StatusBadRequest},
		{"POST", importsPath + "?tenant=" + f.tenant + "&headings=0", "name\nAda\n", http.StatusBadRequest},
		{"POST", importsPath + "?tenant=" + f.tenant + "&headings=3", "name\nAda\n", http.StatusBadRequest},
		{"POST", importsPath + "?tenant=" + f.tenant, "name\n" + strings.Repeat(strings.Repeat("a", 100<<10)+"\n", 680), http.StatusRequestEntityTooLarge},
		{"GET", importsPath + "/unknown", "", http.StatusNotFound},
		{"POST", importsPath + "/unknown/cancel", "", http.StatusNotFound},
		{"GET", importsPath + "/unknown/refused", "", http.StatusNotFound},
		{"GET", "/api/integrations/contacts/export?tenant=unknown", "", http.StatusNotFound},
		{"GET", "/api/integrations/contacts/export?tenant=" + f.tenant + "&sort=x", "", http.StatusBadRequest},
		{"GET", "/api/integrations/contacts/export?tenant=" + f.tenant + "&for=excel", "", http.StatusBadRequest},
	} {
		if got := admin.Do(c.method, c.path, c.body, "Content-Type", "text/csv"); got.Status != c.status {
			t.Errorf("%s %s gives %d %.200s", c.method, c.path, got.Status, got.Body)
		}
	}
	if left := testkit.Count(t, f.App, "SELECT count(*) FROM _imports", nil); left != 0 {
		t.Errorf("%d imports are left", left)
	}
}

// Reading an uploaded file ends soon after the access of the member who has sent it.
func TestUploadEndsWithTheMember(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin, record := newMember(t, f, f.tenant, "admin")
	answered := make(chan *testkit.Answer)
	go func() {
		answered <- admin.Do("POST", importsPath+"?tenant="+f.tenant+"&name=contacts.csv", "name,notes\n"+strings.Repeat(`Ada,"`+strings.Repeat(`""`, 200)+"\"\n", 100_000), "Content-Type", "text/csv")
	}()
	for stored := 0; stored == 0; runtime.Gosched() {
		stored = testkit.Count(t, f.App, "SELECT count(*) FROM _importRows", nil)
	}
	if err := f.App.Delete(record); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got.Status != http.StatusUnauthorized {
		t.Errorf("the upload is answered %d %s", got.Status, got.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT (SELECT count(*) FROM _imports) + (SELECT count(*) FROM _importRows)", nil); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// A check has its findings by kind and the rows with problems, and an import can be undone by an admin of its tenant.
func TestFindingsAndUndo(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	root := newAdmin(t, f)
	as := func(tenant, role string) *testkit.Client {
		record := testkit.Record(t, f.App, "tenant_members", map[string]any{
			"tenant": tenant, "role": role, "email": tenant + role + "@example.com", "password": "a long password",
		})
		token, err := record.NewAuthToken()
		if err != nil {
			t.Fatal(err)
		}
		member := testkit.NewClient(t, f.base, "")
		member.Header.Set("Authorization", token)
		return member
	}
	admin, viewer, stranger := as(f.tenant, "admin"), as(f.tenant, "viewer"), as(testkit.Tenant(t, f.App, "Other"), "admin")
	stored := root.Do("POST", importsPath+"?tenant="+f.tenant, "name,email,Phone\n=Ada,ada@,\nBob,bob@example.com,030 123\nCleo,cleo@example.com,\n", "Content-Type", "text/csv")
	path := importsPath + "/" + stored.Data()["id"].(string)
	admin.Do("POST", path+"/check", "{}")
	work := func() {
		if err := imports.Work(t.Context(), f.App); err != nil {
			t.Error(err)
		}
	}
	work()
	found, err := json.Marshal(admin.Do("GET", path, "").Data()["findings"])
	const want = `[{"count":1,"field":"email","kind":"invalid_email","rows":[2]},{"count":1,"field":"phone","kind":"invalid_phone","rows":[3]}]`
	if err != nil || string(found) != want {
		t.Errorf("the findings are %s (%v)", found, err)
	}
	for kind, want := range map[string]string{
		"refused": "name,email,Phone,Problem\n'=Ada,ada@,,\"email: ", "warnings": "name,email,Phone,Problem\nBob,bob@example.com,030 123,\"phone: ",
	} {
		got := admin.Do("GET", path+"/problems?kind="+kind, "")
		if !strings.HasPrefix(string(got.Body), "\ufeff"+want) || got.Header.Get("Content-Disposition") != `attachment; filename="`+kind+`.csv"` {
			t.Errorf("%s are %v %s", kind, got.Header, got.Body)
		}
	}
	if got := admin.Do("GET", path+"/problems?kind=x", ""); got.Status != http.StatusBadRequest || got.FieldCode("kind") != "invalid_value" {
		t.Errorf("an unknown kind gives %d %s", got.Status, got.Body)
	}
	if got := admin.Do("POST", path+"/undo", ""); got.Status != http.StatusBadRequest || got.FieldCode("status") != "invalid_value" {
		t.Errorf("before the import, its undo gives %d %s", got.Status, got.Body)
	}
	admin.Do("POST", path+"/start", "{}")
	work()
	for _, request := range [][2]string{{"GET", "/problems?kind=refused"}, {"POST", "/undo"}} {
		if got := viewer.Do(request[0], path+request[1], ""); got.Status != http.StatusForbidden {
			t.Errorf("%v gives a viewer %d %s", request, got.Status, got.Body)
		}
		if got := stranger.Do(request[0], path+request[1], ""); got.Status != http.StatusNotFound {
			t.Errorf("%v gives another tenant %d %s", request, got.Status, got.Body)
		}
	}
	testkit.AddContact(t, f.App, f.tenant, "another00000001")
	created := func(query string) string {
		got := viewer.Do("GET", integrationsPath+"/contacts?import="+stored.Data()["id"].(string)+query, "")
		var names []string
		for _, c := range got.JSON()["data"].([]any) {
			names = append(names, fmt.Sprint(c.(map[string]any)["name"]))
		}
		if !strings.Contains(query, "limit") {
			count := viewer.Do("GET", integrationsPath+"/contacts/count?import="+stored.Data()["id"].(string)+query, "").Data()["count"]
			return fmt.Sprint(names, count)
		}
		return fmt.Sprint(names, strings.Contains(got.Header.Get("Link"), "&import="))
	}
	for query, want := range map[string]string{
		"": "[Bob Cleo] 2", "&q=bob": "[Bob] 1", "&email=cleo@example.com": "[Cleo] 1", "&sort=-name&limit=1": "[Cleo] true",
		"&createdBefore=2020-01-01T00:00:00Z": "[] 0",
	} {
		if got := created(query); got != want {
			t.Errorf("%q lists %s of the contacts of the import", query, got)
		}
	}
	if got := stranger.Do("GET", integrationsPath+"/contacts?import="+stored.Data()["id"].(string), ""); got.Status != http.StatusNotFound {
		t.Errorf("the contacts of another tenant's import are answered %d %s", got.Status, got.Body)
	}
	testkit.Execute(t, f.App, "DELETE FROM contacts WHERE id = 'another00000001'", nil)
	if got := admin.Do("POST", path+"/undo", `{"dryRun":true}`).Data(); got["deleted"] != 2.0 || got["kept"] != 0.0 {
		t.Errorf("announced are %v", got)
	}
	done := make(chan *testkit.Answer)
	go func() { done <- admin.Do("POST", path+"/undo", "{}") }()
	testkit.Eventually(t, "the undo begins", func() bool { return admin.Do("GET", path, "").Data()["status"] == "undoing" })
	work()
	if got := <-done; got.Status != http.StatusOK || got.Data()["deleted"] != 2.0 {
		t.Errorf("the undo gives %d %s", got.Status, got.Body)
	}
	if left := testkit.Count(t, f.App, "SELECT count(*) FROM contacts", nil); left != 0 {
		t.Errorf("%d contacts are left", left)
	}
	if entry := admin.Do("GET", auditPath+"?limit=1", "").JSON()["data"].([]any)[0].(map[string]any); entry["action"] != "undone" {
		t.Errorf("the last entry is %v", entry)
	}
}
