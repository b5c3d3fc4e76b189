package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testkit.Cleanup()
	os.Exit(code)
}

// The commands of the introduction and of the quick start work as they are written.
func TestFirstCommands(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl here")
	}
	app := testkit.NewApp(t)
	base := testkit.Serve(t, app)
	key := testkit.Key(t, app, testkit.Tenant(t, app, "Acme"), "contacts:read", "contacts:write", "contacts:delete")
	for _, page := range []string{"introduction", "quick-start"} {
		source, err := os.ReadFile(page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(source), -1) {
			script.WriteString(block[1])
		}
		created := testkit.NewClient(t, base, key).Do("POST", "/api/ext/v1/contacts", `{"name":"Ada"}`).Data()
		commands := strings.NewReplacer("https://crm.example.com", base, "cmk_…", key, "ID=…", "ID="+created["id"].(string), "curl ", "curl --fail-with-body -w '\\n' ").Replace(script.String())
		out, err := exec.CommandContext(t.Context(), "sh", "-ec", commands).CombinedOutput()
		if err != nil || strings.Count(commands, "curl ") < 2 {
			t.Errorf("%s: %v\n%s\n%s", page, err, commands, out)
		}
		if strings.Contains(string(out), `"failed":`) && !strings.Contains(string(out), `"failed":0`) {
			t.Errorf("%s: an item of the batch fails:\n%s", page, out)
		}
	}
}

// The guide starts the version of the inspector that the end-to-end tests run.
func TestInspectorIsTested(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := os.ReadFile("../e2e/inspector/package.json")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`npx @modelcontextprotocol/inspector@(\S+)`).FindSubmatch(guide)
	if named == nil || !strings.Contains(string(packages), `"@modelcontextprotocol/inspector": "`+string(named[1])+`"`) {
		t.Errorf("the guide starts %q", named)
	}
}
