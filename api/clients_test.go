package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What generators of clients cannot handle, or make unusable clients of, is kept out of the document. The tests here
// find it without them; those of e2e run the generators.

// TestTypes allows no list of types but a type with null: generators know no other.
func TestTypes(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	w.eachObject(w.document, "#", func(object map[string]any, at string) {
		types, isList := object["type"].([]any)
		if isList && (len(types) != 2 || types[1] != "null") {
			t.Errorf("%s has the types %v", at, types)
		}
		if object["allOf"] != nil {
			t.Errorf("%s has an allOf: generators make types of its parts that are missing the others", at)
		}
	})
}

// TestNames keeps the names of schemas apart from those that generators derive from operations, and from those that
// JavaScript has already.
func TestNames(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	taken := map[string]string{"Error": "JavaScript", "Event": "JavaScript", "Request": "JavaScript", "Response": "JavaScript"}
	for _, group := range []string{"paths", "webhooks"} {
		for _, item := range w.document[group].(map[string]any) {
			for method, operation := range item.(map[string]any) {
				if method == "parameters" {
					continue
				}
				id := fmt.Sprint(operation.(map[string]any)["operationId"])
				for _, suffix := range []string{"", "Data", "Error", "Errors", "Params", "RequestBody", "Response", "Responses", "Result"} {
					taken[strings.ToUpper(id[:1])+id[1:]+suffix] = id
				}
			}
		}
	}
	for _, kind := range []string{"schemas", "responses"} {
		for name := range w.resolve("#/components/" + kind).(map[string]any) {
			if owner, isTaken := taken[name]; isTaken {
				t.Errorf("components/%s/%s has a name that belongs to %s", kind, name, owner)
			}
		}
	}
}

// TestNoHead makes sure that HEAD is said once, in the description: some generators make invalid code of its
// answers without a body.
func TestNoHead(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	for path, item := range w.document["paths"].(map[string]any) {
		if item.(map[string]any)["head"] != nil {
			t.Errorf("%s describes HEAD", path)
		}
	}
	if !strings.Contains(fmt.Sprint(w.resolve("#/info/description")), "`HEAD`") {
		t.Error("the description does not mention HEAD")
	}
}

// TestEvents makes sure that each kind of event has its own type, discriminated by the property type.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	mapping := w.resolve("#/components/schemas/WebhookEvent/discriminator/mapping").(map[string]any)
	if got, want := len(mapping), len(w.codes("EventType")); got != want {
		t.Errorf("WebhookEvent tells %d events apart, not %d", got, want)
	}
	for _, kind := range w.codes("EventType") {
		pointer, isText := mapping[kind].(string)
		if !isText {
			t.Errorf("WebhookEvent does not tell %s apart", kind)
			continue
		}
		event := w.resolve(pointer).(map[string]any)
		properties := event["properties"].(map[string]any)
		if own := texts(properties["type"].(map[string]any)["enum"]); !slices.Equal(own, []string{kind}) {
			t.Errorf("the type of %s is one of %q", pointer, own)
		}
		for name := range properties {
			optional := []string{"mergedInto", "source"} // which only a merge has, and which older events lack
			if !slices.Contains(optional, name) && !slices.Contains(texts(event["required"]), name) {
				t.Errorf("%s does not require %s", pointer, name)
			}
		}
	}
}

// eachObject visits all objects below a part of the document, examples left out.
func (w *walker) eachObject(part any, at string, visit func(object map[string]any, at string)) {
	switch part := part.(type) {
	case []any:
		for i, item := range part {
			w.eachObject(item, fmt.Sprintf("%s/%d", at, i), visit)
		}
	case map[string]any:
		visit(part, at)
		for key, below := range part {
			if key != "example" && key != "examples" {
				w.eachObject(below, at+"/"+key, visit)
			}
		}
	}
}
