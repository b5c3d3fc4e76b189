package routes_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// Whatever a contact's values and their spelling, the responses to the write, a read, a list and a repeat, and the
// event, have the same bytes and ETag, and can be sent back. This holds for contacts with shipped fields only, which
// SQL statements write, and with custom fields, which are written as records.
func TestAnswersAreWhatIsStored(t *testing.T) {
	t.Parallel()
	for name, own := range map[string]bool{"shipped fields": false, "an admin's fields": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newProperty(t, own)
			const rounds = 60
			for round := range rounds {
				p.round(round)
			}
			if p.written < rounds {
				t.Errorf("only %d writes of %d rounds were accepted", p.written, rounds)
			}
		})
	}
}

// property writes contacts and compares all representations of them.
type property struct {
	t       *testing.T
	client  *testkit.Client
	values  values
	own     bool
	cursor  string // of the feed
	written int    // accepted writes
}

func newProperty(t *testing.T, own bool) (*property, *fixture) {
	t.Helper()
	client, f := newAPI(t)
	tenant, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("rateLimit", 1_000_000)
	if err := f.App.Save(tenant); err != nil {
		t.Fatal(err)
	}
	if own {
		testkit.AddEveryKind(t, f.App)
	}
	return &property{t: t, client: client, values: values{rand.New(rand.NewPCG(1815, 12))}, own: own, cursor: readFeed(t, client, "").Cursor}, f
}

// seen is a contact as a response has it.
type seen struct{ contact, tag string }

func (p *property) round(round int) {
	externalID := fmt.Sprint("crm-", round)
	body := p.values.object(p.own, externalID)
	key := fmt.Sprint("key-", round)
	created := p.client.Do("POST", contactsPath, body, "Idempotency-Key", key)
	if created.Status == 400 { // a value cannot be stored
		created = p.client.Do("POST", contactsPath, `{"name":"Ada","externalId":"`+externalID+`"}`, "Idempotency-Key", key)
	} else {
		p.written++
		if again := p.client.Do("POST", contactsPath, body, "Idempotency-Key", key); string(again.Body) != string(created.Body) || again.Header.Get("ETag") != created.Header.Get("ETag") {
			p.t.Errorf("a repeat of %s answers\n%s, not\n%s", body, again.Body, created.Body)
		}
	}
	now := p.compare("POST "+body, created, 201, externalID)
	id, _ := created.Data()["id"].(string)
	now = p.write(now, "PATCH", contactsPath+"/"+id, externalID)
	p.write(now, "PUT", upsertPath+externalID, externalID)
	p.batch(id, externalID)
	now = p.compare("a read", p.client.Do("GET", contactsPath+"/"+id, ""), 200, externalID)
	for _, body := range []string{now.contact, `{}`} {
		back := p.client.Do("PATCH", contactsPath+"/"+id, body, "If-Match", now.tag)
		if got := p.compare("sending back "+body, back, 200, externalID); got != now {
			p.t.Errorf("sending back\n%s gives\n%s", body, got.contact)
		}
	}
}

// write changes a contact with a request that has the tag of now.
func (p *property) write(now seen, method, path, externalID string) seen {
	p.t.Helper()
	body := p.values.object(p.own, externalID)
	answer := p.client.Do(method, path, body, "If-Match", now.tag)
	if answer.Status == 400 {
		return now
	}
	p.written++
	return p.compare(method+" "+body, answer, 200, externalID)
}

// batch changes a contact with a batch item.
func (p *property) batch(id, externalID string) {
	p.t.Helper()
	contact := p.values.object(p.own, externalID)
	// only the item is rejected, and the validation of exchanges cannot decode the request
	if strings.Contains(contact, "1e400") {
		return
	}
	body := `{"items":[{"action":"update","id":"` + id + `","contact":` + contact + `}]}`
	answer := p.client.Do("POST", contactsPath+"/batch", body)
	var result struct {
		Data struct {
			Results []struct{ Contact json.RawMessage }
		}
	}
	if err := json.Unmarshal(answer.Body, &result); err != nil || answer.Status != 200 {
		p.t.Fatalf("%s gives %d %s (%v)", body, answer.Status, answer.Body, err)
	}
	if written := result.Data.Results[0].Contact; written != nil {
		p.written++
		p.stored(body, string(written), externalID)
	}
}

