package payload

import (
	"fmt"
	"strings"
	"testing"
)

// read returns the fields that a body without a mapping gives, and its warnings.
func read(t *testing.T, contentType, body string) (fields, warnings string) {
	t.Helper()
	p, err := Decode(contentType, []byte(body), nil, Own{Name: "inner"})
	if err != nil || len(p.Items) != 1 {
		t.Fatalf("%s: %+v, %v", body, p, err)
	}
	it := p.Items[0]
	if it.Err != nil {
		return it.Err.Message, ""
	}
	return strings.TrimPrefix(fmt.Sprint(it.Fields), "map"), strings.Join(it.Warnings, "; ")
}

// The only person in a payload is its contact, however deep.
func TestPersonInside(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"lead","data":{"name":"Ada","email":"a@example.com"}}`:                                                 "[email:a@example.com name:Ada]",
		`{"entry":[{"changes":[{"value":{"from":{"name":"Ada","email":"a@example.com"}}}]}]}`:                           "[email:a@example.com name:Ada]",
		`{"payload":"{\"user\":{\"email\":\"a@example.com\"}}"}`:                                                        "[email:a@example.com]",
		`{"data":{"profile":{"name":"Ada"},"wa_id":"447400123456"}}`:                                                    "[name:Ada phone:+447400123456]",
		`{"data":{"first_name":"Ada","phone":"+4930123456"}}`:                                                           "[name:Ada phone:+4930123456]",
		`{"customer":{"name":"Ada","phone":"+4930123456"}}`:                                                             "[name:Ada phone:+4930123456]",
		`{"name":"Contact form","data":{"name":"Ada","email":"a@example.com"}}`:                                         "[email:a@example.com name:Ada]",
		`{"action":"create","data":{"email":"a@example.com","action":"x"}}`:                                             "[email:a@example.com]",
		`{"record":{"email":"a@example.com"},"old_record":{"email":"b@example.com"}}`:                                   "[email:a@example.com]",
		`{"data":{"email":"a@example.com"},"meta":{"user":{"email":"a@example.com","name":"Ada"}}}`:                     "[email:a@example.com name:Ada]",
		`{"ticket":{"email":"desk@example.com","requester":{"email":"a@example.com"}}}`:                                 "[email:a@example.com]",
		`{"event":"x","data":{"email":"a@example.com","organization":{"slug":"desk","name":"Desk"}}}`:                   "[email:a@example.com]",
		`{"data":{"email":"a@example.com","name":"#12"}}`:                                                               "[email:a@example.com]",
		`{"company":{"name":"AE","email":"info@example.com","contact":{"email":"a@example.com"}}}`:                      "[email:a@example.com]",
		`{"form":{"0":{"question":{"title":"Your email"},"answer":{"text":"a@example.com"}},"1":{"question":"x"}}}`:     "[email:a@example.com]",
		`{"answers":[{"slug":"email","content":"a@example.com"},{"slug":"name","content":"Ada"}]}`:                      "[email:a@example.com name:Ada]",
		`{"input":{"name":"email","value":"a@example.com"}}`:                                                            "[email:a@example.com]",
		`{"data":{"user_name":"Ada King","user_email":"a@example.com"}}`:                                                "[email:a@example.com name:Ada King]",
		`{"contacts":{"add":[{"name":"Ada","custom_fields":[{"code":"EMAIL","values":[{"value":"a@example.com"}]}]}]}}`: "[email:a@example.com name:Ada]",
		`{"buyer_details":{"email":"a@example.com"},"issued_tickets":[{"email":"b@example.com"}]}`:                      "[email:a@example.com]",
		`{"data":{"user_name":"ada","user_email":"a@example.com"}}`:                                                     "[email:a@example.com]",
	} {
		if got, _ := read(t, asJSON, body); got != want {
			t.Errorf("%s gives %s, not %s", body, got, want)
		}
	}
	_, warnings := read(t, asJSON, `{"type":"lead","data":{"people":[{"email":"a@example.com","data":{"phone":"+14155550112"}}]}}`)
	for _, want := range []string{`the contact is read from "data.people.0"`, `ignored: "type"`, `"phone":"data.people.0.data.phone"`} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warnings are %s, without %s", warnings, want)
		}
	}
}

// Nobody is the contact of a payload if several people may be, or if the only one is somebody else.
func TestNobodyInside(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"a":{"email":"a@example.com"},"b":{"email":"b@example.com"}}`,
		`{"attendees":[{"email":"a@example.com"},{"email":"b@example.com"}]}`,
		`{"customer":{"email":"a@example.com"},"lead":{"email":"b@example.com"}}`,
		`{"data":{"organizer":{"email":"a@example.com"},"hosts":[{"email":"b@example.com"}]}}`,
		`{"createdBy":{"email":"a@example.com"},"assigned_to":{"email":"b@example.com"},"updated_by":{"email":"c@example.com"}}`,
		`{"data":{"account":{"email":"a@example.com","name":"Desk"},"store":{"email":"b@example.com"}}}`,
		`{"event":"contact.deleted","data":{"email":"a@example.com"}}`,
		`{"event":"x","data":{"type":"customer_erased","email":"a@example.com"}}`,
		`{"msg":{"email":"a@example.com","sender":"desk@example.com"}}`,
		`{"direction":"outgoing","message":{"sender":{"email":"a@example.com"}}}`,
		`{"location":{"name":"Berlin","phone":"+4930123456"}}`,
		`{"office":{"name":"Berlin","phone":"+4930123456"}}`,
		`{"inner":{"email":"a@example.com"}}`,
		`{"data":{"email":"not an address"}}`,
		`{"item":{"author":{"type":"admin","email":"a@example.com"}}}`,
		`{"contacts":[{"wa_id":"447400123456"}]}`,
	} {
		if got, warnings := read(t, asJSON, body); got != "[]" {
			t.Errorf("%s gives %s; %s", body, got, warnings)
		}
	}
	p, err := Decode(asJSON, []byte(`{"a":{"email":"a@example.com"},"b":{"email":"b@example.com"}}`), nil)
	if err != nil || !strings.Contains(p.Note, "several people") || suggestIn(p.Note) != `{"fields":{"email":"a.email"}}` {
		t.Errorf("the note is %q, %v", p.Note, err)
	}
	if got, _ := read(t, asJSON, `{"name":"Ada","user":{"name":"Bo","email":"b@example.com"}}`); got != "[name:Ada]" {
		t.Errorf("a user beside a name gives %s", got)
	}
}

