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

// A route of integrators checks the key, then counts the request, before anything else. One without its scope would
// answer anybody.
func TestRoutesCheckTheKey(t *testing.T) {
	t.Parallel()
	for _, r := range (&server{}).apiRoutes() {
		layers := r.Scope.Admit(nil)
		if len(layers) < 2 || layers[0].Id != authorizeMiddlewareID ||
			layers[1].Id != countRequestMiddlewareID && layers[1].Id != countBatchMiddlewareID {
			t.Errorf("%s %s does not begin with authorize and countRequest or countBatch", r.Method, r.Path)
		}
	}
}

// Patterns returns the routes of integrators and of other systems.
func Patterns() (patterns []string) {
	for prefix, routes := range map[string][]route.Route{
		apiPrefix: (&server{}).apiRoutes(), inboundPrefix: (&server{}).inboundRoutes(),
	} {
		for _, r := range routes {
			patterns = append(patterns, r.Method+" "+prefix+r.Path)
		}
	}
	return patterns
}

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
	routed := map[string]bool{}
	for _, pattern := range Patterns() {
		routed[pattern] = true
	}
	for _, r := range integrations.Routes(route.Config{}, integrations.Shared{}) {
		routed[r.Method+" "+adminPrefix+r.Path] = true
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
