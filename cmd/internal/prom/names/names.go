package names

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// NameLabel is the label with the name of a metric.
const NameLabel = "__name__"

// Labels of each series of a metric with instances, unless the metric has labels with these names.
const (
	InstanceName   = "instname" // external name of the instance
	InstanceNumber = "instid"   // internal identifier, as an unsigned number
)

// Metric returns the name of a metric in Prometheus: other characters than letters, digits and underscores become
// underscores.
func Metric(name string) string { return clean(name, '_') }

// Old returns the name of a metric in the form of old versions of pmproxy, with colons for the points.
func Old(name string) string { return clean(name, ':') }

// Label returns the name of a label in Prometheus.
func Label(name string) string { return clean(name, '_') }

// clean replaces characters that names in Prometheus cannot have, and points with the given one.
func clean(name string, point byte) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c == '.':
			b[i] = point
		case c >= '0' && c <= '9' && i > 0, c|0x20 >= 'a' && c|0x20 <= 'z', c == '_':
		default:
			b[i] = '_'
		}
	}
	return string(b)
}

// Type returns the type of a metric in Prometheus.
func Type(d *pcp.Desc) string {
	if d.Sem == pcp.SemCounter {
		return "counter"
	}
	return "gauge"
}

// Numeric reports whether a metric has numbers as values. Prometheus has no others.
func Numeric(d *pcp.Desc) bool { return d.Type >= 0 && d.Type <= pcp.TypeDouble }

// Unit returns the units of a metric as text, "" for none.
func Unit(u pcp.Units) string { return u.String() }

// A Pair is a label with its JSON value.
type Pair struct{ Name, Value string }

// Text returns the text of the value: the contents of a string, or else the JSON.
func (p Pair) Text() string {
	if n := len(p.Value); n >= 2 && p.Value[0] == '"' && p.Value[n-1] == '"' && plain(p.Value[1:n-1]) {
		return p.Value[1 : n-1]
	}
	var s string
	if strings.HasPrefix(p.Value, `"`) && json.Unmarshal([]byte(p.Value), &s) == nil {
		return s
	}
	return strings.ToValidUTF8(p.Value, "\ufffd")
}

// Set adds a label. It replaces the value of a label with the same name.
func Set(list []Pair, name, value string) []Pair {
	for i := range list {
		if list[i].Name == name {
			list[i].Value = value
			return list
		}
	}
	return append(list, Pair{name, value})
}

// Instance adds the labels with name and number of an instance, unless there are labels with these names. It adds none
// for [pcp.InNull].
func Instance(list []Pair, inst int32, name string) []Pair {
	if inst == pcp.InNull {
		return list
	}
	list = add(list, InstanceName, Quote(name))
	return add(list, InstanceNumber, `"`+strconv.FormatUint(uint64(uint32(inst)), 10)+`"`)
}

func add(list []Pair, name, value string) []Pair {
	for i := range list {
		if list[i].Name == name {
			return list
		}
	}
	return append(list, Pair{name, value})
}

// Merge returns labels, the last value of each name, in the order in which their names were first, and those of the
// instance. Names are those that nameOf returns.
func Merge(sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string, nameOf func(string) string) []Pair {
	var list []Pair
	take := func(set *pcp.LabelSet) {
		for l := range set.All() {
			if l.Name != "" {
				list = Set(list, nameOf(l.Name), l.Value)
			}
		}
	}
	for i := range sets {
		take(&sets[i])
	}
	if own != nil {
		take(own)
	}
	return Instance(list, inst, instName)
}

// plain reports whether a text is the same as a string of JSON, which nearly all are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// Quote returns s as a string of JSON.
func Quote(s string) string {
	if plain(s) {
		return `"` + s + `"`
	}
	text, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		panic(err) // not of a string
	}
	return string(text)
}
