package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal(YAML(), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(JSON(), &fromJSON); err != nil {
		t.Fatalf("the document is not JSON: %v", err)
	}
	normalised, err := json.Marshal(fromYAML) // for the number types that JSON knows
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := json.Unmarshal(normalised, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, fromJSON) {
		t.Error("the JSON does not say what the YAML says")
	}
	if text := string(JSON()); !strings.HasPrefix(text, `{"openapi":"3.1.0","info":{"title":`) {
		t.Errorf("the keys are not in the order of the YAML: %.60s", text)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]string{"": "1", "v1.4.2": "v1.4.2", `1.0 "beta": #3`: `1.0 "beta": #3`}
	for version, want := range cases {
		var fromYAML, fromJSON struct {
			Info struct {
				Version string `json:"version"`
			} `json:"info"`
		}
		if err := yaml.Unmarshal(YAMLFor(version), &fromYAML); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(JSONFor(version), &fromJSON); err != nil {
			t.Fatal(err)
		}
		if fromYAML.Info.Version != want || fromJSON.Info.Version != want {
			t.Errorf("version %q: got %q in YAML and %q in JSON", version, fromYAML.Info.Version, fromJSON.Info.Version)
		}
	}
}
