package hooks_test

import (
	"fmt"
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
			{`"verifyScheme":"shopify","verifySecret":"a secret of 18 bytes"`, "shopify"},
			{`"mapping":{"preset":"typeform"}`, "typeform"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"typeform"`, "typeform"},
			{`"mapping":{"preset":"typeform","fields":{"company":"c"}},"verifySecret":"a secret of 18 bytes"`, "typeform"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"x-signature","verifySecret":"a secret of 18 bytes"`, "x-signature"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"","verifySecret":"a secret of 18 bytes"`, ""},
			{`"mapping":{"preset":"jotform"},"verifySecret":"a secret of 18 bytes"`, ""},
			{`"mapping":{"fields":{"email":"e"}}`, ""},
			{`"verifyScheme":"shopify"`, "The scheme needs the secret"},
			{`"mapping":{"preset":"typeform"},"verifyScheme":"shopify"`, "The scheme needs the secret"},
			{`"verifyScheme":"unknown","verifySecret":"a secret of 18 bytes"`, "Invalid value unknown"},
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
		{200, `{"verifyScheme":"tally","verifySecret":"a secret of 18 bytes"}`},
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

// A new secret has a key of at least 16 bytes, as the scheme takes it. A stored one stays.
func TestVerifySecretLength(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	path := recordsOf("inbound_webhooks")
	short := func(answer *testkit.Answer) bool {
		return answer.Status == 400 && strings.Contains(string(answer.Body), `"verifySecret":{"code":"validation_too_short"`)
	}
	for door, client := range map[string]*testkit.Client{"superuser": superuser, "member": d.as(d.admin)} {
		for _, c := range []struct {
			scheme, secret string
			short          bool
		}{
			{"", "a", true},
			{"", "0123456789abcde", true},
			{"", "0123456789abcdef", false},
			{"", "whsec_MDEyMzQ1Njc4OWFiY2Rl", true},
			{"", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", false},
			{"standard", "whsec_MDEyMzQ1Njc4OWFiY2Rl", true},
			{"standard", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==", false},
			{"standard", "MDEyMzQ1Njc4OWFiY2Rl", true},
			{"standard", "not base64, 16 b", false},
			{"shopify", "0123456789abcde", true},
			{"shopify", "MDEyMzQ1Njc4OWFi", false},
			{"github", "äöüäöüäö", false}, // 16 bytes
		} {
			answer := client.Do("POST", path,
				`{"tenant":"`+d.acme.tenant+`","name":"i","access":"upsert","verifyScheme":"`+c.scheme+
					`","verifySecret":"`+c.secret+`"}`)
			if short(answer) != c.short || answer.Status != 200 && !c.short {
				t.Errorf("%s: the secret %s of %q gives %d %s", door, c.secret, c.scheme, answer.Status, answer.Body)
			}
		}
	}
	made, _ := d.expect(200, superuser, "POST", path,
		`{"tenant":"`+d.acme.tenant+`","name":"i","access":"upsert"}`).JSON()["id"].(string)
	testkit.Execute(t, d.app, "UPDATE inbound_webhooks SET verifySecret = 'a' WHERE id = {:id}",
		map[string]any{"id": made})
	d.expect(200, superuser, "PATCH", path+"/"+made, `{"name":"stays"}`)
	d.expect(200, superuser, "PATCH", path+"/"+made, `{"verifySecret":""}`)
	if got := superuser.Do("PATCH", path+"/"+made, `{"verifySecret":"b"}`); !short(got) {
		t.Errorf("a short secret later gives %d %s", got.Status, got.Body)
	}
	if got := d.storedSecret("inbound_webhooks", made, "verifySecret"); got != "a" {
		t.Errorf("the stored secret is %q", got)
	}
	d.expect(200, superuser, "PATCH", path+"/"+made, `{"verifySecret":"-"}`)
}

// Only a superuser sets a limit above the default.
func TestInboundRate(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	member, path := d.as(d.admin), recordsOf("inbound_webhooks")
	expect := func(client *testkit.Client, method, path, body string, status int) *testkit.Answer {
		t.Helper()
		got := client.Do(method, path, body)
		if got.Status != status || status == 400 && !strings.Contains(string(got.Body), `"rateLimit":{"code":"`) {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
		return got
	}
	create := func(client *testkit.Client, rate, status int) *testkit.Answer {
		t.Helper()
		return expect(client, "POST", path,
			fmt.Sprintf(`{"tenant":"%s","name":"i","access":"upsert","rateLimit":%d}`, d.acme.tenant, rate), status)
	}
	create(member, 600, 200)
	create(member, 601, 400)
	create(member, -1, 400)
	create(superuser, -1, 400)
	create(superuser, 2_000_000, 400)
	made, _ := create(superuser, 5000, 200).JSON()["id"].(string)
	expect(member, "PATCH", path+"/"+made, `{"name":"renamed"}`, 200)
	expect(member, "PATCH", path+"/"+made, `{"rateLimit":5001}`, 400)
	expect(member, "PATCH", path+"/"+made, `{"rateLimit":10}`, 200)
}

// What a scheme needs whose header an admin names is checked at each door.
func TestVerifySettings(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	superuser := testkit.NewClient(t, d.base, "")
	superuser.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	path := recordsOf("inbound_webhooks")
	const secret = `,"verifySecret":"a secret of 18 bytes"`
	for door, client := range map[string]*testkit.Client{"superuser": superuser, "member": d.as(d.admin)} {
		for body, field := range map[string]string{
			`"verifyScheme":"hmac"` + secret:                                                                                          "verifyHeader",
			`"verifyScheme":"token"` + secret:                                                                                         "verifyHeader",
			`"verifyScheme":"hmac","verifyHeader":"Host"` + secret:                                                                    "verifyHeader",
			`"verifyScheme":"hmac","verifyHeader":"X-S","verifyFormat":"Hex"` + secret:                                                "verifyFormat",
			`"verifyScheme":"hmac","verifyHeader":"X-S","verifyHash":"md5"` + secret:                                                  "verifyHash",
			`"verifyScheme":"hmac","verifyHeader":"X-S","verifyTimestamp":"a b"` + secret:                                             "verifyTimestamp",
			`"verifyScheme":"hmac","verifyHeader":"X-S"`:                                                                              "verifyScheme",
			`"verifyScheme":"token","verifyHeader":"X-S","verifySecret":"short"`:                                                      "verifySecret",
			`"verifyScheme":"token","verifyHeader":"X-S","verifySecret":"äöüäöüäöü"`:                                                  "verifySecret",
			`"verifyScheme":"hmac","verifyHeader":"X-S","verifyHash":"sha1","verifyFormat":"base64","verifyTimestamp":"X-T"` + secret: "",
			`"verifyScheme":"token","verifyHeader":"Authorization"` + secret:                                                          "",
			`"verifyScheme":"strava"`:                                                                                                 "",
			`"verifyScheme":"zoom"` + secret:                                                                                          "",
		} {
			got := client.Do("POST", path, `{"tenant":"`+d.acme.tenant+`","name":"i","access":"upsert",`+body+`}`)
			if field == "" && got.Status != 200 || field != "" &&
				(got.Status != 400 || !strings.Contains(string(got.Body), `"`+field+`":{"code":"validation_`)) {
				t.Errorf("%s: %s gives %d %s", door, body, got.Status, got.Body)
			}
			if strings.Contains(string(got.Body), "a secret of") {
				t.Errorf("the answer has the secret: %s", got.Body)
			}
		}
	}
}