// What an object lacks is read from parts that are about the same person.
func TestOwnParts(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"email":"a@example.com","fields":{"name":"Ada","last_name":"King"}}`:                                                                                                  "[email:a@example.com name:Ada King]",
		`{"email":"a@example.com","properties":{"name":"Ada"}}`:                                                                                                                 "[email:a@example.com name:Ada]",
		`{"event":"Purchase","email":"a@example.com","properties":{"name":"Shirt"}}`:                                                                                            "[email:a@example.com]",
		`{"email":"a@example.com","name":null,"fields":{"name":"Ada"}}`:                                                                                                         "[email:a@example.com name:Ada]",
		`{"email":"a@example.com","list":{"name":"News"},"boss":{"name":"Bo"}}`:                                                                                                 "[email:a@example.com]",
		`{"contact":"a@example.com","boss":{"name":"Bo","email":"b@example.com"}}`:                                                                                              "[email:a@example.com]",
		`{"email":"a@example.com","name":"Ada King","phone":null,"default_address":{"first_name":"Ada","last_name":"King","phone":"+1"}}`:                                       "[email:a@example.com name:Ada King phone:+1]",
		`{"email":"a@example.com","name":"Ada King","billing_address":{"first_name":"Bo","last_name":"Lo","phone":"+1"}}`:                                                       "[email:a@example.com name:Ada King]",
		`{"email":"a@example.com","address":{"name":"Office","phone":"+1"}}`:                                                                                                    "[email:a@example.com phone:+1]",
		`{"email":"a@example.com","billing":{"email":"b@example.com","phone":"+1"}}`:                                                                                            "[email:a@example.com]",
		`{"email":"a@example.com","name":"#9","customer":null,"billing_address":{"first_name":"Ada"}}`:                                                                          "[email:a@example.com name:Ada]",
		`{"email":"a@example.com","name":"#9"}`:                                                                                                                                 "[email:a@example.com]",
		`{"email":"a@example.com","name":"1001"}`:                                                                                                                               "[email:a@example.com name:1001]",
		`{"email":"a@example.com","name":"SO-1001","customer":{"email":"A@example.com","name":"Ada"}}`:                                                                          "[email:a@example.com name:Ada]",
		`{"email":"a@example.com","questions":[{"question":"Phone","answer":"+1"},{"question":"Company","answer":"AE"}]}`:                                                       "[company:AE email:a@example.com phone:+1]",
		`{"email":"a@example.com","customer":{"email":"a@example.com","first_name":"Ada","default_address":{"phone":"+1"}},"billing_address":{"first_name":"Bo","phone":"+2"}}`: "[email:a@example.com name:Ada phone:+1]",
		`{"email":"a@example.com","name":"LEAD-26-0001","lead_name":"Ada"}`:                                                                                                     "[email:a@example.com name:Ada]",
		`{"email":"a@example.com","name":"a@example.com","given_name":"Ada","family_name":"King"}`:                                                                              "[email:a@example.com name:Ada King]",
		`{"emails":[{"id":"1","email":"b@example.com"},{"id":"2","email":"a@example.com"}],"primary_email_id":"2"}`:                                                             "[email:a@example.com]",
		`{"type":"invoice.paid","account_name":"Desk","customer_email":"a@example.com"}`:                                                                                        "[email:a@example.com]",
		`{"account_name":"AE","customer_email":"a@example.com"}`:                                                                                                                "[company:AE email:a@example.com]",
		`{"email":"a@example.com","owner_fields":[{"question":"Phone","answer":"+1"}]}`:                                                                                         "[email:a@example.com]",
	} {
		if got, _ := read(t, asJSON, body); got != want {
			t.Errorf("%s gives %s, not %s", body, got, want)
		}
	}
	if _, warnings := read(t, asJSON, `{"email":"a@example.com","name":"#9"}`); !strings.Contains(warnings, "number of an order") {
		t.Errorf("the warnings are %q", warnings)
	}
}

// Who has written a message is its contact, and whom it was sent to is not.
func TestMessages(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"From":"whatsapp:+4930123456","To":"whatsapp:+14155550100","ProfileName":"Ada"}`: "[name:Ada phone:whatsapp:+4930123456]",
		`{"from":"Ada <a@example.com>","subject":"x"}`:                                     "[email:a@example.com]",
		`{"from":"Ada <a@example.com>","to":"desk@example.com"}`:                           "[]",
		`{"event":"message.received","from":"a@example.com","to":"desk@example.com"}`:      "[email:a@example.com]",
		`{"name":"Ada","from":"+4930123456","to":"+14155550100"}`:                          "[name:Ada]",
		`{"name":"Ada","from":"+4930123456","to":"+14155550100","direction":"inbound"}`:    "[name:Ada phone:+4930123456]",
		`{"name":"Ada","company":"Inbound Marketing","from":"Berlin","to":"Bonn"}`:         "[company:Inbound Marketing name:Ada]",
		`{"name":"Ada","sender":"4930123456@c.us","senderName":"B"}`:                       "[name:Ada phone:+4930123456]",
		`{"sender":"4930123456:12@s.whatsapp.net","pushName":"Ada"}`:                       "[name:Ada phone:+4930123456]",
		`{"name":"Ada","msisdn":"447400123456"}`:                                           "[name:Ada phone:+447400123456]",
		`{"name":"Ada","phone":"447400123456"}`:                                            "[name:Ada phone:447400123456]",
	} {
		if got, _ := read(t, asJSON, body); got != want {
			t.Errorf("%s gives %s, not %s", body, got, want)
		}
	}
}

// The brackets in the names of a form make the tree that JSON would have.
func TestPersonInForm(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"submission[fields][email]=a%40example.com&submission[fields][name][first]=Ada&submission[form]=Ask": "[email:a@example.com name:Ada]",
		"data[0][name]=email&data[0][value]=a%40example.com&data[1][name]=name&data[1][value]=Ada":           "[email:a@example.com name:Ada]",
		"contact[email]=a%40example.com&agent[email]=b%40example.com":                                        "[email:a@example.com]",
	} {
		if got, _ := read(t, asForm, body); got != want {
			t.Errorf("%s gives %s, not %s", body, got, want)
		}
	}
}
