package routes_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// Below our prefixes, a path that is not clean gets the envelope, no redirect, and has no effect. No
// response repeats a token.
func TestUncleanPaths(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	hook := newSender(t, f, "full", nil)
	token := strings.TrimPrefix(hook.path, "/api/hooks/")
	for _, path := range []string{
		"//api/ext/v1/contacts", "/api//ext/v1/contacts", "/api/ext//v1/contacts", "/api/ext/v1//contacts", "/api/ext/v1/contacts//", "/api/ext/v1/./contacts",
		"/api/ext/v1/x/../contacts", "/x/../api/ext/v1/contacts", "/api/x/../ext/v1/contacts", "/api/ext/../ext/v1/contacts",
		"/api/ext/v1/../../../x", "/%2e/api/ext/v1/contacts", "/x/%2e%2e/api/ext/v1/contacts", "/%2Fapi/ext/v1/contacts", "//api/ext", "//api/ext/v2/x", "/api/ext/v2/x",
		"//api/hooks/" + token, "/api/hooks//" + token, "/api/hooks/./" + token, "/api/x/../hooks/" + token, "/api/hooks/" + token + "/../../x",
		"//api/integrations/overview", "//mcp", "/mcp//",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE"} {
			body := ""
			if method == "POST" {
				body = `{"name":"Ada"}`
			}
			got := client.Do(method, path, body, "X-Request-Id", "mine", "Origin", "https://example.com", "Access-Control-Request-Method", "POST")
			if got.Status != 404 || method != "HEAD" && got.Code() != "not_found" || got.Header.Get("X-Request-Id") != "mine" ||
				got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Location") != "" || got.Header.Get("Access-Control-Allow-Origin") != "" || bytes.Contains(got.Body, []byte(token)) {
				t.Errorf("%s %s gives %d %v %s", method, path, got.Status, got.Header, got.Body)
			}
		}
	}
	for path, status := range map[string]int{"/api/ext/v1/contacts/%2e%2e": 404, "/api/ext/v1/contacts/by-external-id/..%2F..": 201, "/docs/../docs": 307} {
		method := map[int]string{404: "GET", 201: "PUT", 307: "GET"}[status]
		if got := client.Do(method, path, map[string]string{"PUT": `{"name":"Ada"}`}[method]); got.Status != status {
			t.Errorf("%s %s gives %d %s", method, path, got.Status, got.Body)
		}
	}
	if n, err := f.App.CountRecords("contacts"); err != nil || n != 1 {
		t.Errorf("%d contacts are there, %v", n, err)
	}
}

// The rest of a body that nobody read is not taken for the next request: a proxy would send its answer
// to somebody else.
func TestUnreadBodiesAreNoRequests(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for _, path := range []string{contactsPath + "/batch", "/api/integrations/keys/x/rotate", "/api/hooks/x", "/mcp", "/api/collections", "/api/nothing"} {
		const hidden = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
		body := strings.Repeat(" ", 256<<10+1) + strings.Repeat(hidden, 1_000)
		connection, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
			_ = connection.(*net.TCPConn).CloseWrite()
		}()
		received, _ := io.ReadAll(connection) // the server may reset the connection
		connection.Close()
		if got := strings.Count(string(received), "HTTP/1.1 "); got != 1 {
			t.Errorf("%s gives %d responses: %.300s", path, got, received)
		}
	}
}
