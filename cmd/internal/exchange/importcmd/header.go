package importcmd

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
)

// A spec has the specified properties of a metric; the others are derived from
// the values.
type spec struct {
	typ   pcp.Type // TypeUnknown: not specified
	sem   pcp.Sem  // 0: not specified
	units pcp.Units
	known bool // units are specified
}

var noSpec = spec{typ: pcp.TypeUnknown}

// with returns s with the properties of more in place of its own.
func (s spec) with(more spec) spec {
	if more.typ != pcp.TypeUnknown {
		s.typ = more.typ
	}
	if more.sem != 0 {
		s.sem = more.sem
	}
	if more.known {
		s.units, s.known = more.units, true
	}
	return s
}

type globSpec struct {
	glob string
	spec spec
}

type globInDom struct {
	glob  string
	indom pcp.InDom
}

// globAndValue splits GLOB=VALUE.
func globAndValue(arg string) (glob, value string, err error) {
	glob, value, ok := strings.Cut(arg, "=")
	if !ok || glob == "" {
		return "", "", fmt.Errorf("a pattern, = and a value are needed")
	}
	if _, err := path.Match(glob, ""); err != nil {
		return "", "", fmt.Errorf("%s is no pattern", glob)
	}
	return glob, value, nil
}

// types and semantics are the words that a spec has, in lower case.
var types = map[string]pcp.Type{
	"32": pcp.Type32, "u32": pcp.TypeU32, "64": pcp.Type64, "u64": pcp.TypeU64,
	"float": pcp.TypeFloat, "double": pcp.TypeDouble, "string": pcp.TypeString,
}

var semantics = map[string]pcp.Sem{
	"counter": pcp.SemCounter, "instant": pcp.SemInstant, "discrete": pcp.SemDiscrete,
}

// parseSpec reads words for type and semantics, and units, with commas or
// blanks between: "u64, counter, KB / s".
func parseSpec(text string) (spec, error) {
	s := noSpec
	var units []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		lower := strings.ToLower(word)
		if t, ok := types[lower]; ok && s.typ == pcp.TypeUnknown {
			s.typ = t
		} else if sem, ok := semantics[lower]; ok && s.sem == 0 {
			s.sem = sem
		} else {
			units = append(units, word)
		}
	}
	if units == nil {
		return s, nil
	}
	joined := strings.Join(units, " ")
	if strings.EqualFold(joined, "none") {
		s.known = true
		return s, nil
	}
	u, mult, err := pcp.ParseUnits(joined)
	if err != nil || mult != 1 {
		return s, fmt.Errorf("%q is no type, semantics or units", joined)
	}
	s.units, s.known = u, true
	return s, nil
}

func parseInDom(text string) (pcp.InDom, error) {
	d, s, ok := strings.Cut(text, ".")
	domain, err1 := strconv.Atoi(d)
	serial, err2 := strconv.Atoi(s)
	if !ok || err1 != nil || err2 != nil || domain < 0 || domain > 510 || serial < 0 || serial >= 1<<22 {
		return 0, fmt.Errorf("%s is no instance domain, as 60.1 is", text)
	}
	return pcp.NewInDom(domain, serial), nil
}

// parseColumn reads a field of the header:
//
//	name[instance] (spec)
//	name-instance (spec)
//
// the second as pmrep writes it. Text in brackets at the end that is not a spec
// belongs to the name.
func parseColumn(field string) (name, inst string, s spec) {
	field, s = strings.TrimSpace(field), noSpec
	if open := strings.LastIndexByte(field, '('); open > 0 && strings.HasSuffix(field, ")") {
		if found, err := parseSpec(field[open+1 : len(field)-1]); err == nil && found != noSpec {
			field, s = strings.TrimSpace(field[:open]), found
		}
	}
	if open := strings.IndexByte(field, '['); open > 0 && strings.HasSuffix(field, "]") {
		return strings.TrimSpace(field[:open]), field[open+1 : len(field)-1], s
	}
	if dash := strings.IndexByte(field, '-'); dash > 0 && cleanName(field[:dash]) == field[:dash] && strings.Contains(field[:dash], ".") {
		return field[:dash], field[dash+1:], s
	}
	return field, "", s
}

