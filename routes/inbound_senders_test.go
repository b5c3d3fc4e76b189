package routes_test

import (
	"strings"
	"testing"
)

// A refused form names its questions, and how to read them.
func TestInboundRefusalNamesQuestions(t *testing.T) {
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
		"shopify":      {`{"id":1,"title":"Secret"}`, `The request has: "id", "title".`},
	} {
		s := newSender(t, f, "upsert", map[string]any{"mapping": map[string]any{"preset": preset}})
		answer := s.expect("400 validation_failed", c.body)
		text, _ := answer.JSON()["error"].(map[string]any)["message"].(string)
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
