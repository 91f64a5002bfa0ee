package webhook

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// This file executes templates that the package text/template/parse has parsed. The package
// text/template itself is not used because it calls methods by name. If it were used, the linker
// would keep every exported method of every type in the binary, and these are 16 MB of 40
// (docs/dependencies.md). A template that this file executes cannot call methods. It uses only
// strings, numbers, lists and Values.

// A function is called with its evaluated arguments, at least one.
type function func(args []any) (any, error)

// generalFunctions are the functions that text/template also has, with the same names and meanings.
var generalFunctions = map[string]function{
	"not": unary(func(v any) (any, error) { return !isTrue(v), nil }),
	"len": unary(length),
	"index": func(args []any) (any, error) {
		for _, at := range args[1:] {
			list, isList := args[0].([]any)
			n, isInt := at.(int)
			if !isList || !isInt {
				return nil, fmt.Errorf(textIndexArguments, nameOf(args[0]), nameOf(at))
			}
			if n < 0 || n >= len(list) {
				return nil, fmt.Errorf(textIndexRange, n, len(list))
			}
			args[0] = list[n]
		}
		return args[0], nil
	},
	"print": func(args []any) (any, error) {
		return formatArguments(args, func(args []any) string { return fmt.Sprint(args...) })
	},
	"println": func(args []any) (any, error) {
		return formatArguments(args, func(args []any) string { return fmt.Sprintln(args...) })
	},
	"printf": func(args []any) (any, error) {
		form, ok := args[0].(string)
		if !ok {
			return nil, fmt.Errorf(textPrintfArgument, nameOf(args[0]))
		}
		return formatArguments(args[1:], func(args []any) string { return fmt.Sprintf(form, args...) })
	},
	"eq": func(args []any) (any, error) {
		if len(args) < 2 {
			return nil, errArguments
		}
		for _, other := range args[1:] {
			if n, err := compare(args[0], other); err != nil || n == 0 {
				return err == nil, err
			}
		}
		return false, nil
	},
	"ne": comparison(func(n int) bool { return n != 0 }),
	"lt": comparison(func(n int) bool { return n < 0 }),
	"le": comparison(func(n int) bool { return n <= 0 }),
	"gt": comparison(func(n int) bool { return n > 0 }),
	"ge": comparison(func(n int) bool { return n >= 0 }),
}

// lazyFunctions are the functions that may leave some of their arguments unevaluated.
var lazyFunctions = map[string]any{"and": true, "or": true}

var errArguments = errors.New(textArgumentCount)

func names(functions map[string]function) map[string]any {
	list := map[string]any{}
	for name := range functions {
		list[name] = true
	}
	return list
}

func unary(f func(any) (any, error)) function {
	return func(args []any) (any, error) {
		if len(args) != 1 {
			return nil, errArguments
		}
		return f(args[0])
	}
}

func binary[A, B any](f func(A, B) any) function {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, errArguments
		}
		a, isA := args[0].(A)
		b, isB := args[1].(B)
		if !isA || !isB {
			var wantA A
			var wantB B
			return nil, fmt.Errorf(textWantTypes, nameOf(wantA), nameOf(wantB), nameOf(args[0]), nameOf(args[1]))
		}
		return f(a, b), nil
	}
}

func comparison(is func(int) bool) function {
	return func(args []any) (any, error) {
		if len(args) != 2 {
			return nil, errArguments
		}
		n, err := compare(args[0], args[1])
		return is(n), err
	}
}

// compare compares two strings, two numbers or two booleans. It returns an error for a Value: for
// that, a template uses the function is.
func compare(a, b any) (int, error) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b), nil
		}
	case int:
		if b, ok := b.(int); ok {
			return a - b, nil
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, nil
		} else if ok {
			return 1, nil
		}
	}
	return 0, fmt.Errorf(textNotComparable, nameOf(a), nameOf(b))
}

func length(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return len(v), nil
	case []any:
		return len(v), nil
	}
	return nil, fmt.Errorf(textLenOf, nameOf(v))
}

