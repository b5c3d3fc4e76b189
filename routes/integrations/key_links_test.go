package integrations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

const keysPath = "/api/collections/api_keys/records"

// keyed creates a key and returns its plaintext and its id.
func keyed(t *testing.T, f *fixture, permissions ...string) (key, id string) {
	t.Helper()
	record := testkit.Record(t, f.App, credential.CollectionName, map[string]any{"tenant": f.tenant, "name": "backend", "permissions": permissions})
	return credential.Minted(record), record.Id
}

func linkPath(tenantID string) string {
	return integrationsPath + "/tenants/" + tenantID + "/portal-link"
}

// A key creates links for its own tenant, with the roles that its permission allows. Each costs a call.
func TestPortalLinkByKey(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	other := testkit.Tenant(t, f.App, "Other")
	viewers, id := keyed(t, f, "portal:link")
	admins, _ := keyed(t, f, "contacts:read", "portal:link-admin")
	contacts, _ := keyed(t, f)
	disabled := testkit.Tenant(t, f.App, "Disabled")
	paused := testkit.Key(t, f.App, disabled, "portal:link")
	testkit.Execute(t, f.App, "UPDATE tenants SET apiEnabled = 0 WHERE id = {:id}", dbx.Params{"id": disabled})
	revoked := testkit.Record(t, f.App, credential.CollectionName, map[string]any{"tenant": f.tenant, "name": "x", "permissions": "portal:link", "revoked": time.Now()})
	for _, tc := range []struct{ what, key, tenant, body, want string }{
		{"a viewer's link", viewers, f.tenant, "", "200 "},
		{"an admin's link", viewers, f.tenant, `{"role":"admin"}`, "403 insufficient_permission"},
		{"an admin's link by its key", admins, f.tenant, `{"role":"admin"}`, "200 "},
		{"a viewer's link by that key", admins, f.tenant, `{"role":"viewer"}`, "200 "},
		{"an unknown property", viewers, f.tenant, `{"tenant":"x"}`, "400 validation_failed"},
		{"another tenant", admins, other, "", "404 not_found"},
		{"nobody", admins, "unknown", "", "404 not_found"},
		{"a key by default", contacts, f.tenant, "", "403 insufficient_permission"},
		{"a key by default, elsewhere,", contacts, other, "", "403 insufficient_permission"},
		{"a disabled tenant", paused, disabled, "", "403 feature_not_enabled"},
		{"a revoked key", credential.Minted(revoked), f.tenant, "", "401 invalid_api_key"},
		{"a malformed key", "cmk_x", f.tenant, "", "401 invalid_api_key"},
	} {
		got := testkit.NewClient(t, f.base, tc.key).Do("POST", linkPath(tc.tenant), tc.body)
		if fmt.Sprint(got.Status, " ", got.Code()) != tc.want {
			t.Errorf("%s gives %d %s", tc.what, got.Status, got.Body)
		}
	}
	for bearer, want := range map[string]string{"eyJhbGciOiJIUzI1NiJ9": "unauthorized", "cmk_x": "invalid_api_key"} {
		if got := signedIn(t, f, "Bearer "+bearer).Do("POST", linkPath(f.tenant), ""); got.Status != 401 || got.Code() != want {
			t.Errorf("the bearer token %s gives %d %s", bearer, got.Status, got.Body)
		}
	}
	got := signedIn(t, f, "Bearer "+viewers).Do("POST", linkPath(f.tenant), `{"name":"Ada"}`)
	if left := got.Header.Get("RateLimit"); got.Status != 200 || !strings.HasPrefix(left, `"key";r=96;`) {
		t.Errorf("a link gives %d %s, with the limit %s", got.Status, got.Body, left)
	}
	if opened := signedIn(t, f, got.Data()["token"].(string)).Do("GET", integrationsPath+"/overview", ""); opened.Status != 200 {
		t.Errorf("the link opens with %d %s", opened.Status, opened.Body)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM audit_log WHERE action = 'link_created' AND actorKind = 'key' AND actor = {:key} AND actorName = 'backend' AND record = {:link}",
		dbx.Params{"key": id, "link": got.Data()["id"]}); n != 1 {
		t.Errorf("the audit log has %d entries", n)
	}
	both := newAdmin(t, f).Do("POST", linkPath(other), "", "X-API-Key", viewers)
	if both.Status != 404 {
		t.Errorf("a key beside a superuser's token gives %d %s", both.Status, both.Body)
	}
	if got := testkit.NewClient(t, f.base, viewers).Do("GET", "/api/ext/v1/contacts", ""); got.Status != 403 {
		t.Errorf("a key for links lists contacts: %d", got.Status)
	}
	if got := testkit.NewClient(t, f.base, admins).Do("DELETE", integrationsPath+"/tenants/"+f.tenant+"/portal-links", ""); got.Status != 401 {
		t.Errorf("a key revokes links: %d", got.Status)
	}
}

