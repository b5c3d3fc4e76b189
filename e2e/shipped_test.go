package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// shipped is one of the shipped clients, with programs that use it like integrators.
type shipped struct {
	t        *testing.T
	source   string // its folder
	folder   string // of the programs
	env      []string
	language string                            // that its README marks snippets with
	creator  string                            // the source of a program that creates contacts
	wrap     func(snippets []string) string    // makes a source of the README
	compile  func(*shipped, map[string]string) // makes programs of sources, as the README says
	program  func(*shipped, string) (run []string)
}

func shippedGo(t *testing.T) *shipped {
	source, err := filepath.Abs("../clients/go")
	if err != nil {
		t.Fatal(err)
	}
	return &shipped{
		t: t, source: source, folder: t.TempDir(), language: "go", creator: "testdata/creator/main.go", wrap: wrapGo, compile: compileGo,
		env:     append(testEnv(), "GOWORK=off", "GOTOOLCHAIN=local"),
		program: func(c *shipped, name string) []string { return []string{filepath.Join(c.folder, "bin", name)} },
	}
}

// wrapGo makes a program of statements, because the snippets are the body of a function.
func wrapGo(snippets []string) string {
	imports, statements := lift(snippets, regexp.MustCompile(`(?m)^import (.*)\n+`))
	return "package main\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"fmt\"\n\t\"io\"\n\t\"log\"\n\t\"net/http\"\n\t\"os\"\n\n\t" +
		strings.Join(imports, "\n\t") + "\n)\n\nfunc main() { log.Fatal(run(context.Background())) }\n\n" +
		"func run(ctx context.Context) error {\n" + statements + "}\n"
}

func compileGo(c *shipped, sources map[string]string) {
	c.prepare("go", "mod", "download")
	for name, source := range sources {
		c.write(filepath.Join(name, "main.go"), source)
	}
	c.run("go", "mod", "init", "integrator")
	c.shell()
	c.run("go", "vet", "./...")
	c.run("go", "build", "-o", "bin/", "./...")
}

func shippedTypeScript(t *testing.T) *shipped {
	if _, err := exec.LookPath("npm"); err != nil {
		lack(t, "there is no npm here")
	}
	source := filepath.Join(t.TempDir(), "typescript") // a copy, because packing builds in it
	copySources(t, "../clients/typescript", source)
	// the link, so that the README's npm ci spares the checkout
	if err := os.RemoveAll(filepath.Join(source, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return &shipped{
		t: t, source: source, folder: t.TempDir(), language: "ts", creator: "testdata/creator/creator.ts", compile: compileTypeScript,
		env:     append(testEnv(), "npm_config_audit=false", "npm_config_fund=false", "npm_config_prefer_offline=true"),
		wrap:    func(snippets []string) string { return strings.Join(snippets, "\n") },
		program: func(_ *shipped, name string) []string { return []string{"node", "built/" + name + ".js"} },
	}
}

func compileTypeScript(c *shipped, sources map[string]string) {
	c.prepare("npm", "ci", "--silent")
	for name, source := range sources {
		c.write(name+".ts", source)
	}
	c.write("package.json", `{"private":true,"type":"module"}`)
	c.write("tsconfig.json", `{"extends":"`+c.source+`/tsconfig.json","include":["*.ts"],`+
		`"compilerOptions":{"rootDir":".","outDir":"built","typeRoots":["`+c.source+`/node_modules/@types"]}}`)
	c.shell()
	c.run(c.source+"/node_modules/.bin/tsc", "--project", ".")
}

// debianPython is the interpreter that Debian's programs use.
const debianPython = "/usr/bin/python3"

func shippedPython(t *testing.T) *shipped {
	python := debianPython
	if _, err := os.Stat(python); err != nil {
		if python, err = exec.LookPath("python3"); err != nil {
			lack(t, "there is no python3 here")
		}
	}
	source, err := filepath.Abs("../clients/python")
	if err != nil {
		t.Fatal(err)
	}
	return &shipped{
		t: t, source: source, folder: t.TempDir(), language: "python", creator: "testdata/creator/creator.py", compile: compilePython,
		env:     append(testEnv(), "PYTHONPATH="+source, "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1"),
		wrap:    func(snippets []string) string { return strings.Join(snippets, "\n") },
		program: func(_ *shipped, name string) []string { return []string{python, "-W", "error", name + ".py"} },
	}
}

// compilePython also runs the client's own tests.
func compilePython(c *shipped, sources map[string]string) {
	for name, source := range sources {
		c.write(name+".py", source)
	}
	tests := c.command(c.source, c.program(c, "")[0], "-m", "unittest", "discover", "-t", ".", "-s", "tests")
	if out, err := tests.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, out)
	}
}

