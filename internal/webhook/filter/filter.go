// Package filter evaluates the filters of webhooks: boolean expressions over an event, in the syntax of expr-lang.
package filter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

const (
	// MaxLength is the longest filter in characters.
	MaxLength = 1_000

	maxNodes  = 200
	maxMemory = 10_000 // elements that an evaluation may allocate
)

// Event is what filters see of an event.
type Event struct {
	Type     string         `expr:"type" json:"type"`
	Data     map[string]any `expr:"data" json:"data"`
	Previous map[string]any `expr:"previous" json:"previous"` // the old values of changed fields
	Changed  []string       `expr:"changed" json:"-"`         // their names
	Source   Source         `expr:"source" json:"source"`

	size int // of the payload in bytes
}

// Source is what filters see of an event's source. It is the zero value if the event has none.
type Source struct {
	Type  string `expr:"type" json:"type"`
	ID    string `expr:"id" json:"id"`
	Merge bool   `expr:"merge" json:"merge"`
}

// Parse reads an event's payload.
func Parse(payload []byte) (*Event, error) {
	var event Event
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	event.size = len(payload)
	event.Changed = slices.Sorted(maps.Keys(event.Previous))
	return &event, nil
}

// builtins are the functions that a filter may call. With them, the time and memory of an evaluation are proportional
// to the filter and the event; see costly.
var builtins = []string{
	"len", "lower", "upper", "trim", "trimPrefix", "trimSuffix",
	"hasPrefix", "hasSuffix", "indexOf", "int", "float", "string", "abs",
}

// Filter is a compiled filter.
type Filter struct {
	program      *vm.Program
	nodes, texts int // see Steps
}

// Compile compiles a filter. The error is one line for the person who wrote it, with the position.
func Compile(text string) (*Filter, error) {
	tree, err := parser.Parse(text)
	if err != nil {
		return nil, errors.New(Describe(err))
	}
	var found costly
	ast.Walk(&tree.Node, &found)
	if found.what != "" {
		return nil, errors.New(Describe((&file.Error{Location: found.at, Message: found.what}).Bind(file.NewSource(text))))
	}
	options := []expr.Option{
		expr.Env(Event{}), expr.AsBool(), expr.WarnOnAny(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins(),
	}
	for _, name := range builtins {
		options = append(options, expr.EnableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if err != nil {
		return nil, errors.New(Describe(err))
	}
	return &Filter{program: program, nodes: found.cost.nodes, texts: found.cost.texts()}, nil
}

// costly finds expressions whose cost the sizes of filter and event do not bound: loops, regular expressions, and
// variables, with which a short filter doubles a text again and again. expr-lang has no time limit. costly also
// counts the cost of the rest.
type costly struct {
	what string
	at   file.Location
	cost cost
}

func (c *costly) Visit(node *ast.Node) {
	if c.what != "" {
		return
	}
	c.cost.add(*node)
	switch n := (*node).(type) {
	case *ast.VariableDeclaratorNode:
		c.what = "a filter cannot declare variables"
	case *ast.BinaryNode:
		if n.Operator == "matches" {
			c.what = "a filter cannot use matches: use contains, startsWith or endsWith"
		}
	case *ast.BuiltinNode:
		if slices.ContainsFunc(n.Arguments, func(argument ast.Node) bool {
			_, loops := argument.(*ast.PredicateNode)
			return loops
		}) {
			c.what = "a filter cannot use the function " + n.Name
		}
	}
	c.at = (*node).Location()
}

// Describe returns an error of expr-lang as one line with the position.
func Describe(err error) string {
	var fault *file.Error
	if strings.HasPrefix(err.Error(), "expected bool") { // expr-lang has no type for this error
		return "must be true or false: compare values, for example data.vip == true"
	}
	if errors.As(err, &fault) && fault.Line > 0 {
		message := strings.Replace(fault.Message, `unexpected token Operator("=")`, "use == to compare", 1)
		return fmt.Sprintf("line %d, column %d: %s", fault.Line, fault.Column+1, message)
	}
	return err.Error()
}

// Match reports whether the event passes the filter. An event passes if the evaluation fails or would take more than
// MaxSteps: an event is never lost by the fault of a filter.
func (f *Filter) Match(event *Event) (matches bool, err error) {
	if f.Steps(event) > MaxSteps {
		return true, ErrSteps
	}
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err := machine.Run(f.program, *event)
	if err != nil {
		return true, err
	}
	matches, isBool := result.(bool)
	return matches || !isBool, nil
}
