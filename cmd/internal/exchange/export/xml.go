package export

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// xmlWriter writes samples as elements, nested as the names of the metrics are:
//
//	<timestamp value="2026-11-24 10:00:00" interval="60">
//	  <kernel>
//	    <all>
//	      <load instance-name="1 minute">0.320</load>
type xmlWriter struct {
	what    extent
	head    origin
	declare bool // the declaration is still to be written
	prev    float64
	begun   bool
}

var (
	attrEscapes = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	})
	dataEscapes = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("&", "&amp;", "<", "&lt;", "]]>", "]]&gt;") })
)

func (x *xmlWriter) begin(b []byte) []byte {
	if x.declare {
		b = append(b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"...)
	}
	b = fmt.Appendf(b, "<pcp>\n  <host nodename=\"%s\">\n    <source>%s</source>\n    <timezone>%s</timezone>\n    <metrics>\n",
		attrEscapes().Replace(x.head.host), dataEscapes().Replace(x.head.name), x.head.zone)
	return b
}

// An element of XML: one with children has no values.
type element struct {
	name     string
	children []*element
	single   *xmlValue   // of a metric without instances
	insts    []*instance // of the metrics below, in order of arrival; by instance name
}

type instance struct {
	name   string
	values []xmlValue
}

type xmlValue struct {
	metric *metric
	leaf   string
	value  *pmrep.Value
}

func (e *element) child(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	c := &element{name: name}
	e.children = append(e.children, c)
	return c
}

func (x *xmlWriter) append(b []byte, s *sample) []byte {
	if !x.begun {
		x.begun, x.prev = true, seconds(s.time)
		b = x.begin(b)
	}
	root := new(element)
	for i := range s.metrics {
		m := &s.metrics[i]
		parts := strings.Split(m.Name, ".")
		e := root
		for _, p := range parts[:len(parts)-1] {
			e = e.child(p)
		}
		leaf := parts[len(parts)-1]
		for j := range m.values {
			v := &m.values[j]
			if single(v) {
				e.child(leaf).single = &xmlValue{m, leaf, v}
				continue
			}
			e.addInstance(m, leaf, v)
		}
	}
	now := seconds(s.time)
	b = fmt.Appendf(b, "      <timestamp value=\"%s\" interval=\"%d\">\n", s.stamp, int64(now-x.prev+0.5))
	x.prev = now
	b = x.element(b, root, "        ")
	return append(b, "      </timestamp>\n"...)
}

// instancesOf is the child with the values of instances, at the place of the first of these.
const instancesOf = "@instances"

func (e *element) addInstance(m *metric, leaf string, v *pmrep.Value) {
	all := e.child(instancesOf)
	// Values of an instance are next to each other, except for the first instance:
	// the C program starts its search at the second.
	for i, in := range all.insts {
		if i > 0 && in.name == v.Name {
			in.set(xmlValue{m, leaf, v})
			return
		}
	}
	all.insts = append(all.insts, &instance{v.Name, []xmlValue{{m, leaf, v}}})
}

func (in *instance) set(v xmlValue) {
	for i := range in.values {
		if in.values[i].leaf == v.leaf {
			in.values[i] = v
			return
		}
	}
	in.values = append(in.values, v)
}

func (x *xmlWriter) element(b []byte, e *element, indent string) []byte {
	for _, c := range e.children {
		switch {
		case c.single != nil:
			b = x.value(b, c.single, indent)
		case c.name == instancesOf:
			for _, in := range c.insts {
				for i := range in.values {
					b = x.value(b, &in.values[i], indent)
				}
			}
		default:
			b = fmt.Appendf(b, "%s<%s>\n", indent, c.name)
			b = x.element(b, c, indent+"  ")
			b = fmt.Appendf(b, "%s</%s>\n", indent, c.name)
		}
	}
	return b
}

func (x *xmlWriter) value(b []byte, v *xmlValue, indent string) []byte {
	m := v.metric
	b = fmt.Appendf(b, "%s<%s", indent, v.leaf)
	attr := func(name, value string) { b = fmt.Appendf(b, ` %s="%s"`, name, value) }
	if name := attrEscapes().Replace(v.value.Name); !single(v.value) && name != "" {
		attr("instance-name", name)
	}
	if m.Unit != "" {
		attr("unit", m.Unit)
	}
	if x.what.extended {
		attr("type", typeName(m.Desc.Type))
		attr("semantics", m.Desc.Sem.String())
	}
	if x.what.everything {
		attr("pmid", fmt.Sprint(uint32(m.Desc.PMID)))
		if m.Desc.InDom != pcp.InDomNull {
			attr("indom", fmt.Sprint(uint32(m.Desc.InDom)))
		}
		if !single(v.value) {
			attr("instance-id", fmt.Sprint(v.value.Inst))
		}
	}
	if x.what.labels {
		attr("labels", attrEscapes().Replace(m.LabelText(v.value.Inst)))
	}
	return fmt.Appendf(b, ">%s</%s>\n", dataEscapes().Replace(text(v.value.Value, m.Precision)), v.leaf)
}

func (x *xmlWriter) finish(b []byte) []byte {
	if !x.begun {
		return b
	}
	return append(b, "    </metrics>\n  </host>\n</pcp>\n"...)
}
