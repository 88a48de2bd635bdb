package openmetrics

import (
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/unitname"
	"github.com/go-pcp/pcp/openmetrics"
)

// A metric is one name of a source. Its kind is set when it is first seen, and never changes.
type metric struct {
	name     string // as the source has it
	pcpName  string // without the root and the name of the source
	item     int32
	desc     pcp.Desc
	oneLine  string
	help     string
	singular bool
	declared bool // a comment of PCP, or METADATA, describes it
	insts    *numbering
	slots    []int32                // of the instances, by number; -1 for none
	labels   map[string]string      // of the metric: those of the sample that came last
	optional map[string]string      // those that are not part of names of instances
	byInst   map[int32]pcp.LabelSet // labels of instances
	labelled string                 // the key of the series that labels are of
	hidden   bool                   // another metric has its name
	text     bool                   // strings
}

// comments are the comment lines before a sample. They apply to all samples up to the next comment.
type comments struct {
	pcp5 []byte // words of the line, with the keyword
	help []byte
	kind []byte
	unit []byte
	used bool

	unitOf []byte // the name in the comment UNIT // a sample followed
}

func (c *comments) reset() {
	c.pcp5, c.help, c.kind = c.pcp5[:0], c.help[:0], c.kind[:0]
	c.unit, c.used = c.unit[:0], false
}

// read takes in a comment. It reports whether it makes sense.
func (c *comments) read(line []byte) bool {
	if c.used {
		c.reset()
	}
	// The keyword must be a word of its own.
	word, rest := openmetrics.Field(line)
	if string(word) != "#" {
		return true
	}
	keyword, name, text := openmetrics.Comment(line)
	switch string(keyword) {
	case "HELP":
		c.help = appendWords(c.help[:0], text)
	case "TYPE":
		c.kind = appendWords(c.kind[:0], text)
	case "UNIT":
		c.unitOf, c.unit = append(c.unitOf[:0], name...), appendWords(c.unit[:0], text)
	case "PCP":
		c.pcp5 = appendWords(c.pcp5[:0], rest)
	case "PCP5":
		if len(name) == 0 {
			return false
		}
		c.pcp5 = append(append(append(c.pcp5[:0], "PCP5 "...), name...), ' ')
		_, text = openmetrics.Field(text) // the number of the metric elsewhere
		c.pcp5 = appendWords(c.pcp5, text)
	}
	return true
}

// appendWords appends the words of text with one space between them.
func appendWords(b, text []byte) []byte {
	for first := true; ; first = false {
		word, rest := openmetrics.Field(text)
		if len(word) == 0 {
			return b
		}
		if !first {
			b = append(b, ' ')
		}
		b = append(b, word...)
		text = rest
	}
}

// newMetric describes a metric by its comments and its name.
func newMetric(id pcp.PMID, name string, pcpLine string, c *comments) (*metric, error) {
	m := &metric{name: name, item: int32(id.Item())}
	m.desc = pcp.Desc{PMID: id, Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: pcp.InDomNull}
	m.oneLine, m.help = helpText(string(c.help))
	if pcpLine != "" {
		m.declared = true
		return m, m.declare(strings.Split(pcpLine, " "))
	}
	m.pcpName = strings.ReplaceAll(name, ":", ".")
	kind, parts := string(c.kind), strings.Split(name, "_")
	has := func(part string) bool { return slices.Contains(parts, part) }
	if kind == "counter" || has("total") || has("count") || has("sum") || kind == "histogram" && has("bucket") {
		m.desc.Sem = pcp.SemCounter
	}
	switch {
	case (kind == "histogram" || kind == "summary") && has("count"), kind == "histogram" && has("bucket"):
		m.desc.Units = pcp.Units{DimCount: 1}
	case has("seconds"):
		m.desc.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
	case has("microseconds"):
		m.desc.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}
	case has("bytes"):
		m.desc.Units = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	default:
		unit := ""
		if strings.HasPrefix(name, string(c.unitOf)) {
			unit = string(c.unit)
		}
		m.desc.Units.Extra = extraUnit(unit, parts)
	}
	return m, nil
}

// extraUnit returns the extra unit of a comment UNIT. Without such a comment the unit is the last word of the name, as in
// temp_celsius. The C agent sets neither.
func extraUnit(unit string, parts []string) pcp.Extra {
	n := len(parts)
	if unit == "" && n > 1 && slices.Contains([]string{"total", "sum"}, parts[n-1]) {
		n--
	}
	if unit == "" && (n < 2 || parts[n-2] != "per") {
		unit = parts[n-1]
	}
	u, _ := unitname.FromWord(unit)
	return u.Extra
}

// helpText splits the text of a HELP comment as the Python agent does: the first line, and the
// rest. If there is no rest, the first line is also the long text.
func helpText(s string) (oneLine, help string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, `\\`, `\`), `\n`, "\n")
	s = strings.ToValidUTF8(s, "\ufffd")
	oneLine, help, found := strings.Cut(s, "\n")
	if !found {
		help = oneLine
	}
	return oneLine, help
}

// declare takes a descriptor from the words of a comment:
//
//	PCP5 name type indom semantics units
//	METADATA name type indom semantics units
//	PCP name semantics units
func (m *metric) declare(words []string) error {
	if len(words) < 2 {
		return errNoPCPName
	}
	m.pcpName = words[1]
	m.singular = slices.Contains(words, "PM_INDOM_NULL")
	sem, units := "", ""
	if words[0] == "PCP" {
		if len(words) > 2 {
			sem = words[2]
		}
		if len(words) > 3 {
			units = strings.Join(words[3:], " ")
		}
	} else {
		if len(words) < 5 {
			return errShortPCP
		}
		m.desc.Type = typeOf(words[2])
		sem, units = words[4], strings.Join(words[5:], " ")
	}
	switch sem {
	case "counter":
		m.desc.Sem = pcp.SemCounter
	case "discrete":
		m.desc.Sem = pcp.SemDiscrete
	}
	m.text = m.desc.Type == pcp.TypeString
	if units != "" && units != "none" {
		if u, _, err := pcp.ParseUnits(units); err == nil {
			m.desc.Units = u
		}
	}
	return nil
}

func typeOf(word string) pcp.Type {
	switch word {
	case "float":
		return pcp.TypeFloat
	case "u64":
		return pcp.TypeU64
	case "64":
		return pcp.Type64
	case "u32":
		return pcp.TypeU32
	case "32":
		return pcp.Type32
	case "string":
		return pcp.TypeString
	}
	return pcp.TypeDouble
}

// validName reports whether a name can be part of the name of a metric.
func validName(name string) bool {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	if name == "" || !letter(name[0]) {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c != ':' {
			return false
		}
	}
	return true
}
