package expand

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
)

// A sample is an element of the result of a query.
type sample struct {
	Labels map[string]string
	Value  any
}

type queryResult []*sample

// HTML is a text that [safeHtml] returned. Its name appears in errors.
type HTML string

// typeName returns the name of a type in errors: those of our types are as in Prometheus.
func typeName(t reflect.Type) string {
	return strings.ReplaceAll(t.String(), "expand.", "template.")
}

// indirect follows pointers and interfaces, up to a nil.
func indirect(v reflect.Value) (to reflect.Value, null bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	return v, false
}

// concrete returns the value in an interface.
func concrete(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// truth reports whether a value is neither zero nor empty.
func truth(v reflect.Value) bool {
	switch v = concrete(v); v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Struct:
		return true
	case reflect.String, reflect.Map, reflect.Slice:
		return v.Len() > 0
	case reflect.Float64: // -0 is false too
		return v.Float() != 0
	case reflect.Complex128:
		return v.Complex() != 0
	}
	return !v.IsZero()
}

var stringerType = reflect.TypeFor[fmt.Stringer]()

// printable returns a value as package fmt prints it.
func printable(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		v, _ = indirect(v)
	}
	if !v.IsValid() {
		return "<no value>"
	}
	if !v.Type().Implements(stringerType) && v.CanAddr() && reflect.PointerTo(v.Type()).Implements(stringerType) {
		v = v.Addr()
	}
	return v.Interface()
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// size returns about how many bytes a value has when it is printed, or a little more than limit.
func size(v reflect.Value, limit int) int {
	n := 8
	switch v.Kind() {
	case reflect.String:
		n += v.Len()
	case reflect.Slice:
		n += 16 * v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n += size(v.Elem(), limit-n)
		}
	case reflect.Struct:
		if v.Type() == valueType {
			return size(v.Interface().(reflect.Value), limit)
		}
		n += 64
		if v.Type() == reflect.TypeFor[sample]() {
			n += size(v.Field(0), limit-n) + size(v.Field(1), limit)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next() && n <= limit; {
			n += size(it.Key(), limit-n)
			n += size(it.Value(), limit-n)
		}
	}
	return n
}

// method returns a method of a time, a duration or a histogram. It is invalid if there is none of the name.
func method(v reflect.Value, name string) reflect.Value {
	if !v.IsValid() || !v.CanInterface() {
		return reflect.Value{}
	}
	var m any
	switch x := v.Interface().(type) {
	case time.Time:
		m = timeMethods(x)[name]
	case time.Duration:
		m = durationMethods(x)[name]
	case time.Month:
		m = map[string]any{"String": x.String}[name]
	case time.Weekday:
		m = map[string]any{"String": x.String}[name]
	case histogram.FloatHistogram:
		m = map[string]any{"String": x.String}[name]
	}
	return reflect.ValueOf(m)
}

func timeMethods(t time.Time) map[string]any {
	return map[string]any{
		"Add": t.Add, "AddDate": t.AddDate, "After": t.After, "Before": t.Before, "Clock": t.Clock, "Compare": t.Compare, "Date": t.Date, "Day": t.Day,
		"Equal": t.Equal, "Format": t.Format, "GoString": t.GoString, "Hour": t.Hour, "ISOWeek": t.ISOWeek, "IsDST": t.IsDST, "IsZero": t.IsZero,
		"Local": t.Local, "Minute": t.Minute, "Month": t.Month, "Nanosecond": t.Nanosecond, "Round": t.Round, "Second": t.Second, "String": t.String,
		"Sub": t.Sub, "Truncate": t.Truncate, "UTC": t.UTC, "Unix": t.Unix, "UnixMicro": t.UnixMicro, "UnixMilli": t.UnixMilli, "UnixNano": t.UnixNano,
		"Weekday": t.Weekday, "Year": t.Year, "YearDay": t.YearDay, "Zone": t.Zone,
	}
}

func durationMethods(d time.Duration) map[string]any {
	return map[string]any{
		"Abs": d.Abs, "Hours": d.Hours, "Microseconds": d.Microseconds, "Milliseconds": d.Milliseconds, "Minutes": d.Minutes,
		"Nanoseconds": d.Nanoseconds, "Round": d.Round, "Seconds": d.Seconds, "String": d.String, "Truncate": d.Truncate,
	}
}

var (
	errBadComparison = errors.New("invalid type for comparison")
	errNoComparison  = errors.New("missing argument for comparison")
)

// A kind is what values must have in common to be compared.
type kind int

const (
	otherKind kind = iota
	boolKind
	complexKind
	intKind
	floatKind
	stringKind
)

func kindOf(v reflect.Value) kind {
	switch v.Kind() {
	case reflect.Bool:
		return boolKind
	case reflect.Int, reflect.Int64, reflect.Uint8: // the last is a byte of a string
		return intKind
	case reflect.Float64:
		return floatKind
	case reflect.Complex128:
		return complexKind
	case reflect.String:
		return stringKind
	}
	return otherKind
}

func integer(v reflect.Value) int64 {
	if v.CanUint() {
		return int64(v.Uint())
	}
	return v.Int()
}

