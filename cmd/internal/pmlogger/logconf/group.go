package logconf

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A State is the state of a group.
type State int

// The states of a group. They are part of the format of group files.
const (
	Unset     State = iota
	Available       // in the configuration, but its metrics are not recorded
	Include         // recorded
	Exclude         // not even offered to the user
)

var states = []struct {
	word  string
	state State
}{{"available", Available}, {"include", Include}, {"exclude", Exclude}}

// String returns the word for s in group files.
func (s State) String() string {
	for _, w := range states {
		if w.state == s {
			return w.word
		}
	}
	return "unset"
}

// leadingState returns the state at the beginning of p, and the rest.
func leadingState(p string) (s State, rest string, ok bool) {
	for _, w := range states {
		if isWord(p, w.word) {
			return w.state, trim(p[len(w.word):]), true
		}
	}
	return Unset, p, false
}

// A Group is a set of metrics recorded together.
type Group struct {
	Tag     string   // name: the path of its file below the directory of groups
	Ident   string   // description for users
	Metrics []string // as in the configuration of a recorder, with instances

	// Saved is the state from a configuration or the user; Unset if there is none.
	Saved State

	delta     *string // interval; nil or "default": the recorder's default
	saved     *string // the delta in a configuration
	probe     *string // the control line, without its first word
	force     *string
	metric    string // the metric to probe
	hasMetric bool
	mandatory bool

	// Parsed from the control lines.
	style    style
	operand  string
	ifTrue   State
	ifFalse  State
	valid    bool // has a control line, without mistakes
	fromFile bool // has a group file
	success  bool // of the probe
	final    State
	probed   probed
}

// Delta returns the interval of the group: "default", "once", or an interval.
func (g *Group) Delta() string {
	if g.delta == nil {
		return "default"
	}
	return *g.delta
}

// State returns the result of the last evaluation of the group.
func (g *Group) State() State { return g.final }

// MaxConfig is the maximum size of a configuration, in bytes.
const MaxConfig = 64 << 20

// Limits on input.
const (
	maxGroupFile = 1 << 20 // bytes of a group file
	maxGroups    = 20000
	maxDepth     = 32 // of directories

	groupLine  = 1023 // bytes of a line of a group file; the rest is treated as another line
	configLine = 8191 // the same, of the part of a configuration with groups
)

var errNotGroup = errors.New("not a group file")

// parseGroup parses a group file. For other files, such as a README, it returns errNotGroup.
func parseGroup(text []byte, tag string) (*Group, error) {
	rest, ok := afterVersion(text)
	if !ok {
		return nil, errNotGroup
	}
	g := &Group{Tag: tag, fromFile: true}
	var idents []string
	for line := range lines(rest, groupLine) {
		p := trim(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(p, "\n") {
			continue
		}
		switch {
		case isWord(p, "ident"):
			idents = append(idents, untilNewline(operand(p, "ident")))
		case isWord(p, "probe"):
			p = operand(p, "probe")
			g.probe = ptr(untilNewline(p))
			g.metric, g.hasMetric = word(p), true
		case isWord(p, "force"):
			g.force = ptr(untilNewline(operand(p, "force")))
		case isWord(p, "delta"):
			g.delta = ptr(untilNewline(operand(p, "delta")))
		default:
			g.Metrics = append(g.Metrics, untilNewline(p))
		}
	}
	g.Ident = strings.Join(idents, " ")
	g.valid = g.force != nil || g.probe != nil
	return g, nil
}

// afterVersion returns the text after the first line of a group file, with the tolerance
// of fscanf(3) for spaces.
func afterVersion(text []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(text, []byte("#pmlogconf-setup"))
	if !ok {
		return nil, false
	}
	major, rest, ok := number(rest)
	if !ok || len(rest) == 0 || rest[0] != '.' {
		return nil, false
	}
	minor, rest, ok := number(rest[1:])
	if !ok || major != 2 && minor != 0 {
		return nil, false
	}
	return bytes.TrimLeft(rest, " \t\n\v\f\r"), true
}

// number parses a number as scanf(3) does for %u.
func number(b []byte) (n uint32, rest []byte, ok bool) {
	b = bytes.TrimLeft(b, " \t\n\v\f\r")
	negative := false
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		negative = b[0] == '-'
		b = b[1:]
	}
	i := 0
	for i < len(b) && ctext.IsDigit(b[i]) {
		i++
	}
	if i == 0 {
		return 0, b, false
	}
	long, err := strconv.ParseUint(string(b[:i]), 10, 64)
	switch {
	case err != nil:
		long = math.MaxUint64
	case negative:
		long = -long
	}
	return uint32(long), b[i:], true
}

// lines yields the lines of b, each with its newline; a line longer than limit is split.
// Text after a NUL in a line is dropped, as by functions of C.
func lines(b []byte, limit int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(b) > 0 {
			n := min(len(b), limit)
			if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
				n = i + 1
			}
			if !yield(ctext.String(string(b[:n]))) {
				return
			}
			b = b[n:]
		}
	}
}

// isWord reports whether s begins with the whole word.
func isWord(s, word string) bool {
	rest, ok := strings.CutPrefix(s, word)
	return ok && (rest == "" || ctext.IsSpace(rest[0]))
}

// operand returns the text after the first word of a control line.
func operand(s, word string) string {
	if len(s) <= len(word) {
		return ""
	}
	return trim(s[len(word)+1:])
}

// trim removes leading space from s, except newlines.
func trim(s string) string {
	i := 0
	for i < len(s) && s[i] != '\n' && ctext.IsSpace(s[i]) {
		i++
	}
	return s[i:]
}

// word returns the text of s before a space.
func word(s string) string {
	i := 0
	for i < len(s) && !ctext.IsSpace(s[i]) {
		i++
	}
	return s[:i]
}

func untilNewline(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func ptr(s string) *string { return &s }
