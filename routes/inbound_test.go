package routes_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/testkit"
)

// sender is an external system with an inbound webhook.
type sender struct {
	*testkit.Client
	t    *testing.T
	path string
}

func newSender(t *testing.T, f *fixture, access string, more map[string]any) *sender {
	t.Helper()
	return &sender{testkit.NewClient(t, f.base, ""), t, "/api/hooks/" + testkit.Inbound(t, f.App, f.tenant, access, more)}
}

// post sends a body and returns the response with its counts in one line.
func (s *sender) post(body string, header ...string) (string, *testkit.Answer) {
	s.t.Helper()
	answer := s.Do("POST", s.path, body, header...)
	if answer.Status != 200 {
		return fmt.Sprintf("%d %s", answer.Status, answer.Code()), answer
	}
	var out []string
	for _, name := range []string{"created", "updated", "unchanged", "deleted", "ignored", "failed"} {
		if n := answer.Data()[name].(float64); n > 0 {
			out = append(out, fmt.Sprintf("%s:%v", name, n))
		}
	}
	return strings.Join(out, " "), answer
}

func (s *sender) expect(want, body string, header ...string) *testkit.Answer {
	s.t.Helper()
	got, answer := s.post(body, header...)
	if got != want {
		s.t.Errorf("%.80s gives %s, not %s: %s", body, got, want, answer.Body)
	}
	return answer
}