// isTrue reports whether v is true as the condition of an if. The empty text, the empty list, zero
// and false are not.
func isTrue(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case Value:
		return v != ""
	case int:
		return v != 0
	case bool:
		return v
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// nameOf returns a name for the kind of the value v, for an error. It does not return the value
// itself, because the error is logged.
func nameOf(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case Value:
		return "a value"
	case int:
		return "a number"
	case bool:
		return typeBoolean
	case []any:
		return "a list"
	}
	return typeGroup
}

// checkPrintable returns an error if a template must not print v directly. A Value must go through
// an escaping function first.
func checkPrintable(v any) error {
	switch v.(type) {
	case string, int, bool:
		return nil
	case Value:
		return errUnescaped
	}
	return fmt.Errorf(textPrinted, nameOf(v))
}

func formatArguments(args []any, print func([]any) string) (any, error) {
	for _, v := range args {
		if err := checkPrintable(v); err != nil {
			return nil, err
		}
	}
	return print(args), nil
}

// maxDepth is the largest depth to which templates may call one another.
const maxDepth = 100

// An execution executes one template. A template that this template calls has an execution of its
// own.
type execution struct {
	out   io.Writer
	trees map[string]*parse.Tree
	vars  []variable
	depth int
}

type variable struct {
	name  string
	value any
}

// execute executes the template named root with data, and writes the output to out.
func execute(out io.Writer, trees map[string]*parse.Tree, data any) error {
	x := &execution{out: out, trees: trees, vars: []variable{{"$", data}}}
	return x.node(data, trees[root].Root)
}

// errBreak and errContinue end one iteration of a loop. Outside of a loop they are returned as the
// error of the template.
var errBreak, errContinue = errors.New(textBreakOutside), errors.New(textContinueOutside)

// node executes a node and its children. dot is the value of {{.}}.
func (x *execution) node(dot any, n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			if err := x.node(dot, child); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		_, err := x.out.Write(n.Text)
		return err
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		v, err := x.pipe(dot, n.Pipe)
		if err != nil || len(n.Pipe.Decl) > 0 {
			return err
		}
		if err := checkPrintable(v); err != nil {
			return err
		}
		_, err = fmt.Fprint(x.out, v)
		return err
	case *parse.IfNode:
		return x.branch(dot, &n.BranchNode, func(any) any { return dot })
	case *parse.WithNode:
		return x.branch(dot, &n.BranchNode, func(v any) any { return v })
	case *parse.RangeNode:
		return x.loop(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.TemplateNode:
		return x.call(dot, n)
	}
	return fmt.Errorf(textNotSupported, n)
}

// branch executes an if or a with: n.List if the condition is true, and otherwise n.ElseList. The
// function in returns the dot for n.List. Its argument is the value of the condition.
func (x *execution) branch(dot any, n *parse.BranchNode, in func(any) any) error {
	defer x.dropVariables(len(x.vars))
	v, err := x.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case isTrue(v):
		return x.node(in(v), n.List)
	case n.ElseList != nil:
		return x.node(dot, n.ElseList)
	}
	return nil
}

func (x *execution) loop(dot any, n *parse.RangeNode) error {
	defer x.dropVariables(len(x.vars))
	v, err := x.value(dot, n.Pipe)
	if err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf(textRangeOver, nameOf(v))
	}
	if len(list) == 0 && n.ElseList != nil {
		return x.node(dot, n.ElseList)
	}
	mark := len(x.vars)
	for i, v := range list {
		x.dropVariables(mark)
		switch decl := n.Pipe.Decl; {
		case n.Pipe.IsAssign:
			return errors.New(textRangeAssigns)
		case len(decl) == 1:
			x.vars = append(x.vars, variable{decl[0].Ident[0], v})
		case len(decl) == 2:
			x.vars = append(x.vars, variable{decl[0].Ident[0], i}, variable{decl[1].Ident[0], v})
		}
		switch err := x.node(v, n.List); {
		case errors.Is(err, errBreak):
			return nil
		case err != nil && !errors.Is(err, errContinue):
			return err
		}
	}
	return nil
}

