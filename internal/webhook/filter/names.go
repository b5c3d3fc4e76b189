package filter

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// Name is a name that a filter expects in events: a field of data or previous, a changed field, or a type that type
// is compared with.
type Name struct {
	Text   string // as people recognize it, for example data.company
	Name   string
	IsType bool
}

// Names returns the names in a valid filter, in their order, each text once.
func Names(text string) (found []Name) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil
	}
	ast.Walk(&tree.Node, (*names)(&found))
	return found
}

type names []Name

func (n *names) Visit(node *ast.Node) {
	switch found := (*node).(type) {
	case *ast.MemberNode:
		if of, _ := found.Node.(*ast.IdentifierNode); of != nil && (of.Value == "data" || of.Value == "previous") {
			n.add(of.Value+".%s", false, found.Property)
		}
	case *ast.BinaryNode:
		n.compared(found.Operator, found.Left, found.Right)
		n.compared(found.Operator, found.Right, found.Left)
	}
}

// compared adds the texts that the operator compares with type or changed.
func (n *names) compared(operator string, with, literal ast.Node) {
	variable, _ := with.(*ast.IdentifierNode)
	switch {
	case variable == nil:
	case variable.Value == "type" && slices.Contains([]string{"==", "!=", "in"}, operator):
		n.add("the type %q", true, literal)
	case variable.Value == "changed" && operator == "in":
		n.add("%q in changed", false, literal)
	}
}

// add adds a text, or each text of a list.
func (n *names) add(format string, isType bool, literal ast.Node) {
	switch literal := literal.(type) {
	case *ast.ArrayNode:
		for _, node := range literal.Nodes {
			n.add(format, isType, node)
		}
	case *ast.StringNode:
		name := Name{fmt.Sprintf(format, literal.Value), literal.Value, isType}
		if !slices.Contains(*n, name) {
			*n = append(*n, name)
		}
	}
}
