package testenv_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "testdata", "dist"}, name)) {
			return filepath.SkipDir
		}
		path, err = filepath.Rel(root, path)
		path = filepath.ToSlash(path)
		if err != nil || !strings.HasSuffix(path, "_test.go") && !(strings.HasPrefix(path, "internal/test") && strings.HasSuffix(path, ".go")) {
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

// calls calls visit with each call of a function of a package, named as in "testenv.Long", and the function that makes the call.
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