// call executes another template of the template file.
func (x *execution) call(dot any, n *parse.TemplateNode) error {
	tree := x.trees[n.Name]
	if tree == nil {
		return fmt.Errorf(textNotDefined, n.Name)
	}
	if x.depth == maxDepth {
		return fmt.Errorf(textTooDeep, n.Name, maxDepth)
	}
	var data any
	if n.Pipe != nil {
		var err error
		if data, err = x.pipe(dot, n.Pipe); err != nil {
			return err
		}
	}
	inner := &execution{out: x.out, trees: x.trees, vars: []variable{{"$", data}}, depth: x.depth + 1}
	return inner.node(data, tree.Root)
}

func (x *execution) dropVariables(mark int) { x.vars = x.vars[:mark] }

// pipe evaluates a pipeline, and sets the variables that it declares or assigns.
func (x *execution) pipe(dot any, p *parse.PipeNode) (any, error) {
	v, err := x.value(dot, p)
	if err != nil {
		return nil, err
	}
	for _, decl := range p.Decl {
		if !p.IsAssign {
			x.vars = append(x.vars, variable{decl.Ident[0], v})
			continue
		}
		for i, known := range slices.Backward(x.vars) {
			if known.name == decl.Ident[0] {
				x.vars[i].value = v
				break
			}
		}
	}
	return v, nil
}

// value evaluates a pipeline. The value of each command becomes the last argument of the next
// command.
func (x *execution) value(dot any, p *parse.PipeNode) (v any, err error) {
	for i, c := range p.Cmds {
		last := []any{v}
		if i == 0 {
			last = nil
		}
		if v, err = x.command(dot, c, last); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (x *execution) command(dot any, c *parse.CommandNode, last []any) (any, error) {
	name, ok := c.Args[0].(*parse.IdentifierNode)
	if !ok {
		if len(c.Args) > 1 || len(last) > 0 {
			return nil, fmt.Errorf(textNotFunction, c.Args[0])
		}
		return x.argument(dot, c.Args[0])
	}
	if lazyFunctions[name.Ident] != nil {
		return x.decide(dot, name.Ident == "and", c.Args[1:], last)
	}
	var args []any
	for _, a := range c.Args[1:] {
		v, err := x.argument(dot, a)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	if args = append(args, last...); len(args) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errArguments)
	}
	f := escapeFunctions[name.Ident]
	if f == nil {
		f = generalFunctions[name.Ident]
	}
	v, err := f(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// decide evaluates the function and if the parameter and is true, and otherwise the function or. It
// returns the value of the first argument that decides the result, and otherwise the value of the
// last argument.
func (x *execution) decide(dot any, and bool, args []parse.Node, last []any) (v any, err error) {
	if len(args)+len(last) == 0 {
		return nil, errArguments
	}
	for _, a := range args {
		if v, err = x.argument(dot, a); err != nil || isTrue(v) != and {
			return v, err
		}
	}
	if len(last) > 0 {
		return last[0], nil
	}
	return v, nil
}

// argument evaluates one argument of a command.
func (x *execution) argument(dot any, n parse.Node) (any, error) {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		for _, v := range slices.Backward(x.vars) {
			if v.name == n.Ident[0] {
				return fields(v.value, n.Ident[1:])
			}
		}
	case *parse.PipeNode:
		return x.pipe(dot, n)
	case *parse.ChainNode:
		v, err := x.argument(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return fields(v, n.Field)
	case *parse.IdentifierNode:
		return x.command(dot, &parse.CommandNode{Args: []parse.Node{n}}, nil)
	case *parse.StringNode:
		return n.Text, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.NumberNode:
		if n.IsInt {
			return int(n.Int64), nil
		}
	}
	return nil, fmt.Errorf(textNotSupported, n)
}

// fields returns the field of v that path names. If path has several names, each further name is a
// field of the field before it.
func fields(v any, path []string) (any, error) {
	for _, name := range path {
		group, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf(textNoSuchField, nameOf(v), name)
		}
		if v, ok = group[name]; !ok {
			return nil, fmt.Errorf(textNoFieldWant, name, strings.Join(slices.Sorted(maps.Keys(group)), ", "))
		}
	}
	return v, nil
}
