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

// versionLine is the line of info.version that the build's version replaces.
var versionLine = []byte("\n  version: \"1\"\n")

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

// YAMLFor returns the document with the version of the program as info.version; without one it stays "1".
func YAMLFor(version string) []byte {
	if version == "" {
		return document
	}
	quoted, err := json.Marshal(version) // a JSON string is a YAML string too
	if err != nil {
		panic("api: " + err.Error()) // unreachable: a string always encodes
	}
	return bytes.Replace(document, versionLine, fmt.Appendf(nil, "\n  version: %s\n", quoted), 1)
}

// JSONFor is YAMLFor as JSON. It converts on every call: keep the result.
func JSONFor(version string) []byte {
	if version == "" {
		return JSON()
	}
	return toJSON(YAMLFor(version))
}

// toJSON converts the embedded document. It panics on what the tests of this package rule out.
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
			key, err := json.Marshal(node.Value) // the text as written: a key is a string whatever YAML takes it for
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
