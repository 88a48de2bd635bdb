// Package expand expands the templates in labels and annotations of alerting rules: the language of text/template, with the functions of
// Prometheus.
//
//	text, err := expand.Expand(ctx, "__alert_Load", `{{ $labels.instance }}: {{ $value | humanize }}`, data, at, query)
//
// Output and errors are those of Prometheus. Package text/template itself looks up methods by names that the linker does not know, so that
// a program with it keeps every exported method of every type that reflection may reach. This package uses only its parser. Of the values
// of a template, times and durations have methods, which are in a table.
//
// A text is not trusted: steps, nesting, output and the sizes of values are limited, and a text that exceeds a limit ends with an error.
package expand

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
)

// Limits of one expansion.
const (
	MaxOutput  = 1 << 20  // bytes of the result
	maxValue   = 1 << 18  // bytes of a value that a function returns
	maxWork    = 16 << 20 // bytes that functions read
	maxSteps   = 1_000_000
	maxDepth   = 10_000  // nested nodes, with those of templates that invoke each other
	maxPattern = 4 << 10 // bytes of a regular expression
	maxProgram = 10_000  // instructions of a regular expression
)

// Errors for texts that exceed a limit.
var (
	errSteps   = fmt.Errorf("more than %d steps", maxSteps)
	errDepth   = fmt.Errorf("exceeded maximum template depth (%v)", maxDepth)
	errOutput  = fmt.Errorf("more than %d bytes of output", MaxOutput)
	errWork    = fmt.Errorf("functions read more than %d bytes", maxWork)
	errValue   = fmt.Errorf("a value has more than %d bytes", maxValue)
	errPattern = fmt.Errorf("a regular expression has more than %d bytes or %d instructions", maxPattern, maxProgram)
)

// Data is what the dot of an alert's template is.
type Data = struct {
	Labels         map[string]string
	ExternalLabels map[string]string
	ExternalURL    string
	Value          any
}

// A QueryFunc evaluates an expression at a time.
type QueryFunc func(ctx context.Context, expr string, at time.Time) (promql.Vector, error)

// variables begin each text, as in Prometheus.
const variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"

// Check returns an error if a text cannot be parsed. The name is that of the template in errors.
func Check(name, text string) error {
	_, err := parsed(name, text)
	return err
}

func parsed(name, text string) (map[string]*parse.Tree, error) {
	return parse.Parse(name, variables+text, "", "", functionNames())
}

// Expand expands a text. The name is that of the template in errors.
func Expand(ctx context.Context, name, text string, data Data, at time.Time, query QueryFunc) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			out = ""
			switch r := r.(type) {
			case failure:
				err = fmt.Errorf("error executing template %v: %w", name, r.err)
			case error:
				err = r
			default:
				err = fmt.Errorf("panic expanding template %v: %v", name, r)
			}
		}
	}()
	trees, err := parsed(name, text)
	if err != nil {
		return "", fmt.Errorf("error parsing template %v: %w", name, err)
	}
	run := &run{ctx: ctx, trees: trees, at: model.Time(at.UnixMilli()), query: query}
	run.funcs = run.functions()
	dot := reflect.ValueOf(data)
	f := &frame{run: run, tree: trees[name], vars: []variable{{"$", dot}}}
	f.walk(dot, f.tree.Root)
	return run.out.String(), nil
}

// A failure is a panic with the error of an expansion.
type failure struct{ err error }

// A run is an expansion.
type run struct {
	ctx   context.Context
	trees map[string]*parse.Tree
	funcs map[string]reflect.Value // those of Prometheus
	at    model.Time
	query QueryFunc

	out                strings.Builder
	steps, work, depth int
}

// A frame is a template that is executed.
type frame struct {
	*run
	tree *parse.Tree
	node parse.Node // the current one, for errors
	vars []variable
}

type variable struct {
	name  string
	value reflect.Value
}

// fail ends the expansion with an error at the current node.
func (f *frame) fail(format string, args ...any) {
	location, context := f.tree.ErrorContext(f.node)
	panic(failure{fmt.Errorf("template: %s: executing %q at <%s>: %w", location, f.tree.Name, context, fmt.Errorf(format, args...))})
}

// step counts a step.
func (f *frame) step() {
	if f.steps++; f.steps > maxSteps {
		f.fail("%w", errSteps)
	}
	if err := f.ctx.Err(); err != nil {
		f.fail("%w", err)
	}
}

// charge counts bytes that a function reads. It returns an error if they are too many.
func (r *run) charge(n int) error {
	if n > maxWork-r.work {
		return errWork
	}
	r.work += n
	return nil
}