func incompatible(a, b reflect.Value) error {
	return fmt.Errorf("incompatible types for comparison: %v and %v", typeName(a.Type()), typeName(b.Type()))
}

// equal reports whether two values are equal.
func equal(a, b reflect.Value) (bool, error) {
	a, b = concrete(a), concrete(b)
	k := kindOf(a)
	switch {
	case k != kindOf(b):
		if a.IsValid() && b.IsValid() {
			return false, incompatible(a, b)
		}
		return false, nil
	case k == boolKind:
		return a.Bool() == b.Bool(), nil
	case k == intKind:
		return integer(a) == integer(b), nil
	case k == floatKind:
		return a.Float() == b.Float(), nil
	case k == complexKind:
		return a.Complex() == b.Complex(), nil
	case k == stringKind:
		return a.String() == b.String(), nil
	}
	if a.IsValid() && b.IsValid() && a.Kind() != b.Kind() {
		return false, fmt.Errorf("non-comparable types %s: %v, %s: %v", a, typeName(a.Type()), typeName(b.Type()), b)
	}
	if isNil(a) || isNil(b) {
		return isNil(a) == isNil(b), nil
	}
	if !b.Type().Comparable() {
		return false, fmt.Errorf("non-comparable type %s: %v", b, typeName(b.Type()))
	}
	return a.Interface() == b.Interface(), nil
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// less reports whether a value is less than another one.
func less(a, b reflect.Value) (bool, error) {
	a, b = concrete(a), concrete(b)
	k, of := kindOf(a), kindOf(b)
	switch {
	case k == otherKind || of == otherKind:
		return false, errBadComparison
	case k != of:
		return false, incompatible(a, b)
	case k == intKind:
		return integer(a) < integer(b), nil
	case k == floatKind:
		return a.Float() < b.Float(), nil
	case k == stringKind:
		return a.String() < b.String(), nil
	}
	return false, errBadComparison
}

// position returns an index of a string or list as a number from 0 to limit.
func position(v reflect.Value, limit int) (int, error) {
	switch v.Kind() {
	case reflect.Invalid:
		return 0, errors.New("cannot index slice/array with nil")
	case reflect.Int, reflect.Int64, reflect.Uint8:
	default:
		return 0, fmt.Errorf("cannot index slice/array with type %s", typeName(v.Type()))
	}
	n := integer(v)
	if n < 0 || n > int64(limit) {
		return 0, fmt.Errorf("index out of range: %d", n)
	}
	return int(n), nil
}

func index(v reflect.Value, indexes ...reflect.Value) (reflect.Value, error) {
	if v = concrete(v); !v.IsValid() {
		return v, errors.New("index of untyped nil")
	}
	for _, i := range indexes {
		i = concrete(i)
		var null bool
		if v, null = indirect(v); null {
			return v, errors.New("index of nil pointer")
		}
		switch v.Kind() {
		case reflect.Slice, reflect.String:
			n, err := position(i, v.Len())
			if err != nil {
				return v, err
			}
			v = v.Index(n)
		case reflect.Map:
			key := v.Type().Key()
			switch {
			case !i.IsValid():
				return v, fmt.Errorf("value is nil; should be of type %s", key)
			case !i.Type().AssignableTo(key):
				return v, fmt.Errorf("value has type %s; should be %s", typeName(i.Type()), key)
			}
			x := v.MapIndex(i)
			if !x.IsValid() {
				x = reflect.Zero(v.Type().Elem())
			}
			v = x
		default:
			return v, fmt.Errorf("can't index item of type %s", typeName(v.Type()))
		}
	}
	return v, nil
}

func slice(v reflect.Value, indexes ...reflect.Value) (reflect.Value, error) {
	if v = concrete(v); !v.IsValid() {
		return v, errors.New("slice of untyped nil")
	}
	var null bool
	if v, null = indirect(v); null {
		return v, errors.New("slice of nil pointer")
	}
	if len(indexes) > 3 {
		return v, fmt.Errorf("too many slice indexes: %d", len(indexes))
	}
	limit := 0
	switch v.Kind() {
	case reflect.String:
		if len(indexes) == 3 {
			return v, errors.New("cannot 3-index slice a string")
		}
		limit = v.Len()
	case reflect.Slice:
		limit = v.Cap()
	default:
		return v, fmt.Errorf("can't slice item of type %s", typeName(v.Type()))
	}
	at := [3]int{0, v.Len(), limit}
	for i, x := range indexes {
		var err error
		if at[i], err = position(x, limit); err != nil {
			return v, err
		}
	}
	switch {
	case at[0] > at[1]:
		return v, fmt.Errorf("invalid slice index: %d > %d", at[0], at[1])
	case len(indexes) < 3:
		return v.Slice(at[0], at[1]), nil
	case at[1] > at[2]:
		return v, fmt.Errorf("invalid slice index: %d > %d", at[1], at[2])
	}
	return v.Slice3(at[0], at[1], at[2]), nil
}

func length(v reflect.Value) (int, error) {
	v, null := indirect(v)
	if null {
		return 0, errors.New("len of nil pointer")
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	case reflect.Invalid:
		return 0, errors.New("reflect: call of reflect.Value.Type on zero Value")
	}
	return 0, fmt.Errorf("len of type %s", typeName(v.Type()))
}
