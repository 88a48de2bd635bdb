package expand

import (
	"errors"
	"fmt"
	"reflect"
	"text/template/parse"
)

// fields evaluates a chain of fields. The last one may be a method with arguments.
func (f *frame) fields(dot, v reflect.Value, n parse.Node, names []string, args []parse.Node, last reflect.Value) reflect.Value {
	end := len(names) - 1
	for _, name := range names[:end] {
		v = f.field(dot, v, n, name, nil, missing())
	}
	return f.field(dot, v, n, names[end], args, last)
}

func (f *frame) field(dot, v reflect.Value, n parse.Node, name string, args []parse.Node, last reflect.Value) reflect.Value {
	if !v.IsValid() {
		return v
	}
	whole := v.Type()
	v, null := indirect(v)
	if null && v.Kind() == reflect.Interface {
		f.fail("nil pointer evaluating %s.%s", typeName(whole), name)
	}
	if m := method(v, name); m.IsValid() {
		return f.call(dot, m, false, n, name, args, last)
	}
	given := len(args) > 1 || !isMissing(last)
	switch v.Kind() {
	case reflect.Struct:
		t, ok := v.Type().FieldByName(name)
		if !ok {
			break
		}
		if !t.IsExported() {
			f.fail("%s is an unexported field of struct type %s", name, typeName(whole))
		}
		if given {
			f.fail("%s has arguments but cannot be invoked as function", name)
		}
		return v.FieldByIndex(t.Index)
	case reflect.Map: // their keys are strings
		if given {
			f.fail("%s is not a method but has arguments", name)
		}
		if x := v.MapIndex(reflect.ValueOf(name)); x.IsValid() {
			return x
		}
		return reflect.Zero(v.Type().Elem())
	case reflect.Pointer: // it is nil
		if e := v.Type().Elem(); e.Kind() == reflect.Struct {
			if _, ok := e.FieldByName(name); !ok {
				break
			}
		}
		f.fail("nil pointer evaluating %s.%s", typeName(whole), name)
	}
	f.fail("can't evaluate field %s in type %s", name, typeName(whole))
	return reflect.Value{}
}

func (f *frame) function(dot reflect.Value, n *parse.IdentifierNode, c parse.Node, args []parse.Node, last reflect.Value) reflect.Value {
	f.node = n
	fun, ok := f.funcs[n.Ident]
	builtin := !ok
	if builtin {
		if fun, ok = builtins()[n.Ident]; !ok {
			f.fail("%q is not a defined function", n.Ident)
		}
	}
	return f.call(dot, fun, builtin, c, n.Ident, args, last)
}

var errorType = reflect.TypeFor[error]()

// call calls a function or a method; the first of args is its own node.
func (f *frame) call(dot, fun reflect.Value, builtin bool, n parse.Node, name string, args []parse.Node, last reflect.Value) reflect.Value {
	if len(args) > 0 {
		args = args[1:]
	}
	typ := fun.Type()
	count := len(args)
	if !isMissing(last) {
		count++
	}
	fixed := typ.NumIn()
	switch {
	case typ.IsVariadic():
		if fixed--; count < fixed {
			f.fail("wrong number of args for %s: want at least %d got %d", name, fixed, len(args))
		}
	case count != fixed:
		f.fail("wrong number of args for %s: want %d got %d", name, fixed, count)
	}
	if outs := typ.NumOut(); outs == 2 && typ.Out(1) != errorType {
		f.fail("invalid function signature for %s: second return value should be error; is %s", name, typ.Out(1))
	} else if outs > 2 {
		f.fail("function %s has %d return values; should be 1 or 2", name, outs)
	}
	in := func(i int) reflect.Type {
		if i >= fixed {
			return typ.In(fixed).Elem()
		}
		return typ.In(i)
	}
	if builtin && (name == "and" || name == "or") {
		var v reflect.Value
		for i, a := range args {
			if v = unwrap(f.argument(dot, in(i), a)); truth(v) == (name == "or") {
				return v
			}
		}
		if !isMissing(last) {
			v = unwrap(f.fit(last, in(0)))
		}
		return v
	}
	values := make([]reflect.Value, 0, count)
	for i, a := range args {
		values = append(values, f.argument(dot, in(i), a))
	}
	if !isMissing(last) {
		values = append(values, f.fit(last, in(count-1)))
	}
	if builtin && name == "call" {
		callee := last.String()
		if len(args) > 0 {
			callee = args[0].String()
		}
		f.node = n
		f.fail("error calling call: %w", notFunction(unwrap(values[0]), callee))
	}
	f.account(name, values)
	v, err := safely(fun, values)
	if err == nil && (v.Kind() == reflect.String && v.Len() > maxValue || name == "args" && size(v, maxValue) > maxValue) {
		err = errValue
	}
	if err != nil {
		f.node = n
		f.fail("error calling %s: %w", name, err)
	}
	return unwrap(v)
}