func TestInboundCredential(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	for _, method := range []string{"GET", "HEAD"} {
		if got := s.Do(method, s.path, ""); got.Status != 200 {
			t.Errorf("%s gives %d %s", method, got.Status, got.Body)
		}
	}
	stranger := *s
	stranger.path = "/api/hooks/" + credential.Mint(credential.TokenPrefix)
	stranger.expect("401 invalid_token", `{"name":"A"}`)
	stranger.path = "/api/hooks/x"
	stranger.expect("401 invalid_token", `{"name":"A"}`)

	webhook, err := f.App.FindFirstRecordByData("inbound_webhooks", "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	webhook.Set("disabled", true)
	if err := f.App.Save(webhook); err != nil {
		t.Fatal(err)
	}
	s.expect("401 invalid_token", `{"name":"A"}`)
	webhook.Set("disabled", false)
	if err := f.App.Save(webhook); err != nil {
		t.Fatal(err)
	}
	s.expect("created:1", `{"name":"A"}`)
	tenant, err := f.App.FindRecordById("tenants", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	tenant.Set("apiEnabled", false)
	if err := f.App.Save(tenant); err != nil {
		t.Fatal(err)
	}
	s.expect("403 feature_not_enabled", `{"name":"A"}`)
}

func TestInboundMatching(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	s := newSender(t, f, "full", nil)
	s.expect("created:1", `{"name":"Ada","email":"Ada@example.com"}`)
	s.expect("unchanged:1", `{"name":"Ada","email":"Ada@example.com"}`)
	s.expect("updated:1", `{"email":"ADA@example.com","company":"Engines"}`)
	s.expect("updated:1", `{"email":"ADA@example.com","externalId":"x1"}`)
	answer := s.expect("updated:1", `{"externalId":"x1","email":"new@example.com"}`)
	id := answer.Data()["results"].([]any)[0].(map[string]any)["id"].(string)
	s.expect("updated:1", `{"id":"`+id+`","phone":"+49 30 1234"}`)
	s.expect("400 not_found", `{"id":"0unknown0000000","name":"B"}`)
	s.expect("400 validation_failed", `{"phone":"+49301234"}`)
	s.expect("400 invalid_action", `{"name":"B","action":"explode"}`)
	s.expect("ignored:1", `{"email":"nobody@example.com","action":"delete"}`)
	contact := client.Do("GET", contactsPath+"/"+id, "").Data()
	if contact["name"] != "Ada" || contact["company"] != "Engines" || contact["email"] != "new@example.com" || contact["phone"] != "+49301234" {
		t.Errorf("the contact is %v", contact)
	}
	if _, answer := s.post(`{"email":"new@example.com","phone":"call me","utm":"x"}`); !strings.Contains(fmt.Sprint(answer.Data()), "phone") || !strings.Contains(fmt.Sprint(answer.Data()), "utm") {
		t.Errorf("there are no warnings: %s", answer.Body)
	}
	s.expect("deleted:1", `{"id":"`+id+`","action":"delete"}`)
	if got := client.Do("GET", contactsPath+"/"+id, ""); got.Status != 404 {
		t.Errorf("the deleted contact gives %d", got.Status)
	}
	careful := newSender(t, f, "upsert", nil)
	careful.expect("created:1", `{"name":"Bob","externalId":"x2"}`)
	careful.expect("ignored:1", `{"externalId":"x2","action":"delete"}`)
}

// If several contacts share an address, the oldest is matched.
func TestInboundMatchesTheOldest(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	oldest := client.Do("POST", contactsPath, `{"email":"Ada@example.com"}`).Data()["id"]
	client.Do("POST", contactsPath, `{"email":"ada@EXAMPLE.com"}`)
	answer := newSender(t, f, "upsert", nil).expect("updated:1", `{"email":"ada@example.com","name":"Ada"}`)
	if got := answer.Data()["results"].([]any)[0].(map[string]any)["id"]; got != oldest {
		t.Errorf("%v is updated, not %v", got, oldest)
	}
}

func TestInboundBatch(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	s.expect("created:1 updated:1 failed:1", `[{"email":"a@example.com"},{"email":"a@example.com","name":"A"},{"phone":"x"}]`)
	s.expect("400 validation_failed", `[{"phone":"x"},{"phone":"y"}]`)
	s.expect("400 validation_failed", `[]`)
	s.expect("400 invalid_json", `{"a":`)
	items := strings.Repeat(`{"name":"A"},`, 1000)
	s.expect("413 payload_too_large", "["+items+`{"name":"B"}]`)
	s.expect("413 payload_too_large", `{"name":"`+strings.Repeat("a", 5<<20)+`"}`)
	long := s.expect("400 validation_failed", `{"name":"`+strings.Repeat("a", 1<<20)+`"}`)
	if !strings.Contains(string(long.Body), `at most 64 KiB; ignored: \"name\"`) {
		t.Errorf("a long name is answered %s", long.Body)
	}
	s.expect("created:1000", "["+strings.TrimSuffix(items, ",")+"]")
}

func TestInboundMediaTypes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	s.expect("created:1", `first_name=Ada&lastName=Lovelace&e-mail=ada%40example.com`, "Content-Type", "application/x-www-form-urlencoded")
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	for name, value := range map[string]string{"name": "Bob", "email_address": "bob@example.com"} {
		if err := writer.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	s.expect("created:1", form.String(), "Content-Type", writer.FormDataContentType())
	s.expect("created:1", `{"name":"Eve"}`, "Content-Type", "application/vnd.api+json")
	s.expect("415 unsupported_media_type", `<xml/>`, "Content-Type", "application/xml")
	s.expect("created:1", "\xef\xbb\xbf"+`{"name":"Eve"}`, "Content-Type", "text/plain; charset=utf-8")
	s.expect("created:1", `{"name":"Eve"}`, "Content-Type", "")
	s.expect("created:1", `{"name":"Eve"}`, "Content-Encoding", "identity")
	for _, c := range [][]string{
		{"utf-16", "Content-Type", "application/json; charset=utf-16"}, {"gzip", "Content-Encoding", "gzip"}, {"br, gzip", "Content-Encoding", "br, gzip"},
	} {
		got := s.expect("415 unsupported_media_type", `{"name":"Eve"}`, c[1:]...)
		if !strings.Contains(string(got.Body), c[0]) || (c[1] == "Content-Encoding") != (got.Header.Get("Accept-Encoding") == "identity") {
			t.Errorf("%v gives %s", c, got.Body)
		}
	}
}

func TestInboundRepeats(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	headers := []string{"webhook-id", "svix-id", "Idempotency-Key", "X-Shopify-Webhook-Id", "X-WC-Webhook-Delivery-ID", "X-GitHub-Delivery"}
	for i, header := range headers {
		body := `{"name":"` + header + `"}`
		_, first := s.post(body, header, "d-"+header)
		others := []string{header, "d-" + header}
		for _, later := range headers[i+1:] {
			others = append(others, later, "new")
		}
		_, again := s.post(body, others...)
		if string(again.Body) != string(first.Body) || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: a repeat gives %s", header, again.Body)
		}
	}
	for range 2 {
		s.expect("created:1", `{"name":"X"}`, "X-Request-Id", "r1")
	}
	s.expect("400 invalid_parameter", `{"name":"X"}`, "svix-id", strings.Repeat("x", 256))
	if total, err := f.App.CountRecords("contacts"); err != nil || total != int64(len(headers))+2 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
}

// Of some senders, the event's id in the body counts, but only with their preset or scheme, and after a header.
func TestInboundRepeatedEvents(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	const (
		fields   = `"fields":{"name":"n"}`
		typeform = `{"event_id":"e1","n":"Ada"}`
		tally    = `{"eventId":"e1","n":"Ada"}`
		stripe   = `{"id":"evt_1","n":"Ada"}`
	)
	preset := func(name string) map[string]any {
		return map[string]any{"mapping": `{"preset":"` + name + `","items":null,"action":null,"deleteWhen":null,` + fields + `}`}
	}
	for _, c := range []struct {
		name, body string
		settings   map[string]any
		repeats    bool
	}{
		{"Typeform", typeform, preset("typeform"), true},
		{"Typeform with a byte order mark", "\xef\xbb\xbf" + typeform, preset("typeform"), true},
		{"Tally", tally, preset("tally"), true},
		{"Stripe", stripe, preset("stripe"), true},
		{"another sender's preset", typeform, preset("tally"), false},
		{"an id that is not text", `{"event_id":1,"n":"Ada"}`, preset("typeform"), false},
		{"no preset", typeform, map[string]any{"mapping": `{` + fields + `}`}, false},
	} {
		s := newSender(t, f, "upsert", c.settings)
		s.expect("created:1", c.body)
		_, again := s.post(c.body)
		if repeats := again.Header.Get("Idempotency-Replayed") == "true"; repeats != c.repeats {
			t.Errorf("%s: a repeat gives %s %v", c.name, again.Body, again.Header)
		}
		if _, other := s.post(c.body, "webhook-id", "another"); other.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: a header does not go first: %s", c.name, other.Body)
		}
	}
	s := newSender(t, f, "upsert",
		map[string]any{"mapping": `{` + fields + `}`, "verifyScheme": "tally", "verifySecret": "a secret of 18 bytes"})
	for _, want := range []string{"", "true"} {
		got := s.expect("created:1", tally, "Tally-Signature", sign("a secret of 18 bytes", tally))
		if got.Header.Get("Idempotency-Replayed") != want {
			t.Errorf("with Tally's scheme, the answer is %v", got.Header)
		}
	}
}

