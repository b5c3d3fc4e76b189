package hooks_test

import (
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// Superusers and members choose how a sender signs. A preset that is chosen at first sets its sender's scheme.
func TestVerifyScheme(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	path := recordsOf("inbound_webhooks")
	for door, client := range map[string]*testkit.Client{"superuser": superuser, "member": d.as(d.admin)} {
		for _, c := range []struct{ body, want string }{ // an error, or the scheme
			{`"verifyScheme":"shopify","verifySecret":"s"`, "shopify"},
			{`"mapping":{"preset":"typeform"}`, "typeform"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"typeform"`, "typeform"},
			{`"mapping":{"preset":"typeform","fields":{"company":"c"}},"verifySecret":"s"`, "typeform"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"x-signature","verifySecret":"s"`, "x-signature"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"","verifySecret":"s"`, ""},
			{`"mapping":{"preset":"jotform"},"verifySecret":"s"`, ""},
			{`"mapping":{"fields":{"email":"e"}}`, ""},
			{`"verifyScheme":"shopify"`, "The scheme needs the secret"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"shopify"`, "The scheme needs the secret"},
			{`"verifyScheme":"unknown","verifySecret":"s"`, "Invalid value unknown"},
		} {
			answer := client.Do("POST", path, `{"tenant":"`+d.acme.tenant+`","name":"i","access":"upsert",`+c.body+`}`)
			switch {
			case strings.Contains(c.want, " "):
				if answer.Status != 400 || !strings.Contains(string(answer.Body), `"verifyScheme":{"code":"`) || !strings.Contains(string(answer.Body), c.want) {
					t.Errorf("%s: %s gives %d %s", door, c.body, answer.Status, answer.Body)
				}
			case answer.Status != 200 || answer.JSON()["verifyScheme"] != c.want:
				t.Errorf("%s: %s gives %d %s", door, c.body, answer.Status, answer.Body)
			}
		}
	}
	made, _ := d.expect(200, superuser, "POST", path, `{"tenant":"`+d.acme.tenant+`","name":"i","access":"upsert"}`).JSON()["id"].(string)
	for _, step := range []struct {
		status int
		body   string
	}{
		{400, `{"verifyScheme":"tally"}`},
		{200, `{"verifyScheme":"tally","verifySecret":"s"}`},
		{200, `{"verifyScheme":"stripe"}`},
		{200, `{"mapping":{"preset":"shopify"}}`}, // only a new one is set
		{200, `{"verifySecret":"-"}`},
		{200, `{"name":"new"}`},
		{400, `{"verifyScheme":"tally"}`},
		{200, `{"verifyScheme":""}`},
	} {
		answer := d.expect(step.status, superuser, "PATCH", path+"/"+made, step.body)
		if strings.Contains(step.body, "preset") && answer.JSON()["verifyScheme"] != "stripe" {
			t.Errorf("a new preset gives %s", answer.Body)
		}
	}
}
