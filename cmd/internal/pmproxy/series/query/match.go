package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/internal/ctext"
)

// MaxPattern is the maximum length of a pattern, in bytes: a regular expression, or a pattern of [Glob].
const MaxPattern = 4096

// matcher returns the condition in the form used by stores.
//
// A prefix distinguishes the names of metrics, instances and contexts:
// "metric.name", "instance.name", "context.name" and "source.path", or m., i.,
// inst., c. and s.; text after the point is ignored. All other names are labels,
// with or without "label." or "l." before.
func (m *Match) matcher() (series.Matcher, error) {
	var r series.Matcher
	label := false
	switch {
	case hasPrefix(m.Name, "instance.", "inst.", "i."):
		r.Field = series.InstanceName
	case hasPrefix(m.Name, "metric.", "m."):
		r.Field = series.MetricName
	case hasPrefix(m.Name, "context.", "source.", "c.", "s."):
		r.Field = series.ContextName
	default:
		label = true
		r.Field, r.Label = series.LabelValue, m.Name
		for _, p := range [...]string{"label.", "l."} {
			if hasPrefix(m.Name, p) {
				r.Label = m.Name[len(p):]
				break
			}
		}
	}
	wanted := m.Text
	if label && m.Kind == KindString {
		wanted = `"` + m.Text + `"`
	}
	switch m.Op {
	case OpEqual:
		r.Value = wanted
	case OpNotEqual:
		r.Match = func(s string) bool { return s != wanted }
	case OpGlob:
		if len(m.Text) > MaxPattern {
			return r, fmt.Errorf("%w: a pattern of %d bytes, at most %d", ErrLimit, len(m.Text), MaxPattern)
		}
		r.Match = func(s string) bool { return fnmatch(m.Text, unquoted(s)) }
	case OpRegex, OpNotRegex:
		if len(m.Text) > MaxPattern {
			return r, fmt.Errorf("%w: a regular expression of %d bytes, at most %d", ErrLimit, len(m.Text), MaxPattern)
		}
		re, err := regexp.CompilePOSIX(m.Text)
		if err != nil {
			return r, messagef("invalid regular expression %q", m.Text)
		}
		want := m.Op == OpRegex
		r.Match = func(s string) bool { return re.MatchString(unquoted(s)) == want }
	default:
		if !label {
			return r, messagef("%q is compared with a number, and only labels are numbers", m.Name)
		}
		number, _, _ := ctext.Strtod(m.Text)
		r.Match = func(s string) bool {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return false
			}
			switch m.Op {
			case OpLess:
				return v < number
			case OpLessEqual:
				return v <= number
			case OpGreater:
				return v > number
			}
			return v >= number
		}
	}
	return r, nil
}

// hasPrefix reports whether s begins with one of some prefixes, and is longer.
func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if len(s) > len(p) && strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// unquoted strips the quotes of a string of JSON; escapes stay.
func unquoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// Glob reports whether a text matches a pattern of the language: * is any text,
// ? any byte, [a-z] and [!a-z] a byte in or not in a set, and a backslash
// quotes the next byte (fnmatch(3)).
func Glob(pattern, text string) bool { return fnmatch(pattern, text) }

func fnmatch(pattern, text string) bool {
	// position after the last *, which matches one more byte at each retry
	star, again := -1, 0
	p, t := 0, 0
	for t < len(text) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				p++
				star, again = p, t
				continue
			}
			if n, ok := matchByte(pattern[p:], text[t]); ok {
				p, t = p+n, t+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		again++
		p, t = star, again
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchByte reports whether the first element of a pattern matches c, and returns its length.
func matchByte(pattern string, c byte) (n int, ok bool) {
	switch pattern[0] {
	case '?':
		return 1, true
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
		return 1, false
	case '[':
		if n, ok = matchSet(pattern, c); n > 0 {
			return n, ok
		}
	}
	return 1, pattern[0] == c
}

// matchSet parses a set in brackets; n is 0 if it has no end.
func matchSet(pattern string, c byte) (n int, ok bool) {
	i := 1
	not := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if not {
		i++
	}
	first := i
	for i < len(pattern) && (pattern[i] != ']' || i == first) {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		low := pattern[i]
		high := low
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			high = pattern[i+2]
			i += 2
		}
		ok = ok || low <= c && c <= high
		i++
	}
	if i >= len(pattern) {
		return 0, false
	}
	return i + 1, ok != not
}
