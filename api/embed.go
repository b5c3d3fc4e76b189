// Package api holds the description of the HTTP API, an OpenAPI 3.1 document.
package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v4"

	"contactbase/internal/wire"
)

//go:embed openapi.yaml
var document []byte

// The lines of info.version and of the address in servers, which the values of an installation replace.
var (
	versionLine = []byte("\n  version: \"1\"\n")
	addressLine = []byte("\n  - url: http://127.0.0.1:8090\n")
)

// YAML returns the document as it was written. The caller must not change it.
func YAML() []byte {
	return document
}

// JSON returns the document as JSON, in the order of the YAML. The caller must not change it.
func JSON() []byte {
	return documentJSON()
}

var documentJSON = sync.OnceValue(func() []byte {
	return toJSON(document)
})

// YAMLFor returns the document of an installation: with the version of its program as info.version, and its address,
// which ends without a slash, in servers. An empty value leaves the embedded one unchanged.
func YAMLFor(version, address string) []byte {
	return replaceValue(replaceValue(document, versionLine, "version", version), addressLine, "- url", address)
}

// JSONFor is YAMLFor as JSON. It converts on every call: keep the result.
func JSONFor(version, address string) []byte {
	if version == "" && address == "" {
		return JSON()
	}
	return toJSON(YAMLFor(version, address))
}

// replaceValue returns the document with another value on a line, which is "  key: value"; with an empty one, as it is.
func replaceValue(document, line []byte, key, value string) []byte {
	if value == "" {
		return document
	}
	quoted, err := json.Marshal(value) // a JSON string is a YAML string too
	if err != nil {
		panic("api: " + err.Error()) // unreachable: a string always encodes
	}
	return bytes.Replace(document, line, fmt.Appendf(nil, "\n  %s: %s\n", key, quoted), 1)
}

// toJSON converts the embedded document. It panics if the document is invalid, which the tests of this
// package rule out.
func toJSON(document []byte) []byte {
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		panic("api: openapi.yaml: " + err.Error())
	}
	var out bytes.Buffer
	out.Grow(2 * len(document))
	if err := writeJSON(&out, &root); err != nil {
		panic("api: openapi.yaml: " + err.Error())
	}
	return out.Bytes()
}

// Encode returns a part of the document as JSON, with its keys in their order.
func Encode(part *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	err := writeJSON(&out, part)
	return out.Bytes(), err
}

// writeJSON writes the node with its keys in their order, which decoding into a map would lose, and with its aliases
// spelled out, which JSON does not have.
func writeJSON(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeJSON(out, node.Content[0])
	case yaml.AliasNode:
		return writeJSON(out, node.Alias)
	case yaml.SequenceNode:
		return writeList(out, "[]", node.Content, 1)
	case yaml.MappingNode:
		return writeList(out, "{}", node.Content, 2)
	default:
		var value any
		if err := node.Decode(&value); err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		encoded, err := wire.AppendJSON(out.AvailableBuffer(), value)
		if err != nil {
			return fmt.Errorf("line %d: %w", node.Line, err)
		}
		out.Write(encoded)
		return nil
	}
}

// writeList writes nodes between the two brackets; size is 1 for the items of a list, 2 for keys and values.
func writeList(out *bytes.Buffer, brackets string, nodes []*yaml.Node, size int) error {
	out.WriteByte(brackets[0])
	for i, node := range nodes {
		switch {
		case size == 2 && i%2 == 1:
			out.WriteByte(':')
		case i > 0:
			out.WriteByte(',')
		}
		if size == 2 && i%2 == 0 {
			key, err := json.Marshal(node.Value) // the text as written: a key is a string, even if YAML reads it as another type
			if err != nil {
				return fmt.Errorf("line %d: %w", node.Line, err)
			}
			out.Write(key)
			continue
		}
		if err := writeJSON(out, node); err != nil {
			return err
		}
	}
	out.WriteByte(brackets[1])
	return nil
}
