package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The proxies that docs/proxies.md configures, each with what it also needs.
var proxies = map[string]struct {
	block   string // how its first line of a configuration below a path begins
	command func(file string) []string
	frame   string // around the block: the address it listens on, and the block
}{
	"nginx": {
		block:   "location /crm/ {",
		command: nginxArguments,
		frame:   nginxConfiguration("master_process off;", "server {\n\t\tlisten %[1]s;\n\t\t%[2]s\n\t}"),
	},
	"caddy": {
		block:   "example.com {",
		command: func(file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
		frame: `{
	admin off
	auto_https off
}
%[2]s
`,
	},
}

// Behind the proxies of Debian, configured as in the guide, the pages and the URLs in responses work below a path.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := findTool(t, name)
			if tool == "" {
				t.Skipf("there is no %s here", name)
			}
			i, tenant, key := newKey(t)
			s := i.serve()
			outside := &server{process: s.process, base: s.proxied(name, tool), installation: i}
			if !outside.healthy() {
				t.Fatal("the proxy does not respond")
			}
			admin := outside.signIn()
			admin.expect(http.StatusOK, http.MethodPatch, "/api/settings", fmt.Sprintf(`{"meta":{"appURL":%q}}`, outside.base))
			admin.header["Content-Type"] = "text/csv"
			if stored := admin.do(http.MethodPost, "/api/integrations/imports?name=large.csv&tenant="+tenant, sheetOf(60_000)); stored.status != http.StatusOK {
				t.Errorf("a sheet of 2 MB returns %s", stored)
			}

			c := outside.client(key)
			created := c.do(http.MethodPost, contactsPath, `{"name":"Ada","externalId":"1"}`)
			if put := c.do(http.MethodPut, contactsPath+"/by-external-id/shop%2F999", `{"name":"Grace"}`); put.data()["externalId"] != "shop/999" {
				t.Errorf("a slash in an external ID gives %s", put)
			}
			for what, target := range map[string]string{
				"Location": created.header.Get("Location"),
				"Link":     strings.TrimSuffix(strings.TrimPrefix(c.do(http.MethodGet, contactsPath+"?limit=1", "").header.Get("Link"), "<"), `>; rel="next"`),
			} {
				if answer := c.do(http.MethodGet, target, ""); !strings.HasPrefix(target, outside.base+"/api/") || answer.status != http.StatusOK {
					t.Errorf("%s leads to %s, which returns %s", what, target, answer)
				}
			}
			outside.browseBelow(name)
		})
	}
}

// browseBelow opens the pages, none of which requests anything outside the path.
func (s *server) browseBelow(name string) {
	b := s.newBrowser()
	b.open("/")
	b.sees("The server is running.")
	b.shot("below-" + name + "-home")
	b.click("Documentationfor integrators: the API reference, authentication, errors, signatures")
	b.wait("the address below the path", `document.querySelector("article pre code")?.textContent.includes(`+quote(s.base+contactsPath)+`)`)
	b.click("Deliveries")
	b.wait("a guide", `document.querySelector("article h1")?.textContent === "Deliveries"`)
	b.click("Verify signatures")
	b.wait("the next guide", `document.querySelector("article h1")?.textContent === "Verify signatures"`)
	b.click("Contacts")
	b.wait("the reference", `document.querySelector("#getContact pre code")?.textContent.includes(`+quote(s.base+contactsPath)+`)`)
	b.open("/docs/")
	b.wait("the introduction", `location.pathname === "/crm/docs" && document.querySelector("article h1")?.textContent === "Introduction"`)
	b.open("/_") // the slash is added below the path
	b.fill("Email", superuserEmail)
	b.fill("Password", superuserPassword)
	b.click("Login")
	b.wait("the dashboard", `document.querySelector(".app-header")`)
	b.integrations("/tenants", "Tenants")
	b.sees("Acme")
	b.shot("below-" + name + "-dashboard")
	if missing := b.foreign(); len(missing) > 0 {
		s.t.Errorf("the pages request %v", missing)
	}
}

// proxied starts a proxy in front of the server, and returns the URL of the server below its path.
func (s *server) proxied(name, tool string) string {
	s.t.Helper()
	proxy := proxies[name]
	return s.behind(tool, proxy.block, proxy.command, proxy.frame) + "/crm"
}

// behind starts a proxy with the block of the guide that begins with a line, and returns its URL.
func (s *server) behind(tool, begins string, arguments func(file string) []string, frame string) string {
	s.t.Helper()
	address := freeAddress(s.t)
	block := strings.NewReplacer("127.0.0.1:8090", strings.TrimPrefix(s.base, "http://"), "example.com {", "http://"+address+" {",
		"listen 443 ssl;", "listen "+address+";").
		Replace(guideBlock(s.t, "../docs/proxies.md", begins))
	folder := s.t.TempDir()
	file := filepath.Join(folder, "configuration")
	if err := os.WriteFile(file, fmt.Appendf(nil, frame, address, block), 0o600); err != nil {
		s.t.Fatal(err)
	}
	command := exec.Command(tool, arguments(file)...)
	command.Env = append(os.Environ(), "HOME="+folder, "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	launch(s.t, command)
	return "http://" + address
}

// guideBlock returns the code block in a guide that begins with the line.
func guideBlock(t *testing.T, file, line string) string {
	t.Helper()
	guide, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(guide), "\n"+line)
	block, _, ended := strings.Cut(block, "\n```")
	if !found || !ended {
		t.Fatalf("%s has no block that begins with %s", file, line)
	}
	return line + block
}
