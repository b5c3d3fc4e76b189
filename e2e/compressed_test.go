package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// Behind an nginx that compresses responses, which makes tags weak, contacts are read and written as without one, and
// URLs are those that the proxy names.
func TestBehindCompression(t *testing.T) {
	t.Parallel()
	tool := findTool(t, "nginx")
	if tool == "" {
		t.Skip("there is no nginx here")
	}
	i, _, key := newKey(t)
	s := i.serve()
	base := s.behind(tool, "server {\n    server_name crm.example.com;", nginxArguments, nginxConfiguration("master_process off;",
		"gzip on;\n\tgzip_proxied any;\n\tgzip_types application/json;\n\tgzip_min_length 20;\n\t%[2]s"))
	outside := &server{process: s.process, base: base, installation: i}
	if !outside.healthy() {
		t.Fatal("the proxy does not respond")
	}
	admin := s.signIn()
	admin.expect(http.StatusOK, http.MethodPatch, "/api/settings", `{"trustedProxy":{"headers":["X-Forwarded-For"]}}`)
	c := outside.client(key)
	path := c.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada"}`, "X-Forwarded-Proto", "https").header.Get("Location")
	if id := path[strings.LastIndex(path, "/")+1:]; path != "http://127.0.0.1"+contactsPath+"/"+id { // $host has no port
		t.Errorf("the Location is %s", path)
	}
	path = strings.TrimPrefix(path, "http://127.0.0.1")
	tag := c.expect(http.StatusOK, http.MethodGet, path, "").header.Get("ETag")
	if !strings.HasPrefix(tag, "W/") {
		t.Fatalf("the proxy sends the tag %s", tag)
	}
	c.expect(http.StatusNotModified, http.MethodGet, path, "", "If-None-Match", tag)
	c.expect(http.StatusOK, http.MethodPatch, path, `{"name":"Ada Lovelace"}`, "If-Match", tag)
	c.expect(http.StatusPreconditionFailed, http.MethodPatch, path, `{"name":"Grace"}`, "If-Match", tag)
	c.expect(http.StatusCreated, http.MethodPut, contactsPath+"/by-external-id/a//b/..%2Fc", `{"name":"Grace"}`)
}
