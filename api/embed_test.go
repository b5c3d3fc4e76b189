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

func TestInstallation(t *testing.T) {
	t.Parallel()
	cases := []struct{ version, address, wantVersion, wantAddress string }{
		{"", "", "1", "http://127.0.0.1:8090"},
		{"v1.4.2", "", "v1.4.2", "http://127.0.0.1:8090"},
		{"", "https://crm.example.com", "1", "https://crm.example.com"},
		{`1.0 "beta": #3`, "https://crm.example.com/a b#c", `1.0 "beta": #3`, "https://crm.example.com/a b#c"},
	}
	type described struct {
		Info    struct{ Version string }
		Servers []struct{ URL string }
	}
	for _, tc := range cases {
		var fromYAML, fromJSON described
		if err := yaml.Unmarshal(YAMLFor(tc.version, tc.address), &fromYAML); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(JSONFor(tc.version, tc.address), &fromJSON); err != nil {
			t.Fatal(err)
		}
		for format, got := range map[string]described{"YAML": fromYAML, "JSON": fromJSON} {
			if got.Info.Version != tc.wantVersion || len(got.Servers) != 1 || got.Servers[0].URL != tc.wantAddress {
				t.Errorf("%s of %q at %q: %+v", format, tc.version, tc.address, got)
			}
		}
	}
}
