package integrations_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// Superusers and members list, count, read, change and delete the contacts of a tenant as keys do.
func TestTenantContacts(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	superuser := newAdmin(t, f)
	admin, _ := newMember(t, f, f.tenant, "admin")
	viewer, _ := newMember(t, f, f.tenant, "viewer")
	stranger, _ := newMember(t, f, testkit.Tenant(t, f.App, "Other"), "admin")
	var ids []string
	for _, name := range []string{"Ada", "Grace", "Hedy"} {
		ids = append(ids, client.Do("POST", contactsPath, `{"name":"`+name+`"}`).Data()["id"].(string))
	}
	list, one := integrationsPath+"/contacts?tenant="+f.tenant, integrationsPath+"/contacts/"+ids[0]

	for who, reader := range map[string]*testkit.Client{"superuser": superuser, "admin": admin, "viewer": viewer} {
		own := client.Do("GET", contactsPath+"?sort=-name&limit=2", "")
		first := reader.Do("GET", list+"&sort=-name&limit=2", "")
		if string(first.Body) != string(own.Body) {
			t.Errorf("a %s lists %s, not %s", who, first.Body, own.Body)
		}
		address, _, _ := strings.Cut(strings.TrimPrefix(first.Header.Get("Link"), "<"), ">")
		next, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if rest := reader.Do("GET", next.RequestURI(), ""); !strings.Contains(string(rest.Body), ids[0]) || strings.Contains(string(rest.Body), ids[2]) {
			t.Errorf("the next page %s of a %s is %s", address, who, rest.Body)
		}
		if count := reader.Do("GET", integrationsPath+"/contacts/count?q=a&tenant="+f.tenant, "").Data()["count"]; count != 2.0 {
			t.Errorf("a %s counts %v", who, count)
		}
		if got, want := reader.Do("GET", one, ""), client.Do("GET", contactsPath+"/"+ids[0], ""); string(got.Body) != string(want.Body) || got.Header.Get("ETag") != want.Header.Get("ETag") {
			t.Errorf("a %s reads %d %s", who, got.Status, got.Body)
		}
	}
	if got := viewer.Do("GET", integrationsPath+"/contacts", "").JSON()["data"].([]any); len(got) != 3 {
		t.Errorf("a member who names no tenant lists %v", got)
	}
	for _, request := range []struct {
		who          *testkit.Client
		method, path string
		want         string
	}{
		{superuser, "GET", integrationsPath + "/contacts", "400 invalid_parameter"},
		{superuser, "GET", integrationsPath + "/contacts?tenant=nobody", "404 not_found"},
		{superuser, "GET", list + "&page=2", "400 invalid_parameter"},
		{superuser, "GET", integrationsPath + "/contacts/nobody", "404 not_found"},
		{superuser, "PATCH", integrationsPath + "/contacts/nobody", "404 not_found"},
		{superuser, "PATCH", one, "400 validation_failed"},
		{stranger, "GET", list, "404 not_found"},
		{stranger, "GET", one, "404 not_found"},
		{stranger, "PATCH", one, "404 not_found"},
		{stranger, "DELETE", one, "404 not_found"},
		{viewer, "PATCH", one, "403 insufficient_permission"},
		{viewer, "DELETE", one, "403 insufficient_permission"},
	} {
		body := ""
		if request.method == "PATCH" {
			body = `{"email":"nonsense"}`
		}
		got := request.who.Do(request.method, request.path, body)
		if answer := fmt.Sprint(got.Status, " ", got.Code()); answer != request.want {
			t.Errorf("%s %s is answered %s, not %s", request.method, request.path, got.Body, request.want)
		}
	}

	tag := admin.Do("GET", one, "").Header.Get("ETag")
	changed := admin.Do("PATCH", one, `{"company":"Engines"}`, "If-Match", tag)
	if changed.Status != http.StatusOK || changed.Data()["company"] != "Engines" {
		t.Fatalf("the change is answered %d %s", changed.Status, changed.Body)
	}
	for _, method := range []string{"PATCH", "DELETE"} {
		body := map[string]string{"PATCH": `{"company":"Lost"}`}[method]
		if got := superuser.Do(method, one, body, "If-Match", tag); got.Status != http.StatusPreconditionFailed {
			t.Errorf("%s of an older state is answered %d %s", method, got.Status, got.Body)
		}
	}
	for _, who := range []*testkit.Client{admin, superuser} {
		client.Do("POST", contactsPath+"/"+ids[0]+"/merge", `{"from":["`+ids[1]+`"]}`)
		merged := who.Do("GET", integrationsPath+"/contacts/"+ids[1], "")
		if merged.Data()["id"] != ids[0] || !strings.HasSuffix(merged.Header.Get("Content-Location"), one) {
			t.Errorf("the old id reads %d %s at %s", merged.Status, merged.Body, merged.Header.Get("Content-Location"))
		}
	}
	if got := superuser.Do("DELETE", integrationsPath+"/contacts/"+ids[1], ""); got.Status < 400 {
		t.Errorf("the old id deletes: %d", got.Status)
	}
	for i, who := range []*testkit.Client{admin, superuser} {
		if got := who.Do("DELETE", integrationsPath+"/contacts/"+ids[2*i], ""); got.Status != http.StatusNoContent || len(got.Body) > 0 {
			t.Errorf("the deletion is answered %d %s", got.Status, got.Body)
		}
	}
	if got, want := sources(t, f.App, ids[0])[1:], []string{`{"type":"member"}`, `{"type":"member"}`}; !slices.Equal(got, want) {
		t.Errorf("the sources are %s", got)
	}
}
