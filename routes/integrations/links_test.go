package integrations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/member"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
)

// newLink creates a portal link and returns its token and the id of its record.
func newLink(t *testing.T, f *fixture, superuser *testkit.Client, body string) (token, id string) {
	t.Helper()
	got := superuser.Do("POST", integrationsPath+"/tenants/"+f.tenant+"/portal-link", body)
	if got.Status != 200 {
		t.Fatalf("creating a link is answered %d %s", got.Status, got.Body)
	}
	return got.Data()["token"].(string), got.Data()["id"].(string)
}

// A link opens the portal of its tenant, with its role, until it expires.
func TestPortalLink(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	f.App.Settings().Meta.AppURL = "https://example.com/crm/"
	before := time.Now()
	got := superuser.Do("POST", integrationsPath+"/tenants/"+f.tenant+"/portal-link", `{"name":"Ada"}`).Data()
	token, _ := got["token"].(string)
	if got["url"] != "https://example.com/crm/portal/#token="+token || got["id"] == "" {
		t.Errorf("the link is %v", got)
	}
	expires, err := time.Parse(time.RFC3339, fmt.Sprint(got["expires"]))
	if lasts := expires.Sub(before).Round(time.Minute); err != nil || lasts != time.Hour {
		t.Errorf("the link lasts %v (%v)", lasts, err)
	}
	claims, err := security.ParseUnverifiedJWT(token)
	if ends, _ := claims["exp"].(float64); err != nil || time.Unix(int64(ends), 0).Sub(expires).Abs() > time.Minute || claims["refreshable"] != false {
		t.Errorf("the token says %v (%v)", claims, err)
	}
	record, err := f.App.FindRecordById(member.CollectionName, got["id"].(string))
	if err != nil || !record.GetBool("link") || record.GetString("role") != "viewer" || record.GetString("name") != "Ada" ||
		!record.Verified() || !strings.HasSuffix(record.Email(), "@portal.invalid") {
		t.Errorf("the record is %v (%v)", record, err)
	}
	viewer, counts := signedIn(t, f, token), integrationsPath+"/tenants/counts?ids="+f.tenant
	if got := viewer.Do("GET", counts, ""); got.Status != 200 {
		t.Errorf("the tenant's counts are answered %d %s", got.Status, got.Body)
	}
	if got := viewer.Do("GET", integrationsPath+"/imports", ""); got.Status != 403 {
		t.Errorf("an admin's route is answered %d %s", got.Status, got.Body)
	}
	adminToken, _ := newLink(t, f, superuser, `{"role":"admin","expiresIn":300}`)
	if got := signedIn(t, f, adminToken).Do("GET", integrationsPath+"/imports", ""); got.Status != 200 {
		t.Errorf("an admin's route is answered %d %s", got.Status, got.Body)
	}
	if _, id := newLink(t, f, superuser, ""); id == "" {
		t.Error("a request without a body makes no link")
	}
}

