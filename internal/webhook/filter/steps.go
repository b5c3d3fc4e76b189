package filter

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// MaxSteps is how many steps all filters of a tenant may take for one event, some 20 ms.
const MaxSteps = 200_000

// ErrSteps is why a filter is not evaluated that takes more steps than that.
var ErrSteps = errors.New(
	"takes too many steps for an event of this size, so the webhook receives it: use fewer operations on long texts",
)

const (
	chunk      = 64    // bytes that a text operation handles in a step
	rangeSteps = 1_000 // of a filter with a range, whose elements maxMemory limits
)

// Steps returns how many steps an evaluation takes at most, each some 100 ns. The filter and the size of the event
// decide, not the clock, so that the same event always has the same recipients.
func (f *Filter) Steps(event *Event) int { return f.nodes + f.texts*(1+event.size/chunk) }

// weights are the steps of text operations for each chunk of text.
var weights = map[string]int{
	"+": 1, "contains": 1, "startsWith": 1, "endsWith": 1,
	"indexOf": 1, "len": 1, "in": 2, "<": 2, ">": 2, "<=": 2, ">=": 2,
	"lower": 8, "upper": 8, "trim": 4, "trimPrefix": 1, "trimSuffix": 1,
	"hasPrefix": 1, "hasSuffix": 1, "int": 2, "float": 2,
	"==": 8, "!=": 8, "string": 4,
}

// cost counts the nodes of a filter and what its operations on texts weigh.
type cost struct{ nodes, weight, sums int }

func (c *cost) add(node ast.Node) {
	c.nodes++
	switch n := node.(type) {
	case *ast.BinaryNode:
		switch n.Operator {
		case "..":
			c.nodes += rangeSteps
		case "+":
			c.sums++
		}
		if !fixed(n.Left) && !fixed(n.Right) || n.Operator == "+" ||
			n.Operator == "contains" || n.Operator == "in" && !fixed(n.Right) {
			c.weight += weights[n.Operator]
		}
	case *ast.BuiltinNode:
		c.weight += weights[n.Name]
	case *ast.SliceNode:
		c.weight++
	}
}

// texts returns the steps for each chunk: each sum can make the texts longer by an event.
func (c *cost) texts() int { return c.weight * (1 + c.sums) }

// fixed reports whether a node is a literal or a list of these: comparing it takes a step, however long the event is.
func fixed(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
		return true
	case *ast.ArrayNode:
		return !slices.ContainsFunc(n.Nodes, func(element ast.Node) bool { return !fixed(element) })
	}
	return false
}
