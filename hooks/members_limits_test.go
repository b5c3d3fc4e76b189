package hooks_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/subscriptions"

	"contactbase/internal/member"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
)

// What is hidden can be neither filtered nor sorted by, nor found through relations; and relations lead to
// nothing of others.
func TestMembersCannotSearchHiddenFields(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client := d.as(d.admin)
	for collection, fields := range map[string][]string{
		"api_keys": {"hash", "tenant.webhooks_via_tenant.secret"}, "inbound_webhooks": {"tokenHash", "verifySecret"},
		"webhooks":       {"secret", "previousSecret", "olderSecrets", "headers", "sealedHeaders", "memberOwned", "tenant.api_keys_via_tenant.hash", "tenant.contacts_via_tenant.name"},
		"tenants":        {"contacts_via_tenant.name", "events_via_tenant.payload", "tenant_members_via_tenant.password"},
		"tenant_members": {"password", "tokenKey", "expires", "tenant.api_keys_via_tenant.hash"},
	} {
		for _, field := range fields {
			d.expect(400, client, "GET", recordsOf(collection)+"?filter="+url.QueryEscape(field+" != 'x'"), "")
			if !strings.Contains(field, "_via_") {
				d.expect(400, client, "GET", recordsOf(collection)+"?sort="+field, "")
			}
		}
	}
	if got := string(d.expect(200, client, "GET", recordsOf("webhooks")+"?expand=tenant&sort=-created,name", "").Body); !strings.Contains(got, `"expand"`) || strings.Contains(got, d.other.tenant) {
		t.Errorf("the tenant is not expanded: %s", got)
	}
}

// Members cannot follow relations in a query, whose duration would depend on other tenants.
func TestMembersFollowNoRelations(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const path = "tenant.api_keys_via_tenant.name"
	for _, client := range []*testkit.Client{d.as(d.admin), d.as(d.viewer), testkit.NewClient(t, d.base, "")} {
		for _, filter := range []string{
			path + " != 'x'", "name = 'x' && (url = 'y' || " + path + " ~ 'x')", "name = 'it\\'s' // '\n && " + path + " ~ 'x'",
			"@collection.api_keys.name = 'x'", "@request.auth.tenant.name = 'x'", "name ~ '\\\\' || " + path + " ~ ' '", "name:length > 0",
		} {
			d.expect(400, client, "GET", recordsOf("webhooks")+"?filter="+url.QueryEscape(filter), "")
		}
		d.expect(400, client, "GET", recordsOf("webhooks")+"?sort="+path, "")
		d.expect(400, client, "GET", recordsOf("webhooks")+"?filter=&filter="+url.QueryEscape(path+" != 'x'"), "")
		d.expect(400, client, "GET", recordsOf("tenants")+"/"+d.acme.tenant+"?expand=api_keys_via_tenant", "")
		d.expect(400, client, "POST", "/api/collections/tenant_members/auth-refresh?expand=tenant.webhooks_via_tenant", "")
	}
	for query, want := range map[string]int{"?expand=tenant.api_keys_via_tenant": 400, "?expand=tenant": 200, "%": 400} {
		d.expect(want, d.as(d.admin), "POST", "/api/batch",
			`{"requests":[{"method":"POST","url":"`+recordsOf("webhooks")+query+`","body":{"tenant":"`+d.acme.tenant+`","url":"https://example.com","events":["contact.created"]}}]}`)
	}
	d.expect(200, d.as(d.viewer), "GET", recordsOf("webhooks")+"?filter="+url.QueryEscape(`(name ~ "a.b" || url ~ 'c\'d') && tenant = 'x'`), "")
}

