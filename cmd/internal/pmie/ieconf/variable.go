package ieconf

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// A Type defines the valid values of a variable.
type Type int

// The types, by their names in rule files.
const (
	String   Type = iota // any text
	Double               // a real number
	Integer              // a whole number
	Unsigned             // a whole number that is not negative
	Percent              // a real number from 0 to 100, with or without a percent sign
	HostList             // names of hosts, with spaces between
	InstList             // names of instances, with spaces between; those with spaces are in single quotes
	Print                // an action: print a line
	Shell                // an action: run a command
	Alarm                // an action: show an alarm
	Syslog               // an action: write to the log of the system
	RuleType             // a rule
)

var typeNames = [...]string{
	"string", "double", "integer", "unsigned", "percent", "hostlist", "instlist", "print", "shell", "alarm", "syslog", "rule",
}

// String returns the name of the type in rule files.
func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return strconv.Itoa(int(t))
	}
	return typeNames[t]
}

// IsAction reports whether variables of this type are actions of a rule.
func (t Type) IsAction() bool { return Print <= t && t <= Syslog }

// An Attribute is a property of a variable or a rule.
type Attribute int

// The attributes, by their names in rule files. NoAttribute means no attribute.
const (
	NoAttribute Attribute = iota - 1
	Help
	Modifiable // "modify"
	Enabled
	Display
	Default // also "summary"
	Version
	Predicate
	Enumerate
)

func attributes() map[string]Attribute {
	return map[string]Attribute{
		"help": Help, "modify": Modifiable, "enabled": Enabled, "display": Display, "default": Default, "summary": Default,
		"version": Version, "predicate": Predicate, "enumerate": Enumerate,
	}
}

// AttributeOf returns the attribute of this name, or NoAttribute.
func AttributeOf(name string) Attribute {
	if a, ok := attributes()[name]; ok {
		return a
	}
	return NoAttribute
}

// A Variable is a value that rules refer to, or an action.
type Variable struct {
	Name    string // without "global."
	Type    Type
	Help    string // "" if it is missing
	Display bool   // whether it is shown in lists

	data, initial string // the value; of an action, its text
	set           bool   // whether it has a value
	enabled       bool
	wasEnabled    bool // the value in the rule file; false if it is not set there
	modifiable    bool
	changed       bool // by the user
	promoted      bool // a copy of a global variable, for one rule
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Value returns the value in the form that users see and type: text and lists in double
// quotes, percentages with their sign, and yes or no for an action.
func (v *Variable) Value() string { return v.value(true) }

// value is Value, or if it is not pretty, the expansion of the variable in the text of
// rules.
func (v *Variable) value(pretty bool) string {
	switch v.Type {
	case Print, Shell, Alarm, Syslog:
		return yesNo(v.enabled)
	case HostList, InstList:
		if pretty {
			return `"` + v.data + `"`
		}
		return v.list()
	case Double, Percent:
		f, _, _ := ctext.Strtod(v.data)
		text := string(ctext.AppendFloat(nil, f, 'g', 6))
		if pretty && v.Type == Percent {
			text += "%"
		}
		return text
	case Integer:
		n, _ := scanInt(v.data, math.MaxInt64)
		return strconv.FormatInt(int64(n), 10)
	case Unsigned:
		n, _ := scanInt(v.data, math.MaxUint64)
		return strconv.FormatUint(n, 10)
	}
	if !pretty {
		return v.data
	}
	if !v.set {
		return `"(null)"`
	}
	return `"` + v.data + `"`
}

// list returns a list as selectors of pmie: each word quoted, after ':' for a host or '#' for an
// instance.
func (v *Variable) list() string {
	key := byte('#')
	if v.Type == HostList {
		key = ':'
	}
	var b []byte
	start, quoted := true, false
	for i := range len(v.data) {
		c := v.data[i]
		if !ctext.IsSpace(c) {
			switch {
			case start:
				b = append(b, key, '\'')
				if c != '\'' {
					quoted = false
				} else if !quoted {
					quoted, start = true, false
					continue
				}
			case c == '\'':
				quoted = false
			}
			start = false
		} else if !quoted {
			if len(b) > 0 && b[len(b)-1] != '\'' {
				b = append(b, '\'')
			}
			start = true
		}
		b = append(b, c)
	}
	if len(b) > 0 && b[len(b)-1] != '\'' {
		b = append(b, '\'')
	}
	return string(b)
}

// scanInt reads a whole decimal number as strtol(3) does if limit is the largest int64, and as strtoul(3) does if it
// is the largest uint64, and reports whether nothing follows it. An empty text counts as 0; other texts without
// digits are not numbers.
func scanInt(s string, limit uint64) (n uint64, all bool) {
	if s == "" {
		return 0, true
	}
	i := ctext.SkipSpace(s, 0)
	minus := i < len(s) && s[i] == '-'
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	end := ctext.Digits(s, i)
	if end == i {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:end], 10, 64)
	switch {
	case limit == math.MaxInt64 && minus && (err != nil || n > 1<<63):
		n = 1 << 63
	case limit == math.MaxInt64 && !minus && (err != nil || n > limit):
		n = limit
	case err != nil:
		n = limit
	case minus:
		n = -n
	}
	return n, end == len(s)
}

// graph reports whether c is printable and not a space.
func graph(c byte) bool { return '!' <= c && c <= '~' }

// closedList reports whether the quoted words of a list are terminated.
func closedList(s string) bool {
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case !graph(c) || c == ',':
			i++
		case c == '\'':
			for i++; i < len(s) && s[i] != '\''; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return false
			}
			i++
		default:
			for i < len(s) && graph(s[i]) && s[i] != ',' {
				i++
			}
		}
	}
	return true
}

// check checks a value for a variable of this name and type, and returns its stored form.
func (v *Variable) check(name, value string) (string, *mistake) {
	switch v.Type {
	case Double:
		if _, end, _ := ctext.Strtod(value); end != len(value) {
			return "", wrongValue(name, "be a real number")
		}
	case Integer:
		if _, all := scanInt(value, math.MaxInt64); !all {
			return "", wrongValue(name, "be an integer number")
		}
	case Unsigned:
		if _, all := scanInt(value, math.MaxUint64); !all {
			return "", wrongValue(name, "be a positive integer number")
		}
	case Percent:
		if i := strings.LastIndexByte(value, '%'); i >= 0 {
			value = value[:i]
		}
		if f, end, _ := ctext.Strtod(value); end != len(value) || f < 0 || f > 100 {
			return "", wrongValue(name, "be a percentage between 0.0 and 100.0")
		}
	case HostList, InstList:
		if !closedList(value) {
			return "", wrongValue(name, "include a closing single quote")
		}
	}
	return value, nil
}
