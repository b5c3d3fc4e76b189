package api

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{"YAML": YAML(), "JSON": JSON(), "of an installation": YAMLFor("v1.2.3", "https://crm.example.com")} {
		document, err := libopenapi.NewDocument(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if version := document.GetVersion(); version != "3.1.0" {
			t.Errorf("%s: OpenAPI %s", name, version)
		}
		if _, err := document.BuildV3Model(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if valid, errs := schema_validation.ValidateOpenAPIDocument(document); !valid {
			for _, err := range errs {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	w.walk(w.document, "#")
	if w.examples < 100 {
		t.Errorf("only %d examples were found", w.examples)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	seen := map[string]string{}
	for _, group := range []string{"paths", "webhooks"} {
		for path, item := range w.document[group].(map[string]any) {
			for method, operation := range item.(map[string]any) {
				if method == "parameters" {
					continue
				}
				place := strings.ToUpper(method) + " " + path
				for _, key := range []string{"operationId", "summary", "description", "tags", "security", "responses"} {
					if operation.(map[string]any)[key] == nil {
						t.Errorf("%s has no %s", place, key)
					}
				}
				id := fmt.Sprint(operation.(map[string]any)["operationId"])
				if other, taken := seen[id]; taken {
					t.Errorf("%s and %s share the operationId %s", place, other, id)
				}
				seen[id] = place
			}
		}
	}
}

// unreferenced are the components that no operation uses: the answers to unknown paths and methods, and the event
// that is of any type, for receivers that take all at one address.
var unreferenced = []string{"NotFound", "MethodNotAllowed", "WebhookEvent"}

// TestReferences finds components that nothing uses.
func TestReferences(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	for kind, components := range w.document["components"].(map[string]any) {
		for name := range components.(map[string]any) {
			reference := fmt.Sprintf(`"$ref":"#/components/%s/%s"`, kind, name)
			if kind == "securitySchemes" {
				reference = fmt.Sprintf(`{%q:[]}`, name)
			}
			if !bytes.Contains(JSON(), []byte(reference)) && !slices.Contains(unreferenced, name) {
				t.Errorf("components/%s/%s is not used", kind, name)
			}
		}
	}
}

// walker goes through the document and validates each example against the schema beside it.
type walker struct {
	t        *testing.T
	document map[string]any
	compiler *jsonschema.Compiler
	examples int
}

func newWalker(t *testing.T) *walker {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSON()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", document); err != nil {
		t.Fatal(err)
	}
	return &walker{t: t, document: document.(map[string]any), compiler: compiler}
}

// walk looks below a part of the document that is not a schema; at is its JSON pointer.
func (w *walker) walk(part any, at string) {
	switch part := part.(type) {
	case []any:
		for i, item := range part {
			w.walk(item, fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		if part["schema"] != nil {
			w.checkDescribed(part, at)
		}
		for _, key := range slices.Sorted(maps.Keys(part)) {
			below := at + "/" + escape(key)
			switch {
			case key == "schema":
				w.walkSchema(part[key], below)
			case below == "#/components/schemas":
				for name, schema := range part[key].(map[string]any) {
					w.walkSchema(schema, below+"/"+name)
				}
			case key != "example" && key != "examples":
				w.walk(part[key], below)
			}
		}
	}
}

// checkDescribed checks the examples of a parameter, a header or a media type, which must have one unless it is binary.
func (w *walker) checkDescribed(part map[string]any, at string) {
	if schema, _ := part["schema"].(map[string]any); schema["format"] == "binary" {
		return
	}
	examples := map[string]any{}
	if example, ok := part["example"]; ok {
		examples["example"] = example
	}
	if named, ok := part["examples"].(map[string]any); ok {
		for name, example := range named {
			if reference, ok := example.(map[string]any)["$ref"].(string); ok {
				example = w.resolve(reference)
			}
			examples[name] = example.(map[string]any)["value"]
		}
	}
	if len(examples) == 0 {
		w.t.Errorf("%s has no example", at)
	}
	for name, example := range examples {
		w.check(example, at+"/schema", at+" example "+name)
	}
}

// walkSchema checks the examples within a schema.
func (w *walker) walkSchema(schema any, at string) {
	switch schema := schema.(type) {
	case []any:
		for i, item := range schema {
			w.walkSchema(item, fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		if examples, ok := schema["examples"].([]any); ok {
			for i, example := range examples {
				w.check(example, at, fmt.Sprintf("%s examples/%d", at, i))
			}
		}
		if value, ok := schema["default"]; ok {
			w.check(value, at, at+" default")
		}
		for key, below := range schema {
			if key != "examples" && key != "default" && key != "enum" {
				w.walkSchema(below, at+"/"+escape(key))
			}
		}
	}
}

func (w *walker) check(value any, schemaAt, place string) {
	w.examples++
	schema, err := w.compiler.Compile("openapi.json" + schemaAt)
	if err != nil {
		w.t.Fatalf("%s: %v", schemaAt, err)
	}
	if err := schema.Validate(value); err != nil {
		w.t.Errorf("%s: %v", place, err)
	}
}

// resolve returns what a pointer such as #/components/schemas/Contact points to.
func (w *walker) resolve(pointer string) any {
	var at any = w.document
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
		at = at.(map[string]any)[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return at
}

// escape encodes a key for a JSON pointer within a URL.
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}