// notFunction returns the error of a call of a value: no value is a function.
func notFunction(v reflect.Value, name string) error {
	if v = concrete(v); !v.IsValid() {
		return errors.New("call of nil")
	}
	return fmt.Errorf("non-function %s of type %s", name, typeName(v.Type()))
}

// safely calls a function. A panic is an error.
func safely(fun reflect.Value, args []reflect.Value) (v reflect.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if err, ok = r.(error); !ok {
				err = fmt.Errorf("%v", r)
			}
		}
	}()
	results := fun.Call(args)
	if len(results) == 2 && !results[1].IsNil() {
		err = results[1].Interface().(error)
	}
	return results[0], err
}

var valueType = reflect.TypeFor[reflect.Value]()

// unwrap returns the value that a builtin function returned as a [reflect.Value].
func unwrap(v reflect.Value) reflect.Value {
	if v.IsValid() && v.Type() == valueType {
		return v.Interface().(reflect.Value)
	}
	return v
}

func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return t == valueType
}

// fit returns a value as an argument of a type. The type is nil if every value is fit.
func (f *frame) fit(v reflect.Value, t reflect.Type) reflect.Value {
	switch {
	case t == nil:
		return v
	case !v.IsValid():
		if !nilable(t) {
			f.fail("invalid value; expected %s", typeName(t))
		}
		return reflect.Zero(t)
	case t == valueType && v.Type() != t:
		return reflect.ValueOf(v)
	case v.Type().AssignableTo(t):
		return v
	}
	if v.Kind() == reflect.Interface && !v.IsNil() {
		if v = v.Elem(); v.Type().AssignableTo(t) {
			return v
		}
	}
	switch {
	case v.Kind() == reflect.Pointer && v.Type().Elem().AssignableTo(t):
		if v = v.Elem(); !v.IsValid() {
			f.fail("dereference of nil pointer of type %s", typeName(t))
		}
	case reflect.PointerTo(v.Type()).AssignableTo(t) && v.CanAddr():
		v = v.Addr()
	default:
		f.fail("wrong type for value; expected %s; got %s", typeName(t), typeName(v.Type()))
	}
	return v
}

// argument evaluates an argument for a parameter of a type.
func (f *frame) argument(dot reflect.Value, t reflect.Type, n parse.Node) reflect.Value {
	f.node = n
	switch n := n.(type) {
	case *parse.DotNode:
		return f.fit(dot, t)
	case *parse.NilNode:
		if !nilable(t) {
			f.fail("cannot assign nil to %s", typeName(t))
		}
		return reflect.Zero(t)
	case *parse.FieldNode:
		return f.fit(f.fields(dot, dot, n, n.Ident, nil, missing()), t)
	case *parse.VariableNode:
		return f.fit(f.variable(dot, n, nil, missing()), t)
	case *parse.PipeNode:
		return f.fit(f.pipeline(dot, n), t)
	case *parse.IdentifierNode:
		return f.fit(f.function(dot, n, n, nil, missing()), t)
	case *parse.ChainNode:
		return f.fit(f.chain(dot, n, nil, missing()), t)
	}
	number, _ := n.(*parse.NumberNode)
	switch kind := t.Kind(); {
	case t == valueType:
		if v, ok := f.constant(n); ok {
			return reflect.ValueOf(v)
		}
	case kind == reflect.Interface && t.NumMethod() == 0:
		if v, ok := f.constant(n); ok {
			return v
		}
	case kind == reflect.String:
		if s, ok := n.(*parse.StringNode); ok {
			return reflect.ValueOf(s.Text).Convert(t)
		}
		f.fail("expected string; found %s", n)
	case kind == reflect.Int, kind == reflect.Int64:
		if number != nil && number.IsInt {
			return reflect.ValueOf(number.Int64).Convert(t)
		}
		f.fail("expected integer; found %s", n)
	}
	f.fail("can't handle %s for arg of type %s", n, typeName(t))
	return reflect.Value{}
}
