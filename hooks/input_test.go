package hooks_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// A value that PocketBase cannot read is an error. Otherwise a key would stay in use, or lose its expiry.
func TestUnreadableValuesAreRefused(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.expect(200, d.as(d.admin), "PATCH", recordsOf("api_keys")+"/"+d.acme.ids["api_keys"], `{"expires":"2999-01-31T12:00:00Z"}`)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	for field, values := range map[string][]string{
		"api_keys revoked":  {`"now"`, `true`, `1795684247`, `"2026-11-26 09:00"`, `"26.11.2026"`, `[]`},
		"api_keys expires":  {`"31.12.2027"`, `"never"`, `"2027-13-45 00:00:00Z"`},
		"webhooks disabled": {`"yes"`, `"on"`, `{}`},
		"tenants rateLimit": {`"abc"`, `[1]`},
	} {
		collection, name, _ := strings.Cut(field, " ")
		id := d.acme.ids[collection]
		for _, client := range []*testkit.Client{superuser, d.as(d.admin)} {
			if collection == "tenants" {
				id, client = d.acme.tenant, superuser
			}
			before := d.reload(collection, id).GetString(name)
			for _, value := range values {
				if got := d.expect(400, client, "PATCH", recordsOf(collection)+"/"+id, fmt.Sprintf(`{%q:%s}`, name, value)); !strings.Contains(string(got.Body), `"`+name+`":{`) {
					t.Errorf("%s of %s gives %s", value, field, got.Body)
				}
			}
			if after := d.reload(collection, id).GetString(name); after != before {
				t.Errorf("%s is now %s", field, after)
			}
		}
	}
	d.expect(400, superuser, "POST", recordsOf("api_keys"), `{"tenant":"`+d.acme.tenant+`","name":"x","expires":"tomorrow"}`)
	d.expect(200, superuser, "PATCH", recordsOf("webhooks")+"/"+d.acme.ids["webhooks"], `{"disabled":"true"}`)
	d.expect(200, superuser, "PATCH", recordsOf("api_keys")+"/"+d.acme.ids["api_keys"], `{"expires":null}`)
}
