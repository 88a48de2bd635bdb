package conf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Metric is the specification of a metric, or of all metrics below a name, in a configuration or
// an argument. Empty fields are not set.
type Metric struct {
	Name      string
	Label     string
	Instances []string // names or regular expressions
	Unit      string
	Type      string // "raw" for the values of counters, not their rates
	Width     string // a number
	Precision string // a number
	Limit     string // a number; pmrep ignores it, see Ninth
	Ninth     string // the field after the limit in the compact form; by an oversight pmconfig takes this for the limit, and we as well
	Formula   string // of a derived metric of that name
}

// A Parser reads metric specifications. The zero Parser reads those of pmrep.
type Parser struct {
	// Extra are properties of specifications in addition to those of pmrep, such as "color". Other handles
	// such a property, of the metric of that key.
	Extra []string
	Other func(m *Metric, key, property, value string) error
}

// properties are the properties in a specification, in the order of the compact form.
var properties = []string{"label", "instances", "unit", "type", "width", "precision", "limit", "formula"}

// Properties returns the names of the properties in a specification.
func Properties() []string { return slices.Clone(properties) }

func (p *Parser) known(property string) bool {
	return slices.Contains(properties, property) || slices.Contains(p.Extra, property)
}

// ParseMetric reads a specification in the compact form of arguments: "disk.dev.read,reads,sda,,raw,8,2,100" is name,
// label, instances, unit, type, width, precision and limit.
func ParseMetric(spec string) Metric {
	rest, insts := cutInstances(spec)
	fields := strings.Split(rest, ",")
	m := Metric{Name: fields[0], Label: fields[1], Instances: insts}
	for i, to := range []*string{&m.Unit, &m.Type, &m.Width, &m.Precision, &m.Limit, &m.Ninth} {
		if 3+i < len(fields) {
			*to = fields[3+i]
		}
	}
	return m
}

// cutInstances returns the instances of a compact form, and the form without them, which has two commas at least.
// Values of configuration files keep the quotes around the instances, those of arguments do not.
func cutInstances(spec string) (rest string, insts []string) {
	parts := strings.SplitN(spec, ",", 3)
	if len(parts) < 3 {
		return spec + ",,", nil
	}
	first, _, _ := strings.Cut(parts[2], ",")
	if !strings.ContainsAny(spec, `"'`) {
		if first != "" {
			insts = []string{first}
		}
		return spec, insts
	}
	text := parts[2]
	if text == "" {
		return spec, nil
	}
	// The instances end at the last occurrence of their first character.
	text = text[:strings.LastIndex(text, firstRune(text))+len(firstRune(text))]
	inner := text
	if len(first) > 2 && (first[0] == '"' || first[0] == '\'') {
		inner = ""
		if len(text) > 2 {
			inner = text[1 : len(text)-1]
		}
	}
	rest = strings.ReplaceAll(spec, text, "")
	if strings.Count(rest, ",") < 2 {
		rest += ",,"
	}
	return rest, SplitInstances(inner)
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// SplitInstances splits a list of instances, "'sda','sdb'" or "sda,sdb", as the argument of -i is.
func SplitInstances(list string) []string {
	fields := splitCSV(list)
	for i, f := range fields {
		if strings.HasPrefix(f, `"`) || strings.HasPrefix(f, "'") {
			f = f[1:]
		}
		if strings.HasSuffix(f, `"`) || strings.HasSuffix(f, "'") {
			f = f[:len(f)-1]
		}
		fields[i] = f
	}
	return fields
}

// splitCSV splits a line of fields that may be in double quotes.
func splitCSV(line string) []string {
	var fields []string
	if line == "" {
		return nil
	}
	for {
		var b strings.Builder
		i := 0
		if strings.HasPrefix(line, `"`) {
			for i = 1; i < len(line); i++ {
				if line[i] != '"' {
					b.WriteByte(line[i])
					continue
				}
				if i++; i < len(line) && line[i] == '"' {
					b.WriteByte('"')
					continue
				}
				break
			}
		}
		i = min(i, len(line))
		plain, rest, more := strings.Cut(line[i:], ",")
		fields = append(fields, b.String()+plain)
		if !more {
			return fields
		}
		line = rest
	}
}

// metrics are the metrics of a section while it is read, by their keys in it.
type metrics struct {
	parser *Parser
	keys   []string
	byKey  map[string]*Metric
}

// add takes in one line of a section.
func (ms *metrics) add(key, value string) error {
	prefix, property, dotted := strings.Cut(key, ".")
	second, _, _ := strings.Cut(property, ".") // of a name of three parts the second counts, as in Python
	isProperty := dotted && ms.parser.known(second)
	formula := dotted && second == "formula"
	if (strings.Contains(value, ",") || dotted && !isProperty) && !formula {
		m := ParseMetric(key + "," + value)
		ms.put(key, &m)
		return nil
	}
	if !isProperty {
		ms.put(key, &Metric{Name: value})
		return nil
	}
	if strings.Contains(property, ".") {
		return errors.New("too many values to unpack (expected 2)") // Python's message
	}
	m := ms.byKey[prefix]
	if m == nil {
		//lint:ignore ST1005 these are the words of the C program, to the user
		return fmt.Errorf("Undeclared metric key %s", prefix)
	}
	return ms.set(m, prefix, property, value)
}

func (ms *metrics) put(key string, m *Metric) {
	if ms.byKey[key] == nil {
		ms.keys = append(ms.keys, key)
	}
	ms.byKey[key] = m
}

func (ms *metrics) set(m *Metric, key, property, value string) error {
	value = unquote(value)
	switch property {
	case "label":
		m.Label = value
	case "instances":
		m.Instances = []string{value}
	case "unit":
		m.Unit = value
	case "type":
		m.Type = value
	case "width":
		m.Width = value
	case "precision":
		m.Precision = value
	case "limit":
		m.Limit = value
	case "formula":
		m.Formula = value
	default:
		if ms.parser.Other != nil {
			return ms.parser.Other(m, key, property, value)
		}
	}
	return nil
}

// unquote removes double quotes around a value.
func unquote(value string) string {
	if strings.HasPrefix(value, `"`) && strings.HasSuffix(value, `"`) {
		if len(value) < 2 {
			return ""
		}
		return value[1 : len(value)-1]
	}
	return value
}

// list returns the metrics in their order. If two have the same name, the later one's
// properties are used, at the place of the first.
func (ms *metrics) list() []Metric {
	list := make([]Metric, 0, len(ms.keys))
	at := make(map[string]int, len(ms.keys))
	for _, key := range ms.keys {
		m := *ms.byKey[key]
		if i, ok := at[m.Name]; ok {
			list[i] = m
			continue
		}
		at[m.Name] = len(list)
		list = append(list, m)
	}
	return list
}
