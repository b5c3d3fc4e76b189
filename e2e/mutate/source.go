package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// A source is a package with its types.
type source struct {
	dir, name string
	fset      *token.FileSet
	files     []*file
	info      types.Info
	importer  types.Importer
}

type file struct {
	name    string
	content []byte
	syntax  *ast.File
	mutants []*mutant
}

// load reads and checks the package at path, without its tests.
func load(ctx context.Context, dir, path string) (*source, error) {
	// the helper needs these two
	out, err := command(ctx, dir, "list", "-export", "-deps",
		"-json=ImportPath,Export,Dir,Name,GoFiles", "os", "strconv", path)
	if err != nil {
		return nil, err
	}
	var listed struct {
		ImportPath, Export, Dir, Name string
		GoFiles                       []string
	}
	exports := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for decoder.More() { // the package itself comes last
		listed.GoFiles = nil
		if err := decoder.Decode(&listed); err != nil {
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
	}
	s := &source{dir: listed.Dir, name: listed.Name, fset: token.NewFileSet()}
	s.importer = importer.ForCompiler(s.fset,
		"gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range listed.GoFiles {
		f := &file{name: filepath.Join(s.dir, name)}
		if f.content, err = os.ReadFile(f.name); err != nil {
			return nil, err
		}
		if f.syntax, err = parser.ParseFile(s.fset, f.name, f.content, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	s.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{Importer: s.importer}
	syntax := make([]*ast.File, len(s.files))
	for i, f := range s.files {
		syntax[i] = f.syntax
	}
	_, err = config.Check(listed.ImportPath, s.fset, syntax, &s.info)
	return s, err
}

// mutate returns the mutants of all files that compile together.
func (s *source) mutate() []*mutant {
	id := 0
	for _, f := range s.files {
		f.mutants = (&finder{source: s, file: f}).find(&id)
	}
	for s.dropInvalid() {
	}
	var all []*mutant
	for _, f := range s.files {
		all = append(all, f.mutants...)
	}
	slices.SortStableFunc(all, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), a.at.Offset-b.at.Offset)
	})
	return all
}

var callOfHelper = regexp.MustCompile(`mutant[A-Z]\w*\((\d+)`)

// dropInvalid removes mutants that do not compile, and reports whether any did not. An error belongs to the last
// mutant that begins before it.
func (s *source) dropInvalid() (dropped bool) {
	fset := token.NewFileSet()
	var syntax []*ast.File
	texts := map[string][]byte{}
	invalid := map[string]bool{}
	drop := func(at token.Position) {
		last := ""
		for _, call := range callOfHelper.FindAllSubmatchIndex(texts[at.Filename], -1) {
			if call[0] <= at.Offset+1 { // 1 for a parenthesis
				last = string(texts[at.Filename][call[2]:call[3]])
			}
		}
		if last == "" {
			panic(fmt.Sprintf("%s: mutants broke the file, but none begins before it", at))
		}
		invalid[last] = true
	}
	for _, f := range s.files {
		texts[f.name] = f.mutated()
		parsed, err := parser.ParseFile(fset, f.name, texts[f.name], parser.SkipObjectResolution)
		if err != nil {
			panic(err) // an edit that does not nest
		}
		syntax = append(syntax, parsed)
	}
	helper, err := parser.ParseFile(fset, helperFile, s.helper(), 0)
	if err != nil {
		panic(err)
	}
	config := types.Config{Importer: s.importer, Error: func(err error) {
		if e := (types.Error{}); errors.As(err, &e) {
			drop(e.Fset.Position(e.Pos))
		}
	}}
	_, _ = config.Check(s.name, fset, append(syntax, helper), nil)
	for _, f := range s.files {
		f.mutants = slices.DeleteFunc(f.mutants, func(m *mutant) bool { return invalid[strconv.Itoa(m.id)] })
	}
	return len(invalid) > 0
}

// mutated returns the file with all its mutants.
func (f *file) mutated() []byte {
	var edits []edit
	for _, m := range f.mutants {
		edits = append(edits, m.edits...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, slices.Compare(a.order[:], b.order[:])) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(f.content[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(f.content[at:])
	return out.Bytes()
}

const helperFile = "mutants_of_the_package.go"

// helper returns the file that decides at run time which mutant is on, and notes those that are reached.
func (s *source) helper() []byte {
	return fmt.Appendf(nil, `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))
var mutantsReached = map[int]bool{}
var mutantsLock = make(chan struct{}, 1)
var mutantsNoted, _ = os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_APPEND|os.O_WRONLY, 0)

func mutantIs(n int) bool {
	if mutantsNoted != nil {
		mutantNote(n)
	}
	return n == mutantOn
}

func mutantNote(n int) {
	mutantsLock <- struct{}{}
	defer func() { <-mutantsLock }()
	if !mutantsReached[n] {
		mutantsReached[n] = true
		mutantsNoted.WriteString(strconv.Itoa(n) + "\n")
	}
}

func mutantNot(n int, v bool) bool { return v != mutantIs(n) }

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func mutantMore[T mutantInteger](n int, v T) T {
	if mutantIs(n) {
		return v + 1
	}
	return v
}

func mutantRemainder[T mutantInteger](n int, a, b T) T {
	if mutantIs(n) {
		return a * b
	}
	return a %% b
}

func mutantCalculate[T mutantInteger | ~float32 | ~float64](n int, operator, mutated rune, a, b T) T {
	if mutantIs(n) {
		operator = mutated
	}
	switch operator {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	}
	return a / b
}
`, s.name)
}
