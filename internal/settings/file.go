package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readFile reads a settings file. It keeps values as written; their flags interpret them.
func readFile(path string) (map[string]given, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the settings file: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil // only comments
	} else if err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: %s", path, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s must have a single YAML document", path)
	}
	return readSettings(path, document.Content[0])
}

func readSettings(path string, document *yaml.Node) (map[string]given, error) {
	if document.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: write each setting on its own line as name: value", path)
	}
	found := map[string]given{}
	for i := 0; i < len(document.Content); i += 2 {
		key, value := document.Content[i], document.Content[i+1]
		place := fmt.Sprintf("%s, line %d", path, key.Line)
		if _, twice := found[key.Value]; twice {
			return nil, fmt.Errorf("%s: %s occurs twice", place, key.Value)
		}
		if key.Value == FileFlag {
			return nil, fmt.Errorf("%s: a settings file cannot name another one", place)
		}
		text, isValue := textOf(value)
		if !isValue {
			return nil, fmt.Errorf("%s: %s must be a value or a list of values", place, key.Value)
		}
		found[key.Value] = given{value: text, name: place + ": " + key.Value, source: "file " + place}
	}
	return found, nil
}

// textOf returns a value as written, or a list separated by commas, as flags accept it.
func textOf(node *yaml.Node) (string, bool) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		return node.Value, true
	case node.Kind == yaml.SequenceNode:
		values := make([]string, len(node.Content))
		for i, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return "", false
			}
			values[i] = item.Value
		}
		return strings.Join(values, ","), true
	default:
		return "", false
	}
}
