package export

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// A node is a part of a JSON document: an *object, a list, a string, a number or null. Documents
// are made of these and not of Go's maps, since Python writes keys in the order of insertion.
type node any

// An object has members in an order.
type object struct {
	keys   []string
	values []node
}

// list is an array.
type list []node

// number is written unquoted.
type number string

// set adds a member, or replaces the one of that name.
func (o *object) set(key string, value node) {
	if i := slices.Index(o.keys, key); i >= 0 {
		o.values[i] = value
		return
	}
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

// get returns a member, nil if there is none.
func (o *object) get(key string) node {
	if i := slices.Index(o.keys, key); i >= 0 {
		return o.values[i]
	}
	return nil
}

// sub returns the member of that name, which it makes if it is not there. It returns nil if it is not an object.
func (o *object) sub(key string) *object {
	v := o.get(key)
	if v == nil {
		v = new(object)
		o.set(key, v)
	}
	inner, _ := v.(*object)
	return inner
}

// A dumper writes nodes as Python's json.dumps does.
type dumper struct {
	ascii   bool   // escape non-ASCII characters (ensure_ascii)
	sorted  bool   // members by their names (sort_keys)
	indent  int    // 0: all in one line
	itemSep string // ", " or ","
	keySep  string // ": "
}

// dump appends a node that begins at a depth of indentation.
func (d *dumper) dump(b []byte, n node, depth int) []byte {
	switch n := n.(type) {
	case *object:
		return d.object(b, n, depth)
	case list:
		return d.list(b, n, depth)
	case string:
		return d.text(b, n)
	case number:
		return append(b, n...)
	}
	return append(b, "null"...)
}

func (d *dumper) object(b []byte, o *object, depth int) []byte {
	if len(o.keys) == 0 {
		return append(b, "{}"...)
	}
	order := make([]int, len(o.keys))
	for i := range order {
		order[i] = i
	}
	if d.sorted {
		slices.SortFunc(order, func(i, j int) int { return strings.Compare(o.keys[i], o.keys[j]) })
	}
	b = append(b, '{')
	for n, i := range order {
		b = d.next(b, n, depth+1)
		b = append(d.text(b, o.keys[i]), d.keySep...)
		b = d.dump(b, o.values[i], depth+1)
	}
	return append(d.line(b, depth), '}')
}

func (d *dumper) list(b []byte, l list, depth int) []byte {
	if len(l) == 0 {
		return append(b, "[]"...)
	}
	b = append(b, '[')
	for n, v := range l {
		b = d.next(b, n, depth+1)
		b = d.dump(b, v, depth+1)
	}
	return append(d.line(b, depth), ']')
}

// next appends the separator before the nth member or element.
func (d *dumper) next(b []byte, n, depth int) []byte {
	if n > 0 {
		b = append(b, d.itemSep...)
	}
	return d.line(b, depth)
}

// line begins a line, if there are several.
func (d *dumper) line(b []byte, depth int) []byte {
	if d.indent == 0 {
		return b
	}
	b = append(b, '\n')
	for range d.indent * depth {
		b = append(b, ' ')
	}
	return b
}

func (d *dumper) text(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	unit := func(u uint16) {
		b = append(b, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r < ' ', d.ascii && r >= 0x7f && r <= 0xffff:
			unit(uint16(r))
		case d.ascii && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			unit(uint16(high))
			unit(uint16(low))
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// numeral is a value as json.dumps writes it: a number, or a string.
func numeral(v pcp.Value) node {
	switch v.Type() {
	case pcp.Type32, pcp.Type64:
		return number(strconv.FormatInt(v.Int64(), 10))
	case pcp.TypeU32, pcp.TypeU64:
		return number(strconv.FormatUint(v.Uint64(), 10))
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		switch {
		case math.IsNaN(f):
			return number("NaN")
		case math.IsInf(f, 1):
			return number("Infinity")
		case math.IsInf(f, -1):
			return number("-Infinity")
		}
		return number(pytext.Float(f))
	}
	s, _ := v.Text()
	return s
}