// lift removes the matches of the pattern from the texts, and returns the matches and the rest.
func lift(texts []string, pattern *regexp.Regexp) (lifted []string, rest string) {
	for _, text := range texts {
		for _, found := range pattern.FindAllStringSubmatch(text, -1) {
			lifted = append(lifted, found[1])
		}
		rest += pattern.ReplaceAllString(text, "")
	}
	return lifted, rest
}

// prepare runs a command in the directory of the client. If it fails, the test is skipped, because the command may
// need the network.
func (c *shipped) prepare(command ...string) {
	c.t.Helper()
	if out, err := c.command(c.source, command...).CombinedOutput(); err != nil {
		lack(c.t, fmt.Sprintf("%v: %v\n%s", command, err, out))
	}
}

// run runs a command in the directory of the program.
func (c *shipped) run(command ...string) {
	c.t.Helper()
	if out, err := c.command(c.folder, command...).CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %v\n%s", command, err, out)
	}
}

func (c *shipped) command(folder string, command ...string) *exec.Cmd {
	made := exec.CommandContext(c.t.Context(), command[0], command[1:]...)
	made.Dir, made.Env = folder, c.env
	return made
}

func readText(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (c *shipped) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// snippets returns the snippets of the README in the language.
func (c *shipped) snippets(language string) (found []string) {
	c.t.Helper()
	readme := readText(c.t, filepath.Join(c.source, "README.md"))
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(readme, -1) {
		found = append(found, block[1])
	}
	if len(found) == 0 {
		c.t.Fatalf("the README has no snippet marked %s", language)
	}
	return found
}

// shell runs the commands of the README that use a checkout, which is elsewhere here.
func (c *shipped) shell() {
	c.t.Helper()
	for _, commands := range c.snippets("sh") {
		if strings.Contains(commands, "../contactbase/") { // others install what is published
			c.run("sh", "-ec", regexp.MustCompile(`\.\./contactbase/clients/(go|typescript)\b`).ReplaceAllLiteralString(commands, c.source))
		}
	}
}

// start runs a program until the test ends.
func (c *shipped) start(t *testing.T, name string, env ...string) *process {
	t.Helper()
	program := c.program(c, name)
	command := exec.Command(program[0], program[1:]...)
	command.Dir, command.Env = c.folder, append(slices.Clone(c.env), env...)
	return launch(t, command)
}

// The shipped clients do what their READMEs show, and lose nothing when the server is killed.
func TestShippedClients(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*testing.T) *shipped{"Go": shippedGo, "TypeScript": shippedTypeScript, "Python": shippedPython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "TypeScript" {
				testenv.Long(t, "installs the TypeScript client with npm; its own tests run it, too")
			}
			c := client(t)
			receiver := freeAddress(t)
			_, port, _ := strings.Cut(receiver, ":")
			readme := strings.NewReplacer(`"https://crm.example.com"`, c.environment("BASE"), "3000", port).Replace(c.wrap(c.snippets(c.language)))
			c.compile(c, map[string]string{"readme": readme, "creator": readText(t, c.creator)})
			t.Run("README", func(t *testing.T) {
				t.Parallel()
				checkReadme(t, c, receiver)
			})
			t.Run("kills", func(t *testing.T) {
				t.Parallel()
				testenv.Long(t, "kills the server many times under each client")
				checkKills(t, c)
			})
		})
	}
}

// environment returns the expression for an environment variable.
func (c *shipped) environment(name string) string {
	switch c.language {
	case "go":
		return `os.Getenv("` + name + `")`
	case "python":
		return `os.environ["` + name + `"]`
	}
	return "process.env." + name + "!"
}

