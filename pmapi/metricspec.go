package pmapi

import (
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A MetricSpec names a metric, its source and instances (pmMetricSpec).
type MetricSpec struct {
	Kind   SourceKind
	Source string // host or archive
	Metric string
	Insts  []string // external names; none means all instances
}

// ParseMetricSpec parses a metric specification (pmParseMetricSpec(3)):
//
//	[host:]metric[[instance,...]]
//	[archive/]metric[[instance,...]]
//	@:metric[[instance,...]]           agents in the process itself
//
// Instances are separated by commas or white space; a name that contains these
// is in double quotes. A backslash quotes the next character. Where spec names
// no source, kind and source are the defaults. Errors are of type *SpecError.
func ParseMetricSpec(spec string, kind SourceKind, source string) (MetricSpec, error) {
	fail := func(at int, msg string) (MetricSpec, error) {
		return MetricSpec{}, &SpecError{Spec: spec, Offset: at, Msg: msg}
	}
	ms := MetricSpec{Kind: kind, Source: source}
	pos := ctext.SkipSpace(spec, 0)

	// The last colon or slash before the instances ends the source.
	end := strings.IndexByte(spec[pos:], '[')
	if end < 0 {
		end = len(spec) - pos
	}
	if n := strings.LastIndexAny(spec[pos:pos+end], ":/"); n >= 0 {
		name := strings.TrimRight(spec[pos:pos+n], ctext.Space)
		isHost := spec[pos+n] == ':'
		switch {
		case name == "" && isHost:
			return fail(pos, "host name expected")
		case name == "":
			return fail(pos, "archive name expected")
		case !isHost:
			ms.Kind = SourceArchive
		case name == "@":
			ms.Kind = SourceLocal
		default:
			ms.Kind = SourceHost
		}
		ms.Source = unescape(name)
		pos = ctext.SkipSpace(spec, pos+n+1)
	}

	start := pos
	for pos < len(spec) && spec[pos] != '[' && !ctext.IsSpace(spec[pos]) {
		switch spec[pos] {
		case ']', ',':
			return fail(pos, "unexpected character in metric name")
		case '\\':
			if pos+1 < len(spec) {
				pos++
			}
		}
		pos++
	}
	if pos == start {
		return fail(pos, "performance metric name expected")
	}
	ms.Metric = unescape(spec[start:pos])
	pos = ctext.SkipSpace(spec, pos)

	if pos < len(spec) && spec[pos] == '[' {
		start := ctext.SkipSpace(spec, pos+1)
		end, quoted := endOfInstances(spec, start)
		switch {
		case end == len(spec) && quoted:
			return fail(end, `closing " and ] expected`)
		case end == len(spec):
			return fail(end, "closing ] expected")
		}
		ms.Insts = splitInstances(spec[start:end])
		pos = ctext.SkipSpace(spec, end+1)
	}
	if pos < len(spec) {
		return fail(pos, "unexpected extra characters")
	}
	return ms, nil
}

// endOfInstances finds the closing bracket, or the end of spec and whether a
// quote is open there.
func endOfInstances(spec string, pos int) (int, bool) {
	quoted := false
	for ; pos < len(spec); pos++ {
		switch c := spec[pos]; {
		case c == '\\' && pos+1 < len(spec):
			pos++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return pos, false
		}
	}
	return len(spec), quoted
}

// splitInstances splits the text between the brackets.
func splitInstances(s string) []string {
	var insts []string
	for pos := 0; pos < len(s); {
		var inst strings.Builder
		quoted := s[pos] == '"'
		if quoted {
			pos++
		}
		for pos < len(s) {
			c := s[pos]
			if quoted && c == '"' || !quoted && (ctext.IsSpace(c) || c == ',') {
				break
			}
			if c == '\\' && pos+1 < len(s) {
				pos++
				c = s[pos]
			}
			inst.WriteByte(c)
			pos++
		}
		if quoted {
			pos++
		}
		insts = append(insts, inst.String())
		for pos < len(s) && (ctext.IsSpace(s[pos]) || s[pos] == ',') {
			pos++
		}
	}
	return insts
}

// unescape removes each backslash that another character follows.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
