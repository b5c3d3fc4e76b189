package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// A mutant is one change of a file.
type mutant struct {
	id      int
	at      token.Position
	change  string
	edits   []edit
	outcome outcome
}

// An edit replaces the bytes between from and to. order decides which comes first if several begin at the same byte.
type edit struct {
	from, to int
	text     string
	order    [3]int
}

// String returns a line for a report, which changes only if the file changes.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", filepath.Base(m.at.Filename), m.at.Line, m.at.Column, m.change)
}

// A finder finds the mutants of one file.
type finder struct {
	*source
	file *file
	id   *int
	skip map[ast.Node]bool // expressions that have to stay constant
}

func (f *finder) find(id *int) []*mutant {
	f.id, f.skip = id, map[ast.Node]bool{}
	ast.Inspect(f.file.syntax, func(n ast.Node) bool {
		if n == nil || f.skip[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType:
			f.skip[n.Len] = true
		case *ast.CompositeLit:
			f.keys(n)
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.Ident); ok && called.Name == "make" {
				return false // sizes and capacities
			}
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			f.condition(n.Cond)
		case *ast.SwitchStmt:
			f.cases(n)
		case *ast.ReturnStmt:
			f.results(n)
		}
		if e, ok := n.(ast.Expr); ok {
			return f.expression(e)
		}
		return true
	})
	return f.file.mutants
}

func (f *finder) results(n *ast.ReturnStmt) {
	for _, result := range n.Results {
		f.condition(result)
		if last := f.info.Types[n.Results[len(n.Results)-1]]; !last.IsNil() &&
			types.Implements(last.Type, errorType) && f.info.Types[result].Value != nil {
			f.skip[result] = true // a constant beside an error is not a result
		}
	}
}

func (f *finder) keys(n *ast.CompositeLit) {
	if _, isMap := f.info.TypeOf(n).Underlying().(*types.Map); isMap {
		return
	}
	for _, element := range n.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			f.skip[pair.Key] = true
		}
	}
}

func (f *finder) cases(n *ast.SwitchStmt) {
	for _, clause := range n.Body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if n.Tag == nil {
				f.condition(e)
			}
		}
	}
}

// expression adds the mutants of an operator or a constant, and reports whether to look inside.
func (f *finder) expression(e ast.Expr) bool {
	value, isValue := f.info.Types[e]
	if isValue && value.Value != nil {
		f.constant(e, value)
		return false
	}
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			f.condition(e.X)
		}
	case *ast.BinaryExpr:
		f.binary(e)
	}
	return true
}

func (f *finder) constant(e ast.Expr, value types.TypeAndValue) {
	basic, ok := value.Type.(*types.Basic)
	literal, _ := e.(*ast.BasicLit)
	switch {
	case !ok || basic.Info()&types.IsUntyped != 0 && basic.Kind() != types.UntypedBool ||
		literal != nil && literal.Kind == token.CHAR:
	case value.Value.Kind() == constant.Int && basic.Info()&types.IsInteger != 0:
		f.wrap(e, f.text(e)+" + 1", "mutantMore(%d, "+basic.Name()+"(", "))")
	case value.Value.Kind() == constant.Bool:
		f.wrap(e, "!"+f.text(e), "mutantNot(%d, ", ")")
	}
}

// condition adds the negation of a condition that is neither constant nor an operation: these have their own mutants.
func (f *finder) condition(e ast.Expr) {
	switch e.(type) {
	case nil, *ast.BinaryExpr, *ast.UnaryExpr, *ast.ParenExpr:
		return
	}
	value := f.info.Types[e]
	if basic, ok := value.Type.(*types.Basic); ok && value.Value == nil && basic.Info()&types.IsBoolean != 0 {
		f.wrap(e, "!"+f.text(e), "mutantNot(%d, ", ")")
	}
}

var shifted = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
}
var swapped = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
	token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
}

func (f *finder) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.EQL, token.NEQ:
		f.wrap(e, "!("+f.text(e)+")", "mutantNot(%d, ", ")")
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		f.wrap(e, "!("+f.text(e)+")", "mutantNot(%d, ", ")")
		f.instead(e, shifted[e.Op])
	case token.LAND, token.LOR:
		f.condition(e.X)
		f.condition(e.Y)
		f.instead(e, swapped[e.Op])
	case token.SHL, token.SHR:
		f.skip[e.Y] = true
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		basic, ok := f.info.TypeOf(e).Underlying().(*types.Basic)
		if !ok || basic.Info()&types.IsNumeric == 0 {
			return
		}
		call := fmt.Sprintf("mutantCalculate(%%d, '%s', '%s', ", e.Op, swapped[e.Op])
		if e.Op == token.REM {
			call = "mutantRemainder(%d, "
		}
		f.wrap(e, f.replaced(e, swapped[e.Op]), call, ")",
			edit{from: f.offset(e.OpPos), to: f.offset(e.OpPos) + 1, text: ","})
	}
}

