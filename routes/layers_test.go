package routes_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
)

// A request passes at most twelve layers of ours before its handler, of which six are bound to all routes: each costs
// time, and whoever follows a request through the code reads it. Whoever adds one takes the place of another.
func TestLayersBeforeAHandler(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	var layers []string
	f.App.OnModelAfterCreateSuccess(contact.CollectionName).BindFunc(func(e *core.ModelEvent) error {
		layers = layersAbove("(*server).createContact")
		return e.Next()
	})
	if got := client.Do("POST", contactsPath, `{"name":"Ada"}`); got.Status != 201 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	t.Logf("%d layers, from the inside:\n%s", len(layers), strings.Join(layers, "\n"))
	const known = 9 // two outside of the router, four of all routes, three of the route
	if len(layers) != known {
		t.Errorf("a create passes %d layers, not %d; at most 12 may be: %q", len(layers), known, layers)
	}
}

// layersAbove returns the functions of ours that a handler is called through, from the inside: middlewares, which call
// Next, and handlers of net/http.
func layersAbove(handler string) (layers []string) {
	var callers [256]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	inside, isAbove := "", false
	for {
		frame, more := frames.Next()
		isNext := strings.HasSuffix(inside, "hook.(*Event).Next") || strings.HasSuffix(inside, ".ServeHTTP")
		if isAbove && isNext && strings.HasPrefix(frame.Function, "contactbase/") {
			layers = append(layers, frame.Function)
		}
		isAbove = isAbove || strings.HasSuffix(frame.Function, handler)
		inside = frame.Function
		if !more {
			return layers
		}
	}
}
