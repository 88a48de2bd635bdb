package exposition

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// Name returns the name of a metric in the text of Prometheus. With old it is a name in the form of old
// versions of pmproxy, with colons for the points.
func Name(name string, old bool) string {
	b := []byte(name)
	for i, c := range b {
		switch {
		case c == '.' && old:
			b[i] = ':'
		case c >= '0' && c <= '9' && i > 0, c|0x20 >= 'a' && c|0x20 <= 'z', c == '_':
		default:
			b[i] = '_'
		}
	}
	return string(b)
}

// A Pair is a label with its JSON value.
type Pair struct{ Name, Value string }

// Merged returns labels, the last of each name, in the order in which their names were first, and those of the
// instance.
func Merged(sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string, nameOf func(string) string) []Pair {
	var list []Pair
	put := func(name, value string, replace bool) {
		for i := range list {
			if list[i].Name == name {
				if replace {
					list[i].Value = value
				}
				return
			}
		}
		list = append(list, Pair{name, value})
	}
	add := func(set *pcp.LabelSet) {
		for l := range set.All() {
			if l.Name != "" {
				put(nameOf(l.Name), l.Value, true)
			}
		}
	}
	for i := range sets {
		add(&sets[i])
	}
	if own != nil {
		add(own)
	}
	if inst != pcp.InNull {
		put("instname", string(appendString(nil, instName)), false)
		put("instid", `"`+strconv.FormatUint(uint64(uint32(inst)), 10)+`"`, false)
	}
	return list
}

// Text returns the text of a label's value: the contents of a string, or else its JSON.
func Text(value string) string {
	var s string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &s) == nil {
		return s
	}
	return strings.ToValidUTF8(value, "\ufffd")
}

// AppendSeries appends a name with labels, and a space.
func AppendSeries(b []byte, name string, sets []pcp.LabelSet, own *pcp.LabelSet, inst int32, instName string) []byte {
	b = append(b, name...)
	list := Merged(sets, own, inst, instName, func(s string) string { return strings.ReplaceAll(Name(s, false), ":", "_") })
	if len(list) == 0 {
		return append(b, ' ')
	}
	b = append(b, '{')
	for i, l := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.Name...)
		b = append(b, `="`...)
		b = appendLabelValue(b, Text(l.Value))
		b = append(b, '"')
	}
	return append(b, "} "...)
}

// appendLabelValue appends the value of a label without its quotes.
func appendLabelValue(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// AppendHelp appends a text with line ends and backslashes escaped.
func AppendHelp(b []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\ufffd")
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\':
			b = append(b, `\\`...)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// appendString appends s as a string of JSON.
func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		panic(err) // not of a string
	}
	return append(b, text...)
}
