package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
)

// jsonWriter writes one document, sample by sample:
//
//	{"@pcp": {"@hosts": [{"@host": …, "@metrics": [{…}, …], "@source": …, "@timezone": …}]}}
//
// The C program keeps all samples until its end; this one writes each at once.
type jsonWriter struct {
	what  extent
	exact bool // -E: numbers are numbers, not strings
	head  origin
	begun bool
	prev  float64
}

// jsonDumper writes as pcp2json does.
var jsonDumper = dumper{sorted: true, indent: 2, itemSep: ",", keySep: ": "}

// depth of a sample in the document.
const sampleDepth = 5

func (j *jsonWriter) append(b []byte, s *sample) []byte {
	if !j.begun {
		b = append(b, "{\n  \"@pcp\": {\n    \"@hosts\": [\n      {\n        \"@host\": "...)
		b = jsonDumper.text(b, j.head.host)
		b = append(b, ",\n        \"@metrics\": ["...)
		j.prev = seconds(s.time)
	} else {
		b = append(b, ',')
	}
	j.begun = true
	doc := new(object)
	doc.set("@timestamp", s.stamp)
	now := seconds(s.time)
	doc.set("@interval", strconv.FormatInt(int64(now-j.prev+0.5), 10))
	j.prev = now
	for i := range s.metrics {
		m := &s.metrics[i]
		parts := strings.Split(m.Name, ".")
		at, leaf := doc, parts[len(parts)-1]
		for _, p := range parts[:len(parts)-1] {
			if at = at.sub(p); at == nil {
				break
			}
		}
		if at == nil {
			continue // a name that another name continues, which no name space has
		}
		for k := range m.values {
			v := &m.values[k]
			if single(v) {
				at.set(leaf, j.value(m, v))
				continue
			}
			inner := at.sub(leaf)
			if inner == nil {
				continue
			}
			all, _ := inner.get(instancesOf).(list)
			inner.set(instancesOf, append(all, j.value(m, v)))
		}
	}
	b = jsonDumper.line(b, sampleDepth)
	return jsonDumper.dump(b, doc, sampleDepth)
}

func (j *jsonWriter) value(m *metric, v *pmrep.Value) *object {
	o := new(object)
	if j.exact {
		o.set("value", numeral(rounded(v.Value, m.Precision)))
	} else {
		o.set("value", text(v.Value, m.Precision))
	}
	if !single(v) && v.Name != "" {
		o.set("name", v.Name)
	}
	if m.Unit != "" {
		o.set("@unit", m.Unit)
	}
	if j.what.extended {
		o.set("@type", typeName(m.Desc.Type))
		o.set("@semantics", m.Desc.Sem.String())
	}
	if j.what.everything {
		o.set("@pmid", number(fmt.Sprint(uint32(m.Desc.PMID))))
		if m.Desc.InDom != pcp.InDomNull {
			o.set("@indom", number(fmt.Sprint(uint32(m.Desc.InDom))))
		}
		if !single(v) {
			o.set("@id", fmt.Sprint(v.Inst))
		}
	}
	if j.what.labels {
		o.set("@labels", m.LabelText(v.Inst))
	}
	return o
}

func (j *jsonWriter) finish(b []byte) []byte {
	if !j.begun {
		return b
	}
	b = append(b, "\n        ],\n        \"@source\": "...)
	b = jsonDumper.text(b, j.head.name)
	b = append(b, ",\n        \"@timezone\": "...)
	b = jsonDumper.text(b, j.head.zone)
	return append(b, "\n      }\n    ]\n  }\n}\n"...)
}

// nested builds the document that pcp2elasticsearch and pcp2spark send for a sample: metrics by
// the parts of their names, values of instances next to each other by instance.
type nested struct {
	root   *object
	labels bool
}

func (n *nested) add(m *metric, v *pmrep.Value, val node) {
	parts := strings.Split(m.Name, ".")
	at, leaf := n.root, parts[len(parts)-1]
	for _, p := range parts[:len(parts)-1] {
		if at = at.sub(p); at == nil {
			return
		}
	}
	if single(v) {
		if n.labels {
			val = list{val, m.LabelText(v.Inst)}
		}
		at.set(leaf, val)
		return
	}
	all, _ := at.get(instancesOf).(list)
	i := slices.IndexFunc(all, func(x node) bool { return x.(*object).get("@id") == node(v.Name) })
	if i < 0 {
		o := new(object)
		o.set("@id", v.Name)
		all = append(all, o)
		i = len(all) - 1
		at.set(instancesOf, all)
	}
	o := all[i].(*object)
	o.set(leaf, val)
	if n.labels {
		o.set("@labels", m.LabelText(v.Inst))
	}
}
