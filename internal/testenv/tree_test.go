package testenv_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the directory of the module.
const root = "../.."

// testFiles calls visit with each Go file of the module that only tests use, and its path below the root.
func testFiles(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root &&
			(strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "dist"}, name)) {
			return filepath.SkipDir
		}
		path, err = filepath.Rel(root, path)
		path = filepath.ToSlash(path)
		if err != nil ||
			!strings.HasSuffix(path, "_test.go") &&
				(!strings.HasPrefix(path, "internal/test") || !strings.HasSuffix(path, ".go")) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
		if err == nil {
			visit(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// calls calls visit with each call of a function of a package, named as in "testenv.Long", and the function
// that makes the call.
func calls(file *ast.File, name string, visit func(in string, call *ast.CallExpr)) {
	for _, declaration := range file.Decls {
		in := "a variable"
		if function, ok := declaration.(*ast.FuncDecl); ok {
			in = function.Name.Name
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && selected(call.Fun) == name {
				visit(in, call)
			}
			return true
		})
	}
}

// selected returns "package.Name" of a selector, "" of anything else.
func selected(expression ast.Expr) string {
	if selector, ok := expression.(*ast.SelectorExpr); ok {
		if name, ok := selector.X.(*ast.Ident); ok {
			return name.Name + "." + selector.Sel.Name
		}
	}
	return ""
}

// Each long test says why. With -v this lists them.
func TestLongTests(t *testing.T) {
	t.Parallel()
	found := 0
	testFiles(t, func(path string, file *ast.File) {
		calls(file, "testenv.Long", func(in string, call *ast.CallExpr) {
			found++
			reason := ""
			if literal, ok := call.Args[len(call.Args)-1].(*ast.BasicLit); ok {
				reason, _ = strconv.Unquote(literal.Value)
			}
			if len(strings.Fields(reason)) < 4 && file.Name.Name != "testenv_test" {
				t.Errorf("%s: %s does not say why it is long: %q", path, in, reason)
			}
			t.Logf("%s %s: %s", path, in, reason)
		})
	})
	if found < 10 {
		t.Errorf("there are only %d long tests", found)
	}
}

// measuring has the functions that measure this process, or the time of the clock that passes. What they return
// depends on the collector, on the processor and on what else the machine does. In a bubble of testing/synctest the
// clock is the test's own.
var measuring = []string{
	"runtime.ReadMemStats", "metrics.Read", "debug.ReadGCStats", "testing.AllocsPerRun", "testing.Benchmark",
	"syscall.Getrusage", "unix.Getrusage",
	"unix.ClockGettime", "time.Since",
}

// mayMeasure has the places that call them nevertheless, each with its reason.
var mayMeasure = map[string]string{
	"internal/testkit/measure/measure.go Allocated":                "counts allocations, which are the same on any machine",
	"internal/testkit/measure/processor_unix.go ProcessorTime":     "is for what compares medians of runs",
	"internal/testkit/linear.go workOf":                            "compares the least of runs with that of others",
	"internal/replica/lease_test.go TestStandbyWaitsForWholeLease": "has a lower bound: a busy machine waits longer",
	"internal/replica/lease_test.go TestStandbyIgnoresOtherClocks": "has a lower bound, and an upper one of an hour",
	"routes/limit/limit_test.go TestSteadyClock":                   "compares with what has passed around it",
	"internal/sqlite/transact_test.go TestThrottled":               "has a lower bound: a busy machine works and waits longer",
	"internal/replica/store/store_test.go names":                   "finds a wrong time zone, from an hour on",
}

// Tests measure only with testkit/measure and testkit.Linear, whose results are the same on any machine. The tests of
// e2e look at other processes, and wait for them.
func TestTestsMeasureNothingElse(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(mayMeasure)
	testFiles(t, func(path string, file *ast.File) {
		if strings.HasPrefix(path, "e2e/") {
			return
		}
		inBubble := map[string]bool{}
		calls(file, "synctest.Test", func(in string, _ *ast.CallExpr) { inBubble[in] = true })
		for _, name := range measuring {
			calls(file, name, func(in string, _ *ast.CallExpr) {
				place := path + " " + in
				delete(unused, place)
				if mayMeasure[place] == "" && (name != "time.Since" || !inBubble[in]) {
					t.Errorf("%s calls %s: use internal/testkit/measure or testkit.Linear, or compare counts of work", place, name)
				}
			})
		}
	})
	for place := range unused {
		t.Errorf("%s measures nothing any more: remove it from the list", place)
	}
}
