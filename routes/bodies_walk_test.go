package routes_test

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/body"
	"contactbase/internal/testkit"
)

// door is a route that reads a body, with who may call it.
type door struct {
	method, path  string
	header, value string
	foreign       bool // it is PocketBase's
	superuser     bool
}

// tableRoutes reads the rows of a function that returns a table of routes, unless they read no body. Superusers says
// which only they may call.
func tableRoutes(t *testing.T, file, function string) (rows []door, superusers []bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(node ast.Node) bool {
		if declared, ok := node.(*ast.FuncDecl); ok {
			return declared.Name.Name == function
		}
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if called, ok := call.Fun.(*ast.SelectorExpr); !ok || called.Sel.Name != "New" || len(call.Args) != 4 {
			return true
		}
		method, _ := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
		path, _ := strconv.Unquote(call.Args[1].(*ast.BasicLit).Value)
		if method == http.MethodGet {
			return true
		}
		scope, isName := call.Args[3].(*ast.Ident)
		rows, superusers = append(rows, door{method: method, path: path}),
			append(superusers, isName && scope.Name == "superusers")
		return true
	})
	if len(rows) == 0 {
		t.Fatalf("%s: no routes in %s", file, function)
	}
	return rows, superusers
}

// ignoresBody has the routes of keys and superusers that read no body. Of members, all bodies are read.
var ignoresBody = map[string]bool{
	"DELETE /contacts/{id}":             true,
	"DELETE /tenants/{id}/portal-links": true,
}

// doors returns all routes that read a body.
func doors(t *testing.T, f *fixture, superuser string) (found []door) {
	t.Helper()
	member := newMember(t, f)
	filled := strings.NewReplacer("{id}", "x", "{contact}", "y", "{externalId}", "z")
	api, _ := tableRoutes(t, "routes.go", "apiRoutes")
	key := testkit.Key(t, f.App, f.tenant)
	for _, d := range api {
		if ignoresBody[d.method+" "+d.path] {
			continue
		}
		found = append(found, door{d.method, "/api/ext/v1" + filled.Replace(d.path), "X-API-Key", key, false, false})
	}
	found = append(found, door{"POST", "/mcp", "X-API-Key", key, false, false})
	receiving, _ := tableRoutes(t, "routes.go", "inboundRoutes")
	for _, d := range receiving {
		token := testkit.Inbound(t, f.App, f.tenant, "upsert", nil)
		found = append(found,
			door{d.method, "/api/hooks" + strings.Replace(d.path, "{token}", token, 1), "X-Nobody", "", false, false})
	}
	admin, onlySuperusers := tableRoutes(t, "integrations/routes.go", "routes")
	for i, d := range admin {
		who, id := member, "x"
		if onlySuperusers[i] {
			who, id = superuser, f.tenant // they look for the record first
		}
		if ignoresBody[d.method+" "+d.path] {
			continue
		}
		path := "/api/integrations" + filled.Replace(strings.Replace(d.path, "{id}", id, 1))
		if d.path == "/imports" {
			path += "?tenant=" + f.tenant
		}
		found = append(found, door{d.method, path, "Authorization", who, false, onlySuperusers[i]})
	}
	for _, route := range []string{
		"POST /api/collections/api_keys/records", "PATCH /api/collections/webhooks/records/x",
		"GET /api/collections/webhooks/records",
		"DELETE /api/collections/webhooks/records/x", "POST /api/collections/tenant_members/auth-with-password",
		"POST /api/collections/_superusers/auth-with-password", "POST /api/collections/_superusers/auth-with-otp",
		"POST /api/collections/_superusers/auth-with-oauth2", "POST /api/collections/tenant_members/request-password-reset",
		"POST /api/collections/tenant_members/confirm-password-reset",
		"POST /api/collections/tenant_members/request-verification",
		"POST /api/collections/tenant_members/confirm-verification",
		"POST /api/collections/tenant_members/request-email-change",
		"POST /api/collections/tenant_members/confirm-email-change", "POST /api/collections/tenant_members/auth-refresh",
		"POST /api/realtime", "POST /api/batch", "POST /api/files/token", "POST /api/collections",
		"PUT /api/collections/import", "POST /api/sql",
		"POST /api/backups", "POST /api/backups/upload", "PATCH /api/settings", "POST /api/collections/uploads/records",
		"POST /api/nothing", "POST /index.html",
	} {
		method, path, _ := strings.Cut(route, " ")
		found = append(found, door{method, path, "X-Nobody", "", true, false},
			door{method, path, "Authorization", member, true, false})
	}
	return append(found, door{"POST", "/api/collections", "Authorization", superuser, true, true},
		door{"PATCH", "/api/settings", "Authorization", superuser, true, true})
}