// A member's change of one field does not undo another one that was made meanwhile.
func TestMembersWriteOnlyWhatTheyChange(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.app.OnRecordUpdateRequest(member.CollectionName).BindFunc(func(e *core.RecordRequestEvent) error {
		testkit.Execute(t, d.app, "UPDATE tenant_members SET role = 'viewer', tokenKey = 'another' WHERE id = {:id}", dbx.Params{"id": e.Record.Id})
		return e.Next()
	})
	d.expect(200, d.as(d.admin), "PATCH", membersPath+"/"+d.admin.Id, `{"name":"Ada"}`)
	if got := d.reload(member.CollectionName, d.admin.Id); member.IsAdmin(got) || got.TokenKey() != "another" || got.GetString("name") != "Ada" {
		t.Errorf("the member is %v", got)
	}
	if fields := testkit.Count(t, d.app, "SELECT count(*) FROM audit_log WHERE record = {:id} AND action = 'updated' AND fields = '[\"name\"]'", dbx.Params{"id": d.admin.Id}); fields != 1 {
		t.Errorf("%d entries name only the changed field", fields)
	}
}

// A webhook has the owner and the headers that belong to its URL, whatever was changed meanwhile.
func TestURLKeepsItsOwner(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	id := d.acme.ids["webhooks"]
	testkit.Execute(t, d.app, "UPDATE webhooks SET memberOwned = 1 WHERE id = {:id}", dbx.Params{"id": id})
	d.app.OnRecordUpdateRequest("webhooks").BindFunc(func(e *core.RecordRequestEvent) error {
		testkit.Execute(t, d.app, "UPDATE webhooks SET url = 'https://private.example.com', memberOwned = 0, sealedHeaders = 'x' WHERE id = {:id}", dbx.Params{"id": id})
		return e.Next()
	})
	d.expect(200, d.as(d.admin), "PATCH", recordsOf("webhooks")+"/"+id, `{"url":"https://elsewhere.example.com"}`)
	if got := d.reload("webhooks", id); !got.GetBool("memberOwned") || got.GetString("sealedHeaders") != "" {
		t.Errorf("the webhook is %v", got.FieldsData())
	}
}

// A link learns nothing about addresses.
func TestLinksAskForNoAddress(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, address := range []string{"other@example.com", "free@example.com"} {
		d.expect(403, d.as(d.link), "POST", "/api/collections/tenant_members/request-email-change", `{"newEmail":"`+address+`"}`)
	}
}

// Another collection leads no further into those of members, whether it names them or has their ids.
func TestOtherCollectionsDoNotReachMembers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	keys, err := d.app.FindCollectionByNameOrId("api_keys")
	if err != nil {
		t.Fatal(err)
	}
	subscriber := subscriptions.NewDefaultClient()
	d.app.SubscriptionsBroker().Register(subscriber)
	for _, name := range []string{"api_keys", "API_Keys", keys.Id} {
		for _, text := range []string{`{"query":{"filter":"tenant.` + name + `_via_tenant.name != 'x'"}}`, `{"query":{"expand":"tenant.` + name + `\u005fvia\u005ftenant"}}`} {
			topic := "users/*?options=" + url.QueryEscape(text)
			d.expect(400, d.as(d.viewer), "POST", "/api/realtime", `{"clientId":"`+subscriber.Id()+`","subscriptions":["`+topic+`"]}`)
		}
		for _, query := range []string{"filter=" + url.QueryEscape("tenant."+name+"_via_tenant.name != 'x'"), "sort=tenant." + name + "_via_tenant.name", "expand=tenant." + name + "_via_tenant", "expand=tenant." + name + "(tenant)"} {
			d.expect(400, d.as(d.viewer), "GET", recordsOf("users")+"?"+query, "")
		}
	}
}

// A member does not choose ids: that of a deleted webhook would show what is left of it.
func TestMembersChooseNoIDs(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const chosen = "aaaaaaaaaaaaaaa"
	got := d.expect(200, d.as(d.admin), "POST", recordsOf("webhooks"), `{"id":"`+chosen+`","tenant":"`+d.acme.tenant+`","url":"inspect:"}`).JSON()
	if got["id"] == chosen {
		t.Errorf("the id is %v", got["id"])
	}
}

