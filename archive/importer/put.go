package importer

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp"
)

// A Handle identifies a metric and an instance of it, so that they need not be
// looked up for each value. The zero Handle is not valid.
type Handle struct {
	im   *Importer
	m    *metric
	slot int // of the instance, -1 for a single value
}

// Handle returns the handle of a metric and an instance, "" for a metric with a
// single value (pmiGetHandle(3)). The part of the instance's name before its
// first blank is enough, with the blank.
func (im *Importer) Handle(name, instance string) (Handle, error) {
	m := im.byName[name]
	if m == nil || m.stored {
		return Handle{}, fmt.Errorf("%s: %w", name, pcp.ErrName)
	}
	if m.desc.InDom == pcp.InDomNull {
		if instance != "" {
			return Handle{}, fmt.Errorf("%s[%s]: %w", name, instance, ErrInstNotNull)
		}
		return Handle{im, m, -1}, nil
	}
	if instance == "" {
		return Handle{}, fmt.Errorf("%s: %w", name, ErrInstNull)
	}
	if m.indom == nil {
		if m.indom = im.indoms[m.desc.InDom]; m.indom == nil {
			return Handle{}, fmt.Errorf("%s[%s]: %w", name, instance, pcp.ErrInDom)
		}
	}
	slot, ok := m.indom.find(instance)
	if !ok {
		return Handle{}, fmt.Errorf("%s[%s]: %w", name, instance, pcp.ErrInst)
	}
	return Handle{im, m, slot}, nil
}

// PutValue puts a value for the next Write (pmiPutValue(3)); see [Handle.Put].
func (im *Importer) PutValue(name, instance, value string) error {
	h, err := im.Handle(name, instance)
	if err != nil {
		return err
	}
	return h.Put(value)
}

// String returns h as the tools show it: name or name[instance].
func (h Handle) String() string {
	switch {
	case h.m == nil:
		return "no handle"
	case h.slot < 0:
		return h.m.name
	}
	return h.m.name + "[" + h.m.indom.slots[h.slot].Name + "]"
}

// Desc returns the descriptor of the metric.
func (h Handle) Desc() pcp.Desc {
	if h.m == nil {
		return pcp.Desc{PMID: pcp.PMIDNull, Type: pcp.TypeNoSupport, InDom: pcp.InDomNull}
	}
	return h.m.desc
}

// Put puts a value, which it parses by the type of the metric
// (pmiPutValueHandle(3)): as C's strtol, strtoul and strtod do, with the whole
// string, so that an empty string is 0 and a number that is too large wraps or
// becomes infinite. Each instance of a metric has one value in a record. A value
// that is not a number leaves pcp.ErrConv in its place if it is the first of its
// metric.
func (h Handle) Put(value string) error {
	m, err := h.begin()
	if err != nil {
		return err
	}
	var v pcp.Value
	ok := true
	switch m.desc.Type {
	case pcp.Type32:
		var n int64
		n, ok = parseInt(value)
		v = pcp.Int32Value(int32(n))
	case pcp.TypeU32:
		var n uint64
		n, ok = parseUint(value)
		v = pcp.Uint32Value(uint32(n))
	case pcp.Type64:
		var n int64
		n, ok = parseInt(value)
		v = pcp.Int64Value(n)
	case pcp.TypeU64:
		var n uint64
		n, ok = parseUint(value)
		v = pcp.Uint64Value(n)
	case pcp.TypeFloat:
		var f float32
		f, ok = parseFloat32(value)
		v = pcp.FloatValue(f)
	case pcp.TypeDouble:
		var f float64
		f, ok = parseFloat(value)
		v = pcp.DoubleValue(f)
	default:
		v = h.im.str(value)
	}
	if !ok {
		if len(m.values) == 0 {
			m.err = pcp.ErrConv
		}
		return fmt.Errorf("%s: %q: %w", h, value, pcp.ErrConv)
	}
	h.end(v)
	return nil
}

// str returns a string value whose bytes are in the memory of the record.
func (im *Importer) str(s string) pcp.Value {
	for i := range len(s) {
		if s[i] == 0 {
			s = s[:i] // C would see no more
			break
		}
	}
	n := len(im.text)
	im.text = append(im.text, s...)
	return pcp.BytesValue(pcp.TypeString, im.text[n:len(im.text):len(im.text)])
}