// pay is charge, but it ends the expansion.
func (f *frame) pay(n int) {
	if err := f.charge(n); err != nil {
		f.fail("%w", err)
	}
}

func (f *frame) set(name string, value reflect.Value) {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			f.vars[i].value = value
			return
		}
	}
	f.fail("undefined variable: %s", name)
}

func (f *frame) get(name string) reflect.Value {
	for i := len(f.vars) - 1; i >= 0; i-- {
		if f.vars[i].name == name {
			return f.vars[i].value
		}
	}
	f.fail("undefined variable: %s", name)
	return reflect.Value{}
}

// write appends to the output.
func (f *frame) write(text string) {
	if len(text) > MaxOutput-f.out.Len() {
		f.fail("%w", errOutput)
	}
	f.out.WriteString(text)
}

// A flow is how a node ended.
type flow int

const (
	next flow = iota
	leave
	again
)

// walk executes a node.
func (f *frame) walk(dot reflect.Value, node parse.Node) flow {
	f.node = node
	f.step()
	if f.depth == maxDepth {
		f.fail("%w", errDepth)
	}
	f.depth++
	end := f.execute(dot, node)
	f.depth--
	return end
}

func (f *frame) execute(dot reflect.Value, node parse.Node) flow {
	switch node := node.(type) {
	case *parse.ListNode:
		for _, n := range node.Nodes {
			if end := f.walk(dot, n); end != next {
				return end
			}
		}
	case *parse.TextNode:
		f.write(string(node.Text))
	case *parse.ActionNode:
		if v := f.pipeline(dot, node.Pipe); len(node.Pipe.Decl) == 0 {
			f.print(node, v)
		}
	case *parse.CommentNode:
	case *parse.IfNode:
		return f.branch(dot, &node.BranchNode, false)
	case *parse.WithNode:
		return f.branch(dot, &node.BranchNode, true)
	case *parse.RangeNode:
		return f.loop(dot, node)
	case *parse.BreakNode:
		return leave
	case *parse.ContinueNode:
		return again
	case *parse.TemplateNode:
		f.invoke(dot, node)
	default:
		f.fail("unknown node: %s", node)
	}
	return next
}

func (f *frame) branch(dot reflect.Value, b *parse.BranchNode, with bool) (end flow) {
	mark := len(f.vars)
	v := f.pipeline(dot, b.Pipe)
	switch yes := truth(v); {
	case yes && with:
		end = f.walk(v, b.List)
	case yes:
		end = f.walk(dot, b.List)
	case b.ElseList != nil:
		end = f.walk(dot, b.ElseList)
	}
	f.vars = f.vars[:mark]
	return end
}

func (f *frame) invoke(dot reflect.Value, node *parse.TemplateNode) {
	tree := f.trees[node.Name]
	if tree == nil {
		f.fail("template %q not defined", node.Name)
	}
	dot = f.pipeline(dot, node.Pipe)
	(&frame{run: f.run, tree: tree, vars: []variable{{"$", dot}}}).walk(dot, tree.Root)
}

// loop executes a range.
func (f *frame) loop(dot reflect.Value, node *parse.RangeNode) flow {
	outer := len(f.vars)
	defer func() { f.vars = f.vars[:outer] }()
	v, _ := indirect(f.pipeline(dot, node.Pipe))
	inner := len(f.vars)
	decl := node.Pipe.Decl
	turn := func(key, elem reflect.Value) bool {
		f.node = node
		f.step()
		switch {
		case len(decl) == 0:
		case node.Pipe.IsAssign && len(decl) > 1:
			f.set(decl[0].Ident[0], key)
			f.set(decl[1].Ident[0], elem)
		case node.Pipe.IsAssign:
			f.set(decl[0].Ident[0], elem)
		default:
			f.vars[inner-1].value = elem
			if len(decl) > 1 {
				f.vars[inner-2].value = key
			}
		}
		end := f.walk(elem, node.List)
		f.vars = f.vars[:inner]
		return end != leave
	}
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Int, reflect.Int64, reflect.Uint8:
		if len(decl) > 1 {
			f.fail("can't use %v to iterate over more than one variable", v)
		}
		n := integer(v)
		if n <= 0 {
			break
		}
		for i := range n {
			if !turn(reflect.Value{}, reflect.ValueOf(i).Convert(v.Type())) {
				break
			}
		}
		return next
	case reflect.Slice:
		if v.Len() == 0 {
			break
		}
		for i := 0; i < v.Len() && turn(reflect.ValueOf(i), v.Index(i)); i++ {
		}
		return next
	case reflect.Map:
		if v.Len() == 0 {
			break
		}
		f.pay(v.Len())
		for _, key := range sortedKeys(v) {
			if !turn(key, v.MapIndex(key)) {
				break
			}
		}
		return next
	default:
		f.fail("range can't iterate over %v", v)
	}
	if node.ElseList != nil {
		return f.walk(dot, node.ElseList)
	}
	return next
}

