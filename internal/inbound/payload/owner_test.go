package payload

import (
	"strings"
	"testing"
)

// A sender's own workspace is nobody's company, and a company is.
func TestWhoseCompany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, company, path string }{
		{`{"event":"contact_created","account":{"id":3,"name":"Desk"}}`, "", "account.name"},
		{`{"event":"contact_created","account":{"name":"Desk"}}`, "", "account.name"},
		{`{"account":{"id":3,"name":"Desk"}}`, "", "account.name"},
		{`{"account":{"name":"Engines"}}`, "Engines", ""},
		{`{"type":"lead","account":{"name":"Engines"}}`, "Engines", ""},
		{`{"type":"lead","action":"upsert","account":{"name":"Engines"}}`, "Engines", ""},
		{`{"type":"person.created","workspace":{"id":1,"name":"Desk"}}`, "", "workspace.name"},
		{`{"action":"created","project":{"name":"Desk"},"company":"Engines"}`, "Engines", "project.name"},
		{`{"event_type":"new","team":{"name":"Desk"},"app":{"name":"Desk"}}`, "", "team.name"},
		{`{"type":"user.created","organization":{"id":"org_2a","name":"Desk"}}`, "", "organization.name"},
		{`{"type":"user.created","organization":{"slug":"desk","name":"Desk"}}`, "", "organization.name"},
		{`{"event":"x","organization":{"plan":"pro","name":"Desk"}}`, "", "organization.name"},
		{`{"event":"x","Organisation":{"members_count":2,"name":"Desk"}}`, "", "Organisation.name"},
		{`{"type":"user.created","organization":{"id":12,"name":"Engines"}}`, "Engines", ""},
		{`{"organization":{"id":"org_2a","name":"Engines"}}`, "Engines", ""},
		{`{"event":"x","organization":"Engines"}`, "Engines", ""},
		{`{"event":"x","account":"Engines"}`, "Engines", ""},
		{`{"account":"00123"}`, "", ""},
		{`{"account":"12-34/5"}`, "", ""},
		{`{"account":"ACC-00123"}`, "", ""},
		{`{"account":"00123-ACC"}`, "", ""},
		{`{"account":"AB-12-X9"}`, "", ""},
		{`{"account":"3M"}`, "3M", ""},
		{`{"account":"7-Eleven"}`, "7-Eleven", ""},
		{`{"account":"7-ELEVEN"}`, "7-ELEVEN", ""},
		{`{"account":"COCA-COLA"}`, "COCA-COLA", ""},
		{`{"account":"ACC-00123","company":"Engines"}`, "Engines", ""},
		{`{"company":"ACC-00123"}`, "ACC-00123", ""},
	} {
		body := `{"email":"ada@example.com",` + c.body[1:]
		p, err := Decode(asJSON, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		company, _ := p.Items[0].Fields[fieldCompany].(string)
		warned := strings.Join(p.Items[0].Warnings, "; ")
		if company != c.company || !strings.Contains(warned, c.path) || c.path == "" && warned != "" {
			t.Errorf("%s: the company is %q, and the warnings are %q", body, company, warned)
		}
	}
	p, err := Decode(asJSON, []byte(`{"event":"x","email":"ada@example.com","account":{"id":1,"name":"Engines"}}`),
		mustMapping(t, `{"fields":{"email":"email","company":"account.name"}}`))
	if err != nil || p.Items[0].Fields[fieldCompany] != "Engines" {
		t.Errorf("a mapping gives %+v, %v", p, err)
	}
	p, err = Decode(asJSON, []byte(`{"event":"x","email":"ada@example.com","account":{"id":1,"name":"Engines"}}`), nil, Own{Name: "account"})
	if err != nil || p.Items[0].Extra["account"] == nil {
		t.Errorf("an own field gives %+v, %v", p, err)
	}
}

// A nested value that was not read gets a hint, unless it is somebody else's.
func TestUnread(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"email":"a@example.com","name":"A","data":{"phone":"+14155550112","company":"Netl Inc"}}`: `a phone number and a company that were not read; choose the sender's preset, ` +
			`or set a mapping such as {"fields":{"company":"data.company","email":"email","name":"name","phone":"data.phone"}}`,
		`{"email":"a@example.com","data":{"name":"Ada","form":{"name":"Form"}}}`:                       `{"fields":{"email":"email","name":"data.name"}}`,
		`{"externalId":"7","user":{"email":"a@example.com"}}`:                                          `an email address`,
		`{"name":"Ada","details":{"phones":["+14155550112"]}}`:                                         `{"fields":{"name":"name","phone":"details.phones.0"}}`,
		`{"email":"a@example.com","name":"A","order":{"billing":{"company":"AE","phone":"x"}}}`:        `{"fields":{"company":"order.billing.company","email":"email","name":"name"}}`,
		`{"email":"a@example.com","name":"A","addresses":[{"phone":"030 5550101"}]}`:                   `"phone":"addresses.0.phone"`,
		`{"email":"a@example.com","name":"A","boss":{"email":"b@example.com","phone":"+14155550112"}}`: "",
		`{"email":"a@example.com","name":"A","owner":{"phone":"+14155550112"}}`:                        "",
		`{"email":"a@example.com","product":{"name":"Shirt","phone":"yes"}}`:                           "",
		`{"email":"a@example.com","name":"A","company":null,"data":{"company":"AE"}}`:                  "",
		`{"event":"x","email":"a@example.com","workspace":{"title":"W","company":"Desk"}}`:             "",
	} {
		p, err := Decode(asJSON, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Items[0].Warnings, "; "); want == "" && strings.Contains(got, "not read") || !strings.Contains(got, want) {
			t.Errorf("%s: the warnings are %q, not %q", body, got, want)
		}
	}
	p, err := Decode(asForm, []byte("_replyto=ada%40example.com&name=Ada"), nil)
	if err != nil || p.Items[0].Fields[FieldEmail] != "ada@example.com" {
		t.Errorf("got %+v, %v", p, err)
	}
}
