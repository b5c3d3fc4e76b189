package hooks_test

import (
	"net/url"
	"slices"
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

var (
	shared  = []string{"tenants", "api_keys", "webhooks", "inbound_webhooks"}
	managed = shared[1:]
	private = []string{"contacts", "events", "deliveries", "delivery_attempts", "inbound_requests"}
)

func TestMembersSeeTheirTenant(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for who, record := range map[string]*core.Record{"an admin": d.admin, "a viewer": d.viewer, "a link": d.link} {
		client := d.as(record)
		for _, collection := range shared {
			if got := d.ids(client.Do("GET", recordsOf(collection), "")); !slices.Equal(got, []string{d.acme.ids[collection]}) {
				t.Errorf("%s sees %v of %s", who, got, collection)
			}
			d.expect(200, client, "GET", recordsOf(collection)+"/"+d.acme.ids[collection], "")
			d.expect(404, client, "GET", recordsOf(collection)+"/"+d.other.ids[collection], "")
		}
		for _, collection := range private {
			d.expect(403, client, "GET", recordsOf(collection), "")
		}
	}
	members := map[string][]string{}
	for who, record := range map[string]*core.Record{"admin": d.admin, "viewer": d.viewer, "link": d.link} {
		members[who] = d.ids(d.as(record).Do("GET", membersPath+"?sort=created", ""))
		d.expect(404, d.as(record), "GET", membersPath+"/"+d.other.ids[member.CollectionName], "")
	}
	if len(members["admin"]) != 3 || !slices.Equal(members["viewer"], []string{d.viewer.Id}) || !slices.Equal(members["link"], []string{d.link.Id}) {
		t.Errorf("they see the members %v", members)
	}
	if got := d.as(d.admin).Do("GET", membersPath+"/"+d.viewer.Id, "").JSON(); got["email"] != "viewer@example.com" || got["notify"] != "immediately" {
		t.Errorf("an admin sees of another member %v", got)
	}
}

// Integrators have no account, and a record of an admin's own auth collection is no member, whatever its fields say.
func TestOnlyMembersSeeTheCollections(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	tenants, err := d.app.FindCollectionByNameOrId("tenants")
	if err != nil {
		t.Fatal(err)
	}
	clerks := core.NewAuthCollection("clerks")
	clerks.Fields.Add(&core.RelationField{Name: "tenant", CollectionId: tenants.Id, MaxSelect: 1}, &core.TextField{Name: "role"}, &core.BoolField{Name: "link"})
	if err := d.app.Save(clerks); err != nil {
		t.Fatal(err)
	}
	clerk := testkit.Record(t, d.app, "clerks", map[string]any{"tenant": d.acme.tenant, "role": "admin", "email": "clerk@example.com", "password": memberPassword})
	integrator := testkit.NewClient(t, d.base, testkit.Key(t, d.app, d.acme.tenant))
	for who, client := range map[string]*testkit.Client{"a guest": d.as(nil), "an integrator": integrator, "a clerk": d.as(clerk)} {
		for _, collection := range append(slices.Clone(shared), member.CollectionName) {
			if got := d.ids(d.expect(200, client, "GET", recordsOf(collection), "")); len(got) != 0 {
				t.Errorf("%s sees %v of %s", who, got, collection)
			}
		}
		for _, collection := range managed {
			d.expect(404, client, "GET", recordsOf(collection)+"/"+d.acme.ids[collection], "")
			d.expect(404, client, "PATCH", recordsOf(collection)+"/"+d.acme.ids[collection], `{"name":"x"}`)
			d.expect(404, client, "DELETE", recordsOf(collection)+"/"+d.acme.ids[collection], "")
			d.expect(400, client, "POST", recordsOf(collection), `{"tenant":"`+d.acme.tenant+`","name":"x","url":"https://example.com","access":"full"}`)
		}
		d.expect(400, client, "POST", membersPath, invitation(d.acme.tenant, "new@example.com", ""))
		d.expect(404, client, "PATCH", membersPath+"/"+d.viewer.Id, `{"role":"admin"}`)
		for _, collection := range private {
			d.expect(403, client, "GET", recordsOf(collection), "")
		}
	}
}

func invitation(tenantID, email, more string) string {
	return `{"tenant":"` + tenantID + `","role":"viewer","email":"` + email + `","password":"` + memberPassword + `","passwordConfirm":"` + memberPassword + `"` + more + `}`
}

// Admins write, viewers do not, and both only in their own tenant.
func TestMembersManageTheirTenant(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, collection := range managed {
		path := recordsOf(collection)
		body := func(tenant string) string {
			return `{"tenant":"` + tenant + `","name":"x","url":"https://example.com","access":"full"}`
		}
		for who, allowed := range map[*core.Record]bool{d.admin: true, d.link: true, d.viewer: false} {
			client := d.as(who)
			d.expect(400, client, "POST", path, body(d.other.tenant))
			d.expect(404, client, "PATCH", path+"/"+d.other.ids[collection], `{"name":"mine"}`)
			d.expect(404, client, "DELETE", path+"/"+d.other.ids[collection], "")
			if !allowed {
				d.expect(400, client, "POST", path, body(d.acme.tenant))
				d.expect(404, client, "PATCH", path+"/"+d.acme.ids[collection], `{"name":"mine"}`)
				d.expect(404, client, "DELETE", path+"/"+d.acme.ids[collection], "")
				continue
			}
			created, _ := d.expect(200, client, "POST", path, body(d.acme.tenant)).JSON()["id"].(string)
			d.expect(200, client, "PATCH", path+"/"+created, `{"name":"renamed"}`)
			d.expect(400, client, "PATCH", path+"/"+created, `{"tenant":"`+d.other.tenant+`"}`)
			d.expect(204, client, "DELETE", path+"/"+created, "")
		}
	}
	d.expect(403, d.as(d.admin), "PATCH", "/api/collections/tenants/records/"+d.acme.tenant, `{"rateLimit":1000000}`)
	testkit.Execute(t, d.app, "UPDATE tenants SET apiEnabled = 0", nil)
	d.expect(404, d.as(d.admin), "PATCH", recordsOf("webhooks")+"/"+d.acme.ids["webhooks"], `{"name":"x"}`)
}

// Nobody gets a greater role or another tenant by themselves, and a link makes no permanent members.
func TestMembersDoNotEscalate(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	self := func(record *core.Record) string { return membersPath + "/" + record.Id }
	for _, body := range []string{`{"role":"admin"}`, `{"link":true}`, `{"tenant":"` + d.other.tenant + `"}`} {
		d.expect(404, d.as(d.viewer), "PATCH", self(d.viewer), body)
	}
	d.expect(404, d.as(d.viewer), "PATCH", self(d.admin), `{"name":"x"}`)
	d.expect(404, d.as(d.viewer), "DELETE", self(d.admin), "")
	d.expect(400, d.as(d.viewer), "POST", membersPath, invitation(d.acme.tenant, "new@example.com", ""))
	for _, body := range []string{`{"role":"viewer"}`, `{"link":true}`, `{"tenant":"` + d.other.tenant + `"}`} {
		d.expect(404, d.as(d.admin), "PATCH", self(d.admin), body)
	}
	d.expect(404, d.as(d.admin), "DELETE", self(d.admin), "")
	d.expect(404, d.as(d.admin), "PATCH", self(d.viewer), `{"link":true}`)
	d.expect(404, d.as(d.admin), "PATCH", self(d.viewer), `{"tenant":"`+d.other.tenant+`"}`)
	d.expect(400, d.as(d.admin), "PATCH", self(d.viewer), `{"email":"mine@example.com"}`)
	d.expect(400, d.as(d.admin), "PATCH", self(d.viewer), `{"verified":true}`)
	d.expect(400, d.as(d.admin), "PATCH", self(d.viewer), `{"password":"another password","passwordConfirm":"another password"}`)
	d.expect(400, d.as(d.admin), "POST", membersPath, invitation(d.acme.tenant, "new@example.com", `,"link":true`))
	d.expect(400, d.as(d.admin), "POST", membersPath, invitation(d.other.tenant, "new@example.com", ""))
	d.expect(404, d.as(d.admin), "PATCH", membersPath+"/"+d.other.ids[member.CollectionName], `{"role":"viewer"}`)
	for _, request := range [][3]string{
		{"POST", membersPath, invitation(d.acme.tenant, "new@example.com", "")}, {"PATCH", self(d.viewer), `{"role":"admin"}`},
		{"PATCH", self(d.link), `{"name":"x"}`}, {"DELETE", self(d.viewer), ""},
	} {
		if got := d.as(d.link).Do(request[0], request[1], request[2]); got.Status != 400 && got.Status != 404 {
			t.Errorf("a link's %v gives %d", request, got.Status)
		}
	}
	d.expect(200, d.as(d.viewer), "PATCH", self(d.viewer), `{"name":"Vera","notify":"daily","emailVisibility":false}`)
	changed := d.as(d.admin)
	d.expect(200, changed, "PATCH", self(d.viewer), `{"role":"admin"}`)
	if got := d.reload(member.CollectionName, d.viewer.Id); !got.EmailVisibility() || got.GetString("role") != member.RoleAdmin || got.GetString("notify") != "daily" {
		t.Errorf("the viewer is %v", got)
	}
	d.expect(200, d.as(d.viewer), "PATCH", recordsOf("webhooks")+"/"+d.acme.ids["webhooks"], `{"name":"by the new admin"}`)
	d.expect(204, changed, "DELETE", self(d.viewer), "")
	d.expect(404, d.as(d.viewer), "GET", self(d.viewer), "")
}

// An invitation does not tell whether an address belongs to a member of another tenant.
func TestTakenAddressesAreConcealed(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	bodies := map[string]bool{}
	for _, email := range []string{"other@example.com", "Other@Example.com", "not an address"} {
		bodies[string(d.expect(400, d.as(d.admin), "POST", membersPath, invitation(d.acme.tenant, email, "")).Body)] = true
		batch := d.expect(400, d.as(d.admin), "POST", "/api/batch", `{"requests":[{"method":"POST","url":"`+membersPath+`","body":`+invitation(d.acme.tenant, email, "")+`}]}`)
		if strings.Contains(string(batch.Body), "unique") {
			t.Errorf("the batch says %s", batch.Body)
		}
	}
	if len(bodies) != 1 {
		t.Errorf("the answers differ: %v", bodies)
	}
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	if got := d.expect(400, superuser, "POST", membersPath, invitation(d.acme.tenant, "other@example.com", "")); !strings.Contains(string(got.Body), "not_unique") {
		t.Errorf("a superuser reads %s", got.Body)
	}
	d.expect(400, superuser, "POST", membersPath, invitation("aaaaaaaaaaaaaaa", "new@example.com", ""))
	d.expect(400, superuser, "PATCH", membersPath+"/"+d.viewer.Id, `{"tenant":"`+d.other.tenant+`"}`)
}

// What is hidden can be neither filtered nor sorted by, nor found through relations; and relations lead to nothing of others.
func TestMembersCannotSearchHiddenFields(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client := d.as(d.admin)
	for collection, fields := range map[string][]string{
		"api_keys": {"hash", "tenant.webhooks_via_tenant.secret"}, "inbound_webhooks": {"tokenHash", "verifySecret"},
		"webhooks":       {"secret", "previousSecret", "headers", "sealedHeaders", "memberOwned", "tenant.api_keys_via_tenant.hash", "tenant.contacts_via_tenant.name"},
		"tenants":        {"contacts_via_tenant.name", "events_via_tenant.payload", "tenant_members_via_tenant.password"},
		"tenant_members": {"password", "tokenKey", "tenant.api_keys_via_tenant.hash"},
	} {
		for _, field := range fields {
			d.expect(400, client, "GET", recordsOf(collection)+"?filter="+url.QueryEscape(field+" != 'x'"), "")
			if !strings.Contains(field, "_via_") {
				d.expect(400, client, "GET", recordsOf(collection)+"?sort="+field, "")
			}
		}
	}
	d.expect(403, client, "GET", recordsOf("webhooks")+"?filter="+url.QueryEscape("@collection.webhooks.name = 'Other'"), "")
	const everything = "?expand=tenant.webhooks_via_tenant,tenant.api_keys_via_tenant,tenant.inbound_webhooks_via_tenant,tenant.contacts_via_tenant,tenant.tenant_members_via_tenant"
	expanded := string(d.expect(200, client, "GET", recordsOf("webhooks")+everything, "").Body)
	if !strings.Contains(expanded, d.acme.ids["inbound_webhooks"]) {
		t.Errorf("nothing is expanded: %s", expanded)
	}
	for _, hidden := range []string{d.other.tenant, "the secret", "verify ", "Ada of", `"hash"`, `"tokenHash"`, `"password"`, `"tokenKey"`, "memberOwned", "sealedHeaders"} {
		if strings.Contains(expanded, hidden) {
			t.Errorf("%q is in %s", hidden, expanded)
		}
	}
	if got := string(d.as(d.viewer).Do("GET", recordsOf("webhooks")+everything, "").Body); strings.Contains(got, "admin@example.com") {
		t.Errorf("a viewer sees other members: %s", got)
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
