package routes_test

import (
	"fmt"
	"strings"
	"testing"
)

// A form without a contact is ignored, and the warning names its questions, and how to read them.
func TestInboundNamesQuestions(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for preset, c := range map[string]struct{ body, want string }{
		"tally": {
			`{"eventId":"e1","data":{"formName":"Secret","fields":[{"label":"Favorite color?","type":"INPUT_TEXT","value":"Secret"},{"label":"Plan","value":"Secret"}]}}`,
			`The form asks: "Favorite color?", "Plan". To read an answer, map a field to its question, as in @answer:favoritecolor.`,
		},
		"typeform": {
			`{"event_id":"e1","form_response":{"definition":{"fields":[{"id":"a","title":"Favorite color?"}]},"answers":[{"type":"text","text":"Secret","field":{"id":"a","ref":"f00-ba4"}}]}}`,
			`The form asks: "Favorite color?". To`,
		},
		"jotform":      {`{"q3_color":"Secret","slug":"Secret"}`, `The form asks: "q3_color", "slug". To`},
		"google-forms": {`{"namedValues":{"Color":["Secret"]}}`, `The form asks: "Color"`},
		"shopify":      {`{"id":1,"title":"Secret"}`, `neither a name nor an email address. The request has: "id", "title".`},
	} {
		s := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"preset": preset}})
		answer := s.expect("ignored:1", c.body)
		text := fmt.Sprint(answer.Data()["results"].([]any)[0].(map[string]any)["warnings"])
		if !strings.Contains(text, c.want) || strings.Contains(text, "Secret") {
			t.Errorf("%s: the answer is %s", preset, text)
		}
	}
}

// A body may have the address, whose token is not stored. A replay has the rest of the body.
func TestInboundTokenInTheBody(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	token := strings.TrimPrefix(s.path, "/api/hooks/")
	s.expect("created:1", `{"name":"Ada","hookUrl":"`+s.path+`"}`)
	if kept, _ := s.kept(f); !strings.Contains(kept, `{"name":"Ada","hookUrl":"/api/hooks/[redacted]"}`) {
		t.Errorf("stored is %s", kept)
	}
	s.expect("400 invalid_json", `{"url":"`+s.path)
	if kept, _ := s.kept(f); strings.Contains(kept, token) || !strings.Contains(kept, "[redacted]") {
		t.Errorf("stored is %s", kept)
	}
}

// An event that is not about a contact is ignored, and the warning says which it is.
func TestInboundPresetTakesNothing(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for preset, c := range map[string]struct{ body, want string }{
		"stripe":      {`{"id":"evt_2","type":"invoice.paid","data":{"object":{"object":"invoice"}}}`, `whose type is \"invoice.paid\"`},
		"hubspot":     {`[{"subscriptionType":"deal.creation","objectId":1}]`, `whose subscriptionType is \"deal.creation\"`},
		"webflow":     {`{"triggerType":"site_publish","payload":{}}`, `whose triggerType is \"site_publish\"`},
		"woocommerce": {`{"webhook_id":5}`, `the preset \"woocommerce\" takes no contact from this request"`},
	} {
		s := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"preset": preset}})
		if answer := s.expect("ignored:1", c.body); !strings.Contains(string(answer.Body), c.want) {
			t.Errorf("%s: the answer is %s", preset, answer.Body)
		}
	}
	own := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"items": "contacts", "fields": map[string]any{"email": "e"}}})
	own.expect("", `{"contacts":[]}`)
}

