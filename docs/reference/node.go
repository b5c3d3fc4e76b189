package reference

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"contactbase/api"
)

// node is a part of the OpenAPI document, with its keys in the order in which they are written. The zero node is a
// part that is missing.
type node struct {
	*yaml.Node
	document *yaml.Node
}

// parse returns the root of the document.
var parse = sync.OnceValue(func() node {
	var root yaml.Node
	if err := yaml.Unmarshal(api.YAML(), &root); err != nil {
		panic("reference: " + err.Error()) // unreachable: the document is embedded
	}
	return node{root.Content[0], root.Content[0]}
})

// get returns what is below the keys. It follows aliases and references.
func (n node) get(keys ...string) node {
	n = n.resolved()
	for _, key := range keys {
		found := node{document: n.document}
		for name, value := range n.pairs() {
			if name == key {
				found = value.resolved()
			}
		}
		n = found
	}
	return n
}

// resolved returns what an alias or a reference leads to.
func (n node) resolved() node {
	for n.Node != nil {
		if n.Kind == yaml.AliasNode {
			n.Node = n.Alias
			continue
		}
		pointer := n.reference()
		if pointer == "" {
			break
		}
		n = node{n.document, n.document}.get(strings.Split(strings.TrimPrefix(pointer, "#/"), "/")...)
	}
	return n
}

// reference returns the pointer of a reference, and the empty string for anything else.
func (n node) reference() string {
	if n.Node != nil && n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "$ref" {
		return n.Content[1].Value
	}
	return ""
}

// has reports whether the node is there.
func (n node) has() bool { return n.Node != nil }

// pairs returns the keys of a mapping with their values.
func (n node) pairs() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.Node == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, node{n.Content[i+1], n.document}) {
				return
			}
		}
	}
}

// items returns the items of a list.
func (n node) items() (all []node) {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, item := range n.Content {
		all = append(all, node{item, n.document})
	}
	return all
}

// text returns a scalar as it is written.
func (n node) text() string {
	if n.Node == nil {
		return ""
	}
	return n.Value
}

// texts returns a list of scalars, or the only one.
func (n node) texts() (all []string) {
	if n.Node != nil && n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	for _, item := range n.items() {
		all = append(all, item.text())
	}
	return all
}

// isText reports whether the node is a string, and not a number, a bool or null.
func (n node) isText() bool {
	return n.Node != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str"
}

// isNull reports whether the node is null.
func (n node) isNull() bool {
	return n.Node != nil && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// json returns the node as JSON, indented if indent is not empty.
func (n node) json(indent string) string {
	encoded, err := api.Encode(n.Node)
	if err != nil {
		panic("reference: " + err.Error()) // unreachable: the tests of api encode the whole document
	}
	if indent == "" {
		return string(encoded)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", indent); err != nil {
		panic("reference: " + err.Error()) // unreachable: it was encoded just now
	}
	return out.String()
}
