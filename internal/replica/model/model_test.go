// Package model_test checks a model of the failover protocol: see docs/failover-model.md.
package model_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// The model holds, and each mutant of it fails. The options -DSECOND and -DSTOPPED choose where it begins.
func TestModel(t *testing.T) {
	t.Parallel()
	search(t, true, map[string]string{
		"sync":              "-DFAULTS=1",
		"async":             "-DASYNC",
		"a second takeover": "-DSECOND -DGENERATIONS=3",
		"after a stop":      "-DSTOPPED -DGENERATIONS=3 -DASYNC -DFAULTS=1",
	})
	search(t, false, map[string]string{
		"it reaches a takeover": "-DREACHES",
		"no fencing":            "-DNO_FENCING",
	})
}

// The search finds each mutant.
func TestModelMutants(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "searches eight mutants; TestModel has the one without fencing")
	search(t, false, map[string]string{
		"no position check":      "-DNO_POSITION_CHECK",
		"a trusted 404":          "-DTRUST_404",
		"no margin":              "-DNO_MARGIN -DFAULTS=1",
		"no condition":           "-DUNCONDITIONAL",
		"no record":              "-DSECOND -DGENERATIONS=3 -DACKNOWLEDGE_UNRECORDED",
		"no floor":               "-DUNFLOORED",
		"forgotten commits":      "-DSTOPPED -DGENERATIONS=3 -DASYNC -DFORGET_UNSHIPPED",
		"the gap: stale listing": "-DSTALE_LISTING",
	})
}

// search searches models, by name their options, and fails where the outcome is another one.
func search(t *testing.T, holds bool, models map[string]string) {
	t.Helper()
	needTools(t)
	for name, options := range models {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := check(t, strings.Fields(options))
			if strings.Contains(out, "search depth too small") || !strings.Contains(out, "State-vector") {
				t.Fatalf("the search is not complete:\n%s", out)
			}
			if strings.Contains(out, "errors: 0") != holds {
				t.Errorf("it holds: %v\n%s", !holds, out)
			}
		})
	}
}

// check searches all states of the model, and returns what the search reports.
func check(t *testing.T, options []string) string {
	t.Helper()
	model, err := filepath.Abs("failover.pml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	run(t, folder, "spin", append(append([]string{"-a"}, options...), model)...)
	run(t, folder, "cc", "-O1", "-w", "-DSAFETY", "-DNOFAIR", "-DHC4", "-DMEMLIM=2000", "-o", "pan", "pan.c")
	return run(t, folder, filepath.Join(folder, "pan"), "-E", "-m100000", "-w22")
}

func run(t *testing.T, folder, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// needTools skips a test without spin or a C compiler, and fails it in continuous integration.
func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("the model needs spin and a C compiler: %v", err)
		}
	}
}

// What the model names exists in the code: package.name, or package.type.member.
func TestModelNamesTheCode(t *testing.T) {
	t.Parallel()
	model, err := os.ReadFile("failover.pml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for folder, name := range map[string]string{"..": "replica", "../shipping": "shipping", "../store": "store", "../../sqlite": "sqlite"} {
		declared(t, folder, name, known)
	}
	count := 0
	for _, list := range regexp.MustCompile(`code: ([\w., \n]+)`).FindAllStringSubmatch(string(model), -1) {
		for name := range strings.SplitSeq(list[1], ",") {
			name = strings.TrimSpace(name)
			if count++; !known[name] {
				t.Errorf("the code has no %s", name)
			}
		}
	}
	if count < 40 {
		t.Errorf("the model names only %d parts of the code", count)
	}
}

// declared adds the names that a package declares, without its tests.
func declared(t *testing.T, folder, name string, known map[string]bool) {
	t.Helper()
	parsed, err := parser.ParseDir(token.NewFileSet(), folder, func(file fs.FileInfo) bool { return !strings.HasSuffix(file.Name(), "_test.go") }, 0) //nolint:staticcheck // no types are needed
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed {
		for _, file := range p.Files {
			for _, declaration := range file.Decls {
				for _, found := range names(declaration) {
					known[name+"."+found] = true
				}
			}
		}
	}
}

// names returns what a declaration declares, with members after the name of their type.
func names(declaration ast.Decl) (all []string) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if pointer, isPointer := receiver.(*ast.StarExpr); isPointer {
			receiver = pointer.X
		}
		if of, isName := receiver.(*ast.Ident); isName {
			return []string{of.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					all = append(all, name.Name)
				}
			case *ast.TypeSpec:
				all = append(all, s.Name.Name)
				all = append(all, members(s)...)
			}
		}
	}
	return all
}

// members returns the fields of a struct and the methods of an interface.
func members(of *ast.TypeSpec) (all []string) {
	var fields *ast.FieldList
	switch kind := of.Type.(type) {
	case *ast.StructType:
		fields = kind.Fields
	case *ast.InterfaceType:
		fields = kind.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			all = append(all, of.Name.Name+"."+name.Name)
		}
	}
	return all
}