// When a key ends, however it does, its links end with it, and no others. An open page is signed out.
func TestLinksEndWithTheirKey(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	others, _ := newLink(t, f, superuser, "")
	for how, tc := range map[string]struct {
		end   func(id string)
		works bool
	}{
		"a revocation": {func(id string) {
			superuser.Do("PATCH", keysPath+"/"+id, `{"revoked":"2026-01-01 00:00:00.000Z"}`)
		}, false},
		"an expiry":  {func(id string) { superuser.Do("PATCH", keysPath+"/"+id, `{"expires":"2026-01-01 00:00:00.000Z"}`) }, false},
		"a deletion": {func(id string) { superuser.Do("DELETE", keysPath+"/"+id, "") }, false},
		"a rotation": {func(id string) { superuser.Do("POST", integrationsPath+"/keys/"+id+"/rotate", "") }, false},
		"a rotation with an overlap": {func(id string) {
			superuser.Do("POST", integrationsPath+"/keys/"+id+"/rotate", `{"overlapHours":1}`)
		}, true},
		"another name": {func(id string) { superuser.Do("PATCH", keysPath+"/"+id, `{"name":"x"}`) }, true},
	} {
		key, id := keyed(t, f, "portal:link-admin")
		got := testkit.NewClient(t, f.base, key).Do("POST", linkPath(f.tenant), `{"role":"admin","expiresIn":86400}`)
		session := signedIn(t, f, got.Data()["token"].(string))
		tc.end(id)
		statuses := []int{
			session.Do("GET", integrationsPath+"/overview", "").Status, session.Do("GET", integrationsPath+"/imports", "").Status,
			session.Do("POST", "/api/collections/tenant_members/auth-refresh", "").Status, session.Do("POST", keysPath, `{"tenant":"`+f.tenant+`","name":"x"}`).Status,
		}
		want := []int{401, 401, 401, 400}
		if tc.works {
			want = []int{200, 200, 200, 200}
		}
		if fmt.Sprint(statuses) != fmt.Sprint(want) {
			t.Errorf("after %s, the link gets %v", how, statuses)
		}
		if how == "a rotation with an overlap" {
			expires := f.link(t, got).GetDateTime("expires").Time()
			if left := time.Until(expires).Round(time.Minute); left != time.Hour {
				t.Errorf("the link ends in %s", left)
			}
		}
	}
	if got := signedIn(t, f, others).Do("GET", integrationsPath+"/overview", ""); got.Status != 200 {
		t.Errorf("a superuser's link gets %d", got.Status)
	}
	soon := testkit.Record(t, f.App, credential.CollectionName, map[string]any{
		"tenant": f.tenant, "name": "x", "permissions": "portal:link", "expires": time.Now().Add(10 * time.Minute),
	})
	got := testkit.NewClient(t, f.base, credential.Minted(soon)).Do("POST", linkPath(f.tenant), "")
	expires, err := time.Parse(time.RFC3339, fmt.Sprint(got.Data()["expires"]))
	if err != nil || !expires.Equal(soon.GetDateTime("expires").Time().Truncate(time.Millisecond)) || !f.link(t, got).GetDateTime("expires").Time().Equal(expires) {
		t.Errorf("the link of a key that expires soon ends at %s (%v)", expires, err)
	}
}

// link returns the record of a link that was created.
func (f *fixture) link(t *testing.T, got *testkit.Answer) *core.Record {
	t.Helper()
	record, err := f.App.FindRecordById(member.CollectionName, fmt.Sprint(got.Data()["id"]))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// A link's session neither grants permissions to create links, nor changes or rotates a key that has them.
func TestLinksGrantNoLinks(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	token, _ := newLink(t, f, superuser, `{"role":"admin"}`)
	link := signedIn(t, f, token)
	admin, _ := newMember(t, f, f.tenant, "admin")
	_, guarded := keyed(t, f, "portal:link", "contacts:read")
	_, plain := keyed(t, f)
	create := func(permissions string) string {
		return `{"tenant":"` + f.tenant + `","name":"x","permissions":` + permissions + `}`
	}
	for _, tc := range []struct{ method, path, body string }{
		{"POST", keysPath, create(`["portal:link"]`)},
		{"POST", keysPath, create(`["contacts:read","portal:link-admin"]`)},
		{"PATCH", keysPath + "/" + plain, `{"permissions":["portal:link"]}`},
		{"PATCH", keysPath + "/" + plain, `{"permissions+":["portal:link-admin"]}`},
		{"PATCH", keysPath + "/" + guarded, `{"permissions":[]}`},
		{"PATCH", keysPath + "/" + guarded, `{"expires":""}`},
		{"POST", integrationsPath + "/keys/" + guarded + "/rotate", ""},
	} {
		if got := link.Do(tc.method, tc.path, tc.body); got.Status != 403 {
			t.Errorf("a link's %s %s %s gives %d %s", tc.method, tc.path, tc.body, got.Status, got.Body)
		}
	}
	for _, tc := range []struct{ method, path, body string }{
		{"POST", keysPath, create(`["contacts:read"]`)}, {"PATCH", keysPath + "/" + plain, `{"name":"y"}`}, {"POST", integrationsPath + "/keys/" + plain + "/rotate", ""},
	} {
		if got := link.Do(tc.method, tc.path, tc.body); got.Status != 200 {
			t.Errorf("a link's %s %s gives %d %s", tc.method, tc.path, got.Status, got.Body)
		}
	}
	for _, tc := range []struct{ method, path, body string }{
		{"POST", keysPath, create(`["portal:link"]`)}, {"PATCH", keysPath + "/" + guarded, `{"permissions+":["portal:link-admin"]}`},
		{"POST", integrationsPath + "/keys/" + guarded + "/rotate", `{"overlapHours":1}`},
	} {
		if got := admin.Do(tc.method, tc.path, tc.body); got.Status != 200 {
			t.Errorf("an admin's %s %s gives %d %s", tc.method, tc.path, got.Status, got.Body)
		}
	}
}
