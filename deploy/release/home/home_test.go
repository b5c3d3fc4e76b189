package home

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// acme is another home.
var acme = Home{
	Repository: "https://example.org/acme/contactbase", GoModule: "example.org/acme/contactbase", NPMPackage: "@acme/contactbase",
	Image: "registry.example.org:5000/acme/contactbase", Maintainer: "Acme GmbH <contactbase@acme.example>", Homepage: "https://contactbase.example",
	Support: "https://example.org/acme/contactbase/discussions", Security: "security@acme.example", Apt: "https://packages.contactbase.example",
}

// The sources have the addresses of deploy/home.yaml. A copy moves to another home, where a second run changes
// nothing, and back.
func TestMove(t *testing.T) {
	t.Parallel()
	root := copySources(t)
	if changed := writeHome(t, root); len(changed) > 0 {
		t.Errorf("task home changes %q", changed)
	}
	before := readFiles(t, root)
	move(t, root, acme)
	if changed := writeHome(t, root); len(changed) > 0 {
		t.Errorf("a second run changes %q", changed)
	}
	after := readFiles(t, root)
	for name, wants := range map[string][]string{
		"go.mod":                                {"module example.org/acme/contactbase\n"},
		"clients/go/go.mod":                     {"module " + acme.GoModule + "/clients/go\n"},
		"main.go":                               {`"` + acme.GoModule + `/server"`},
		".golangci.yml":                         {"pkg: example.org/acme/contactbase,", "local-prefixes: [example.org/acme/contactbase]"},
		"README.md":                             {acme.Repository + "/actions/", "(https://example.org/acme/contactbase/releases/latest)"},
		"clients/go/README.md":                  {"go get " + acme.GoModule + "/clients/go@latest\n", "=../contactbase/clients/go "},
		"clients/typescript/README.md":          {"npm install @acme/contactbase\n", `from "@acme/contactbase/webhook"`},
		"clients/typescript/package.json":       {`"name": "@acme/contactbase"`, `"repository": "git+https://example.org/acme/contactbase.git"`},
		"clients/typescript/package-lock.json":  {`"name": "@acme/contactbase"`},
		"docs/install.md":                       {"go install example.org/acme/contactbase@latest", acme.Image + ":1.0.0 demo", "[signed-by=/etc/apt/keyrings/contactbase.asc] https://packages.contactbase.example ./"},
		"docs/reference/typescript.go":          {`from "@acme/contactbase"`},
		"deploy/container/Containerfile":        {`org.opencontainers.image.source="https://example.org/acme/contactbase"`},
		"deploy/container/compose.yaml":         {"image: " + acme.Image + ":${VERSION"},
		"deploy/container/build":                {`--tag "` + acme.Image + `:$version"`},
		"api/openapi.yaml":                      {"\nexternalDocs:\n  description: About Contactbase\n  url: https://contactbase.example\n"},
		"SECURITY.md":                           {"https://example.org/acme/contactbase/security/advisories/new", "<security@acme.example>"},
		"SUPPORT.md":                            {"<https://example.org/acme/contactbase/discussions>"},
		".github/ISSUE_TEMPLATE/config.yml":     {"\n    url: https://example.org/acme/contactbase/security/advisories/new\n"},
		"e2e/testdata/creator/main.go":          {`contactbase "` + acme.GoModule + `/clients/go"`},
		"deploy/systemd/contactbase.service":    {"/usr/share/doc/contactbase/docs/install.md"},
		"deploy/release/home/texts.tmpl":        {"{{.GoModule}}/clients/go@latest"},
		"internal/inbound/payload/fuzz_test.go": {`"` + acme.GoModule + `/internal/fault"`},
		"dashboard/embed.go":                    {`extensionName = "contactbase"`},
	} {
		for _, want := range wants {
			if !strings.Contains(after[name], want) {
				t.Errorf("%s does not contain %s", name, want)
			}
		}
	}
	comment := regexp.MustCompile(`<!--.*?-->`)
	if count := len(strings.Fields(comment.ReplaceAllString(after["README.md"], ""))); count >= 500 {
		t.Errorf("the README has %d words", count)
	}
	if out := run(t, root, nil, "gofmt", "-l", "."); out != "" {
		t.Errorf("gofmt changes %s", out)
	}
	if os.Getenv("CONTACTBASE_TEST_ALL") == "1" {
		run(t, root, nil, "go", "build", "-o", os.DevNull, ".")
		run(t, filepath.Join(root, "clients/go"), nil, "go", "vet", "./...")
	}

	if err := os.WriteFile(filepath.Join(root, File), []byte(before[File]), 0o600); err != nil {
		t.Fatal(err)
	}
	writeHome(t, root)
	for name, text := range readFiles(t, root) {
		if text != before[name] {
			t.Errorf("moving back changes %s", name)
		}
	}
}

// An incomplete home and an invalid address give an error that shows an example.
func TestRead(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Home){
		"":                        func(*Home) {},
		"goModule is":             func(h *Home) { h.GoModule = "contactbase" },
		"image is":                func(h *Home) { h.Image = "contactbase" },
		"repository is":           func(h *Home) { h.Repository += "/" },
		"npmPackage is":           func(h *Home) { h.NPMPackage = "Acme" },
		"maintainer is":           func(h *Home) { h.Maintainer = "Acme" },
		`must look like security`: func(h *Home) { h.Security = "https://acme.example" },
		"homepage is":             func(h *Home) { h.Homepage = `https://acme.example/"$(id)` },
	} {
		root, h := t.TempDir(), acme
		change(&h)
		write(t, root, h)
		if _, err := Read(root); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v is read with the error %v", h, err)
		}
	}
}

// move writes another home into the sources at root.
func move(t *testing.T, root string, to Home) {
	t.Helper()
	write(t, root, to)
	if changed := writeHome(t, root); len(changed) < 100 {
		t.Fatalf("the move changes only %q", changed)
	}
}

func write(t *testing.T, root string, h Home) {
	t.Helper()
	text, err := yaml.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "deploy"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, File), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeHome(t *testing.T, root string) (changed []string) {
	t.Helper()
	h, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err = h.Write(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	return changed
}

// copySources copies what git tracks into a repository of its own.
func copySources(t *testing.T) (root string) {
	t.Helper()
	const source = "../../.."
	root = t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(run(t, source, nil, "git", "ls-files", "-z"), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(source, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	run(t, root, nil, "git", "init", "--quiet")
	run(t, root, nil, "git", "add", "--all")
	return root
}

func readFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name := range strings.SplitSeq(strings.TrimSuffix(run(t, root, nil, "git", "ls-files", "-z"), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(content)
	}
	return all
}

// run runs a command in a directory with more environment variables, and returns what it prints.
func run(t *testing.T, folder string, env map[string]string, command ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir, c.Env = folder, os.Environ()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.Env = append(c.Env, name+"="+env[name])
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
	return string(out)
}
