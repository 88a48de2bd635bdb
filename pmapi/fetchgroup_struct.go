package pmapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-pcp/pcp"
)

// A GroupStruct is a struct whose fields a FetchGroup fills.
type GroupStruct struct {
	// Missing lists the fields that the last Fetch had no value for, with the reason: Err is
	// like that of a GroupItem. It is empty if all fields have values, and valid until the
	// next Fetch.
	Missing []FieldError

	fields []structField
}

// A FieldError is an error in a field of a struct.
type FieldError struct {
	Field  string // its name
	Metric string // from its tag
	Err    error
}

// Error names the field and the metric.
func (e *FieldError) Error() string { return fmt.Sprintf("field %s: %s: %v", e.Field, e.Metric, e.Err) }

// Unwrap returns Err.
func (e *FieldError) Unwrap() error { return e.Err }

// A structField is bound to a field: fill sets it after a fetch and returns why it
// has no value.
type structField struct {
	name, metric string
	fill         func() error
}

// AddStruct adds to the group the metrics in the tags of the fields of a struct, and
// has Fetch set the fields. dst points to the struct; it belongs to the group during
// Fetch. The tag of a field has the form of the metrics of [Context.Samples]:
//
//	type disks struct {
//		Load   float64            `pcp:"kernel.all.load[1 minute]"`
//		Free   uint64             `pcp:"mem.util.free,Mbyte"`
//		Swap   *uint64            `pcp:"swap.used"`
//		Reads  map[string]float64 `pcp:"disk.dev.read,rate"`
//		Uptime float64            // has no tag and is left alone
//	}
//
// A field is a string or a number (int, int32, int64, uint, uint32, uint64, float32,
// float64), for a metric with a single value or with one instance in the tag; a pointer to one of
// these; or a map of these by the external names of the instances. The program may define names
// for the types, but not behind a pointer or in a map; structs may be embedded.
//
// If there is no value, a field is zero, a pointer nil, and a map lacks the key:
// Missing has the reason. A first rate is missing, for example. An instance that
// has gone only removes its key, unless the tag names it.
//
// Fetch points a pointer to the same variable each time, and clears and fills the same map, unless it
// finds nil there. It does not use reflection, and allocates for strings alone.
//
// Errors of AddStruct are of type *FieldError, or several of them joined. Nothing
// is added then.
func (g *FetchGroup) AddStruct(ctx context.Context, dst any) (*GroupStruct, error) {
	ptr := reflect.ValueOf(dst)
	if ptr.Kind() != reflect.Pointer || ptr.IsNil() || ptr.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%T is not a pointer to a struct: %w", dst, pcp.ErrType)
	}
	ids, items, insts := len(g.ids), len(g.items), len(g.insts)
	v, gs := ptr.Elem(), &GroupStruct{}
	var errs []error
	for _, f := range reflect.VisibleFields(v.Type()) {
		text, ok := f.Tag.Lookup("pcp")
		if !ok {
			continue
		}
		err := g.addField(ctx, gs, v, f, text)
		if err != nil {
			errs = append(errs, &FieldError{f.Name, text, err})
		}
	}
	if len(gs.fields) == 0 && errs == nil {
		errs = append(errs, fmt.Errorf("%T has no field with a tag pcp: %w", dst, pcp.ErrType))
	}
	if errs != nil {
		g.ids, g.items, g.insts = g.ids[:ids], g.items[:items], g.insts[:insts]
		return nil, joined(errs)
	}
	g.structs = append(g.structs, gs)
	return gs, nil
}

// fill sets the fields after a fetch.
func (gs *GroupStruct) fill() {
	gs.Missing = gs.Missing[:0]
	for i := range gs.fields {
		f := &gs.fields[i]
		if err := f.fill(); err != nil {
			gs.Missing = append(gs.Missing, FieldError{f.name, f.metric, err})
		}
	}
}