// A revoked key stays revoked.
func TestRevocationIsFinal(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	key := recordsOf("api_keys") + "/" + d.acme.ids["api_keys"]
	d.expect(200, d.as(d.admin), "PATCH", key, `{"revoked":"2026-01-01 00:00:00.000Z"}`)
	if got := d.expect(200, d.as(d.admin), "PATCH", key, `{"revoked":""}`).JSON(); got["revoked"] == "" {
		t.Errorf("the key is %v", got)
	}
}

// A subscriber receives what its tenant's records become, without secrets.
func TestMembersSubscribe(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	subscriber := subscriptions.NewDefaultClient()
	subscriber.Set(apis.RealtimeClientAuthKey, d.viewer)
	subscriber.Subscribe("webhooks/*", "api_keys/*")
	d.app.SubscriptionsBroker().Register(subscriber)
	d.expect(200, d.as(d.reload(member.CollectionName, d.other.ids[member.CollectionName])), "POST", recordsOf("webhooks"), `{"tenant":"`+d.other.tenant+`","url":"https://example.com"}`)
	for _, collection := range []string{"webhooks", "api_keys"} {
		created := d.expect(200, d.as(d.admin), "POST", recordsOf(collection), `{"tenant":"`+d.acme.tenant+`","name":"x","url":"https://example.com"}`).JSON()
		message := string((<-subscriber.Channel()).Data)
		if !strings.Contains(message, created["id"].(string)) {
			t.Errorf("a subscriber receives %s", message)
		}
		for _, name := range []string{"secret", "key"} {
			if plain, _ := created[name].(string); plain != "" && strings.Contains(message, plain) {
				t.Errorf("a subscriber receives the %s: %s", name, message)
			}
		}
	}
	d.app.SubscriptionsBroker().Unregister(subscriber.Id())
}

// The last use of a credential is what the program saw.
func TestLastUseCannotBeForged(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, collection := range []string{"api_keys", "inbound_webhooks"} {
		got := d.expect(200, d.as(d.admin), "POST", recordsOf(collection), `{"tenant":"`+d.acme.tenant+`","name":"x","access":"full","lastUsed":"2020-01-01 00:00:00.000Z"}`)
		if got.JSON()["lastUsed"] != "" {
			t.Errorf("%s has %s", collection, got.Body)
		}
	}
}

// A moving tenant takes no members and no changes of them; it can still be read, and links end at any time.
func TestMembersOfAMovingTenant(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	if _, err := move.Freeze(t.Context(), d.app, testkit.Deliveries(d.app), d.acme.tenant); err != nil {
		t.Fatal(err)
	}
	client := d.as(d.admin)
	d.expect(503, client, "POST", membersPath, invitation(d.acme.tenant, "new@example.com", ""))
	d.expect(503, client, "PATCH", membersPath+"/"+d.viewer.Id, `{"role":"admin"}`)
	d.expect(503, client, "DELETE", membersPath+"/"+d.viewer.Id, "")
	d.expect(503, client, "PATCH", recordsOf("webhooks")+"/"+d.acme.ids["webhooks"], `{"name":"x"}`)
	d.expect(200, client, "GET", membersPath+"/"+d.viewer.Id, "")
	d.expect(204, client, "DELETE", membersPath+"/"+d.link.Id, "")
	if got := signIn(d.as(nil), "ADMIN@example.com", memberPassword, ""); got.Status != 200 { // case does not matter
		t.Errorf("signing in gives %d %s", got.Status, got.Body)
	}
	testkit.Execute(t, d.app, "UPDATE _moves SET state = 'arriving'", nil)
	if got := signIn(d.as(nil), "admin@example.com", memberPassword, ""); got.Status != 503 {
		t.Errorf("signing in to an incomplete tenant gives %d %s", got.Status, got.Body)
	}
}

