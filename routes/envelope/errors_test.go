package envelope

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"contactbase/api"
	"contactbase/internal/fault"
)

// declaredCodes reads the constants of type fault.Code from the source: the compiler has no list of them.
func declaredCodes(t *testing.T) (codes []fault.Code) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/fault/fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, fault.Code(code))
		}
		return false
	})
	return codes
}

var (
	guideRow  = regexp.MustCompile("(?m)^ +\\| ([0-9, ]+) \\| (`[a-z_`, ]+) \\|")
	guideCode = regexp.MustCompile("`([a-z_]+)`")
)

// guideStatuses reads the table of codes in the OpenAPI document. A row has a status for each of its codes, in
// order, or one for all.
func guideStatuses(t *testing.T, document string) map[fault.Code]int {
	t.Helper()
	listed := map[fault.Code]int{}
	for _, row := range guideRow.FindAllStringSubmatch(document, -1) {
		statuses := strings.Split(row[1], ", ")
		for i, code := range guideCode.FindAllStringSubmatch(row[2], -1) {
			status, err := strconv.Atoi(statuses[min(i, len(statuses)-1)])
			if err != nil {
				t.Fatal(err)
			}
			if listed[fault.Code(code[1])] != 0 {
				t.Errorf("the table of the description has %s twice", code[1])
			}
			listed[fault.Code(code[1])] = status
		}
	}
	return listed
}

// Each code has one status, which the OpenAPI document names, and the document names no other codes.
func TestEachCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	document := string(api.YAML())
	guide := guideStatuses(t, document)
	_, enum, _ := strings.Cut(document, "    ErrorCode:\n")
	enum, _, _ = strings.Cut(enum, "    FieldError:\n")
	codes := declaredCodes(t)
	for _, code := range codes {
		status := StatusOf(fault.New(code, ""))
		if _, known := statuses[code]; !known || http.StatusText(status) == "" {
			t.Errorf("%s has no status", code)
		}
		if guide[code] != status {
			t.Errorf("%s answers %d, the table of the description says %d", code, status, guide[code])
		}
		if strings.Count(enum, "        - "+string(code)+"\n") != 1 {
			t.Errorf("the schema ErrorCode does not list %s once", code)
		}
		if got := StatusOf(&fault.Error{Code: code, InBody: true}); got != http.StatusBadRequest {
			t.Errorf("%s about something in the body answers %d", code, got)
		}
	}
	if listed := strings.Count(enum, "        - "); len(codes) < 20 || listed != len(codes) || len(guide) != len(codes) || len(statuses) != len(codes) {
		t.Errorf("there are %d codes; the schema lists %d, the guide %d, the switch %d", len(codes), listed, len(guide), len(statuses))
	}
	for code := range statuses {
		if !slices.Contains(codes, code) {
			t.Errorf("%s is not a code", code)
		}
	}
}
