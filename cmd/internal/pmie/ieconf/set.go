package ieconf

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// DefaultPath is the path of the installed rules, if PCP_VAR_DIR has its usual value.
const DefaultPath = "/var/lib/pcp/config/pmieconf"

// Limits of the input and the output.
const (
	maxRuleFile  = 1 << 20
	maxRules     = 10000
	maxVariables = 1000 // of a rule
	maxDepth     = 40   // of directories
	maxExpansion = 1 << 20
	maxNesting   = 50       // of variables in variables
	maxGenerated = 16 << 20 // of a generated configuration
	MaxConfig    = 32 << 20 // of a configuration that is read
)

// A Config configures a Set.
type Config struct {
	Path string // the source of its rules that the configuration names; default: the path that was loaded, or DefaultPath
	File string // the name of the configuration in messages

	// Auto marks the configuration as made automatically by a program.
	Auto    bool
	Program string         // that makes it; default "pmieconf"
	Now     time.Time      // default: the current time
	Zone    *time.Location // of Now; default time.Local

	// Warn gets warnings about rules, a line or two at a time, with a newline. nil discards them.
	Warn func(msg string)
}

// A Rule is a rule with its variables.
type Rule struct {
	Variable
	version              uint32
	predicate, enumerate string
	vars                 []*Variable
}

// Vars returns the variables of the rule itself. It belongs to the rule.
func (r *Rule) Vars() []*Variable { return r.vars }

// Predicate returns the condition of the rule with variables as they are written in the rule
// file.
func (r *Rule) Predicate() string { return r.predicate }

// Enabled reports whether the rule is part of the configuration.
func (r *Rule) Enabled() bool { return r.enabled }