// With a tenant its members go, and what PocketBase keeps about their sign-ins. Their tokens end at once.
func TestDeletedTenantsHaveNoMembers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client := d.as(d.admin)
	for _, other := range []string{"_externalAuths", "_mfas", "_otps", "_authOrigins"} {
		for _, record := range []*core.Record{d.admin, d.reload(member.CollectionName, d.other.ids[member.CollectionName])} {
			testkit.Record(t, d.app, other, map[string]any{
				"collectionRef": record.Collection().Id, "recordRef": record.Id, "provider": "google", "providerId": record.Id, "method": "password",
				"password": memberPassword, "fingerprint": "f",
			})
		}
	}
	if err := d.app.Delete(d.reload("tenants", d.acme.tenant)); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"tenant_members": 1, "_externalAuths": 1, "_mfas": 1, "_otps": 1, "_authOrigins": 1} {
		if n := testkit.Count(t, d.app, "SELECT count(*) FROM "+table, nil); n != want {
			t.Errorf("%s has %d rows", table, n)
		}
	}
	if got := d.ids(client.Do("GET", recordsOf("webhooks"), "")); len(got) != 0 {
		t.Errorf("a former admin sees %v", got)
	}
	d.expect(401, client, "POST", "/api/collections/tenant_members/auth-refresh", "")
	// a row that outlived its tenant would open nothing
	testkit.Execute(t, d.app, "INSERT INTO tenant_members (id, tenant, role, email, tokenKey, password) VALUES ({:id}, {:tenant}, 'admin', 'ghost@example.com', {:key}, {:hash})", dbx.Params{
		"id": d.admin.Id, "tenant": d.acme.tenant, "key": d.admin.TokenKey(), "hash": "x",
	})
	if got := d.ids(client.Do("GET", recordsOf("webhooks"), "")); len(got) != 0 {
		t.Errorf("a ghost sees %v", got)
	}
	d.expect(400, client, "POST", recordsOf("webhooks"), `{"tenant":"`+d.acme.tenant+`","url":"https://example.com"}`)
	d.expect(403, client, "POST", "/api/collections/tenant_members/auth-refresh", "")
}

// The schema of members is ours, and how they sign in is the admins'.
func TestMembersSchemaGuard(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	client := admin(t, app)
	const path = "/api/collections/tenant_members"
	for _, tc := range []struct {
		body   string
		status int
	}{
		{`{"otp":{"enabled":true,"duration":180,"length":8,"emailTemplate":{"subject":"Code","body":"{OTP}"}}}`, 200},
		{`{"mfa":{"enabled":true,"duration":600}}`, 200},
		{`{"oauth2":{"enabled":true,"providers":[{"name":"google","clientId":"a","clientSecret":"b"}]}}`, 200},
		{`{"authToken":{"duration":3600}}`, 200},
		{`{"resetPasswordTemplate":{"subject":"Hello","body":"{TOKEN}"}}`, 200},
		{`{"listRule":""}`, 400}, {`{"createRule":""}`, 400}, {`{"updateRule":null}`, 400}, {`{"deleteRule":""}`, 400},
		{`{"authRule":""}`, 400}, {`{"manageRule":"id != ''"}`, 400},
		{`{"indexes":[]}`, 400}, {`{"name":"people"}`, 400}, {`{"fields":[{"name":"role","type":"text"}]}`, 400},
	} {
		if got := client.Do("PATCH", path, tc.body); got.Status != tc.status {
			t.Errorf("%s gives %d %s", tc.body, got.Status, got.Body)
		}
	}
	if got := client.Do("DELETE", path, ""); got.Status != 400 {
		t.Errorf("deleting gives %d", got.Status)
	}
	collection, err := app.FindCollectionByNameOrId(member.CollectionName)
	if err != nil {
		t.Fatal(err)
	}
	if collection.ManageRule != nil || collection.ListRule == nil || *collection.ListRule == "" || !collection.OTP.Enabled {
		t.Errorf("the rules are %v", []*string{collection.ListRule, collection.ManageRule})
	}
}
