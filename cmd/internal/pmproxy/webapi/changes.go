package webapi

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// exactDigits is the number of digits of integers that are sent as differences: a client with floating-point numbers adds them exactly.
const exactDigits = 15

// A sharedKey identifies the listeners that get the same event: those of the same metrics and, if they get changes, of the same event before.
type sharedKey struct {
	key            string
	rare, changes  bool
	last, lastRare *fetched
}

// shareOf returns the key of an order.
func shareOf(o *order) sharedKey {
	k := sharedKey{key: o.key, rare: o.rare, changes: o.changes}
	if o.changes {
		k.last, k.lastRare = o.last, o.lastRare
	}
	return k
}

// A pair is an instance and the JSON of its value.
type pair struct{ inst, value []byte }

// pairsOf parses an array as appendCompact writes it.
func pairsOf(b []byte) []pair {
	list := make([]pair, 0, bytes.Count(b, []byte{','})/2+1)
	b = b[1:]
	for len(b) > 1 {
		inst, rest, ok := bytes.Cut(b, []byte{','})
		if !ok {
			break
		}
		end := bytes.IndexAny(rest, ",]")
		if rest[0] == '"' { // quotes within a string are escaped
			end = 2 + bytes.IndexByte(rest[1:], '"')
		}
		list = append(list, pair{inst, rest[:end]})
		b = rest[end+1:]
	}
	return list
}

// changed has the members of an event with changes.
type changed struct {
	add, set, gone []byte
}

// appendMember appends a member of an object without its braces.
func appendMember(m []byte, index int, value []byte) []byte {
	if len(m) > 0 {
		m = append(m, ',')
	}
	m = append(strconv.AppendInt(append(m, '"'), int64(index), 10), `":`...)
	return append(m, value...)
}

// difference returns the difference of two integers, if both values are integers that clients add exactly.
func difference(before, now []byte) (n int64, ok bool) {
	a, ok := integer(before)
	if !ok {
		return 0, false
	}
	b, ok := integer(now)
	return b - a, ok
}

func integer(b []byte) (int64, bool) {
	if len(b) > exactDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}

// compare adds the changes of a metric. It reports whether they can be sent: not if a metric came, ended, or is another one.
func (c *changed) compare(index int, before, now []byte) bool {
	switch {
	case bytes.Equal(before, now):
		return (before == nil) == (now == nil)
	case len(before) == 0 || len(now) == 0 || (before[0] == '[') != (now[0] == '['):
		return false
	case now[0] != '[':
		if n, ok := difference(before, now); ok {
			c.add = appendMember(c.add, index, strconv.AppendInt(nil, n, 10))
		} else {
			c.set = appendMember(c.set, index, now)
		}
		return true
	}
	c.instances(index, pairsOf(before), pairsOf(now))
	return true
}

// instances adds the changes of a metric with instances.
func (c *changed) instances(index int, before, now []pair) {
	var add, set, gone []byte
	put := func(b, inst, value []byte) []byte {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, inst...)
		if value != nil {
			b = append(append(b, ','), value...)
		}
		return b
	}
	var others map[string][]byte // before, if the order of instances changed
	at, found := 0, 0
	for _, p := range now {
		var old []byte
		switch {
		case others == nil && at < len(before) && bytes.Equal(before[at].inst, p.inst):
			old = before[at].value
			at++
		default:
			if others == nil {
				others = make(map[string][]byte, len(before)-at)
				for _, q := range before[at:] {
					others[string(q.inst)] = q.value
				}
			}
			old = others[string(p.inst)]
		}
		if old != nil {
			found++
		}
		if bytes.Equal(old, p.value) {
			continue
		}
		if n, ok := difference(old, p.value); ok {
			add = put(add, p.inst, strconv.AppendInt(nil, n, 10))
		} else {
			set = put(set, p.inst, p.value)
		}
	}
	if found < len(before) {
		left := make(map[string]bool, len(now))
		for _, p := range now {
			left[string(p.inst)] = true
		}
		for _, p := range before {
			if !left[string(p.inst)] {
				gone = put(gone, p.inst, nil)
			}
		}
	}
	list := func(m, b []byte) []byte {
		if b == nil {
			return m
		}
		return appendMember(m, index, slices.Concat([]byte{'['}, b, []byte{']'}))
	}
	c.add, c.set, c.gone = list(c.add, add), list(c.set, set), list(c.gone, gone)
}

// appendChanges appends the changes since the last event, or returns false if a listener must be sent everything.
func (o *order) appendChanges(m []byte, f *fetched) ([]byte, bool) {
	if o.last == nil || o.rare && o.lastRare == nil {
		return m, false
	}
	var c changed
	index := 0
	all := func(names []string, last *fetched) bool {
		for _, name := range names {
			if !c.compare(index, o.valuesOf(last, name), o.valuesOf(f, name)) {
				return false
			}
			index++
		}
		return true
	}
	if !all(o.listener.names, o.last) || !all(o.largest, o.last) || o.rare && !all(o.listener.rare, o.lastRare) {
		return m, false
	}
	if o.rare {
		m = append(m, `,"rare":true`...)
	}
	for _, part := range []struct {
		name string
		b    []byte
	}{{"add", c.add}, {"set", c.set}, {"gone", c.gone}} {
		if part.b != nil {
			m = append(append(append(append(append(m, `,"`...), part.name...), `":{`...), part.b...), '}')
		}
	}
	return m, true
}

// sends notes the samples that a listener is sent. An event with all values replaces those of rare metrics too.
func (o *order) sends(f *fetched, whole bool) {
	o.last = f
	if o.rare {
		o.lastRare = f
	} else if whole {
		o.lastRare = nil
	}
}

// valuesOf returns the values of a metric that a listener is sent.
func (l *listener) valuesOf(f *fetched, name string) []byte {
	if c := f.choices[l.key][name]; c != nil {
		return c.values
	}
	return f.values[name]
}

// appendOrder appends the metrics to whose numbers later events refer.
func (l *listener) appendOrder(m []byte) []byte {
	list := func(m []byte, names ...string) []byte {
		m = append(m, '[')
		for i, name := range names {
			if i > 0 {
				m = append(m, ',')
			}
			m = rest.AppendString(m, name)
		}
		return append(m, ']')
	}
	m = list(append(m, `,"metrics":{"often":`...), slices.Concat(l.names, l.largest)...)
	return append(list(append(m, `,"rare":`...), l.rare...), '}')
}
