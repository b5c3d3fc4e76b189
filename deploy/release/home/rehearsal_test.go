package home

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const published = "v1.0.0"

// After a move, a copy of the sources passes some tests. Its modules are published on a local proxy and its npm
// package on a local registry. The commands of the READMEs then install the program and the clients in fresh
// projects, which do their main job.
func TestRehearsal(t *testing.T) {
	if os.Getenv("REHEARSE_HOME") != "1" {
		t.Skip("task home:rehearse runs it")
	}
	root := copySources(t)
	move(t, root, acme)
	run(t, filepath.Join(root, "clients/go"), nil, "go", "test", "./...")
	run(t, root, nil, "go", "test", "./internal/fault", "./internal/webhook/filter", "./internal/inbound/payload")
	t.Log("tests of the copy pass")

	env := publishModules(t, root)
	t.Log("the modules are published, and the program is installed")
	server := serve(t, env)
	t.Run("Go", func(t *testing.T) {
		project := t.TempDir()
		run(t, project, env, "go", "mod", "init", "integrator")
		run(t, project, env, "sh", "-ec", snippet(t, filepath.Join(root, "clients/go/README.md"), "go get"))
		copyFile(t, filepath.Join(root, "e2e/testdata/creator/main.go"), filepath.Join(project, "main.go"))
		checkJob(t, run(t, project, merge(env, server), "go", "run", "."))
	})
	t.Run("TypeScript", func(t *testing.T) {
		client := filepath.Join(root, "clients/typescript")
		npmrc := publishPackage(t, client)
		project := t.TempDir()
		copyFile(t, npmrc, filepath.Join(project, ".npmrc"))
		writeText(t, filepath.Join(project, "package.json"), `{"private":true,"type":"module"}`)
		run(t, project, nil, "sh", "-ec", snippet(t, filepath.Join(client, "README.md"), "npm install"))
		copyFile(t, filepath.Join(root, "e2e/testdata/creator/creator.ts"), filepath.Join(project, "creator.ts"))
		writeText(t, filepath.Join(project, "tsconfig.json"), `{"extends":"`+client+`/tsconfig.json","include":["*.ts"],`+
			`"compilerOptions":{"rootDir":".","outDir":"built","typeRoots":["`+client+`/node_modules/@types"]}}`)
		run(t, project, nil, filepath.Join(client, "node_modules/.bin/tsc"), "--project", ".")
		checkJob(t, run(t, project, server, "node", "built/creator.js"))
	})
	run(t, root, nil, "go", "test", "./docs")
}

const contacts = 25

// checkJob checks what the program creator prints.
func checkJob(t *testing.T, out string) {
	t.Helper()
	if created, arrived := strings.Count(out, "created "), strings.Count(out, "arrived "); created != contacts || arrived < contacts {
		t.Errorf("%d contacts were created, and %d events arrived:\n%s", created, arrived, out)
	}
}

// publishModules publishes the program and the Go client on a proxy for Go modules, installs the program, and returns
// the environment of someone who uses that proxy.
func publishModules(t *testing.T, root string) map[string]string {
	t.Helper()
	proxy, home := t.TempDir(), t.TempDir()
	for _, m := range []struct{ path, folder string }{{acme.GoModule, root}, {acme.GoModule + "/clients/go", filepath.Join(root, "clients/go")}} {
		folder := filepath.Join(proxy, m.path, "@v")
		writeText(t, filepath.Join(folder, "list"), published+"\n")
		writeText(t, filepath.Join(folder, published+".info"), `{"Version":"`+published+`"}`)
		copyFile(t, filepath.Join(m.folder, "go.mod"), filepath.Join(folder, published+".mod"))
		file, err := os.Create(filepath.Join(folder, published+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		if err := zip.CreateFromDir(file, module.Version{Path: m.path, Version: published}, m.folder); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(name string) string { return strings.TrimSpace(run(t, root, nil, "go", "env", name)) }
	env := map[string]string{
		"GOPROXY":    "file://" + proxy + ",file://" + ask("GOMODCACHE") + "/cache/download," + ask("GOPROXY"),
		"GONOSUMDB":  acme.GoModule, // the checksum database does not know it
		"GOMODCACHE": filepath.Join(home, "modules"),
		"GOBIN":      filepath.Join(home, "bin"),
		"GOFLAGS":    "-modcacherw -trimpath",
	}
	run(t, home, env, "sh", "-ec", snippet(t, filepath.Join(root, "docs/install.md"), "go install"))
	return env
}

// serve runs the installed program until the test ends, and returns the environment of the program creator.
func serve(t *testing.T, env map[string]string) map[string]string {
	t.Helper()
	address := freeAddress(t)
	program, folder := filepath.Join(env["GOBIN"], "contactbase"), t.TempDir()
	if out := run(t, folder, nil, program, "--version"); !strings.Contains(out, published[1:]) {
		t.Errorf("the installed program is %s", out)
	}
	run(t, folder, nil, program, "tenant", "create", "Acme")
	key := regexp.MustCompile(`cmk_\w{36}`).FindString(run(t, folder, nil, program, "key", "create", "Acme"))
	start(t, folder, "http://"+address+"/readyz", program, "serve", "--http="+address)
	return map[string]string{"BASE": "http://" + address, "KEY": key, "COUNT": fmt.Sprint(contacts)}
}

// publishPackage publishes the TypeScript client with npm on a registry that knows nothing else, and returns an
// .npmrc that uses it.
func publishPackage(t *testing.T, client string) (npmrc string) {
	t.Helper()
	registry := newRegistry(t)
	npmrc = filepath.Join(t.TempDir(), ".npmrc")
	writeText(t, npmrc, "@acme:registry="+registry+"/\n"+strings.TrimPrefix(registry, "http:")+"/:_authToken=none\n")
	run(t, client, nil, "npm", "ci", "--no-audit", "--no-fund", "--silent")
	copyFile(t, npmrc, filepath.Join(client, ".npmrc"))
	run(t, client, nil, "npm", "publish", "--access", "public")
	return npmrc
}

// newRegistry starts a registry of npm packages that knows no other, and returns its URL.
func newRegistry(t *testing.T) string {
	t.Helper()
	folder, address := t.TempDir(), freeAddress(t)
	// Verdaccio names node-fetch by a tag, which mirrors of npm may lack.
	writeText(t, filepath.Join(folder, "package.json"), `{"private":true,"dependencies":{"verdaccio":"6.2.4"},"overrides":{"node-fetch":"2.7.0"}}`)
	run(t, folder, nil, "npm", "install", "--no-audit", "--no-fund", "--silent")
	writeText(t, filepath.Join(folder, "config.yaml"), "storage: ./packages\npackages: {'**': {access: $all, publish: $all}}\nlog: {type: stdout, level: warn}\n")
	start(t, folder, "http://"+address+"/-/ping", "node_modules/.bin/verdaccio", "--config=config.yaml", "--listen="+address)
	return "http://" + address
}

// snippet returns the commands of a guide that contain a text.
func snippet(t *testing.T, guide, text string) string {
	t.Helper()
	content, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(content), -1) {
		if strings.Contains(found[1], text) {
			return found[1]
		}
	}
	t.Fatalf("%s has no commands with %q", guide, text)
	return ""
}

func merge(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for _, from := range []map[string]string{a, b} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, to, string(content))
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