// newBounded serves an app with these bounds, and a collection with files that anybody may upload.
func newBounded(t *testing.T, limits body.Limits) *fixture {
	t.Helper()
	_, f := serve(t, testkit.NewBoundedApp(t, limits))
	f.App.Settings().RateLimits.Enabled = false
	uploads := core.NewBaseCollection("uploads")
	uploads.CreateRule = types.Pointer("")
	uploads.Fields.Add(&core.FileField{Name: "file", MaxSize: 8 << 20})
	if err := f.App.Save(uploads); err != nil {
		t.Fatal(err)
	}
	return f
}

// answerTo returns the response to a request of which only these bytes come, and whether its connection then closes.
func (d door) answerTo(
	t *testing.T, f *fixture, contentType string, announced int, sent string,
) (answer *testkit.Answer, closes bool) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = fmt.Fprintf(connection,
		"%s %s HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		d.method, d.path, d.header, d.value, contentType, announced, sent)
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer = testkit.ReadAnswer(t, response)
	if response.Close {
		_, err = reader.ReadByte() // not before it is closed
	}
	return answer, response.Close && errors.Is(err, io.EOF)
}

// refuses checks the response of each door to a body that does not end well.
func refuses(
	t *testing.T, f *fixture, d door, contentType string, announced int, sent string, status int, code string,
) {
	t.Run(d.method+" "+d.path+" "+d.header+" "+contentType, func(t *testing.T) {
		t.Parallel()
		got, closes := d.answerTo(t, f, contentType, announced, sent)
		envelope, _ := got.JSON()["error"].(map[string]any)
		inForm := envelope["code"] == code
		if d.foreign && status == http.StatusRequestTimeout {
			inForm = got.JSON()["status"] == float64(status)
		}
		if got.Status != status || !inForm || !closes ||
			(got.Header.Get("Retry-After") != "") != (status == http.StatusTooManyRequests) {
			t.Errorf("got %d %s, closes: %t", got.Status, got.Body, closes)
		}
	})
}

var contentTypes = []string{"application/json", "multipart/form-data; boundary=x"}

// Each route that reads a body gives it up when it stalls.
func TestAllBodiesAreTimed(t *testing.T) {
	t.Parallel()
	limits := body.DefaultLimits
	limits.Silence = 100 * time.Millisecond
	f := newBounded(t, limits)
	for _, d := range doors(t, f, testkit.SuperuserToken(t, f.App)) {
		for i, contentType := range contentTypes {
			if i > 0 && (!d.foreign || d.superuser) { // their uploads to PocketBase are exempt
				continue
			}
			refuses(t, f, d, contentType, 1000, "{", http.StatusRequestTimeout, "request_timeout")
		}
	}
}

// Each route that reads a body counts it.
func TestAllBodiesCount(t *testing.T) {
	t.Parallel()
	limits := body.DefaultLimits
	limits.Memory, limits.Files = 4*64, 4*64
	f := newBounded(t, limits)
	superuser := testkit.SuperuserToken(t, f.App)
	sent := `{"x":"` + strings.Repeat("a", 200) + `"}`
	for _, d := range doors(t, f, superuser) {
		for i, contentType := range contentTypes {
			if d.foreign && d.superuser || i > 0 && !d.foreign { // what superusers send to PocketBase is exempt
				continue
			}
			refuses(t, f, d, contentType, len(sent), sent, http.StatusTooManyRequests, "rate_limited")
		}
	}
	contentType, form := form(t, 10, 10<<10)
	got := post(t, "POST", f.base+"/api/collections/uploads/records", superuser, contentType, form, false)
	if got.Status != 200 {
		t.Errorf("a superuser's upload gives %d %s", got.Status, got.Body)
	}
}