// compare compares the contact of a response with a read, a list and the newest event.
func (p *property) compare(what string, answer *testkit.Answer, status int, externalID string) seen {
	p.t.Helper()
	if answer.Status != status {
		p.t.Fatalf("%s gives %d %s", what, answer.Status, answer.Body)
	}
	now := seen{strings.TrimSuffix(strings.TrimPrefix(string(answer.Body), `{"data":`), "}"), answer.Header.Get("ETag")}
	if tag := p.stored(what, now.contact, externalID); tag != now.tag {
		p.t.Errorf("%s has the tag %s, and a read %s", what, now.tag, tag)
	}
	return now
}

// stored compares a contact with a read, a list and the newest event, and returns the tag of the read.
func (p *property) stored(what, contact, externalID string) (tag string) {
	p.t.Helper()
	var object struct{ ID string }
	if err := json.Unmarshal([]byte(contact), &object); err != nil {
		p.t.Fatalf("%s answers %s: %v", what, contact, err)
	}
	read := p.client.Do("GET", contactsPath+"/"+object.ID, "")
	if want := `{"data":` + contact + `}`; string(read.Body) != want {
		p.t.Errorf("%s answers\n%s, and a read\n%s", what, want, read.Body)
	}
	list := p.client.Do("GET", contactsPath+"?externalId="+externalID, "")
	if want := `{"data":[` + contact + `],"hasMore":false}`; string(list.Body) != want {
		p.t.Errorf("%s answers\n%s, and a list\n%s", what, contact, list.Body)
	}
	page := readFeed(p.t, p.client, "?after="+p.cursor)
	p.cursor = page.Cursor
	for _, event := range page.Data {
		var body struct{ Data json.RawMessage }
		if err := json.Unmarshal(event, &body); err != nil || string(body.Data) != contact {
			p.t.Errorf("%s answers\n%s, and the event is\n%s", what, contact, event)
		}
	}
	return read.Header.Get("ETag")
}

// values generates JSON values, some of which cannot be stored.
type values struct{ *rand.Rand }