// Every snippet of a README works with the server as it is.
func checkReadme(t *testing.T, c *shipped, receiver string) {
	t.Helper()
	i, tenant := newTenant(t)
	key := str(t, i.one("key", "create", tenant, "--permission", "contacts:read", "--permission", "contacts:write", "--permission", "portal:link"), "key")
	s := i.serve()
	admin, integrator := s.signIn(), s.client(key)
	const secret = "correct horse battery"
	p := c.start(t, "readme", "BASE="+s.base, "CONTACTBASE_KEY="+key, "CONTACTBASE_TENANT="+tenant, "CONTACTBASE_WEBHOOK_SECRET="+secret)
	for _, text := range []string{
		"created Ada Lovelace\n", "updated Analytical Engines +442079460001\n", "item 0 updated", "item 1 failed", "validation_failed", "found Ada Lovelace\n",
		"redirect to " + s.base + "/portal/#token=", "rejected 400 invalid_email ", "created Alan Turing\n", "left Navy for Yale\n",
	} {
		p.await(text)
	}
	stored := integrator.expect(http.StatusOK, http.MethodGet, contactsPath, "").String()
	for _, text := range []string{`"email":null`, `"phone":"+442079460001"`, `"company":"Yale"`, `"externalId":"crm-1906"`} {
		if !strings.Contains(stored, text) {
			t.Errorf("%s is not among %s", text, stored)
		}
	}

	i.must("webhook", "create", tenant, "http://"+receiver+"/contactbase", "--secret", secret, "--json")
	id := str(t, integrator.expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Katherine Johnson","company":"NACA"}`).data(), "id")
	p.await("new: Katherine Johnson\n")
	integrator.expect(http.StatusOK, http.MethodPatch, contactsPath+"/"+id, `{"company":"NASA"}`)
	p.await("moved: Katherine Johnson from NACA\n")
	admin.expect(http.StatusNoContent, http.MethodDelete, "/api/collections/contacts/records/"+id, "")
	p.await("gone: " + id + "\n")
	forger := s.client("")
	forger.base = "http://" + receiver
	forger.expect(http.StatusUnauthorized, http.MethodPost, "/contactbase", `{"type":"contact.deleted"}`)
}

// A server that is killed and restarted repeatedly while contacts are created has each of them once, because the
// client retries with an idempotency key. A reader of the feed gets each event once, too.
func checkKills(t *testing.T, c *shipped) {
	t.Helper()
	const count, kills = 400, 4
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000"), "id")
	key := str(t, i.one("key", "create", tenant), "key")
	s := i.serve()
	p := c.start(t, "creator", "BASE="+s.base, "KEY="+key, fmt.Sprint("COUNT=", count))
	for kill := range kills {
		enough := (kill + 1) * count / (kills + 1)
		if !p.printsEnough(fmt.Sprint(enough, " contacts"), func(printed string) bool { return strings.Count(printed, "created ") >= enough }) {
			t.Fatalf("the program ended (%v):\n%s", p.failure, p.output)
		}
		s.kill()
		s = s.again()
	}
	select {
	case <-p.ended:
		if p.failure != nil {
			t.Fatalf("the program ends with %v:\n%s", p.failure, p.output)
		}
	case <-time.After(timeout):
		t.Error("the program keeps waiting")
	}
	s.stop()
	stored := column(t, openData(t, i.data), "SELECT id || ' ' || name FROM contacts ORDER BY 1")
	if len(stored) != count {
		t.Errorf("%d contacts are stored, want %d", len(stored), count)
	}
	for _, verb := range []string{"created ", "arrived "} {
		told, _ := lift([]string{p.output.String()}, regexp.MustCompile("(?m)^"+verb+"(.*)$"))
		slices.Sort(told)
		if !slices.Equal(stored, told) {
			untold := slices.DeleteFunc(slices.Clone(stored), func(line string) bool { return slices.Contains(told, line) })
			t.Errorf("%s%d contacts of %d; those missing are %q", verb, len(told), len(stored), untold)
		}
	}
}

// The generated code of the clients matches the current OpenAPI document.
func TestShippedClientsAreGenerated(t *testing.T) {
	t.Parallel()
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		w := &workshop{folder: "clients", env: append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off")}
		w.needModules(t)
		generated := filepath.Join(t.TempDir(), "api.gen.go")
		w.run(t, "../../clients/go", "go", "tool", "-modfile=../../e2e/clients/go/go.mod", "oapi-codegen", "-config", "internal/api/oapi-codegen.yaml", "-o", generated, "../../api/openapi.yaml")
		if readText(t, generated) != readText(t, "../clients/go/internal/api/api.gen.go") {
			t.Error("clients/go/internal/api is not generated from api/openapi.yaml: run task generate")
		}
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		w := &workshop{folder: "../clients/typescript", env: os.Environ()}
		w.needNode(t)
		w.run(t, ".", "npm", "run", "--silent", "check")
	})
}
