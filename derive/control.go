package derive

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A Control is a setting of a [Set] (pmSetDerivedControl(3)). In addition to
// [Set.SetControl] there are two ways to set one: the variable PCP_DERIVED_CONTROL, which
// [Set.LoadInstalled] reads, and lines in files of definitions:
//
//	PCP_DERIVED_CONTROL=option_novalue=1,global_limit=500
//	#control option_novalue=1
//
// Settings of the variable do not change.
type Control int

const (
	// GlobalLimit is the maximum number of definitions of the set, -1 for
	// about two million (PCP_DERIVED_GLOBAL_LIMIT).
	GlobalLimit Control = 1 + iota
	// ContextLimit is the maximum number of a binding's own definitions, -1 for
	// about two million. It applies to bindings made later (PCP_DERIVED_CONTEXT_LIMIT).
	ContextLimit
	_ // PCP_DERIVED_DEBUG_SYNTAX
	_ // PCP_DERIVED_DEBUG_SEMANTICS
	_ // PCP_DERIVED_DEBUG_EVAL
	// NoValue, if 1, makes an operand that the source does not have a number without a value. If 0, a
	// definition with such an operand cannot be bound. It applies to later bindings
	// (PCP_DERIVED_OPTION_NOVALUE).
	NoValue
)

// controlNames are the names that controls have in files and in the environment.
var controlNames = [...]string{GlobalLimit: "global_limit", ContextLimit: "context_limit", NoValue: "option_novalue"}

// String returns the name of c in files and PCP_DERIVED_CONTROL.
func (c Control) String() string {
	if c > 0 && int(c) < len(controlNames) && controlNames[c] != "" {
		return controlNames[c]
	}
	return "Control(" + strconv.Itoa(int(c)) + ")"
}

// controls are the settings of a set.
type controls struct {
	limit, ownLimit int // 0 for none
	noValue         bool
	fixed           [NoValue + 1]bool // set by the environment
}

// errValue is the status PM_ERR_ARG of version 7, with the text valueText.
var errValue = errors.New("value out of range")

const valueText = "Bad value for function argument"

// Control returns a setting (pmGetDerivedControl(3)), pcp.ErrName if it does not exist.
func (s *Set) Control(c Control) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.controls.get(c)
}

func (cs *controls) get(c Control) (int, error) {
	limit := func(n int) int {
		if n <= 0 {
			return -1
		}
		return n
	}
	switch c {
	case GlobalLimit:
		return limit(cs.limit), nil
	case ContextLimit:
		return limit(cs.ownLimit), nil
	case NoValue:
		if cs.noValue {
			return 1, nil
		}
		return 0, nil
	}
	return 0, pcp.ErrName
}

// SetControl changes a setting (pmSetDerivedControl(3)). The error is pcp.ErrName
// if there is no such setting, pcp.ErrAgain if the environment has another value for it, and
// otherwise one for a value out of range: a limit is positive or -1, NoValue is 0 or 1.
func (s *Set) SetControl(c Control, value int) error { return s.setControl(c, value, false) }

func (s *Set) setControl(c Control, value int, fix bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cs := &s.controls
	switch old, err := cs.get(c); {
	case err != nil:
		return err
	case cs.fixed[c] && !fix && old != value:
		return pcp.ErrAgain
	}
	switch {
	case c == NoValue && (value == 0 || value == 1):
		cs.noValue = value == 1
	case c == GlobalLimit && (value == -1 || value > 0):
		cs.limit = max(value, 0)
	case c == ContextLimit && (value == -1 || value > 0):
		cs.ownLimit = max(value, 0)
	default:
		return errValue
	}
	cs.fixed[c] = cs.fixed[c] || fix
	return nil
}

// setControls applies the settings of a list such as
// "option_novalue=1,global_limit=5", and calls warn for each error. fix is set for
// settings of the environment.
func (s *Set) setControls(list string, fix bool, warn func(level, msg string)) {
	for {
		name, rest, ok := strings.Cut(list, "=")
		if !ok {
			warn("Error", "missing '=' in derived metric control ("+list+")")
			return
		}
		number, next, more := strings.Cut(rest, ",")
		if number == "" {
			warn("Warning", "missing value in derived metric control ("+list+")")
			return
		}
		value, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			warn("Warning", "bad value ("+rest+") for derived metric control ("+name+")")
			return
		}
		if c := controlOf(name); c == 0 {
			warn("Warning", "unknown derived metric control ("+name+")")
		} else if err := s.setControl(c, int(value), fix); err != nil {
			reason := err.Error()
			if err == errValue {
				reason = valueText
			}
			warn("Warning", "failed to set derived metric control "+name+"="+number+": "+reason)
		}
		if !more {
			return
		}
		list = next
	}
}

// controlOf returns the control of a name in capital or small letters, 0 if there is none.
func controlOf(name string) Control {
	for c, known := range controlNames {
		if known != "" && strings.EqualFold(name, known) {
			return Control(c)
		}
	}
	return 0
}

// controlVariable is the name of the variable in messages.
const controlVariable = "$PCP_DERIVED_CONTROL"

// control applies the settings of a comment in a file.
func (d *reader) control(line string) {
	const word = "#control"
	if len(line) > len(word) && strings.EqualFold(line[:len(word)], word) && ctext.IsSpace(line[len(word)]) {
		d.set.setControls(line[len(word)+1:], false, func(level, msg string) { d.fail(d.line, "", "%s: %s", level, msg) })
	}
}
