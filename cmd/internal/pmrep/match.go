package pmrep

import (
	"errors"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
)

// maxPattern limits the length of an expression for instances.
const maxPattern = 1 << 16

// compile returns the expression that a whole name must match.
func compile(text string) (*regexp.Regexp, error) {
	if len(text) > maxPattern {
		return nil, errorf("Invalid regex '%.40s...': more than %d bytes.", text, maxPattern)
	}
	if _, err := regexp.Compile(text); err != nil {
		return nil, errorf("Invalid regex '%s': %s.", text, whyBad(text, err))
	}
	// As in the C programs only the last alternative must reach the end.
	re, err := regexp.Compile(`\A(?:` + text + `\z)`)
	if err != nil {
		return nil, errorf("Invalid regex '%s': %s.", text, whyBad(text, err))
	}
	return re, nil
}

// whyBad returns the error in an expression, in the words of Python where it has any.
func whyBad(text string, err error) string {
	se, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err.Error()
	}
	at := func(sub string) string {
		i := strings.Index(text, sub)
		return " at position " + strconv.Itoa(max(i, 0)+len(`\A`))
	}
	switch se.Code {
	case syntax.ErrMissingParen:
		return "missing ), unterminated subpattern" + at("(")
	case syntax.ErrMissingBracket:
		// The end of the text that the Python programs add is in the set then.
		return `bad escape \Z at position ` + strconv.Itoa(utf8.RuneCountInString(text)+len(`\A`))
	case syntax.ErrUnexpectedParen:
		return "unbalanced parenthesis" + at(")")
	case syntax.ErrMissingRepeatArgument:
		return "nothing to repeat" + at(strings.TrimPrefix(se.Expr, `\A`))
	}
	return se.Code.String() + ": " + se.Expr
}

// A matcher filters the instances of each sample.
type matcher struct {
	words []string // commands of processes
	exprs []*regexp.Regexp
	known map[string]bool
}

// maxKnown limits the names that a matcher remembers.
const maxKnown = 1 << 16

// newMatcher returns the matcher of expressions, nil if all match.
func newMatcher(live bool, wanted []string) (*matcher, error) {
	if !live || len(wanted) == 0 {
		return nil, nil
	}
	f := &matcher{known: make(map[string]bool)}
	for _, w := range wanted {
		re, err := compile(w)
		if err != nil {
			return nil, err
		}
		f.exprs = append(f.exprs, re)
		if isWord(w) {
			f.words = append(f.words, w)
		}
	}
	return f, nil
}

// ok reports whether an instance is wanted.
func (f *matcher) ok(name string) bool {
	if f == nil {
		return true
	}
	ok, known := f.known[name]
	if !known {
		ok = f.test(name)
		if len(f.known) >= maxKnown {
			clear(f.known)
		}
		f.known[strings.Clone(name)] = ok
	}
	return ok
}

func (f *matcher) test(name string) bool {
	if command, ok := process(name); ok {
		for _, w := range f.words {
			if w == command {
				return true
			}
		}
	}
	for _, re := range f.exprs {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// isWord reports whether text may be the name of a command.
func isWord(text string) bool {
	text = strings.NewReplacer(".", "", "_", "", "-", "").Replace(text)
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return false
		}
	}
	return text != ""
}

// process returns the command of an instance that is a process, "012345 /bin/sh -c x", and whether it is a
// process.
func process(name string) (command string, ok bool) {
	if !strings.Contains(name, " ") {
		return "", false
	}
	fields := strings.Fields(name)
	if len(fields) < 2 || !isDigits(fields[0]) {
		return "", false
	}
	command = fields[1]
	if strings.HasPrefix(command, "(") { // a thread of the kernel
		return command[1:max(len(command)-1, 1)], true
	}
	command = strings.TrimSuffix(strings.TrimPrefix(command, "-"), ":")
	if strings.HasSuffix(command, "/") || command == "" {
		return "", true
	}
	return path.Base(command), true
}

func isDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// selectInstances returns the selected instances, in their order.
func selectInstances(list []pcp.Instance, wanted []string) ([]pcp.Instance, error) {
	var found []pcp.Instance
	first := strings.Fields(list[0].Name)
	numbered := len(first) > 0 && isDigits(first[0])
	for _, w := range wanted {
		hit := false
		if isDigits(w) && numbered {
			for _, in := range list {
				if f := strings.Fields(in.Name); len(f) > 0 && isDigits(f[0]) && strings.TrimLeft(f[0], "0") == strings.TrimLeft(w, "0") {
					found, hit = append(found, in), true
					break
				}
			}
		}
		if isWord(w) && numbered && strings.Contains(list[0].Name, " ") {
			for _, in := range list {
				if command, ok := process(in.Name); ok && command == w {
					found, hit = append(found, in), true
				}
			}
		}
		if hit {
			continue
		}
		re, err := compile(w)
		if err != nil {
			return nil, err
		}
		for _, in := range list {
			if re.MatchString(in.Name) {
				found = append(found, in)
			}
		}
	}
	return found, nil
}