// object returns a contact with values for some of the fields.
func (v values) object(own bool, externalID string) string {
	fields := []string{`"externalId":"` + externalID + `"`, `"name":` + v.text()}
	add := func(name, value string) {
		if v.IntN(3) == 0 {
			fields = append(fields, `"`+name+`":`+value)
		}
	}
	add("email", v.pick(`" Ada@Example.com "`, `"info@weiß.de"`, `null`, `""`))
	add("phone", v.pick(`"+49 (30) 12"`, `"\ufeff"`, `null`))
	add("company", v.text())
	if own {
		v.own(add)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// own adds custom fields of the kinds of testkit.AddEveryKind.
func (v values) own(add func(name, value string)) {
	add("note", v.pick(`"\u0000"`, `"1e2"`, `" x "`, `"\u2028<&>"`, `"ten chars!"`, `null`, `""`))
	add("bio", v.text())
	add("second", v.pick(`"ada@example.com"`, `null`))
	add("site", v.pick(`"https://example.com/?a=1&b=2"`, `null`))
	add("score", v.number())
	add("age", v.pick(`1.0`, `1e2`, `-0`, `36`, `null`, v.number()))
	add("vip", v.pick(`true`, `false`, `null`))
	add("born", v.pick(`"1815-12-10"`, `"2026-01-31T12:00:00.1239999+01:30"`, `"0001-01-01T00:00:00.0001Z"`, `"9999-12-31T23:59:59-01:00"`,
		`"0000-01-01T00:00:00+01:00"`, `"2026-01-31 12:00:00.000Z"`, `null`, `""`))
	add("size", v.pick(`"M"`, `null`))
	add("tags", v.pick(`["a","c"]`, `["a","a"]`, `[]`, `null`))
	add("group", v.pick(`"`+testkit.RelatedID+`"`, `null`))
	add("groups", v.pick(`["`+testkit.SecondRelatedID+`","`+testkit.RelatedID+`"]`, `[]`, `null`))
	add("photo", `null`)
	add("papers", `null`)
	add("meta", v.json(3))
	add("place", v.pick(`{"lon":-0,"lat":1.50}`, `{"lat":`+v.number()+`,"lon":1e1}`, `null`, `{"lon":13.404953999999999824,"lat":0}`))
}

func (v values) pick(of ...string) string { return of[v.IntN(len(of))] }

func (v values) text() string {
	return v.pick(`"Ada"`, `" Zoe\u0308 "`, `"O'Brien <&> \"x\" \\ /"`, `"\ud83d\ude42"`, `"1e2"`, `"\u2028 x"`, `"7"`)
}

// number returns a number in some spelling.
func (v values) number() string {
	double := math.Float64frombits(v.Uint64())
	for math.IsNaN(double) || math.IsInf(double, 0) {
		double = v.NormFloat64()
	}
	whole := v.Int64() >> v.IntN(63)
	return v.pick(
		`0`, `-0`, `-0.0`, `0e9`, `1.0`, `1e2`, `1E+2`, `0.10`, `-3.50e-1`, `1e21`, `1e20`, `1e400`, `-1e400`, `1e-400`,
		`12345678901234567890`, `9007199254740993`, `9007199254740993.0`, `9223372036854775808`, `0.1000000000000000055511151231257827`,
		strconv.FormatInt(whole, 10), strconv.FormatInt(whole, 10)+".0",
		strconv.FormatFloat(double, 'e', -1, 64), strconv.FormatFloat(v.NormFloat64()*1e6, 'f', -1, 64), strconv.FormatFloat(v.Float64(), 'f', 3, 64),
	)
}

// json returns JSON with at most this many levels.
func (v values) json(levels int) string {
	switch v.IntN(6 + min(levels, 3)) {
	case 0, 1, 2:
		return v.number()
	case 3:
		return v.text()
	case 4, 5:
		return v.pick(`null`, `true`, `false`, `""`, `[]`, `{}`, `"null"`, `"1.0"`, `"{\"a\":1}"`, `"-1e400"`)
	case 6, 7:
		return `[` + v.json(levels-1) + `, ` + v.json(levels-1) + `]`
	default:
		return `{"b":` + v.json(levels-1) + `,"a" : ` + v.json(levels-1) + `}`
	}
}

// A superuser can store what the API rejects. Responses and events show such a contact identically.
func TestValuesOfTheDashboard(t *testing.T) {
	t.Parallel()
	p, f := newProperty(t, true)
	client := p.client
	admin := testkit.NewClient(t, f.base, "")
	admin.Header.Set("Authorization", testkit.SuperuserToken(t, f.App))
	for i, tc := range []struct{ field, sent, want string }{
		{"meta", `"1e400"`, `"+Inf"`}, // a number: PocketBase parses the text as JSON
		{"meta", `"-1e400"`, `"-Inf"`},
		{"meta", `1.0`, `1`},
		{"meta", `"1e2 "`, `100`},
		{"meta", `"9007199254740993.0"`, `9007199254740992`},
		{"meta", `"12345678901234567890"`, `12345678901234567000`},
		{"meta", `"{\"a\": 1.0}"`, `{"a":1.0}`},
		{"score", `-0`, `0`},
		{"score", `"1e22"`, `1e+22`},
	} {
		externalID := fmt.Sprint("crm-", i)
		made := admin.Do("POST", "/api/collections/contacts/records", `{"tenant":"`+f.tenant+`","name":"Ada","externalId":"`+externalID+`","`+tc.field+`":`+tc.sent+`}`)
		if made.Status != 200 {
			t.Fatalf("a superuser's %s gives %d %s", tc.sent, made.Status, made.Body)
		}
		path := contactsPath + "/" + made.JSON()["id"].(string)
		for _, request := range [][3]string{
			{"GET", path, ""}, {"PATCH", path, `{"company":"Engines"}`}, {"PUT", upsertPath + externalID, `{"company":"Engines Ltd"}`},
		} {
			what := request[0] + " of a superuser's " + tc.sent
			now := p.compare(what, client.Do(request[0], request[1], request[2]), 200, externalID)
			if want := `"` + tc.field + `":` + tc.want + `,`; !strings.Contains(now.contact, want) {
				t.Errorf("%s gives\n%s, without %s", what, now.contact, want)
			}
			if back := client.Do("PATCH", path, now.contact, "If-Match", now.tag); back.Header.Get("ETag") != now.tag {
				t.Errorf("sending back\n%s gives\n%s", now.contact, back.Body)
			}
		}
	}
	for _, query := range []string{"", "?q=ada", "?sort=name&limit=3"} {
		if answer := client.Do("GET", contactsPath+query, ""); answer.Status != 200 {
			t.Errorf("a list of %q gives %d %s", query, answer.Status, answer.Body)
		}
	}
	if _, err := f.App.DB().NewQuery("UPDATE contacts SET score = 9e999").Execute(); err != nil {
		t.Fatal(err)
	}
	if answer := client.Do("GET", contactsPath+"?limit=1", ""); answer.Status != 200 || !strings.Contains(string(answer.Body), `"score":null`) {
		t.Errorf("a number that only SQL can store is listed as %d %s", answer.Status, answer.Body)
	}
}
