package order

import (
	"cmp"
	"fmt"
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

	"github.com/pocketbase/pocketbase/apis"
)

const root = "../.."

// events are the hooks whose handlers without a priority belong to the phase 0 of a list.
var events = map[string]string{"OnBootstrap": "Opened", "OnServe": "Serving"}

// TestOrder compares the page of the order with the phases here and the packages that bind handlers to them.
func TestOrder(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := tables(t, bound(t)); !strings.Contains(string(page), want) {
		t.Errorf("docs/architecture.md differs from the phases and what is bound to them. It needs:\n%s", want)
	}
}

// TestPocketBase compares the lists with the priorities of PocketBase's own handlers.
func TestPocketBase(t *testing.T) {
	t.Parallel()
	const shutsDown, writesLog = -9999, -999 // apis.Serve and core.BaseApp, at OnTerminate
	for name, list := range map[string][]int{
		"open":  {DirectoryLocked, DirectoryBackedUp, Opened},
		"start": {SocketInherited, StartAwaited, LogPrinted, ReplicaStarts, Serving, PublicFiles, DeclarationsEnd},
		"request": {
			apis.DefaultCorsMiddlewarePriority, apis.DefaultActivityLoggerMiddlewarePriority,
			RequestsObserved, RequestsBegun, apis.DefaultPanicRecoverMiddlewarePriority,
			apis.DefaultLoadAuthTokenMiddlewarePriority, AccountKnown,
			apis.DefaultSuperuserIPsWhitelistMiddlewarePriority, SignInsCounted, AddressesMasked,
			apis.DefaultRateLimitMiddlewarePriority, AddressesRestored,
			PocketBaseServed, apis.DefaultBodyLimitMiddlewarePriority,
		},
		"backup": {BackupNoticed, BackupCounted, 0, BackupReplaced},
		"stop": {
			StopAnnounced, LocksReleased, ReplicaEnds, WaitsEnd, SocketHandedOver, RestoreEnds, RequestsEnd,
			shutsDown, WorkersEnd, writesLog,
		},
	} {
		for i := range list[1:] {
			if list[i] >= list[i+1] {
				t.Errorf("%s: number %d and the next are not in order: %v", name, i, list)
			}
		}
	}
}

// bound returns the packages that bind handlers to each phase. A handler with a priority must name a phase.
func bound(t *testing.T) map[string]map[string]bool {
	t.Helper()
	users := map[string]map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"bench", "e2e", "examples", "node_modules", "testkit", "order"}, entry.Name()) {
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
			phase, ok := phaseOf(node)
			if !ok {
				t.Errorf("%s: a handler's priority is %s: name a phase of internal/order", files.Position(node.Pos()), phase)
			} else if phase != "" {
				if users[phase] == nil {
					users[phase] = map[string]bool{}
				}
				users[phase][path.Dir(name)] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// phaseOf returns the phase that a part of the source binds to or names, "" for none. It is not ok for a handler with
// another priority.
func phaseOf(node ast.Node) (phase string, ok bool) {
	switch n := node.(type) {
	case *ast.SelectorExpr:
		if of, isName := n.X.(*ast.Ident); isName && of.Name == "order" && n.Sel.Name != "OnStop" {
			return n.Sel.Name, true
		}
	case *ast.CallExpr:
		if method, isMethod := n.Fun.(*ast.SelectorExpr); isMethod && method.Sel.Name == "BindFunc" {
			return events[hookOf(method.X)], true
		}
		if method, isMethod := n.Fun.(*ast.SelectorExpr); isMethod && method.Sel.Name == "Bind" && len(n.Args) == 1 {
			if event := events[hookOf(method.X)]; event != "" && !strings.Contains(fields(n.Args[0]), " Priority ") {
				return event, true
			}
		}
	case *ast.KeyValueExpr:
		key, isName := n.Key.(*ast.Ident)
		if _, isText := n.Value.(*ast.BasicLit); !isName || key.Name != "Priority" || isText && n.Value.(*ast.BasicLit).Kind == token.STRING {
			return "", true
		}
		value, isNamed := n.Value.(*ast.SelectorExpr)
		if !isNamed {
			return fmt.Sprintf("%T", n.Value), false
		}
		of, isName := value.X.(*ast.Ident)
		return "", isName && of.Name == "order"
	}
	return "", true
}

// hookOf returns the name of the method that returns a hook, such as OnServe.
func hookOf(expression ast.Expr) string {
	call, isCall := expression.(*ast.CallExpr)
	if !isCall {
		return ""
	}
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return ""
	}
	return method.Sel.Name
}

// fields returns the names of the fields that a literal sets.
func fields(expression ast.Expr) string {
	var names strings.Builder
	if address, isAddress := expression.(*ast.UnaryExpr); isAddress {
		expression = address.X
	}
	if literal, isLiteral := expression.(*ast.CompositeLit); isLiteral {
		for _, element := range literal.Elts {
			fmt.Fprintf(&names, " %s ", element.(*ast.KeyValueExpr).Key)
		}
	}
	return names.String()
}

// tables renders the phases in their order, with their comments and the packages that bind to them.
func tables(t *testing.T, users map[string]map[string]bool) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "order.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, declaration := range file.Decls {
		list, isList := declaration.(*ast.GenDecl)
		if !isList || list.Tok != token.CONST {
			continue
		}
		heading, about, _ := strings.Cut(joined(list.Doc), ": ")
		fmt.Fprintf(&text, "\n**%s**: %s\n\n| phase | what happens | bound by |\n|---|---|---|\n", heading, about)
		for _, spec := range list.Specs {
			name := spec.(*ast.ValueSpec).Names[0].Name
			by := slices.Sorted(maps.Keys(users[name]))
			if len(by) == 0 {
				t.Errorf("no handler is bound to %s", name)
			}
			sentence := strings.TrimPrefix(joined(spec.(*ast.ValueSpec).Doc), name+" ")
			fmt.Fprintf(&text, "| `%s` | %s | %s |\n", name, sentence, "`"+strings.Join(by, "`, `")+"`")
		}
	}
	return text.String()
}

func joined(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(cmp.Or(comment, &ast.CommentGroup{}).Text()), " ")
}
