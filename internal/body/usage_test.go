package body

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// readers are the places that read the body of a request by themselves, with the reason.
var readers = map[string]string{
	"hooks/input.go":               "PocketBase's decoder reads what the reader has received",
	"routes/integrations/admin.go": "the bodies of a preview and of a stored request, which have arrived",
	"routes/bodies.go":             "replaces PocketBase's reader with ours",
	"internal/mcp/server.go":       "gives the SDK a message that the reader has received",
	"internal/demo/demo.go":        "another server: the receiver of the demo's deliveries, on this machine only",
}

// reading are methods that read the body of a request.
var reading = []string{
	"BindBody", "FormFile", "FormValue", "PostFormValue", "FindUploadedFiles", "MultipartReader", "ParseForm",
	"ParseMultipartForm",
}

// elsewhere are folders of programs and tests beside the server.
var elsewhere = []string{"bench", "e2e", "clients", "node_modules", "testkit", "reference"}

// requests are names of requests that a server has received.
var requests = []string{"Request", "request", "req", "r", "own"}

// All code reads bodies with this package, which counts them and gives up those that stall.
func TestAllCodeUsesTheReader(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (slices.Contains(elsewhere, path.Base(name)) || name == "internal/body") {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if selected, ok := node.(*ast.SelectorExpr); ok && readsBody(selected) {
				found[name] = append(found[name], files.Position(node.Pos()).String())
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if readers[name] == "" {
			t.Errorf("%v reads a body: use the package body, or give a reason here", found[name])
		}
	}
	for name := range readers {
		if found[name] == nil {
			t.Errorf("%s reads no body: remove its reason", name)
		}
	}
}

// readsBody reports whether an expression is a body of a request or a method that reads it.
func readsBody(selected *ast.SelectorExpr) bool {
	if selected.Sel.Name != "Body" {
		return slices.Contains(reading, selected.Sel.Name)
	}
	switch of := selected.X.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(requests, of.Sel.Name)
	case *ast.Ident:
		return slices.Contains(requests, of.Name)
	}
	return false
}