// Of a sender that a preset or scheme names, an event without a contact is ignored: senders disable an address that
// refuses it. Of any other, it is refused.
func TestInboundWithoutContact(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	preset := func(name string) map[string]any { return map[string]any{"mapping": map[string]any{"preset": name}} }
	signed := func(scheme string) map[string]any {
		return map[string]any{"verifyScheme": scheme, "verifySecret": repeatsSecret}
	}
	none := `neither a name nor an email address`
	for _, c := range []struct {
		settings         map[string]any
		body, want, says string
	}{
		{preset("stripe"), `{"id":"evt_1","type":"customer.created","data":{"object":{"id":"cus_1","object":"customer","email":null,"name":null}}}`, "ignored:1", none},
		{preset("shopify"), `{"id":7,"admin_graphql_api_id":"gid://shopify/Customer/7","email":null,"first_name":null,"last_name":null,"phone":"+16135550135"}`, "ignored:1", none},
		{preset("intercom"), `{"topic":"visitor.signed_up","data":{"item":{"type":"contact","id":"i1","email":"","name":null}}}`, "ignored:1", none},
		{preset("tally"), `{"eventId":"e","eventType":"FORM_RESPONSE"}`, "ignored:1", none},
		{preset("hubspot"), `[]`, "ignored:1", "takes no contact"},
		{preset("tally"), `[]`, "ignored:1", "the request is empty"},
		{preset("woocommerce"), ``, "ignored:1", "the request is empty"},
		{map[string]any{"mapping": map[string]any{"preset": "tally", "items": "list"}}, `{"eventId":"e2"}`, "ignored:1", `takes no contact`},
		{signed("github"), `{"zen":"Keep it simple.","hook_id":1}`, "ignored:1", none},
		{signed("github"), `[{"zen":"x"},{"name":"Ada"}]`, "created:1 ignored:1", none},
		{preset("stripe"), `{"type":"customer.created","data":{"object":{"id":"cus_2","object":"customer","email":"no address","name":"Ada"}}}`, "400 validation_failed", ""},
		{nil, `{"zen":"Keep it simple."}`, "400 validation_failed", ""},
		{nil, `[]`, "400 validation_failed", ""},
		{signed("x-signature"), `{"zen":"Keep it simple."}`, "400 validation_failed", ""},
		{map[string]any{"mapping": map[string]any{"fields": map[string]any{"email": "e"}}}, `{"zen":"x"}`, "400 validation_failed", ""},
	} {
		answer := newSender(t, f, "upsert", c.settings).expect(c.want, c.body, "Content-Type", "application/json",
			"X-Hub-Signature-256", "sha256="+signHex(c.body), "X-Signature", signHex(c.body))
		if !strings.Contains(string(answer.Body), c.says) {
			t.Errorf("%s gives %s", c.body, answer.Body)
		}
	}
	if got := client.Do("GET", contactsPath, "").JSON()["data"].([]any); len(got) != 1 {
		t.Errorf("the contacts are %v", got)
	}
	known := newSender(t, f, "upsert", preset("stripe"))
	const stripe = `{"type":"customer.updated","data":{"object":{"id":"cus_3","object":"customer","email":%s,"phone":"%s"}}}`
	known.expect("created:1", fmt.Sprintf(stripe, `"ada@example.com"`, "+16135550135"))
	known.expect("updated:1", fmt.Sprintf(stripe, "null", "+16135550136")) // the contact is known
}

// What Shopify sends is told by its topic or its global ID, not by what it lacks.
func TestInboundShopifyTopics(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	const customer = `"customer":{"id":7,"admin_graphql_api_id":"gid://shopify/Customer/7","email":"%s","first_name":"Ada"}`
	for i, c := range []struct{ topic, body, want string }{
		{"orders/create", `{"id":1,"email":"o@example.com","name":"#1001",` + customer + `}`, "created:1"},
		{"", `{"id":1,"admin_graphql_api_id":"gid://shopify/Order/1","email":"o@example.com","name":"#1001",` + customer + `}`, "created:1"},
		{"", `{"id":1,"email":"o@example.com","name":"#1001",` + customer + `}`, "created:1"},
		{"orders/create", `{"id":1,"email":"o@example.com","name":"#1001"}`, "ignored:1"},
		{"", `{"id":1,"admin_graphql_api_id":"gid://shopify/Order/1","email":"o@example.com","name":"#1001"}`, "ignored:1"},
		{"customers/redact", `{"shop_id":1,` + customer + `}`, "ignored:1"},
		{"products/update", `{"id":1,"admin_graphql_api_id":"gid://shopify/Product/1","title":"Shirt"}`, "ignored:1"},
		{"", `{"id":1,"admin_graphql_api_id":"gid://shopify/Product/1","name":"Shirt","first_name":"Shirt"}`, "ignored:1"},
		{"customers/update", `{"id":7,"email":"%s","first_name":"Ada","line_items":[]}`, "created:1"},
		{"", `{"id":7,"admin_graphql_api_id":"gid://shopify/Customer/7","email":"%s","first_name":"Ada","line_items":[]}`, "created:1"},
		{"", `{"id":7,"email":"%s","first_name":"Ada"}`, "created:1"},
	} {
		s := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"preset": "shopify"}})
		var header []string
		if c.topic != "" {
			header = []string{"X-Shopify-Topic", c.topic}
		}
		body := strings.ReplaceAll(strings.ReplaceAll(c.body, "%s", fmt.Sprintf("c%d@example.com", i)), "/7", fmt.Sprint("/7", i))
		s.expect(c.want, strings.ReplaceAll(body, `"id":7`, fmt.Sprint(`"id":7`, i)), header...)
		var id string
		if err := f.App.DB().NewQuery("SELECT id FROM inbound_requests ORDER BY rowid DESC LIMIT 1").Row(&id); err != nil {
			t.Fatal(err)
		}
		replayed := admin.Do("POST", "/api/integrations/inbound/requests/"+id+"/replay", "").Data()
		if isIgnored := replayed["ignored"] == 1.0; isIgnored != (c.want == "ignored:1") {
			t.Errorf("%v becomes %v when it is replayed", c, replayed)
		}
	}
	own := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"preset": "shopify", "items": "order.customer"}})
	own.expect("created:1", `{"order":{`+strings.Replace(customer, "%s", "own@example.com", 1)+`}}`, "X-Shopify-Topic", "orders/create")
}
