package expvarmmv

import (
	"cmp"
	"encoding/json"
	"expvar"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the variables appear.
type Options struct {
	bridge.Options
	// Counter reports whether a variable only goes up; nil means that none
	// does. The name of an element of a map is that of the map, a dot, and the
	// key.
	Counter func(name string) bool
}

// Export publishes all variables, including later ones, until Stop.
func Export(reg *mmv.Registry, opt Options) *bridge.Exporter {
	e := exporter{counter: opt.Counter}
	return bridge.Start(reg, opt.Options, func(s *bridge.Sink) error {
		e.sink = s
		var failed error
		expvar.Do(func(kv expvar.KeyValue) {
			if kv.Key != "cmdline" && kv.Key != "memstats" {
				failed = cmp.Or(failed, e.variable(kv.Key, kv.Value))
			}
		})
		return failed
	})
}

type exporter struct {
	sink    *bridge.Sink
	counter func(string) bool
}

// maxDepth is the maximum nesting of maps: a map may contain itself.
const maxDepth = 8

// variable publishes a variable. A function may panic: in the HTTP handler of
// package expvar that does no harm, and it must not do any here.
func (e *exporter) variable(name string, v expvar.Var) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("expvarmmv: variable %s: panic: %v", name, p)
		}
	}()
	e.nested(name, v, 0)
	return nil
}

func (e *exporter) nested(name string, v expvar.Var, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case nil:
	case *expvar.Int:
		e.metric(name, mmv.TypeI64, true).SetInt(v.Value())
	case *expvar.Float:
		e.metric(name, mmv.TypeDouble, true).Set(v.Value())
	case *expvar.String:
		e.metric(name, mmv.TypeString, true).SetString(v.Value())
	case *expvar.Map:
		if v == nil {
			return
		}
		// One type for all keys, including later ones.
		typ := mmv.TypeI64
		v.Do(func(kv expvar.KeyValue) {
			if _, ok := kv.Value.(*expvar.Float); ok {
				typ = mmv.TypeDouble
			}
		})
		v.Do(func(kv expvar.KeyValue) {
			switch n := kv.Value.(type) {
			case *expvar.Int:
				e.element(name, typ, kv.Key, float64(n.Value()), n.Value())
			case *expvar.Float:
				e.element(name, typ, kv.Key, n.Value(), 0)
			}
		})
		// The map itself gets its name before its elements.
		v.Do(func(kv expvar.KeyValue) {
			switch kv.Value.(type) {
			case *expvar.Int, *expvar.Float:
			default:
				e.nested(name+"."+kv.Key, kv.Value, depth+1)
			}
		})
	case expvar.Func:
		// The result is meant for encoding/json.
		text, err := json.Marshal(v.Value())
		if err == nil {
			e.json(name, text)
		}
	default:
		e.json(name, []byte(v.String()))
	}
}

// json publishes a variable by its JSON text.
func (e *exporter) json(name string, text []byte) {
	var v any
	if json.Unmarshal(text, &v) == nil {
		e.value(name, v, 0)
	}
}

func (e *exporter) value(name string, v any, depth int) {
	if depth > maxDepth {
		return
	}
	if n, ok := number(v); ok {
		e.metric(name, mmv.TypeDouble, true).Set(n)
		return
	}
	switch v := v.(type) {
	case string:
		e.metric(name, mmv.TypeString, true).SetString(v)
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for _, key := range keys {
			if n, ok := number(v[key]); ok {
				e.element(name, mmv.TypeDouble, key, n, 0)
			}
		}
		for _, key := range keys {
			if _, ok := number(v[key]); !ok {
				e.value(name+"."+key, v[key], depth+1)
			}
		}
	}
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return math.NaN(), false
}

// element sets an instance of a map. A map of whole numbers stays one if a
// fraction follows later; only its whole part is kept.
func (e *exporter) element(name string, typ mmv.Type, key string, x float64, n int64) {
	m := e.metric(name, typ, false)
	if m.Type() == mmv.TypeDouble {
		m.Set(x, bridge.Label{Value: key})
		return
	}
	if n == 0 {
		n = int64(x)
	}
	m.SetInt(n, bridge.Label{Value: key})
}

// A key identifies a metric of a name: a variable can be replaced by one of
// another type.
type key struct {
	name   string
	text   bool
	single bool
	typ    mmv.Type
}

func (e *exporter) metric(name string, typ mmv.Type, single bool) *bridge.Metric {
	k := key{name: name, text: typ == mmv.TypeString, single: single}
	if single {
		k.typ = typ
	}
	return e.sink.Metric(k, func() bridge.Def {
		d := bridge.Def{Name: name, Sem: pcp.SemInstant, Type: typ, Single: single}
		if e.counter != nil && e.counter(name) {
			d.Sem = pcp.SemCounter
			d.Units = bridge.Count()
		}
		if u := bridge.UnitsOfName(name, false); u != (pcp.Units{}) {
			d.Units = u
		}
		if typ == mmv.TypeString {
			d.Sem, d.Units = pcp.SemDiscrete, pcp.Units{}
		}
		return d
	})
}