func (g *FetchGroup) addField(ctx context.Context, gs *GroupStruct, v reflect.Value, f reflect.StructField, text string) error {
	if !f.IsExported() {
		return errors.New("is not exported")
	}
	w, err := parseWanted(text)
	if err != nil {
		return err
	}
	field, err := v.FieldByIndexErr(f.Index)
	if err != nil {
		return err
	}
	shape, elem := shapeOne, f.Type
	switch f.Type.Kind() {
	case reflect.Pointer:
		shape, elem = shapePointer, f.Type.Elem()
	case reflect.Map:
		if shape, elem = shapeMap, f.Type.Elem(); f.Type.Key().Kind() != reflect.String {
			return fmt.Errorf("keys of type %v: %w", f.Type.Key(), pcp.ErrType)
		}
	}
	b := binder{ctx, g, w, shape, field}
	var fill func() error
	switch elem.Kind() {
	case reflect.Int:
		fill, err = bindField(b, pcp.Type64, func(v pcp.Value) int { return int(v.Int64()) })
	case reflect.Int32:
		fill, err = bindField(b, pcp.Type32, pcp.Value.Int32)
	case reflect.Int64:
		fill, err = bindField(b, pcp.Type64, pcp.Value.Int64)
	case reflect.Uint:
		fill, err = bindField(b, pcp.TypeU64, func(v pcp.Value) uint { return uint(v.Uint64()) })
	case reflect.Uint32:
		fill, err = bindField(b, pcp.TypeU32, pcp.Value.Uint32)
	case reflect.Uint64:
		fill, err = bindField(b, pcp.TypeU64, pcp.Value.Uint64)
	case reflect.Float32:
		fill, err = bindField(b, pcp.TypeFloat, pcp.Value.Float)
	case reflect.Float64:
		fill, err = bindField(b, pcp.TypeDouble, pcp.Value.Double)
	case reflect.String:
		fill, err = bindField(b, pcp.TypeString, func(v pcp.Value) string { return string(v.Bytes()) })
	default:
		err = fmt.Errorf("of type %v: %w", f.Type, pcp.ErrType)
	}
	if err != nil {
		return err
	}
	gs.fields = append(gs.fields, structField{f.Name, text, fill})
	return nil
}

// A shape is what a field has room for.
type shape int

const (
	shapeOne     shape = iota // a value
	shapePointer              // a value, or nil
	shapeMap                  // values by instance
)

// A binder has the arguments of bindField for a field.
type binder struct {
	ctx   context.Context
	g     *FetchGroup
	want  wanted
	shape shape
	field reflect.Value
}

// bindField adds the metric of a field to the group, and returns a function that sets
// the field. T is the type of its values without their name.
func bindField[T comparable](b binder, typ pcp.Type, get func(pcp.Value) T) (func() error, error) {
	if b.shape == shapeMap {
		return bindMap(b, typ, get)
	}
	if len(b.want.insts) > 1 {
		return nil, fmt.Errorf("%d instances for one value: %w", len(b.want.insts), pcp.ErrInst)
	}
	inst := ""
	if len(b.want.insts) == 1 {
		inst = b.want.insts[0]
	}
	item, err := b.g.add(b.ctx, b.want.group(inst, typ), convertWanted)
	if err != nil {
		return nil, err
	}
	if b.shape == shapeOne {
		p, err := pointerTo[T](b.field)
		return func() error { return setValue(p, item, get) }, err
	}
	p, err := pointerTo[*T](b.field)
	value := new(T)
	return func() error {
		*p = nil
		err := setValue(value, item, get)
		if err == nil {
			*p = value
		}
		return err
	}, err
}

// bindMap is bindField for a map.
func bindMap[T any](b binder, typ pcp.Type, get func(pcp.Value) T) (func() error, error) {
	p, err := pointerTo[map[string]T](b.field)
	if err != nil {
		return nil, err
	}
	empty := func() map[string]T {
		if *p == nil {
			*p = make(map[string]T)
		}
		clear(*p)
		return *p
	}
	if names := b.want.insts; len(names) > 0 {
		items := make([]*GroupItem, len(names))
		for i, name := range names {
			if items[i], err = b.g.add(b.ctx, b.want.group(name, typ), convertWanted); err != nil {
				return nil, err
			}
		}
		return func() (failed error) {
			m := empty()
			for i, item := range items {
				if item.Err == nil {
					m[names[i]] = get(item.Value)
				} else if failed == nil {
					failed = item.Err
				}
			}
			return failed
		}, nil
	}
	all, err := b.g.addInstances(b.ctx, b.want.group("", typ), convertWanted)
	if err != nil {
		return nil, err
	}
	single := all.m.desc.InDom == pcp.InDomNull
	return func() error {
		m, failed := empty(), all.Err
		for i := range all.Values {
			iv := &all.Values[i]
			switch {
			case iv.Err == nil && (iv.Name != "" || single):
				m[iv.Name] = get(iv.Value)
			case iv.Err == nil:
				failed = pcp.ErrInst // its name is not known
			case failed == nil:
				failed = iv.Err
			}
		}
		return failed
	}, nil
}

// setValue sets a variable to the value of an item, or zero.
func setValue[T any](p *T, item *GroupItem, get func(pcp.Value) T) error {
	if item.Err != nil {
		var zero T
		*p = zero
		return item.Err
	}
	*p = get(item.Value)
	return nil
}

// pointerTo returns a pointer to a field whose underlying type is that of T.
func pointerTo[T any](field reflect.Value) (*T, error) {
	typ := reflect.TypeFor[*T]()
	if !reflect.PointerTo(field.Type()).ConvertibleTo(typ) {
		return nil, fmt.Errorf("of type %v, where %v would do: %w", field.Type(), typ.Elem(), pcp.ErrType)
	}
	return field.Addr().Convert(typ).Interface().(*T), nil
}
