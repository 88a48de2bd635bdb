package logconf

import "strings"

// A style is a kind of condition.
type style int

const (
	styleNone style = iota
	styleExists
	styleValues
	styleEQ
	styleNE
	styleGT
	styleGE
	styleLT
	styleLE
	styleMatch
	styleNoMatch
)

var styles = []struct {
	word  string
	style style
}{
	{"exists", styleExists},
	{"values", styleValues},
	{"==", styleEQ},
	{"!=", styleNE},
	{">", styleGT},
	{">=", styleGE},
	{"<", styleLT},
	{"<=", styleLE},
	{"~", styleMatch},
	{"!~", styleNoMatch},
}

func (s style) String() string {
	for _, w := range styles {
		if w.style == s {
			return w.word
		}
	}
	return ""
}

// rule parses the control lines of a group. If there is a mistake in them, it warns and
// returns false; the parts before the mistake remain in effect, as in C.
func (s *Set) rule(g *Group) bool {
	if g.force != nil && g.hasMetric {
		// The C tool ends this message with a backslash and an n, not with a newline.
		s.warnf("Warning: %s \"probe\" and \"force\" control lines ... ignoring \"force\\n", s.path(g))
	}
	if g.force == nil && !g.hasMetric {
		s.warnf("Warning: %s neither \"probe\" nor \"force\" control lines ... use \"force available\"\n", s.path(g))
		g.force = ptr("available")
	}
	if g.force != nil {
		state, _, ok := leadingState(*g.force)
		if !ok {
			return s.mistake(g, "force state \"%s\" not recognized", *g.force)
		}
		g.ifTrue = state
	}
	if g.probe == nil {
		return true
	}
	p := trim((*g.probe)[len(g.metric):])
	if !s.condition(g, &p) {
		return false
	}
	switch {
	case p == "":
		g.success = true
		g.final, g.ifTrue, g.ifFalse = Available, Available, Exclude
		return true
	case p[0] != '?':
		return s.mistake(g, "expected \"?\" after condition, found \"%s\"", p)
	}
	return s.stateRule(g, trim(p[1:]))
}

// condition parses the condition at the beginning of p, and returns the rest.
func (s *Set) condition(g *Group, p *string) bool {
	g.style = styleNone
	for _, w := range styles {
		if isWord(*p, w.word) {
			g.style = w.style
			*p = trim((*p)[len(w.word):])
			break
		}
	}
	switch g.style {
	case styleNone:
		if *p != "" && !strings.HasPrefix(*p, "?") {
			return s.mistake(g, "condition operator \"%s\" not recognized", *p)
		}
		g.style = styleExists
	case styleExists, styleValues:
	default:
		g.operand = word(*p)
		if g.operand == "" {
			return s.mistake(g, "missing condition operand after %s operator", g.style)
		}
		*p = trim((*p)[len(g.operand):])
	}
	return true
}

// stateRule parses the two states after a question mark.
func (s *Set) stateRule(g *Group, p string) bool {
	var ok bool
	if g.ifTrue, p, ok = stateOr(g.ifTrue, p); !ok {
		return s.mistake(g, "condition true state \"%s\" not recognized", p)
	}
	if !strings.HasPrefix(p, ":") {
		return s.mistake(g, "missing \":\" in state rule at \"%s\"", p)
	}
	p = trim(p[1:])
	switch g.ifFalse, p, ok = stateOr(g.ifFalse, p); {
	case !ok && p == "":
		return s.mistake(g, "missing false state")
	case !ok:
		return s.mistake(g, "condition false state \"%s\" not recognized", p)
	case p != "":
		return s.mistake(g, "extra state rule components: \"%s\"", p)
	}
	return true
}

// stateOr is leadingState, except that it returns old if there is no state.
func stateOr(old State, p string) (State, string, bool) {
	state, rest, ok := leadingState(p)
	if !ok {
		state = old
	}
	return state, rest, ok
}

func (s *Set) mistake(g *Group, format string, args ...any) bool {
	g.valid = false
	s.warnf("Error: %s "+format+"\n", append([]any{s.path(g)}, args...)...)
	return false
}

// path returns the name of a group in messages.
func (s *Set) path(g *Group) string { return s.cfg.Dir + "/" + g.Tag }