// Var returns the variable of this name that the rule has itself, or nil.
func (r *Rule) Var(name string) *Variable {
	for _, v := range r.vars {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Attribute returns the text of an attribute of the rule. ok is false if it has no text, like the
// version and the predicate.
func (r *Rule) Attribute(a Attribute) (text string, ok bool) {
	switch a {
	case Help:
		return r.Help, r.Help != ""
	case Modifiable:
		return yesNo(r.modifiable), true
	case Enabled:
		return yesNo(r.enabled), true
	case Display:
		return yesNo(r.Display), true
	case Default:
		return r.data, r.set
	}
	return "", false
}

// A Set has rules, the user's changes to them, and the user's own text in the configuration. It must
// not be used by more than one goroutine at a time.
type Set struct {
	cfg        Config
	rules      []*Rule // sorted by name once all are read
	byName     map[string]*Rule
	global     *Rule
	deprecated []Deprecated
	saved      []byte

	last string // the last message; the C tool repeats it if it has no other
}

// Deprecated is a rule of a configuration that the rule files do not have any more.
type Deprecated struct {
	Name    string
	Version uint32
	Reason  string
}

const (
	noRule    = "rule definition no longer exists"
	noVersion = "rule version no longer supported"
)

func newSet(cfg Config) *Set {
	cfg.Program = cmp.Or(cfg.Program, "pmieconf")
	s := &Set{cfg: cfg, byName: map[string]*Rule{}}
	s.global = &Rule{Variable: Variable{
		Name: "global", set: true, data: "generic variables applied to all rules",
		Help: "The global variables are used by all rules, but their values can be\n" +
			"overridden at the level of an individual rule or group of rules.",
	}}
	s.byName[s.global.Name], s.last = s.global, "rule named \"global\" does not exist"
	return s
}

// fail records the text of a mistake, and returns it.
func (s *Set) fail(m *mistake) error {
	s.last = m.text
	return m
}

func (s *Set) failf(format string, args ...any) error { return s.fail(mistakef(format, args...)) }

// Rules returns all rules, sorted by name. The variables of all rules are those of Global, which is
// not among them. The slice belongs to the Set.
func (s *Set) Rules() []*Rule { return s.rules }

// Global returns the rule "global", whose variables all rules have.
func (s *Set) Global() *Rule { return s.global }

// Path returns where the rules are from.
func (s *Set) Path() string { return s.cfg.Path }

// group returns the group of a rule: its name up to the last dot.
func group(name string) (string, bool) {
	i := strings.LastIndexByte(name, '.')
	return name[:max(i, 0)], i >= 0
}

// Lookup returns the rules that a name selects: the name of a rule, a group, "global", or
// "all" for all rules except global.
func (s *Set) Lookup(name string) ([]*Rule, error) {
	if name == "all" {
		if len(s.rules) > 0 {
			return s.rules, nil
		}
	}
	var found []*Rule
	if name == s.global.Name {
		found = append(found, s.global)
	}
	for _, r := range s.rules {
		if g, ok := group(r.Name); r.Name == name || ok && g == name {
			found = append(found, r)
		}
	}
	if found == nil {
		return nil, s.failf("no group or rule names match \"%s\"", name)
	}
	return found, nil
}

// Modify changes the value of a variable, or the attribute "enabled", of a rule. A global variable is
// changed for this rule only, unless the rule is Global.
func (s *Set) Modify(r *Rule, name, value string) error {
	// In a configuration this would be two lines.
	if strings.ContainsAny(value, "\n\x00") {
		return s.failf("%s's value is invalid.\n    It should be one line.", name)
	}
	return s.change(position{}, r, name, value)
}

func (s *Set) change(at position, r *Rule, name, value string) error {
	if a := AttributeOf(name); a != NoAttribute {
		return s.setAttribute(at, &r.Variable, name, a, value, true)
	}
	if v := r.Var(name); v != nil {
		return s.setAttribute(at, v, v.Name, Default, value, true)
	}
	if v := s.global.Var(name); v != nil {
		own := *v
		own.promoted = true
		if err := s.setAttribute(at, &own, own.Name, Default, value, true); err != nil {
			return err
		}
		if len(r.vars) >= maxVariables {
			return s.failf("more than %d variables in rule %s", maxVariables, r.Name)
		}
		r.vars = append(r.vars, &own)
		return nil
	}
	return s.failf("variable \"%s\" is undefined for rule %s", name, r.Name)
}

// setAttribute sets an attribute of a variable, which messages call name: to the value in a
// rule file or, if changed is set, to the user's value.
func (s *Set) setAttribute(at position, v *Variable, name string, a Attribute, value string, changed bool) error {
	flag := func() (bool, error) {
		switch {
		case strings.HasPrefix(value, "y"):
			return true, nil
		case strings.HasPrefix(value, "n"):
			return false, nil
		}
		return false, s.fail(at.expected("yes or no", value))
	}
	var err error
	switch a {
	case Help:
		if !strings.ContainsFunc(value, func(r rune) bool { return r < 0x80 && graph(byte(r)) }) {
			return s.fail(at.expected("non-empty string for help", value))
		}
		v.Help = value
	case Modifiable:
		v.modifiable, err = flag()
	case Enabled:
		var on bool
		if on, err = flag(); err == nil {
			v.enabled = on
			if !changed {
				v.wasEnabled = on
			}
		}
	case Display:
		v.Display, err = flag()
	case Default:
		if changed && v.Type.IsAction() {
			v.enabled, err = flag()
			break
		}
		kept, wrong := v.check(name, value)
		if wrong != nil {
			return s.fail(wrong)
		}
		v.data, v.set = kept, true
		if !changed {
			v.initial = kept
		}
	}
	if err != nil {
		return err
	}
	if changed {
		v.changed = true
	}
	return nil
}

// Undo resets a variable to its value in the rule files, the attribute "enabled" if that is the
// name, or all of them if name is "". A rule without such a variable is not changed.
func (s *Set) Undo(r *Rule, name string) {
	all := name == ""
	switch {
	case AttributeOf(name) != NoAttribute:
		r.enabled, r.changed = r.wasEnabled, false
		return
	case all && r != s.global, name == r.Name:
		r.reset()
	}
	r.vars = slices.DeleteFunc(r.vars, func(v *Variable) bool {
		if !all && v.Name != name {
			return false
		}
		v.reset()
		return v.promoted
	})
}

func (v *Variable) reset() { v.data, v.enabled, v.changed = v.initial, v.wasEnabled, false }

// NewlyDeprecated returns the rules of the configuration read that the rule files do not have, or
// not in this version. Their text is kept as comments.
func (s *Set) NewlyDeprecated() []Deprecated { return s.deprecated }