func (f *frame) print(n parse.Node, v reflect.Value) {
	f.node = n
	x := printable(v)
	f.pay(size(reflect.ValueOf(x), maxWork))
	f.write(fmt.Sprint(x))
}

// pipeline evaluates a pipeline and sets its variables.
func (f *frame) pipeline(dot reflect.Value, pipe *parse.PipeNode) (v reflect.Value) {
	if pipe == nil {
		return v
	}
	f.node = pipe
	v = missing()
	for _, c := range pipe.Cmds {
		if v = f.command(dot, c, v); v.Kind() == reflect.Interface && v.NumMethod() == 0 {
			v = v.Elem()
		}
	}
	for _, x := range pipe.Decl {
		if pipe.IsAssign {
			f.set(x.Ident[0], v)
		} else {
			f.vars = append(f.vars, variable{x.Ident[0], v})
		}
	}
	return v
}

// missing is the last argument of a command if no value is piped into it.
func missing() reflect.Value { return reflect.ValueOf(none{}) }

type none struct{}

func isMissing(v reflect.Value) bool { return v.IsValid() && v.Type() == reflect.TypeFor[none]() }

// alone fails if a command that is not a function has arguments.
func (f *frame) alone(args []parse.Node, last reflect.Value) {
	if len(args) > 1 || !isMissing(last) {
		f.fail("can't give argument to non-function %s", args[0])
	}
}

// command evaluates a command, whose last argument is the value that is piped into it.
func (f *frame) command(dot reflect.Value, c *parse.CommandNode, last reflect.Value) reflect.Value {
	f.step()
	first := c.Args[0]
	if p, ok := first.(*parse.PipeNode); ok {
		f.alone(c.Args, last)
		return f.pipeline(dot, p)
	}
	f.node = first
	switch n := first.(type) {
	case *parse.FieldNode:
		return f.fields(dot, dot, n, n.Ident, c.Args, last)
	case *parse.ChainNode:
		return f.chain(dot, n, c.Args, last)
	case *parse.VariableNode:
		return f.variable(dot, n, c.Args, last)
	case *parse.IdentifierNode:
		return f.function(dot, n, c, c.Args, last)
	}
	f.alone(c.Args, last)
	switch first.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		f.fail("nil is not a command")
	}
	if v, ok := f.constant(first); ok {
		return v
	}
	f.fail("can't evaluate command %q", first)
	return reflect.Value{}
}

// constant returns the value of a constant, if a node is one.
func (f *frame) constant(n parse.Node) (reflect.Value, bool) {
	switch n := n.(type) {
	case *parse.BoolNode:
		return reflect.ValueOf(n.True), true
	case *parse.StringNode:
		return reflect.ValueOf(n.Text), true
	case *parse.NumberNode:
		f.node = n
		text := strings.ToLower(n.Text)
		hex := len(text) > 2 && strings.HasPrefix(text, "0x") && !strings.Contains(text, "p")
		switch {
		case n.IsComplex:
			return reflect.ValueOf(n.Complex128), true
		case n.IsFloat && !hex && text[0] != '\'' && strings.ContainsAny(text, ".ep"):
			return reflect.ValueOf(n.Float64), true
		case n.IsInt && int64(int(n.Int64)) == n.Int64:
			return reflect.ValueOf(int(n.Int64)), true
		case n.IsInt, n.IsUint:
			f.fail("%s overflows int", n.Text)
		}
		return reflect.Value{}, true
	}
	return reflect.Value{}, false
}

func (f *frame) chain(dot reflect.Value, n *parse.ChainNode, args []parse.Node, last reflect.Value) reflect.Value {
	f.node = n
	if n.Node.Type() == parse.NodeNil {
		f.fail("indirection through explicit nil in %s", n)
	}
	return f.fields(dot, f.argument(dot, nil, n.Node), n, n.Field, args, last)
}

func (f *frame) variable(dot reflect.Value, n *parse.VariableNode, args []parse.Node, last reflect.Value) reflect.Value {
	f.node = n
	v := f.get(n.Ident[0])
	if len(n.Ident) == 1 {
		f.alone(args, last)
		return v
	}
	return f.fields(dot, v, n, n.Ident[1:], args, last)
}
