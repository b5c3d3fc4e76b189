package payload

import (
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	const form = `{"fields":[
		{"title":"Work e-mail","type":"INPUT_EMAIL","value":null},
		{"label":"Mobile","value":["","+2"]},
		{"question":"Email of your boss","type":"INPUT_EMAIL","answer":"boss@example.com"},
		{"name":"email","values":["a@example.com"]},
		{"label":"Company phone","value":{"full":"+1"}},
		{"label":"First name","value":"Ada"},
		{"label":"Name","value":"King"},
		{"label":"Which plan?","value":{"label":"Pro"}},
		{"label":"Company","value":true},
		"a text",
		{"label":5,"value":[]}
	]}`
	for _, c := range []struct{ path, body, want string }{
		{"fields.@answer:email", form, "a@example.com"},
		{"fields.@answer:phone", form, "+1"},
		{"fields.@answer:name", form, "Ada King"},
		{"fields.@answer:lastName", form, "King"},
		{"fields.@answer:company", form, "found"},
		{"fields.@answer:externalId", form, "missing"},
		{"fields.@answer:WHICH PLAN", form, "Pro"},
		{"fields.@answer:Which budget", form, "missing"},
		{"fields.#(type==\"INPUT_EMAIL\")#|@answer:email", form, "boss@example.com"},
		{"[fields.@answer:email,fields.@answer:phone].1", form, "+1"},
		{"@answer:email", `{"Your E-MAIL ":["a@example.com"]}`, "a@example.com"},
		{"@answer:name", `{"name":{"first":"Ada","last":"King"}}`, "Ada King"},
		{"@answer:name", `{"Nom":"King","Prénom":"Ada","Name of the dog":"Rex"}`, "Ada King"},
		{"@answer:phone", `{"answers":[{"type":"phone_number","phone_number":"+1"}]}`, "+1"},
		{"@answer:email", `{"answers":[5,{"type":"email","email":"a@example.com","field":7}],"definition":{"fields":[5,{"title":"Email"}]}}`, "a@example.com"},
		{"x.@answer:email", `{"x":"a@example.com"}`, "missing"},

		// A question's type counts whatever its label is, and the shape of an answer where a name is asked for.
		{"@answer:email", `[{"label":"Contact","type":"INPUT_EMAIL","value":"a@example.com"}]`, "a@example.com"},
		{"@answer:name", `[{"label":"Contact","type":"INPUT_EMAIL","value":"a@example.com"}]`, "missing"},
		{"@answer:Contact", `[{"label":"Contact","type":"INPUT_EMAIL","value":"a@example.com"}]`, "a@example.com"},
		{"@answer:email", `[{"label":"Company","type":"EmailInput","value":"a@example.com"}]`, "a@example.com"},
		{"@answer:company", `[{"label":"Company","type":"email","value":"a@example.com"}]`, "missing"},
		{"@answer:phone", `[{"label":"E-mail or phone","type":"tel","value":"+1"}]`, "+1"},
		{"@answer:email", `[{"label":"Email","type":"INPUT_PHONE_NUMBER","value":"+1"},{"label":"Email","value":"a@example.com"}]`, "a@example.com"},
		{"@answer:email", `[{"label":"A friend","type":"INPUT_EMAIL","value":"b@example.com"},{"label":"Home e-mail","value":"a@example.com"}]`, "a@example.com"},
		{"@answer:email", `{"answers":[{"type":"email","email":"a@example.com","field":{"id":"q"}}],"definition":{"fields":[{"id":"q","title":"Contact"}]}}`, "a@example.com"},
		{"@answer:plan", `{"answers":[{"type":"text","text":"Pro","field":{"id":"q","ref":"plan"}}]}`, "Pro"},
		{"@answer:which-plan", `{"answers":[{"type":"text","text":"Pro","field":{"id":"q","ref":"f00-ba4"}}],"definition":{"fields":[{"id":"q","title":"Which plan?"}]}}`, "Pro"},
		{"@answer:email", `{"q4_contact":"a@example.com","q3_name":{"first":"Ada","last":"King"}}`, "a@example.com"},
		{"@answer:name", `{"q4_contact":"a@example.com","q3_name":{"first":"Ada","last":"King"}}`, "Ada King"},
		{"@answer:email", `{"Contact":["a@example.com"]}`, "a@example.com"},
		{"@answer:name", `{"Contact":["a@example.com"]}`, "missing"},
		{"@answer:phone", `[{"question":"Contact","answer":"+44 20 7946 0123"}]`, "+44 20 7946 0123"},
		{"@answer:name", `[{"question":"Contact","answer":"Ada 2"}]`, "Ada 2"},
		{"@answer:email", `[{"question":"Email of your boss","answer":"b@example.com"}]`, "missing"},
		{"@answer:email", `[{"question":"Who invited you?","answer":"b@example.com"}]`, "missing"},
		{"@answer:name", `[{"label":"Pet","type":"name","value":"Rex"}]`, "missing"},
		{"@answer:name", `{"Name":"Ada","Surname":"King"}`, "Ada King"},
		{"@answer:name", `{"Your name":"Ada King","Your surname":"King"}`, "Ada King"},

		// The texts of options, for which Tally sends one ID or several, and all that are chosen.
		{"@answer:plan", `[{"label":"Plan","value":"i1","options":[{"id":"i0","text":"Silver"},{"id":"i1","text":"Gold"}]}]`, "Gold"},
		{"@answer:plan", `[{"label":"Plan","value":"Other","options":[{"id":"i1","text":"Gold"},{"text":"no ID"}]}]`, "Other"},
		{"@answer:topics", `[{"label":"Topics","value":["i2","i1","mine"],"options":[{"id":"i1","text":"API"},{"id":"i2","label":"Imports"}]}]`, "Imports, API, mine"},
		{"@answer:topics", `{"Topics":["API","Imports"]}`, "API, Imports"},
		{"@answer:topics", `{"answers":[{"type":"choices","choices":{"labels":["API","Imports"],"other":"Hooks"},"field":{"ref":"topics"}}]}`, "API, Imports, Hooks"},
		{"@answer:company", `{"Company":["Acme","Globex"]}`, "Acme"},
	} {
		root, err := parseJSON([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		p, reason := parsePath(c.path)
		if reason != "" {
			t.Fatalf("%s: %s", c.path, reason)
		}
		got, ok := newWork().get(root, p)
		text, _ := got.(string)
		if c.want == "missing" && ok || c.want == "found" && (!ok || got != nil) || c.want != "missing" && c.want != "found" && text != c.want {
			t.Errorf("%s in %s finds %v, %v, not %s", c.path, c.body, got, ok, c.want)
		}
	}
	for _, path := range []string{"@answer", "x.@answer", "@answer:", "@answer:#", "@answer:*"} {
		if _, reason := parsePath(path); !strings.Contains(reason, "@answer:email") && !strings.Contains(reason, "empty") {
			t.Errorf("%s: %q", path, reason)
		}
	}
}
