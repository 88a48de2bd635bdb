package derive

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// compilePattern compiles an extended regular expression of POSIX. The error
// has the words of regerror(3) of the GNU C library.
func compilePattern(s string) (*regexp.Regexp, error) {
	s = ordinaryParens(s)
	re, err := regexp.CompilePOSIX(s)
	if err == nil {
		return re, nil
	}
	// The C library knows \w and \b too.
	if re, err := regexp.Compile(s); err == nil {
		return re, nil
	}
	msg := "Invalid regular expression"
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		switch e.Code {
		case syntax.ErrMissingParen:
			msg = `Unmatched ( or \(`
		case syntax.ErrMissingBracket:
			msg = unmatched
			if bracketIsLast(s) {
				msg = "Invalid regular expression"
			}
		case syntax.ErrInvalidCharClass:
			msg = "Invalid character class name"
		case syntax.ErrInvalidCharRange:
			if msg = "Invalid range end"; strings.HasSuffix(s, "-") {
				msg = unmatched
			}
		case syntax.ErrMissingRepeatArgument, syntax.ErrInvalidRepeatOp:
			msg = "Invalid preceding regular expression"
		case syntax.ErrInvalidRepeatSize:
			msg = `Invalid content of \{\}`
		case syntax.ErrTrailingBackslash:
			msg = "Trailing backslash"
		case syntax.ErrInvalidEscape:
			msg = "Invalid back reference"
		}
	}
	return nil, errors.New(msg)
}

const unmatched = "Unmatched [, [^, [:, [., or [="

// bracketIsLast reports whether nothing follows the bracket that is not closed.
func bracketIsLast(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if rest := s[i+1:]; rest == "" || rest == "^" {
				return true
			}
			i = endOfBracket(s, i)
		}
	}
	return false
}

// ordinaryParens escapes closing parentheses that close nothing: in POSIX they
// are ordinary characters.
func ordinaryParens(s string) string {
	open, out := 0, []byte(nil)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			i = endOfBracket(s, i)
		case '(':
			open++
		case ')':
			if open > 0 {
				open--
				break
			}
			out = append(append(out, s[:i]...), '\\', ')')
			s, i = s[i+1:], -1
		}
	}
	if out == nil {
		return s
	}
	return string(append(out, s...))
}

// endOfBracket returns the index of the bracket that closes the one at s[i],
// len(s) if there is none.
func endOfBracket(s string, i int) int {
	i++
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		switch {
		case s[i] == ']':
			return i
		case s[i] == '[' && i+1 < len(s) && (s[i+1] == ':' || s[i+1] == '.' || s[i+1] == '='):
			kind := s[i+1]
			for i += 2; i+1 < len(s) && (s[i] != kind || s[i+1] != ']'); i++ {
			}
			i++
		}
	}
	return i
}
