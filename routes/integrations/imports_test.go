package integrations_test

import (
	"net/http"
	"strings"
	"testing"

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
		{"GET", importsPath + "/x/refused"}, {"GET", "/api/integrations/contacts/export?tenant=" + f.tenant},
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
	if !strings.Contains(string(exported.Body), ",'=Ada,ada@example.com,'+49301234,") || !strings.Contains(exported.Header.Get("Content-Disposition"), ".csv") {
		t.Errorf("exported are %s", exported.Body)
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
		{"POST", importsPath + "?tenant=" + f.tenant, "name\n\"Ada", http.StatusBadRequest},
		{"POST", importsPath + "?tenant=" + f.tenant, "name\n" + strings.Repeat(strings.Repeat("a", 100<<10)+"\n", 680), http.StatusRequestEntityTooLarge},
		{"GET", importsPath + "/unknown", "", http.StatusNotFound},
		{"POST", importsPath + "/unknown/cancel", "", http.StatusNotFound},
		{"GET", importsPath + "/unknown/refused", "", http.StatusNotFound},
		{"GET", "/api/integrations/contacts/export?tenant=unknown", "", http.StatusNotFound},
		{"GET", "/api/integrations/contacts/export?tenant=" + f.tenant + "&sort=x", "", http.StatusBadRequest},
	} {
		if got := admin.Do(c.method, c.path, c.body, "Content-Type", "text/csv"); got.Status != c.status {
			t.Errorf("%s %s gives %d %.200s", c.method, c.path, got.Status, got.Body)
		}
	}
	if left := testkit.Count(t, f.App, "SELECT count(*) FROM _imports", nil); left != 0 {
		t.Errorf("%d imports are left", left)
	}
}
