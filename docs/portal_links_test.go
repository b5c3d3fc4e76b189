package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// portalSnippets are the programs that run the snippets of the guide, with the arguments BASE, KEY and TENANT
// of the environment.
var portalSnippets = map[string]struct {
	command       []string
	file          string
	before, after string
}{
	"sh": {[]string{"sh", "-e"}, "link.sh", "", ""},
	"go": {
		[]string{"go", "run"}, "main.go",
		"package main\n\nimport (\n\t\"bytes\"\n\t\"context\"\n\t\"encoding/json\"\n\t\"fmt\"\n\t\"net/http\"\n\t\"net/url\"\n\t\"os\"\n)\n\n",
		"\nfunc main() {\n\tfmt.Println(portalLink(context.Background(), os.Getenv(\"BASE\"), os.Getenv(\"KEY\"), os.Getenv(\"TENANT\"), \"Ada\"))\n}\n",
	},
	"ts": {
		[]string{"node"}, "link.mjs", "",
		"console.log(await portalLink(process.env.BASE, process.env.KEY, process.env.TENANT, \"Ada\"));\n",
	},
}

// types are those of the TypeScript snippet, which older versions of Node.js cannot read.
var types = strings.NewReplacer(": string", "", ": Promise<string>", "", " as { data: { url: string } }", "")

// The snippets of the guide print a link that is signed in to the tenant.
func TestPortalLinkSnippets(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	base := testkit.Serve(t, app)
	tenant := testkit.Tenant(t, app, "Acme")
	key := testkit.Key(t, app, tenant, "portal:link-admin")
	guide, err := os.ReadFile("portal-links.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, s := range portalSnippets {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(s.command[0]); err != nil {
				t.Skipf("there is no %s here", s.command[0])
			}
			snippet := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(guide)
			if snippet == nil {
				t.Fatal("there is no snippet")
			}
			file := filepath.Join(t.TempDir(), s.file)
			text := strings.ReplaceAll(string(snippet[1]), "https://crm.example.com", base)
			if language == "ts" {
				text = types.Replace(text)
			}
			if err := os.WriteFile(file, []byte(s.before+text+s.after), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), s.command[0], append(s.command[1:], file)...)
			command.Env = append(os.Environ(), "BASE="+base, "KEY="+key, "TENANT="+tenant)
			out, err := command.CombinedOutput()
			link := regexp.MustCompile(`/portal/#token=([\w.-]+)`).FindSubmatch(out)
			if err != nil || link == nil {
				t.Fatalf("it prints %q (%v)", out, err)
			}
			visitor := testkit.NewClient(t, base, "")
			visitor.Header.Set("Authorization", string(link[1]))
			if got := visitor.Do("GET", "/api/integrations/imports", ""); got.Status != 200 {
				t.Errorf("the link is answered %d %s", got.Status, got.Body)
			}
		})
	}
}