// instead adds a mutant with another operator between two conditions or compared values.
func (f *finder) instead(e *ast.BinaryExpr, operator token.Token) {
	mutated := f.replaced(e, operator)
	f.wrap(e, mutated, "(mutantIs(%[1]d) && ("+strings.ReplaceAll(mutated, "%", "%%")+") || !mutantIs(%[1]d) && (", "))")
}

// replaced returns the text of an operation with another operator.
func (f *finder) replaced(e *ast.BinaryExpr, operator token.Token) string {
	return string(f.file.content[f.offset(e.Pos()):f.offset(e.OpPos)]) + operator.String() +
		string(f.file.content[f.offset(e.OpPos)+len(e.Op.String()):f.offset(e.End())])
}

// statements adds mutants that leave out a statement, or an error that is returned.
func (f *finder) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && !f.harmless(call) {
				f.remove(s)
			}
		case *ast.IncDecStmt:
			f.remove(s)
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			f.remove(s)
			if operator, ok := swapped[s.Tok]; ok {
				mutated := f.text(s.Lhs[0]) + " " + operator.String() + " " + f.text(s.Rhs[0])
				f.wrap(s, mutated, "if mutantIs(%d) { "+strings.ReplaceAll(mutated, "%", "%%")+" } else { ", " }")
			}
		case *ast.ReturnStmt:
			f.returned(s)
		}
	}
}

func (f *finder) remove(s ast.Stmt) {
	f.wrap(s, "(removed) "+f.text(s), "if !mutantIs(%d) { ", " }")
}

// harmless reports whether a call ends the function or writes to the log: neither needs a test.
func (f *finder) harmless(call *ast.CallExpr) bool {
	switch called := call.Fun.(type) {
	case *ast.Ident:
		return called.Name == "panic"
	case *ast.SelectorExpr:
		selection := f.info.Selections[called]
		return selection != nil && strings.TrimPrefix(selection.Recv().String(), "*") == "log/slog.Logger"
	}
	return false
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// returned adds a mutant without the error, if a statement returns one as its last result.
func (f *finder) returned(s *ast.ReturnStmt) {
	if len(s.Results) == 0 {
		return
	}
	last := s.Results[len(s.Results)-1]
	value := f.info.Types[last]
	if results, ok := value.Type.(*types.Tuple); ok { // return f()
		if types.Implements(results.At(results.Len()-1).Type(), errorType) {
			var names strings.Builder
			for i := range results.Len() - 1 {
				fmt.Fprintf(&names, "result%d, ", i)
			}
			f.wrap(s, f.text(s)+" without its error", "if mutantIs(%d) { "+names.String()+"_ := "+
				escaped(f.text(last))+"; return "+names.String()+"nil }; ", "")
		}
		return
	}
	if !value.IsNil() && types.Implements(value.Type, errorType) {
		others := string(f.file.content[f.offset(s.Pos()):f.offset(last.Pos())])
		f.wrap(s, f.text(s)+" without its error",
			"if mutantIs(%d) { _ = "+escaped(f.text(last))+"; "+escaped(others)+"nil }; ", "")
	}
}

func escaped(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// wrap adds a mutant that puts texts around a node, with the id of the mutant in the first text, and makes
// further edits inside.
func (f *finder) wrap(n ast.Node, change, before, after string, inside ...edit) {
	*f.id++
	from, to := f.offset(n.Pos()), f.offset(n.End())
	size := to - from
	f.file.mutants = append(f.file.mutants, &mutant{
		id: *f.id, at: f.fset.Position(n.Pos()), change: short(change),
		edits: append(inside,
			edit{from: from, to: from, text: fmt.Sprintf(before, *f.id), order: [3]int{1, -size, *f.id}},
			edit{from: to, to: to, text: after, order: [3]int{-1, size, -*f.id}}),
	})
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) text(n ast.Node) string {
	return string(f.file.content[f.offset(n.Pos()):f.offset(n.End())])
}

// short puts a change on one line of the report.
func short(change string) string {
	line := []rune(strings.Join(strings.Fields(change), " "))
	if len(line) > 140 {
		line = append(line[:140], '…')
	}
	return string(line)
}
