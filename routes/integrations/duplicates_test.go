package integrations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"

	"contactbase/internal/contact"
	"contactbase/internal/testkit"
)

// Admin members and superusers find and merge the duplicates of a tenant; viewers only see them.
func TestDuplicatesOfMembers(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin, _ := newMember(t, f, f.tenant, "admin")
	viewer, _ := newMember(t, f, f.tenant, "viewer")
	stranger, _ := newMember(t, f, testkit.Tenant(t, f.App, "Other"), "admin")
	superuser := newAdmin(t, f)
	ids := map[string]string{}
	for name, body := range map[string]string{
		"a": `{"name":"Ada","email":"ada@example.com","phone":"+49111"}`, "b": `{"name":"ada","email":"ADA@example.com","company":"Engines"}`,
		"c": `{"name":"ADA","phone":"+49111","company":"engines"}`, "d": `{"name":"Ada"}`, "e": `{"email":"bob@example.com"}`, "f": `{"email":"Bob@example.com"}`,
		"g": `{"email":"zoe@example.com","phone":"+49222"}`, "h": `{"name":"Ada","company":"Other"}`,
	} {
		ids[client.Do("POST", contactsPath, body).Data()["id"].(string)] = name
	}
	path := integrationsPath + "/tenants/" + f.tenant
	// groups lists all groups, two pages at least: the value, the company and the contacts of each.
	groups := func(by string) (found []string) {
		t.Helper()
		for cursor := ""; ; {
			got := viewer.Do("GET", path+"/duplicates?limit=1&by="+by+"&cursor="+cursor, "")
			if got.Status != 200 {
				t.Fatalf("got %d %s", got.Status, got.Body)
			}
			for _, data := range got.JSON()["data"].([]any) {
				group, members := data.(map[string]any), 0
				for _, c := range group["contacts"].([]any) {
					members += 1 << (ids[c.(map[string]any)["id"].(string)][0] - 'a')
				}
				found = append(found, strings.ToLower(fmt.Sprint(group["value"], "/", group["company"], "/", group["count"], "/", members)))
			}
			next, more := got.JSON()["next"].(string)
			if !more {
				return found
			}
			cursor = next
		}
	}
	for by, want := range map[string]string{
		"email": "[ada@example.com//2/3 bob@example.com//2/48]", "phone": "[+49111//2/5]", "name": "[ada//2/9 ada/engines/2/6]",
	} {
		if got := fmt.Sprint(groups(by)); got != want {
			t.Errorf("by %s there are %s, not %s", by, got, want)
		}
	}
	for _, query := range []string{"", "by=id", "by=email&limit=0", "by=email&cursor=x", "by=email&cursor=eyJiIjoicGhvbmUifQ"} {
		if got := viewer.Do("GET", path+"/duplicates?"+query, ""); got.Status != 400 || got.Code() != "invalid_parameter" {
			t.Errorf("%s is answered %d %s", query, got.Status, got.Body)
		}
	}
	if got := superuser.Do("GET", integrationsPath+"/tenants/nobodynobodynob/duplicates?by=email", ""); got.Status != 404 {
		t.Errorf("nobody's duplicates are answered %d %s", got.Status, got.Body)
	}
	other := testkit.Tenant(t, f.App, "Duplicates")
	for range 2 {
		if _, err := testkit.Create(f.App, other, contact.Changes{"email": "ada@example.com"}); err != nil {
			t.Fatal(err)
		}
	}
	var every []string
	for cursor := ""; ; {
		got := superuser.Do("GET", integrationsPath+"/duplicates?limit=1&by=email&cursor="+cursor, "")
		if got.Status != 200 {
			t.Fatalf("the duplicates of all tenants are answered %d %s", got.Status, got.Body)
		}
		for _, data := range got.JSON()["data"].([]any) {
			group := data.(map[string]any)
			every = append(every, strings.ToLower(fmt.Sprint(group["tenant"] == other, " ", group["value"], " ", group["count"])))
		}
		if cursor, _ = got.JSON()["next"].(string); cursor == "" {
			break
		}
	}
	slices.Sort(every)
	if got := strings.Join(every, ", "); got != "false ada@example.com 2, false bob@example.com 2, true ada@example.com 2" {
		t.Errorf("all tenants have %s", got)
	}
	if got := admin.Do("GET", integrationsPath+"/duplicates?by=email", ""); got.Status != 403 {
		t.Errorf("a member is answered %d %s", got.Status, got.Body)
	}
	byName := map[string]string{}
	for id, name := range ids {
		byName[name] = id
	}
	merge := func(client *testkit.Client, id, body string) *testkit.Answer {
		return client.Do("POST", path+"/contacts/"+id+"/merge", body)
	}
	body := `{"from":["` + byName["b"] + `"]}`
	if got := merge(viewer, byName["a"], body); got.Status != 403 {
		t.Errorf("a viewer is answered %d %s", got.Status, got.Body)
	}
	if got := merge(stranger, byName["a"], body); got.Status != 404 {
		t.Errorf("a stranger is answered %d %s", got.Status, got.Body)
	}
	if got := merge(admin, byName["a"], `{"from":["`+byName["b"]+`"],"dryRun":true}`); got.Status != 200 || got.Data()["company"] != "Engines" {
		t.Errorf("a dry run is answered %d %s", got.Status, got.Body)
	}
	for who, merging := range map[string]*testkit.Client{"b": admin, "e": superuser} {
		if got := merge(merging, byName["a"], `{"from":["`+byName[who]+`"]}`); got.Status != 200 {
			t.Errorf("the merge is answered %d %s", got.Status, got.Body)
		}
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM audit_log WHERE action = 'merged' AND collection = 'contacts' AND tenant = {:tenant} AND record = {:id} AND actorKind IN ('member', 'superuser')",
		dbx.Params{"tenant": f.tenant, "id": byName["a"]}); n != 2 {
		t.Errorf("%d merges are in the audit log", n)
	}
	if got := fmt.Sprint(groups("email")); got != "[]" {
		t.Errorf("then there are %s", got)
	}
}