// cleanName makes a name that metrics may have of any other: letters, digits
// and underscores, with dots between parts that begin with a letter.
func cleanName(name string) string {
	var b []byte
	start, gap := true, false
	for _, r := range name {
		letter := r|0x20 >= 'a' && r|0x20 <= 'z'
		switch {
		case r == '.':
			if !start {
				b, start, gap = append(b, '.'), true, false
			}
		case letter || r >= '0' && r <= '9' || r == '_':
			if start && !letter {
				b = append(b, 'x')
				gap = r != '_'
			}
			if gap && !start || gap && r != '_' {
				b = append(b, '_')
			}
			b, start, gap = append(b, byte(r)), false, false
		default:
			gap = !start
		}
	}
	return strings.TrimRight(string(b), ".")
}

// A column is a column of the file.
type column struct {
	number int // from 1
	header string
	name   string
	inst   string
	m      *metric
	typ    kinds // of the values seen
	put    putter
}

// A metric is one or more columns.
type metric struct {
	name    string
	spec    spec
	columns []*column
}

// columns makes columns of the header; nil for that of the time.
func (j *job) columns(header []string) error {
	at, err := j.findTime(header)
	if err != nil {
		return err
	}
	j.timeAt = at
	byName := make(map[string]*metric)
	j.cols = make([]*column, len(header))
	for i, field := range header {
		if i == at {
			continue
		}
		name, inst, s := parseColumn(field)
		clean := cleanName(name)
		if clean == "" {
			return fmt.Errorf("column %d: %q is no name for a metric", i+1, field)
		}
		as := clean != name
		if j.prefix != "" {
			clean = j.prefix + "." + clean
		}
		if as {
			fmt.Fprintf(j.env.Stderr, "%s:%d: column %d: %q becomes %s\n", j.file, j.headerLine, i+1, name, clean)
		}
		c := &column{number: i + 1, header: field, name: clean, inst: inst}
		m := byName[clean]
		if m == nil {
			m = &metric{name: clean, spec: j.specOf(clean)}
			byName[clean] = m
			j.metrics = append(j.metrics, m)
		}
		m.spec = m.spec.with(s)
		for _, other := range m.columns {
			switch {
			case other.inst == inst:
				return fmt.Errorf("column %d: %q is already column %d", i+1, field, other.number)
			case other.inst == "" || inst == "":
				return fmt.Errorf("column %d: %q, but column %d is %q: a metric has instances or a single value", i+1, field, other.number, other.header)
			}
		}
		c.m = m
		m.columns = append(m.columns, c)
		j.cols[i] = c
	}
	if len(j.metrics) == 0 {
		return fmt.Errorf("no metrics beside the time")
	}
	return nil
}

// specOf returns the properties of a metric set by options, the last option
// first, and else those that it has in the archive.
func (j *job) specOf(name string) spec {
	s := j.stored.spec(name)
	for _, g := range j.specs {
		if ok, _ := path.Match(g.glob, name); ok {
			s = s.with(g.spec)
		}
	}
	return s
}

// timeNames are the possible names of the column of the time, in lower case.
var timeNames = []string{"time", "timestamp", "@timestamp", "datetime", "date", "date/time", "date time", "epoch", "ts"}

// findTime returns the index of the column with the time.
func (j *job) findTime(header []string) (int, error) {
	if j.timeColumn == "" {
		i := slices.IndexFunc(header, func(s string) bool {
			return slices.Contains(timeNames, strings.ToLower(strings.TrimSpace(s)))
		})
		j.timeGuessed = i < 0
		return max(i, 0), nil
	}
	if i := slices.IndexFunc(header, func(s string) bool { return strings.TrimSpace(s) == j.timeColumn }); i >= 0 {
		return i, nil
	}
	if n, err := strconv.Atoi(j.timeColumn); err == nil && n >= 1 && n <= len(header) {
		return n - 1, nil
	}
	return 0, fmt.Errorf("there is no column %s for the time", j.timeColumn)
}