func TestInvalidPortalLinks(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	path := integrationsPath + "/tenants/" + f.tenant + "/portal-link"
	for body, want := range map[string]string{
		`{"role":"owner"}`: "role invalid_value", `{"expiresIn":299}`: "expiresIn invalid_value", `{"expiresIn":86401}`: "expiresIn invalid_value",
		`{"expiresIn":0}`: "expiresIn invalid_value", `{"expiresIn":9223372036854775807}`: "expiresIn invalid_value", `{"expiresIn":-9223372036854775808}`: "expiresIn invalid_value",
		`{"expires":300}`: "expires unknown_field", `{"Role":"viewer"}`: "Role unknown_field", `{"name":"` + strings.Repeat("ä", 256) + `"}`: "name too_long",
	} {
		field, code, _ := strings.Cut(want, " ")
		if got := superuser.Do("POST", path, body); got.Status != 400 || got.FieldCode(field) != code {
			t.Errorf("%s is answered %d %s", body, got.Status, got.Body)
		}
	}
	for _, body := range []string{`[]`, `{"expiresIn":"1h"}`, `{"expiresIn":300.5}`, `{`} {
		if got := superuser.Do("POST", path, body); got.Status != 400 || got.Code() != "invalid_json" {
			t.Errorf("%s is answered %d %s", body, got.Status, got.Body)
		}
	}
	for _, tc := range [][2]string{{"POST", "portal-link"}, {"DELETE", "portal-links"}} {
		if got := superuser.Do(tc[0], integrationsPath+"/tenants/unknown/"+tc[1], ""); got.Status != 404 {
			t.Errorf("%s %s of an unknown tenant is answered %d %s", tc[0], tc[1], got.Status, got.Body)
		}
	}
	if changed, err := move.Freeze(t.Context(), f.App, testkit.Deliveries(f.App), f.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := superuser.Do("POST", path, ""); got.Status != 503 || got.Code() != "tenant_moving" {
		t.Errorf("a link to a frozen tenant is answered %d %s", got.Status, got.Body)
	}
}

// A link ends at once when its record is deleted, and with all links of its tenant; a demoted one loses its rights.
// It is never prolonged.
func TestPortalLinkEnds(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	person, _ := newMember(t, f, f.tenant, "admin")
	path := integrationsPath + "/tenants/counts?ids=" + f.tenant
	expect := func(what, token string, status int) {
		t.Helper()
		if got := signedIn(t, f, token).Do("GET", path, ""); got.Status != status {
			t.Errorf("after %s, the link is answered %d %s", what, got.Status, got.Body)
		}
	}
	token, id := newLink(t, f, superuser, `{"role":"admin"}`)
	refreshed := signedIn(t, f, token).Do("POST", "/api/collections/tenant_members/auth-refresh", "")
	if refreshed.Status != 200 || refreshed.JSON()["token"] != token {
		t.Errorf("refreshing is answered %d %s", refreshed.Status, refreshed.Body)
	}
	record, err := f.App.FindRecordById(member.CollectionName, id)
	if err != nil {
		t.Fatal(err)
	}
	record.Set("role", "viewer")
	if err := f.App.Save(record); err != nil {
		t.Fatal(err)
	}
	if got := signedIn(t, f, token).Do("GET", integrationsPath+"/imports", ""); got.Status != 403 {
		t.Errorf("a demoted link is answered %d %s", got.Status, got.Body)
	}
	expect("its demotion", token, 200)
	if err := f.App.Delete(record); err != nil {
		t.Fatal(err)
	}
	expect("its record's deletion", token, 401)

	first, _ := newLink(t, f, superuser, "")
	second, _ := newLink(t, f, superuser, "")
	if got := superuser.Do("DELETE", integrationsPath+"/tenants/"+f.tenant+"/portal-links", ""); got.Status != 200 || got.Data()["count"] != 2.0 {
		t.Errorf("revoking is answered %d %s", got.Status, got.Body)
	}
	expect("revoking all", first, 401)
	expect("revoking all", second, 401)
	if got := person.Do("GET", path, ""); got.Status != 200 {
		t.Errorf("after revoking all links, a person is answered %d", got.Status)
	}
}

// The sweep deletes links that have expired, and no others.
func TestExpiredPortalLinksAreDeleted(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	newMember(t, f, f.tenant, "viewer")
	for _, age := range []time.Duration{0, 2 * time.Hour} {
		options := member.LinkOptions{Role: member.RoleViewer, Duration: member.DefaultLinkDuration}
		if _, err := member.NewLink(f.App, f.tenant, options, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if deleted, err := member.PruneLinks(f.App, 10, time.Now()); err != nil || deleted != 1 {
		t.Errorf("%d links were deleted (%v)", deleted, err)
	}
	if left := testkit.Count(t, f.App, "SELECT count(*) FROM tenant_members", nil); left != 2 {
		t.Errorf("%d members are left", left)
	}
}