// A repeat is recognised by its id alone, and answered without the writer lock.
func TestInboundRepeatsDoNotWait(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	s.expect("created:1", `{"name":"A"}`, "webhook-id", "d1")
	err := f.App.RunInTransaction(func(core.App) error {
		for _, body := range []string{`{"name":"B"}`, `[]`} {
			s.expect("created:1", body, "webhook-id", "d1")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.expect("400 invalid_json", `{"name":`, "webhook-id", "d2")
	s.expect("created:1", `{"name":"C"}`, "webhook-id", "d2")
}

func TestInboundRateLimit(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	s := newSender(t, f, "upsert", nil)
	calls := 0
	got, answer := s.post(`{}`)
	for ; got == "400 validation_failed"; calls++ {
		got, answer = s.post(`{}`)
	}
	if got != "429 rate_limited" || calls != 300 {
		t.Errorf("after %d calls comes %s", calls, got)
	}
	if answer.Header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After")
	}
	newSender(t, f, "upsert", nil).expect("created:1", `{"name":"another address"}`)
}

func TestInboundRequestsAreKept(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	s.expect("created:1", `{"name":"A"}`, "Authorization", "Bearer foreign-secret")
	s.expect("400 validation_failed", `{"name":""}`)
	kept, err := f.App.FindRecordsByFilter("inbound_requests", "tenant = {:tenant}", "created,@rowid", 0, 0, map[string]any{"tenant": f.tenant})
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d requests are kept (%v)", len(kept), err)
	}
	if kept[0].GetInt("status") != 200 || kept[1].GetInt("status") != 400 || kept[0].GetString("body") != `{"name":"A"}` {
		t.Errorf("the requests are %v", kept)
	}
	for _, request := range kept {
		if text := fmt.Sprint(request.FieldsData()); strings.Contains(text, "foreign-secret") || strings.Contains(text, "cmi_") {
			t.Errorf("a credential is kept: %s", text)
		}
	}
}

// An error names the field, or what the mapping does not find.
func TestInboundErrorsNameTheField(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for _, c := range []struct{ mapping, body, want string }{
		{`null`, `{"name":["a","b"]}`, "Nothing was written: name: must be text"},
		{`{"fields":{"email":"form_response.@answer:email"}}`, `{"foo":1}`, "the mapping finds nothing for"},
		{`{"fields":{"name":"n","email":"form.mail"}}`, `{"form":{"email":"ada@example.com"},"n":""}`, `the mapping finds nothing for \"email\" at form.mail. The request has: \"form.email\", \"n\".`},
		{`null`, `{"name":"","email":" ","phone":null}`, `The values are empty: \"email\", \"name\", \"phone\".`},
		{`null`, `{"customer":{"title":"Dr"},"plan":"pro"}`, `The request has: \"customer.title\", \"plan\".`},
		{`{"items":"people"}`, `{"data":[{"email":"ada@example.com"}]}`, `The request has: \"data\".`},
	} {
		got := newSender(t, f, "upsert", map[string]any{"mapping": c.mapping}).expect("400 validation_failed", c.body)
		if !strings.Contains(string(got.Body), c.want) {
			t.Errorf("%s gives %s", c.body, got.Body)
		}
	}
}

// A mapping that does too much work fails its items, and one that an upgrade no longer allows reports it.
func TestInboundMappingTooCostly(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	costly := "[@this,@this]" + strings.Repeat("|[@this,@this]|@flatten", 20)
	s := newSender(t, f, "upsert", map[string]any{"mapping": `{"fields":{"name":"n","email":"` + costly + `"}}`})
	s.expect("400 mapping_too_costly", `{"n":"A"}`)
	s.expect("400 validation_failed", `[{"n":"A"},{"n":"B"}]`)
	some := newSender(t, f, "upsert", map[string]any{"mapping": `{"items":"l","fields":{"name":"n","company":"x.#(a==1)#.b.0"}}`})
	many := strings.TrimSuffix(strings.Repeat(`{"n":"B","x":[`+strings.Repeat("0,", 88)+`0]},`, 1000), ",")
	some.expect("created:1000", `{"l":[`+many+`]}`)
	if _, err := f.App.NonconcurrentDB().NewQuery(`UPDATE inbound_webhooks SET mapping = '{"fields":{"name":"@dig:name"}}'`).Execute(); err != nil {
		t.Fatal(err)
	}
	if got := s.expect("400 validation_failed", `{"name":"A"}`); !strings.Contains(string(got.Body), "@dig") {
		t.Errorf("the answer is %s", got.Body)
	}
}
