package clients

import (
	"archive/zip"
	"bytes"
	"flag"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what differs from the sources")

// The embedded copy of the Go client is that of its sources, without its tests.
func TestGoSources(t *testing.T) {
	t.Parallel()
	archive := &txtar.Archive{Comment: []byte("The Go client, as an installation serves it. \"task clients:pack\" writes this file.\n")}
	err := fs.WalkDir(os.DirFS("go"), ".", func(name string, entry fs.DirEntry, err error) error {
		isOurs := filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") || slices.Contains([]string{"go.mod", "go.sum", "README.md"}, name)
		if err != nil || entry.IsDir() || !isOurs {
			return err
		}
		content, err := os.ReadFile(filepath.Join("go", name))
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: content})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := txtar.Format(archive)
	if *update {
		if err := os.WriteFile("go.txtar", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, goSources) {
		t.Error("go.txtar differs from clients/go: run task clients:pack")
	}
	for i, f := range txtar.Parse(want).Files {
		if !bytes.Equal(f.Data, archive.Files[i].Data) {
			t.Errorf("%s is not what is packed", f.Name)
		}
	}
}

// What is built of the TypeScript client is that of its sources.
func TestTypeScriptIsBuilt(t *testing.T) {
	t.Parallel()
	compiler := filepath.Join("typescript", "node_modules", ".bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("run npm ci in clients/typescript to compare")
	}
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), compiler, "--project", "typescript/tsconfig.build.json", "--outDir", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if built, want := texts(t, "typescript/dist"), texts(t, folder); !maps.Equal(built, want) {
		t.Error("clients/typescript/dist differs from its sources: run task clients:pack")
	}
}

// texts returns the files of a folder by their names.
func texts(t *testing.T, folder string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", folder, names, err)
	}
	all := map[string]string{}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = string(content)
	}
	return all
}

func TestLicense(t *testing.T) {
	t.Parallel()
	license, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if packed, err := sources.ReadFile("LICENSE"); err != nil || !bytes.Equal(packed, license) {
		t.Errorf("clients/LICENSE is not LICENSE: %v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][2]string{
		"1.2.3":                             {"1.2.3", "1.2.3"},
		"1.0.0-rc.1":                        {"1.0.0-rc.1", "1.0.0rc1"},
		"1.0.0-beta.2":                      {"1.0.0-beta.2", "1.0.0b2"},
		"1.0.0-alpha3":                      {"1.0.0-alpha3", "1.0.0a3"},
		"0.0.0-ci":                          {"0.0.0-ci", "0.0.0.dev0"},
		"1.2.3+dirty":                       {"1.2.3", "1.2.3"},
		"0.0.0-20261128153246-8346339c0000": {"0.0.0-20261128153246-8346339c0000", "0.0.0.dev0"},
		"dev":                               {"0.0.0-dev", "0.0.0.dev0"},
		"../1":                              {"0.0.0-dev", "0.0.0.dev0"},
	} {
		got := NamesFor(version)
		if got.NPM != "contactbase-"+want[0]+".tgz" || got.Go != "contactbase-"+want[0]+"-go.zip" || got.Python != "contactbase-"+want[1]+"-py3-none-any.whl" {
			t.Errorf("%s: %+v", version, got)
		}
		if got := got.In("a-0.0.0-dev.tgz b-0.0.0.dev0-py3"); got != "a-"+want[0]+".tgz b-"+want[1]+"-py3" {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// The versions inside are those of the names, and each archive is the same each time.
func TestPack(t *testing.T) {
	t.Parallel()
	names := NamesFor("1.2.3-rc.4")
	first, err := Pack(names)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Pack(names)
	if err != nil || !maps.EqualFunc(first, second, bytes.Equal) {
		t.Errorf("the archives differ: %v", err)
	}
	wheel := unzip(t, first[names.Python])
	for name, want := range map[string]string{
		"contactbase/webhook.py":                  "def verify(",
		"contactbase/py.typed":                    "",
		"contactbase-1.2.3rc4.dist-info/METADATA": "\nVersion: 1.2.3rc4\n",
		"contactbase-1.2.3rc4.dist-info/RECORD":   "\ncontactbase/_client.py,sha256=",
		"contactbase-1.2.3rc4.dist-info/LICENSE":  "MIT",
	} {
		if got, isThere := wheel[name]; !isThere || !strings.Contains(got, want) {
			t.Errorf("%s of the wheel is %q", name, got)
		}
	}
	if module := unzip(t, first[names.Go]); !strings.HasPrefix(module["contactbase-go/go.mod"], "module ") || module["contactbase-go/webhook/webhook.go"] == "" {
		t.Errorf("the module has %q", slices.Collect(maps.Keys(module)))
	}
	files, err := npmFiles(names)
	if err != nil || files[0].name != "package/package.json" || !strings.Contains(string(files[0].content), `"version": "1.2.3-rc.4",`) {
		t.Errorf("package.json is %s: %v", files[0].content, err)
	}
}

// unzip returns the files of an archive by their names.
func unzip(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	opened, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range opened.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(content)
	}
	return all
}
