package webapi

import (
	"slices"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// message returns the event for a listener. Listeners of the same metrics share it, unless they lack names of instances.
func (b *hub) message(f *fetched, o *order, shared map[sharedKey]message) []byte {
	names := o.names()
	var lacking []byte
	if o.named != nil {
		lacking = b.unnamed(f, o, names)
	} else {
		lacking = b.lacking(f, o, names)
	}
	key := shareOf(o)
	m, ok := shared[key]
	if !ok || lacking != nil {
		m = o.compose(f, names, lacking)
		if lacking == nil {
			shared[key] = m
		}
	}
	if o.changes {
		o.sends(f, m.whole)
	}
	return m.data
}

// A message is an event for listeners.
type message struct {
	data  []byte
	whole bool // it has values, not changes
}

// compose makes the event for a listener, with the names of instances that it lacks.
func (o *order) compose(f *fetched, names []string, lacking []byte) message {
	m := append(make([]byte, 0, 1024), `data: {"timestamp":`...)
	m = append(m, f.time...)
	if lacking != nil {
		m = append(m, `,"instances":{`...)
		m = append(m, lacking...)
		m = append(m, '}')
	}
	changes := false
	if o.changes {
		m, changes = o.appendChanges(m, f)
	}
	if !changes {
		if o.changes {
			m = o.appendOrder(m)
		}
		m = append(m, `,"values":`...)
		m = appendMembers(m, append(slices.Clip(names), o.largest...), func(m []byte, name string) []byte { return append(m, o.valuesOf(f, name)...) })
	}
	if len(o.largest) > 0 {
		m = o.appendLargest(m, f)
	}
	return message{append(m, "}\n\n"...), !changes}
}

// appendLargest appends the sums of the other instances and the values before, of metrics of which the largest instances are sent.
func (o *order) appendLargest(m []byte, f *fetched) []byte {
	m = append(m, `,"others":`...)
	m = appendMembers(m, o.largest, func(m []byte, name string) []byte {
		c := f.choices[o.key][name]
		if c == nil || c.rest == 0 {
			return m
		}
		m = strconv.AppendInt(append(m, '['), int64(c.rest), 10)
		m = appendValue(append(m, ','), pcp.DoubleValue(c.sum))
		return append(m, ']')
	})
	before := appendMembers(nil, o.largest, func(m []byte, name string) []byte {
		if c := f.choices[o.key][name]; c != nil {
			m = append(m, c.before...)
		}
		return m
	})
	if o.changes && len(before) <= len("{}") {
		return m
	}
	m = append(append(m, `,"since":`...), f.before[o.key]...)
	return append(append(m, `,"before":`...), before...)
}

// see notes the instances of a domain whose rare metrics are sent.
func (b *hub) see(o *order, indom pcp.InDom, name string) {
	if !o.rare {
		return
	}
	if _, ok := o.seen[indom]; !ok && slices.Contains(o.listener.rare, name) {
		o.seen[indom] = b.rosterLen(indom)
	}
}

// appendMembers appends an object with a member for each name for which the function appends something.
func appendMembers(m []byte, names []string, value func(m []byte, name string) []byte) []byte {
	m = append(m, '{')
	first := true
	for _, name := range names {
		before := len(m)
		if !first {
			m = append(m, ',')
		}
		m = append(rest.AppendString(m, name), ':')
		n := len(m)
		if m = value(m, name); len(m) == n {
			m = m[:before]
			continue
		}
		first = false
	}
	return append(m, '}')
}

// unnamed returns the names of the instances in a message that a listener of the largest ones was not sent, as members
// of a JSON object; nil if there are none.
func (b *hub) unnamed(f *fetched, o *order, names []string) (m []byte) {
	wanted := map[pcp.InDom]map[int32]bool{}
	whole := map[pcp.InDom]bool{}
	for _, name := range names {
		if indom, ok := f.domains[name]; ok && indom != pcp.InDomNull {
			whole[indom] = true
			if b.rosters[indom] != nil {
				b.see(o, indom, name)
			}
		}
	}
	for _, name := range o.largest {
		c, indom := f.choices[o.key][name], f.domains[name]
		if c == nil || whole[indom] {
			continue
		}
		if wanted[indom] == nil {
			wanted[indom] = map[int32]bool{}
		}
		for _, inst := range c.insts {
			wanted[indom][inst] = true
		}
	}
	for indom := range whole {
		wanted[indom] = nil
	}
	for indom, insts := range wanted {
		if r := b.rosters[indom]; r != nil {
			m = o.appendNames(m, indom, r, insts)
		}
	}
	return m
}

// appendNames appends the names of instances that were not sent; all of a domain if insts is nil.
func (l *listener) appendNames(m []byte, indom pcp.InDom, r *roster, insts map[int32]bool) []byte {
	known := l.named[indom]
	first := known == nil
	if len(known) > 2*len(r.names)+maxNamed { // most of them have ended
		known, first = nil, true
	}
	if known == nil {
		known = map[int32]string{}
		l.named[indom] = known
	}
	start := len(m)
	if m != nil {
		m = append(m, ',')
	}
	m = append(append(append(m, '"'), indom.String()...), `":{`...)
	if first { // the client forgets the instances that it knows
		m = append(m, `"":0`...)
	}
	some := first
	for inst, name := range r.names {
		if was, ok := known[inst]; insts != nil && !insts[inst] || ok && was == name {
			continue
		}
		known[inst] = name
		if some {
			m = append(m, ',')
		}
		some = true
		m = append(strconv.AppendUint(append(m, '"'), uint64(uint32(inst)), 10), `":`...)
		m = rest.AppendString(m, name)
	}
	if !some {
		if start == 0 {
			return nil
		}
		return m[:start]
	}
	return append(m, '}')
}

// lacking returns the instances that a listener was not sent, as members of a JSON object; nil if there are none.
func (b *hub) lacking(f *fetched, o *order, names []string) (m []byte) {
	for _, name := range names {
		indom, ok := f.domains[name]
		r := b.rosters[indom]
		if !ok || r == nil {
			continue
		}
		b.see(o, indom, name)
		at := o.sent[indom]
		if at.epoch != r.epoch {
			at = sent{epoch: r.epoch}
		}
		if at.n < len(r.list) {
			if m != nil {
				m = append(m, ',')
			}
			m = append(m, '"')
			m = append(m, indom.String()...)
			m = append(m, `":{`...)
			if at.n == 0 { // the client forgets the instances that it knows
				m = append(m, `"":0,`...)
			}
			for i, in := range r.list[at.n:] {
				if i > 0 {
					m = append(m, ',')
				}
				m = append(m, '"')
				m = strconv.AppendUint(m, uint64(uint32(in.Inst)), 10)
				m = append(m, `":`...)
				m = rest.AppendString(m, in.Name)
			}
			m = append(m, '}')
			at.n = len(r.list)
		}
		o.sent[indom] = at
	}
	return m
}
