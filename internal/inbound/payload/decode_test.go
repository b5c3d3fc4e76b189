package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

func codeOf(err error) fault.Code {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Code
	}
	return fault.Code(fmt.Sprint(err))
}

// wrong returns an item with an invalid field.
func wrong(field, code, message string) Item {
	return Item{Action: contact.Upsert, Err: &fault.Error{
		Code: fault.ValidationFailed, Message: field + ": " + message, Fields: fault.Fields{field: {Code: code, Message: message}},
	}}
}

// refusedAction returns an item with an unknown action.
func refusedAction(action string) Item {
	return Item{Action: contact.Action(action), Err: fault.New(fault.InvalidAction, fmt.Sprintf("the action %q is neither upsert nor delete", action))}
}

const notScalar = "must be text, a number, true, false or null"

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)
	many := "[" + strings.Repeat("{},", MaxItems) + "{}]"
	tests := []struct {
		name, contentType, body string
		code                    fault.Code
	}{
		{"plain text", "text/plain", "a=b", fault.UnsupportedMediaType},
		{"a form without a type", "", "a=b", fault.UnsupportedMediaType},
		{"nothing without a type", "", " ", fault.UnsupportedMediaType},
		{"JSON of no known type", "application/octet-stream", "{}", fault.UnsupportedMediaType},
		{"text in another charset", "text/plain; charset=iso-8859-1", "{}", fault.UnsupportedMediaType},
		{"XML", "application/xml", "<a/>", fault.UnsupportedMediaType},
		{"nonsense content type", "application/json/x; =", "{}", fault.UnsupportedMediaType},
		{"another charset", "application/json; charset=iso-8859-1", "{}", fault.UnsupportedMediaType},
		{"a form in another charset", asForm + "; charset=windows-1252", "a=b", fault.UnsupportedMediaType},

		{"empty JSON", asJSON, "", fault.ValidationFailed},
		{"white space", asJSON, " \r\n", fault.ValidationFailed},
		{"only a byte order mark", asJSON, "\xef\xbb\xbf", fault.ValidationFailed},
		{"empty form", asForm, "", fault.ValidationFailed},
		{"empty multipart", "multipart/form-data; boundary=b", "", fault.ValidationFailed},
		{"empty array", asJSON, "[]", fault.ValidationFailed},
		{"number", asJSON, "5", fault.ValidationFailed},
		{"string", asJSON, `"a@example.com"`, fault.ValidationFailed},
		{"null", asJSON, "null", fault.ValidationFailed},

		{"cut off", asJSON, `{"email":"a@b`, fault.InvalidJSON},
		{"two values", asJSON, `{} {}`, fault.InvalidJSON},
		{"trailing comma", asJSON, `{"a":1,}`, fault.InvalidJSON},
		{"single quotes", asJSON, `{'a':1}`, fault.InvalidJSON},
		{"NaN", asJSON, `{"a":NaN}`, fault.InvalidJSON},
		{"invalid UTF-8", asJSON, "{\"name\":\"\xff\"}", fault.InvalidJSON},
		{"UTF-16", asJSON, "{\x00}\x00", fault.InvalidJSON},
		{"too deep", asJSON, `{"a":` + deep + `}`, fault.InvalidJSON},
		{"far too deep", asJSON, strings.Repeat("[", 100_000), fault.InvalidJSON},

		{"bad escape in a form", asForm, "a=%zz", fault.InvalidJSON},
		{"invalid UTF-8 in a form", asForm, "name=%ff", fault.InvalidJSON},
		{"invalid UTF-8 in a form's name", asForm, "%ff=a", fault.InvalidJSON},
		{"too deep a form", asForm, "a" + strings.Repeat("[b]", maxFormDepth) + "=1", fault.InvalidJSON},
		{"no boundary", "multipart/form-data", "--b\r\n\r\n\r\n--b--", fault.InvalidJSON},
		{"cut off multipart", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx", fault.InvalidJSON},

		{"too many items", asJSON, many, fault.PayloadTooLarge},
		{"too many values", asJSON, `{"a":[` + strings.Repeat("0,", MaxValues) + `0]}`, fault.PayloadTooLarge},
		{"too many empty lists", asJSON, `{"a":[` + strings.Repeat("[],", MaxValues/2) + `[]]}`, fault.PayloadTooLarge},
		{"too many values in a form", asForm, strings.Repeat("a=1&", maxFormPairs+1), fault.PayloadTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Decode(tt.contentType, []byte(tt.body), nil)
			if got := codeOf(err); got != tt.code {
				t.Errorf("got %s, want %s (%+v)", got, tt.code, p)
			}
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	deep := `{"email":"a@example.com","x":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + "}"
	tests := []struct {
		name, contentType, body string
		items                   int
		batch                   bool
	}{
		{"object", asJSON, `{"email":"a@example.com"}`, 1, false},
		{"empty object", asJSON, `{}`, 1, false},
		{"charset", "application/json; charset=UTF-8", `{}`, 1, false},
		{"charset without a dash", `application/json;charset="utf8"`, `{}`, 1, false},
		{"an invalid parameter", "application/json; charset", `{}`, 1, false},
		{"as text", "text/plain; charset=utf-8", `{}`, 1, false},
		{"as text behind a byte order mark", "text/html", "\xef\xbb\xbf {}", 1, false},
		{"as text in ASCII", "text/json; charset=US-ASCII", `[{}]`, 1, true},
		{"without a type", "", `[{},{}]`, 2, true},
		{"upper case", "Application/JSON", `{}`, 1, false},
		{"suffix", "application/vnd.api+json", `{}`, 1, false},
		{"byte order mark", asJSON, "\xef\xbb\xbf{}", 1, false},
		{"the deepest", asJSON, deep, 1, false},
		{"array of one", asJSON, `[{}]`, 1, true},
		{"the most items", asJSON, "[" + strings.Repeat("{},", MaxItems-1) + "{}]", MaxItems, true},
		{"the most values", asJSON, `{"a":[` + strings.Repeat("0,", MaxValues-4) + `0]}`, 1, false},
		{"commas in a string", asJSON, `{"name":"` + strings.Repeat(",", MaxValues) + `"}`, 1, false},
		{"brackets in a string", asJSON, `{"name":"` + strings.Repeat("[", 100) + `\"["}`, 1, false},
		{"form", asForm, "email=a%40example.com", 1, false},
		{"JSON with the type of a form", asForm, " [{\"name\":\"A&B=C\"},{}]", 2, true},
		{"a form that begins like JSON", asForm, "{}=1&[a]=2", 1, false},
		{"the most values of a form", asForm, strings.Repeat("a=1&", maxFormPairs), 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Decode(tt.contentType, []byte(tt.body), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Items) != tt.items || p.Batch != tt.batch {
				t.Errorf("got %d items, batch %v", len(p.Items), p.Batch)
			}
		})
	}
}

func TestPlainItem(t *testing.T) {
	t.Parallel()
	fields := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		name, body string
		want       Item // nil maps stand for empty ones
	}{
		{"the contact's own names", `{"name":" Ada ","email":"a@example.com","phone":"+44","company":"AE","externalId":"7"}`,
			Item{Fields: fields("name", "Ada", "email", "a@example.com", "phone", "+44", "company", "AE", "externalId", "7")}},
		{"what was read can be sent back", `{"id":"0abcdefghij1234","name":"Ada","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"x"}`,
			Item{Match: []contact.Key{{Field: FieldID, Value: "0abcdefghij1234"}}, Fields: fields("name", "Ada")}},
		{"null clears, and what is empty was not sent", `{"phone":null,"company":"  ","externalId":[""],"name":false,"note":"","email":null}`,
			Item{Fields: fields("phone", nil, "name", nil, "email", nil)}},
		{"an empty id is not sent", `{"id":"","email":"a@example.com"}`, Item{Fields: fields("email", "a@example.com")}},

		{"another system's id", `{"id":5,"name":"Ada"}`, Item{Fields: fields("name", "Ada"), Warnings: []string{foreignID}}},
		{"an object as an id", `{"id":{},"name":"Ada"}`, Item{Fields: fields("name", "Ada"), Warnings: []string{foreignID}}},

		{"names of forms", `{"your-name":"Ada","your-email":"a@example.com","tel-7":"+1","q6_company":"AE","your-subject":"Hi"}`,
			Item{Fields: fields("name", "Ada", "email", "a@example.com", "phone", "+1", "company", "AE"), Extra: fields("your-subject", "Hi")}},
		{"names in other languages", `{"Vorname":"Ada","Nachname":"King","E-Mail-Adresse":"a@example.com","Téléphone":"+1","azienda":"AE"}`,
			Item{Fields: fields("name", "Ada King", "email", "a@example.com", "phone", "+1", "company", "AE")}},
		{"halves in an object", `{"names":{"first_name":"Ada","last_name":"King"},"q4_emailAddress":"a@example.com","q5_phoneNumber5":{"full":"+1"}}`,
			Item{Fields: fields("name", "Ada King", "email", "a@example.com", "phone", "+1")}},
		{"halves under the field's own name", `{"name":{"first":"Ada","middle":"Byron","last":"King"},"company":{"id":7,"name":"AE"}}`,
			Item{Fields: fields("name", "Ada Byron King", "company", "AE")}},
		{"short halves", `{"first":"Ada","last":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a last name beside a first name", `{"prenom":"Ada","nom":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a name beside a first name", `{"vorname":"Ada","name":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a whole name beside a first name", `{"first_name":"Ada","name":"Ada King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a name beside a last name", `{"name":"Ada","surname":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a whole name beside a last name", `{"name":"KING, Ada","surname":"King"}`, Item{Fields: fields("name", "KING, Ada")}},
		{"a name that only begins like the last name", `{"name":"Kingsley","Nachname":"King"}`, Item{Fields: fields("name", "Kingsley King")}},
		{"a last name of several words", `{"name":"Ada van der Berg","last_name":"van der Berg"}`, Item{Fields: fields("name", "Ada van der Berg")}},
		{"a middle name between", `{"name":"Ada","middleName":"Byron","surname":"King"}`, Item{Fields: fields("name", "Ada Byron King")}},
		{"the first name as the name", `{"name":"ada","first_name":"Ada","last_name":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"a last name in an object", `{"name":{"name":"Ada","surname":"King"}}`, Item{Fields: fields("name", "Ada King")}},
		{"an address as a contact", `{"contact":"a@example.com","Ansprechpartner":"Ada"}`, Item{Fields: fields("name", "Ada", "email", "a@example.com")}},
		{"a number as a contact", `{"contact":" +44 (20) 7946-0123 "}`, Item{Fields: fields("phone", "+44 (20) 7946-0123")}},
		{"an address as the name", `{"name":"a@example.com","contact":"b@example.com"}`, Item{Fields: fields("name", "a@example.com", "email", "b@example.com")}},
		{"an address beside the contact", `{"contact":"b@example.com","e-mail":"a@example.com"}`, Item{Fields: fields("email", "a@example.com")}},
		{"an empty name and half", `{"first_name":"","name":""}`, Item{}},
		{"work comes first, and mobile last", `{"homeEmail":"c@example.com","workEmail":"b@example.com","mobile":"+3","companyPhone":"+2","Telefon geschäftlich":"+1"}`,
			Item{Fields: fields("email", "b@example.com", "phone", "+1")}},
		{"false friends", `{"email_opt_out":true,"companySize":7,"phone_type":"home","Name of the dog":"Rex","email":"a@example.com"}`,
			Item{Fields: fields("email", "a@example.com"), Extra: fields("email_opt_out", true, "companySize", json.Number("7"), "phone_type", "home", "Name of the dog", "Rex")}},
		{"fields of the admin", `{"email":"a@example.com","middle_name":"Byron","first_name":"Ada"}`,
			Item{Fields: fields("email", "a@example.com", "name", "Ada"), Extra: fields("middle_name", "Byron")}},
		{"aliases", `{"Full Name":"Ada","E-Mail":"a@example.com","mobile":"+1","organization":"AE","external_id":5}`,
			Item{Fields: fields("name", "Ada", "email", "a@example.com", "phone", "+1", "company", "AE", "externalId", "5")}},
		{"more aliases", `{"email_address":"a@example.com","phone-number":"+1","companyName":"AE"}`,
			Item{Fields: fields("email", "a@example.com", "phone", "+1", "company", "AE")}},
		{"first and last name", `{"first_name":"Ada","Last Name":"King"}`, Item{Fields: fields("name", "Ada King")}},
		{"only a last name", `{"firstName":null,"lastName":"King"}`, Item{Fields: fields("name", "King")}},
		{"empty parts do not clear the name", `{"first_name":null,"last_name":""}`, Item{}},
		{"a name overrides its parts", `{"first_name":"A","last_name":"K","name":"Ada King"}`, Item{Fields: fields("name", "Ada King")}},
		{"the parts override an empty name", `{"first_name":"Ada","name":null}`, Item{Fields: fields("name", "Ada")}},

		{"the exact name overrides its spellings", `{"Email":"b@example.com","email":"a@example.com","E-Mail":"c@example.com"}`,
			Item{Fields: fields("email", "a@example.com")}},
		{"a name overrides its aliases", `{"mobile":"+2","Phone":"+1"}`, Item{Fields: fields("phone", "+1")}},
		{"an alias fills in for an empty name", `{"phone":null,"mobile":"+2"}`, Item{Fields: fields("phone", "+2")}},
		{"only the exact id is an id", `{"_id":"x","ID":5}`, Item{Extra: fields("_id", "x", "ID", json.Number("5"))}},

		{"the last of two equal names counts", `{"name":"A","name":"B"}`, Item{Fields: fields("name", "B")}},
		{"numbers keep their digits", `{"phone":12345678901234567890,"externalId":1.50,"score":-0.0}`,
			Item{Fields: fields("phone", "12345678901234567890", "externalId", "1.50"), Extra: fields("score", json.Number("-0.0"))}},
		{"booleans", `{"company":true,"vip":false}`, Item{Fields: fields("company", "true"), Extra: fields("vip", false)}},
		{"unknown properties", `{"plan":"pro","note":null,"tags":["a"],"address":{}}`,
			Item{Extra: fields("plan", "pro", "note", nil, "tags", []any{"a"}, "address", map[string]any{})}},
		{"an object under an alias", `{"organization":{"id":1},"email":"a@example.com"}`,
			Item{Fields: fields("email", "a@example.com"), Warnings: []string{`ignored: "organization"`}}},

		{"delete", `{"email":"a@example.com","action":"Delete"}`, Item{Action: contact.Delete, Fields: fields("email", "a@example.com")}},
		{"upsert", `{"action":"upsert"}`, Item{}},
		{"no action", `{"action":null}`, Item{}},
		{"another action", `{"action":"merge"}`, refusedAction("merge")},

		{"a list", `{"emails":["a@example.com"],"phone":[null,""," +1 "]}`,
			Item{Fields: fields("email", "a@example.com", "phone", "+1"), Warnings: []string{`only one of 3 values is read: "phone"`}}},
		{"the primary one in a list", `{"emails":[{"value":"b@example.com"},{"email_address":"a@example.com","primary":true}],"phones":[{"number":"+1"}]}`,
			Item{Fields: fields("email", "a@example.com", "phone", "+1"), Warnings: []string{`only one of 2 values is read: "emails"`}}},
		{"no primary one in a list", `{"emails":[{"value":"a@example.com"},{"value":"b@example.com","primary":false}]}`,
			Item{Fields: fields("email", "a@example.com"), Warnings: []string{`only one of 2 values is read: "emails"`}}},
		{"a list of one", `{"emails":["a@example.com"]}`, Item{Fields: fields("email", "a@example.com")}},
		{"the primary one by other flags", `{"emails":[{"email":"b@example.com"},{"address":"a@example.com","isPrimary":true}],"phones":[{"number":"+2"},{"number":"+1","default":"true"}]}`,
			Item{Fields: fields("email", "a@example.com", "phone", "+1"), Warnings: []string{`only one of 2 values is read: "emails"`, `only one of 2 values is read: "phones"`}}},
		{"an order's name", `{"name":"#1001","email":"a@example.com","Customer":{"email":"A@example.com","first_name":"Ada","last_name":"King"},"boss":{"email":"b@example.com","first_name":"Bo"}}`,
			Item{Fields: fields("name", "Ada King", "email", "a@example.com"), Warnings: []string{`name: read from "Customer"`}, lost: fields("name", "#1001"),
				Extra: fields("boss", map[string]any{"email": "b@example.com", "first_name": "Bo"})}},
		{"a name with the same address", `{"name":"Ada King","email":"a@example.com","customer":{"email":"a@example.com","first_name":"Ada"}}`,
			Item{Fields: fields("name", "Ada King", "email", "a@example.com"), Extra: fields("customer", map[string]any{"email": "a@example.com", "first_name": "Ada"})}},
		{"a company with the same address", `{"name":"Ada","email":"a@example.com","company":{"name":"AE","email":"a@example.com"}}`,
			Item{Fields: fields("name", "Ada", "email", "a@example.com", "company", "AE")}},
		{"several people", `{"contact":[{"name":"Ada","email":"a@example.com"}],"email":"b@example.com"}`,
			Item{Fields: fields("email", "b@example.com"), Extra: fields("contact", []any{map[string]any{"name": "Ada", "email": "a@example.com"}})}},
		{"values by their kind", `{"emails":{"home":"b@example.com","work":"a@example.com"},"phones":{"mobile":"+442079460124","type":"x","work":"+442079460123"}}`,
			Item{Fields: fields("email", "a@example.com", "phone", "+442079460123")}},
		{"a value in a value", `{"name":{"type":"name","value":{"first":"Ada","last":"King"}},"Company":{"Id":7,"Name":"AE"},"email":{"value":"a@example.com"}}`,
			Item{Fields: fields("name", "Ada King", "company", "AE", "email", "a@example.com")}},
		{"blank parts", `{"name":{"first":"","last":null},"phone":{"full":" "},"email":"a@example.com"}`, Item{Fields: fields("email", "a@example.com")}},
		{"a number with an area", `{"phone":{"area":"212","phone":"555-0100"}}`, Item{Fields: fields("phone", "212 555-0100")}},
		{"a number with a country", `{"phone":{"countryCode":"44","number":"020 7946 0123"}}`, Item{Fields: fields("phone", "+442079460123")}},
		{"a number with its codes", `{"phone":{"country":"+1","area":"(212)","phone":"5550100"}}`, Item{Fields: fields("phone", "+12125550100")}},
		{"a number in an object in an object", `{"phone":{"phone_type":"MOBILE","phone_number":{"country_code":"44","national_number":"2079460123"}}}`,
			Item{Fields: fields("phone", "+442079460123")}},
		{"a number that is not the first of a list", `{"Phones":[{"PhoneNumber":"","PhoneCountryCode":""},{"PhoneNumber":"79460123","PhoneAreaCode":"20","PhoneCountryCode":"44"}]}`,
			Item{Fields: fields("phone", "+442079460123"), Warnings: []string{`only one of 2 values is read: "Phones"`}}},
		{"a number that has its code", `{"phone":{"dial_code":1,"number":"(1) 212 555-0100"}}`, Item{Fields: fields("phone", "+12125550100")}},
		{"an international number beside another", `{"phone":{"countryCode":"GB","phone":"020 7946 0123","e164Phone":"+442079460123"}}`, Item{Fields: fields("phone", "+442079460123")}},
		{"a short number as a contact", `{"contact":"007"}`, Item{Fields: fields("name", "007")}},
		{"an object without an optional value", `{"email":"a@example.com","Company":{},"phone":[[]]}`,
			Item{Fields: fields("email", "a@example.com"), Warnings: []string{`ignored: "Company", "phone"`}}},
		{"an optional value that is far too long", `{"email":"a@example.com","company":"` + strings.Repeat("x", maxValue+1) + `"}`,
			Item{Fields: fields("email", "a@example.com"), Warnings: []string{`a text may have at most 64 KiB; ignored: "company"`}}},
		{"long texts in parts", `{"email":"a@example.com","files":[1,{"data":"` + strings.Repeat("x", maxValue+1) + `"},"` + strings.Repeat("x", maxValue+1) + `"]}`,
			Item{Fields: fields("email", "a@example.com"), Extra: map[string]any{"files": []any{json.Number("1"), map[string]any{}, nil}},
				Warnings: []string{`a text may have at most 64 KiB; ignored: "files.1.data", "files.2"`}}},
		{"names of several lines", `{"name":"Ada\r\nKing\t","company":"A\u2028E","email":"a@example.com"}`,
			Item{Fields: fields("name", "Ada King", "company", "A E", "email", "a@example.com")}},

		{"a name in lines", `{"Name":"first = Ada\nmiddle =\nlast = King","Email":"a@example.com"}`, Item{Fields: fields("name", "Ada King", "email", "a@example.com")}},
		{"other lines with a sign", `{"name":"a = b\nKing"}`, Item{Fields: fields("name", "a = b King")}},

		{"lists of one", `{"Email":["a@example.com"],"name":[["Ada"]],"company":["AE"],"phone":["+44"],"externalId":[7]}`,
			Item{Fields: fields("email", "a@example.com", "name", "Ada", "company", "AE", "phone", "+44", "externalId", "7")}},
		{"a country for a number", `{"email":"a@example.com","phone":"030 1","country":"DE","Country":"x"}`,
			Item{Fields: fields("email", "a@example.com", "phone", "030 1"), Countries: []string{"DE"}, Extra: fields("Country", "x")}},
		{"a country for nothing", `{"email":"a@example.com","country":"DE"}`, Item{Fields: fields("email", "a@example.com"), Extra: fields("country", "DE")}},
		{"a list as a field", `{"email":["a@example.com","b@example.com"]}`, wrong("email", fault.CodeInvalidType, notScalar)},
		{"an object as a field's spelling", `{"Name":{}}`, wrong("name", fault.CodeInvalidType, notScalar)},
		{"an object as an action", `{"action":{}}`, wrong("action", fault.CodeInvalidType, notScalar)},
		{"a number that is far too long", `{"name":` + strings.Repeat("1", maxValue+1) + `}`, wrong("name", fault.CodeTooLong, "must have at most 65536 bytes")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := Decode(asJSON, []byte(tt.body), nil, Own{Name: "middle_name"})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Items[0]
			if tt.want.Err != nil {
				if !reflect.DeepEqual(got.Err, tt.want.Err) {
					t.Fatalf("got error %v, want %v", got.Err, tt.want.Err)
				}
				return
			}
			if tt.want.Action == "" {
				tt.want.Action = contact.Upsert
			}
			tt.want.finish()
			if tt.want.Fields == nil {
				tt.want.Fields = fields()
			}
			if tt.want.Extra == nil {
				tt.want.Extra = fields()
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v, want\n%+v", got, tt.want)
			}
		})
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	list := func(els ...any) []any { return els }
	tests := []struct {
		name, body string
		want       map[string]any
	}{
		{"flat", "a=1&b=x+y%26z", map[string]any{"a": "1", "b": "x y&z"}},
		{"the last one counts", "a=1&a=2", map[string]any{"a": "2"}},
		{"blank is not sent", "a=&b=+&c", map[string]any{}},
		{"no name", "=1&&a=1", map[string]any{"a": "1"}},
		{"nested", "a[b][c]=1&a[b][d]=2&a%5Be%5D=3", map[string]any{"a": map[string]any{"b": map[string]any{"c": "1", "d": "2"}, "e": "3"}}},
		{"list", "a[]=x&a[]=y", map[string]any{"a": list("x", "y")}},
		{"list by number", "a[1]=y&a[0]=x", map[string]any{"a": list("x", "y")}},
		{"a list with gaps", "a[999999999]=y&a[7]=x", map[string]any{"a": list("x", "y")}},
		{"numbered and appended", "a[3]=x&a[]=y", map[string]any{"a": list("x", "y")}},
		{"a list of objects", "c[0][n]=A&c[0][e]=a&c[1][n]=B", map[string]any{"c": list(map[string]any{"n": "A", "e": "a"}, map[string]any{"n": "B"})}},
		{"numbers that are names", "a[01]=x&a[-1]=y&a[9999999999]=z", map[string]any{"a": map[string]any{"01": "x", "-1": "y", "9999999999": "z"}}},
		{"a value that becomes an object", "a=1&a[b]=2", map[string]any{"a": map[string]any{"b": "2"}}},
		{"an object that becomes a value", "a[b]=2&a=1", map[string]any{"a": "1"}},
		{"unbalanced brackets", "a[b=1&c]=2&[d]=3&e[f]g=4&h[[i]]=5", map[string]any{"a[b": "1", "c]": "2", "[d]": "3", "e[f]g": "4", "h[[i]]": "5"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := parse(asForm, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, any(tt.want)) {
				t.Errorf("got %#v, want %#v", got, tt.want)
			}
		})
	}
}

// A form in another encoding is read by the one that it names: PayPal's in "charset", a browser's in "_charset_", and
// those of SendGrid's parts in "charsets" (anymail/django-anymail#187). Without a name, or by a wrong one, it is refused.
func TestFormsNameTheirEncoding(t *testing.T) {
	t.Parallel()
	part := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	for _, c := range []struct{ what, contentType, body, want string }{
		{"PayPal", asForm, "first_name=Jos%E9&charset=windows-1252&last_name=Mu%F1oz", "José Muñoz"},
		{"a browser", asForm, "_charset_=ISO-8859-2&first_name=%A3ucja", "Łucja"},
		{"Japanese", asForm, "charset=Shift_JIS&name=%8ER%93c", "山田"},
		{"already UTF-8", asForm, "charset=windows-1252&name=Jos%C3%A9", "José"},
		{"no encoding", asForm, "name=Jos%E9", ""},
		{"an unknown one", asForm, "name=Jos%E9&charset=klingon", ""},
		{"a wrong one", asForm, "name=Jos%E9&charset=UTF-8", ""},
		{"without this letter", asForm, "name=%81%00&charset=Shift_JIS", ""},
		{"SendGrid", "multipart/form-data; boundary=b", part("name", "José") + part("text", "Gr\xfc\xdfe") + part("charsets", `{"name":"UTF-8","text":"iso-8859-1"}`) + "--b--", "José"},
		{"another part", "multipart/form-data; boundary=b", part("name", "Jos\xe9") + part("charsets", `{"name":"UTF-8","text":"iso-8859-1"}`) + "--b--", ""},
		{"not JSON", "multipart/form-data; boundary=b", part("name", "Jos\xe9") + part("charsets", `x`) + "--b--", ""},
	} {
		p, err := Decode(c.contentType, []byte(c.body+"&email=a%40example.com"), nil)
		if c.want == "" {
			if codeOf(err) != fault.InvalidJSON {
				t.Errorf("%s: got %+v (%v)", c.what, p, err)
			}
			continue
		}
		if err != nil || p.Items[0].Fields[fieldName] != c.want {
			t.Errorf("%s: got %+v (%v)", c.what, p.Items, err)
		}
	}
}

// Mandrill tries a new address with an empty list in a form (symfony/symfony#63468).
func TestCheckOfAnAddress(t *testing.T) {
	t.Parallel()
	for body, isCheck := range map[string]bool{
		"mandrill_events=%5B%5D": true, "mandrill_events=[+]": true, "x=[1]": false, "x=[]&y=1": false, "x=[": false, "x=]": false, "x=%5B%5B%5D": false,
	} {
		p, err := Decode(asForm, []byte(body), nil)
		if err != nil || len(p.Items) != 1 || p.Items[0].Ignored != isCheck || string(p.Kept.Body) != body {
			t.Errorf("%s: got %+v (%v)", body, p, err)
		}
	}
}

func TestMultipartIsReadAsAForm(t *testing.T) {
	t.Parallel()
	part := func(name, value string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
	}
	body := part("contact[email]", "a@example.com") + part("contact[note]", "") + part("contact[tags][]", "x") + "--b--\r\n"
	got, warnings, err := parse("multipart/form-data; boundary=b", []byte(body))
	want := map[string]any{"contact": map[string]any{"email": "a@example.com", "tags": []any{"x"}}}
	if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, any(want)) {
		t.Errorf("got %v, %v, %v; want %v", got, warnings, err, want)
	}
}

func TestIgnoredWarningIsBounded(t *testing.T) {
	t.Parallel()
	names := func(n int, name string) []string { return slices.Repeat([]string{name}, n) }
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "b\n"}, `ignored: "a", "b\n"`},
		{names(10, "a"), "ignored: " + strings.Repeat(`"a", `, 9) + `"a"`},
		{names(60_000, "a"), "ignored: " + strings.Repeat(`"a", `, 9) + `"a" … and 59990 more`},
		{names(300, strings.Repeat("é", 500)), `ignored: ` + strings.Repeat(`"`+strings.Repeat("é", 32)+`…", `, 2) + `"` + strings.Repeat("é", 32) + `…" … and 297 more`},
	} {
		if got := IgnoredWarning(tt.names); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	if got := IgnoredWarning(names(20, strings.Repeat("\x01", 500))); len(got) > 300 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestLongActionIsCut(t *testing.T) {
	t.Parallel()
	p, err := Decode(asForm, []byte("action="+url.QueryEscape(strings.Repeat("ä", 5000))), nil)
	if err != nil || p.Items[0].Err == nil || len(p.Items[0].Err.Message) > 130 {
		t.Errorf("%v, %+v", err, p.Items[0].Err)
	}
}
