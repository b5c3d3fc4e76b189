package reference

import (
	"slices"
	"strings"
)

// Property is a value: a property of an object, a parameter, a header, or a whole body.
type Property struct {
	Name        string
	Type        string // for people, such as "array of Contact"
	Required    bool
	Description string   // Markdown
	Values      []string // if it is one of these
	Limits      []string // such as "at most 200 characters"
	Properties  []Property
}

// deepest is how many levels of nested objects are shown. Deeper ones are in a schema's example.
const deepest = 4

// property describes a schema. above are the references that lead to it, so that a recursive schema ends.
func property(name string, schema node, required bool, above []string) Property {
	reference := schema.reference()
	schema = schema.resolved()
	described := Property{
		Name: name, Type: typeOf(schema), Required: required, Description: schema.get("description").text(),
		Values: schema.get("enum").texts(), Limits: limits(schema),
	}
	if slices.Contains(above, reference) && reference != "" || len(above) >= deepest {
		return described
	}
	described.Properties = properties(schema, append(slices.Clone(above), reference))
	return described
}

// properties returns those of an object, of the items of a list, or of the alternatives.
func properties(schema node, above []string) (all []Property) {
	schema = schema.resolved()
	needed := schema.get("required").texts()
	for name, value := range schema.get("properties").pairs() {
		all = append(all, property(name, value, slices.Contains(needed, name), above))
	}
	if items := schema.get("items"); items.has() && len(all) == 0 {
		return properties(items, above)
	}
	if values := schema.get("additionalProperties"); values.get("type").has() || values.get("anyOf").has() {
		all = append(all, property("any name", values, false, above))
	}
	for _, alternative := range alternatives(schema) {
		if value := property("", alternative, false, above); len(value.Properties) > 0 {
			value.Name = "either"
			all = append(all, value)
		}
	}
	return all
}

func alternatives(schema node) []node {
	return append(schema.get("oneOf").items(), schema.get("anyOf").items()...)
}

// typeOf names the type of a schema.
func typeOf(schema node) string {
	var names []string
	for _, name := range schema.get("type").texts() {
		switch format := schema.get("format").text(); {
		case name == "array":
			if of := typeOf(schema.get("items")); of != "" {
				name += " of " + of
			}
		case format == "date-time":
			name = "time"
		case format != "" && name == "string":
			name = format
		}
		names = append(names, name)
	}
	for _, alternative := range alternatives(schema) {
		if name := typeOf(alternative.resolved()); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// ranges are the keys of a schema that limit its values, and what they count.
var ranges = []struct{ least, most, unit string }{
	{"minLength", "maxLength", " characters"},
	{"minimum", "maximum", ""},
	{"minItems", "maxItems", " items"},
}

func limits(schema node) (all []string) {
	for _, r := range ranges {
		switch least, most := schema.get(r.least), schema.get(r.most); {
		case least.has() && most.has():
			all = append(all, least.text()+" to "+most.text()+r.unit)
		case least.has() && (least.text() != "1" || r.unit == ""):
			all = append(all, "at least "+least.text()+r.unit)
		case least.has():
			all = append(all, "not empty")
		case most.has():
			all = append(all, "at most "+most.text()+r.unit)
		}
	}
	if value := schema.get("default"); value.has() {
		all = append(all, "default "+value.text())
	}
	return all
}