// begin checks that a value can be put.
func (h Handle) begin() (*metric, error) {
	m, im := h.m, h.im
	if m == nil {
		return nil, ErrBadHandle
	}
	if im.ended {
		return nil, pcp.ErrNoContext
	}
	if m.gen != im.gen {
		m.gen, m.err, m.values = im.gen, 0, m.values[:0]
		im.sets = append(im.sets, m)
		return m, nil
	}
	switch {
	case h.slot < 0:
		return nil, fmt.Errorf("%s: %w", h, ErrDupValue)
	case m.err != 0:
		return nil, fmt.Errorf("%s: %w", h, m.err)
	case h.slot < len(m.seen) && m.seen[h.slot] == im.gen:
		return nil, fmt.Errorf("%s: %w", h, ErrDupValue)
	}
	return m, nil
}

func (h Handle) end(v pcp.Value) {
	m := h.m
	v.Inst = pcp.InNull
	if h.slot >= 0 {
		v.Inst = m.indom.slots[h.slot].Inst
		if h.slot >= len(m.seen) {
			m.seen = append(m.seen, make([]uint64, len(m.indom.slots)-len(m.seen))...)
		}
		m.seen[h.slot] = h.im.gen
	}
	m.values = append(m.values, v)
}

// PutAtom puts a value of the metric's type (pmiPutAtomValueHandle).
func (h Handle) PutAtom(v pcp.Value) error {
	if h.m != nil && v.Type() != h.m.desc.Type {
		return fmt.Errorf("%s: a value of type %s: %w", h, v.Type(), pcp.ErrType)
	}
	if _, err := h.begin(); err != nil {
		return err
	}
	if v.Type() == pcp.TypeString {
		v = h.im.str(string(v.Bytes()))
	}
	h.end(v)
	return nil
}

// PutInt puts a number, converted to the type of the metric. If that cannot hold
// it, the error is pcp.ErrSign or pcp.ErrTrunc, and nothing is put.
func (h Handle) PutInt(n int64) error {
	typ := h.Desc().Type
	switch {
	case typ == pcp.Type64:
		return h.number(pcp.Int64Value(n))
	case typ == pcp.TypeFloat || typ == pcp.TypeDouble:
		return h.PutDouble(float64(n))
	case typ == pcp.Type32 && n == int64(int32(n)):
		return h.number(pcp.Int32Value(int32(n)))
	case typ == pcp.Type32:
		return fmt.Errorf("%s: %d: %w", h, n, pcp.ErrTrunc)
	case n < 0 && (typ == pcp.TypeU32 || typ == pcp.TypeU64):
		return fmt.Errorf("%s: %d: %w", h, n, pcp.ErrSign)
	}
	return h.PutUint(uint64(n))
}

// PutUint is PutInt for numbers without sign.
func (h Handle) PutUint(n uint64) error {
	typ := h.Desc().Type
	switch {
	case typ == pcp.TypeU64:
		return h.number(pcp.Uint64Value(n))
	case typ == pcp.TypeFloat || typ == pcp.TypeDouble:
		return h.PutDouble(float64(n))
	case typ == pcp.TypeU32 && n <= math.MaxUint32:
		return h.number(pcp.Uint32Value(uint32(n)))
	case typ == pcp.TypeU32 || n > math.MaxInt64 && typ.IsNumeric():
		return fmt.Errorf("%s: %d: %w", h, n, pcp.ErrTrunc)
	case typ == pcp.Type32 || typ == pcp.Type64:
		return h.PutInt(int64(n))
	}
	return h.wrongType()
}

// PutDouble is PutInt for a number that may have a fraction, which a metric of
// whole numbers loses.
func (h Handle) PutDouble(f float64) error {
	switch typ := h.Desc().Type; typ {
	case pcp.TypeDouble:
		return h.number(pcp.DoubleValue(f))
	case pcp.TypeFloat:
		return h.number(pcp.FloatValue(float32(f)))
	case pcp.Type32, pcp.Type64, pcp.TypeU32, pcp.TypeU64:
		switch {
		case f <= -1 && (typ == pcp.TypeU32 || typ == pcp.TypeU64):
			return fmt.Errorf("%s: %v: %w", h, f, pcp.ErrSign)
		case !(math.Abs(f) < 1<<63): // NaN too
			return fmt.Errorf("%s: %v: %w", h, f, pcp.ErrTrunc)
		}
		return h.PutInt(int64(f))
	}
	return h.wrongType()
}

// PutString puts a string, for a metric of that type.
func (h Handle) PutString(s string) error {
	if h.Desc().Type != pcp.TypeString {
		return h.wrongType()
	}
	return h.Put(s)
}

func (h Handle) wrongType() error {
	if h.m == nil {
		return ErrBadHandle
	}
	return fmt.Errorf("%s: type %s: %w", h, h.m.desc.Type, pcp.ErrType)
}

func (h Handle) number(v pcp.Value) error {
	if _, err := h.begin(); err != nil {
		return err
	}
	h.end(v)
	return nil
}
