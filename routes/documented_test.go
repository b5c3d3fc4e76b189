package routes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"contactbase/api"
	"contactbase/routes/integrations"
	"contactbase/routes/route"
)

// The OpenAPI document has every route, and no other.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(api.YAML(), &document); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for path, operations := range document.Paths {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if operations[method] != nil {
				documented[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	s := &server{}
	routed := map[string]bool{}
	for prefix, routes := range map[string][]route.Route{
		apiPrefix: s.apiRoutes(), inboundPrefix: s.inboundRoutes(), adminPrefix: integrations.Routes(route.Config{}, integrations.Shared{}),
	} {
		for _, r := range routes {
			routed[r.Method+" "+prefix+r.Path] = true
		}
	}
	for _, place := range slices.Sorted(maps.Keys(routed)) {
		if !documented[place] {
			t.Errorf("api/openapi.yaml has no %s", place)
		}
	}
	for _, place := range slices.Sorted(maps.Keys(documented)) {
		if !routed[place] {
			t.Errorf("%s is documented, and is no route", place)
		}
	}
}
