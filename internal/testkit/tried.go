package testkit

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// succeeded has the requests of clients with a status below 400, as "GET /path".
var succeeded sync.Map

// TryRoutes runs the tests of a package. If it runs all of them, it fails unless each of the routes, which are patterns
// of http.ServeMux, has answered a Client with success: a scenario test is missing otherwise.
func TryRoutes(m *testing.M, routes []string) {
	code := m.Run()
	if code == 0 && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" {
		for _, route := range untried(routes) {
			fmt.Fprintf(os.Stderr, "no scenario test calls %s with success\n", route)
			code = 1
		}
	}
	os.Exit(code)
}

// untried returns those of the routes that no request has reached.
func untried(routes []string) []string {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
	}
	succeeded.Range(func(request, _ any) bool {
		method, path, _ := strings.Cut(request.(string), " ")
		if r, err := http.NewRequest(method, path, nil); err == nil { //nolint:noctx // it is not sent
			_, reached := mux.Handler(r)
			routes = slices.DeleteFunc(routes, func(route string) bool { return route == reached })
		}
		return true
	})
	return routes
}
