package hooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
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

// A portal link neither grants a permission that no key has by default, nor changes or rotates a key that has one. People
// who have signed in do.
func TestLinksMakeNoKeysThatDelete(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	path := recordsOf("api_keys")
	plain := d.acme.ids["api_keys"]
	guarded := testkit.Record(t, d.app, "api_keys", map[string]any{
		"tenant": d.acme.tenant, "name": "guarded", "permissions": []string{"contacts:read", "contacts:delete"},
	}).Id
	body := `{"tenant":"` + d.acme.tenant + `","name":"x","permissions":["contacts:read","contacts:delete"]}`
	rotate := "/api/integrations/keys/" + guarded + "/rotate"
	link, admin := d.as(d.link), d.as(d.admin)
	for _, request := range [][3]string{
		{"POST", path, body}, {"PATCH", path + "/" + plain, `{"permissions":["contacts:delete"]}`},
		{"PATCH", path + "/" + plain, `{"permissions+":"contacts:delete"}`},
		{"PATCH", path + "/" + guarded, `{"name":"mine"}`}, {"PATCH", path + "/" + guarded, `{"permissions":["contacts:read"]}`},
		{"PATCH", path + "/" + guarded, `{"revoked":"2026-01-01 00:00:00.000Z"}`}, {"POST", rotate, `{}`},
	} {
		d.expect(403, link, request[0], request[1], request[2])
	}
	d.expect(200, link, "PATCH", path+"/"+plain, `{"permissions":["contacts:write"]}`)
	d.expect(404, d.as(d.viewer), "PATCH", path+"/"+guarded, `{"name":"mine"}`)
	d.expect(200, admin, "PATCH", path+"/"+plain, `{"permissions":["contacts:write","contacts:delete"]}`)
	d.expect(200, admin, "PATCH", path+"/"+guarded, `{"name":"theirs"}`)
	d.expect(200, admin, "POST", path, body)
	d.expect(200, admin, "POST", rotate, `{}`)
	d.expect(204, link, "DELETE", path+"/"+guarded, "")
}

// Nobody gets a greater role or another tenant by themselves, and a link makes no permanent members.
func TestMembersDoNotEscalate(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	self := func(record *core.Record) string { return membersPath + "/" + record.Id }
	for _, body := range []string{`{"role":"admin"}`, `{"link":true}`, `{"tenant":"` + d.other.tenant + `"}`} {
		d.expect(404, d.as(d.viewer), "PATCH", self(d.viewer), body)
	}
	for _, body := range []string{ // PocketBase accepts these for some fields
		`{"role+":"admin"}`, `{"+role":"admin"}`, `{"role":["viewer","admin"]}`, `{"role":["admin","viewer"]}`, `{"role":["admin"]}`, `{"role":"[\"viewer\",\"admin\"]"}`,
		`{"role":{"a":"admin"}}`, `{"role":["admin",null]}`, `{"Role":"admin"}`, `{"link":"1"}`, `{"link":["false","true"]}`, `{"link":["true"]}`,
		`{"tenant+":"` + d.other.tenant + `"}`, `{"tenant":["` + d.acme.tenant + `","` + d.other.tenant + `"]}`, `{"tenant":["` + d.other.tenant + `"]}`,
	} {
		got := d.as(d.viewer).Do("PATCH", self(d.viewer), body)
		if now := d.reload(member.CollectionName, d.viewer.Id); now.GetString("role") != "viewer" || now.GetBool("link") || now.GetString("tenant") != d.acme.tenant {
			t.Fatalf("%s gives %d, and the viewer is %v", body, got.Status, now)
		}
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
	d.expect(403, d.as(d.admin), "PATCH", self(d.viewer), `{"password":"another password","passwordConfirm":"another password"}`)
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
		// its passwords would be hashed in the transaction
		for _, path := range []string{membersPath, recordsOf(d.viewer.Collection().Id)} {
			d.expect(403, d.as(d.admin), "POST", "/api/batch", `{"requests":[{"method":"POST","url":"`+path+`","body":`+invitation(d.acme.tenant, email, "")+`}]}`)
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
