package webapi

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// checkMatch refuses unknown values of the parameter match.
func checkMatch(r *request) error {
	switch m, ok := r.params.Get("match"); {
	case ok && m != "exact" && m != "glob" && m != "regex":
		return fail(m + " - invalid 'match' parameter value")
	}
	return nil
}

// checkProfile refuses unknown values of the parameters of /pmapi/profile.
func checkProfile(r *request) error {
	if e := r.params.Value("expr"); e != "add" && e != "del" {
		return fail(e + " - invalid 'expr' parameter value")
	}
	return checkMatch(r)
}

// filter returns the instances selected by the parameters iname or instance, and match. Without
// them it selects all.
func (r *request) filter() (func(pcp.Instance) bool, error) {
	if text, ok := r.params.Get("iname"); ok {
		list := split(text)
		if len(list) == 0 {
			return everything, nil
		}
		match, err := matcher(list, r.params.Value("match"))
		return func(in pcp.Instance) bool { return match(in.Name) }, err
	}
	text, ok := r.params.Get("instance")
	if !ok || text == "" {
		return everything, nil
	}
	var ids []int32
	for _, s := range split(text) {
		ids = append(ids, atoi(s))
	}
	return func(in pcp.Instance) bool { return slices.Contains(ids, in.Inst) }, nil
}

func everything(pcp.Instance) bool { return true }

// atoi parses a number at the beginning of a text, 0 if there is none, as C does.
func atoi(s string) int32 {
	s = ctext.TrimSpace(s)
	minus := strings.HasPrefix(s, "-")
	if minus || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	var n int64
	for i := 0; i < len(s) && ctext.IsDigit(s[i]) && n < 1<<50; i++ {
		n = n*10 + int64(s[i]-'0')
	}
	if minus {
		n = -n
	}
	return int32(n)
}

// maxPattern is the maximum length of a pattern, in bytes.
const maxPattern = 2000

// matcher returns a function that matches any of the texts in a list, which are patterns if how is glob or
// regex.
func matcher(list []string, how string) (func(string) bool, error) {
	if how != "glob" && how != "regex" {
		return func(name string) bool { return slices.Contains(list, name) }, nil
	}
	var exprs []*regexp.Regexp
	for _, p := range list {
		if len(p) > maxPattern {
			return nil, fail("pattern is too long")
		}
		if how == "glob" {
			p = globExpr(p)
		}
		// Package regexp takes time linear in the length of the name, for any pattern.
		e, err := regexp.Compile(p)
		if err != nil {
			msg := "invalid pattern"
			if se, ok := err.(*syntax.Error); ok {
				msg = se.Error()
			}
			return nil, fail(p + " - " + msg)
		}
		exprs = append(exprs, e)
	}
	return func(name string) bool {
		return slices.ContainsFunc(exprs, func(e *regexp.Regexp) bool { return e.MatchString(name) })
	}, nil
}

// globExpr returns a regular expression for a shell pattern (fnmatch(3) without flags).
func globExpr(glob string) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteByte('.')
		case '\\':
			if i++; i < len(glob) {
				b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
			} else {
				b.WriteString(`[^\s\S]`) // matches nothing
			}
		case '[':
			if n, set := bracket(glob[i:]); n > 0 {
				b.WriteString(set)
				i += n - 1
				continue
			}
			b.WriteString(`\[`)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

// bracket returns the length of a character set at the beginning of glob, and a regular expression for it;
// 0 if it has no end.
func bracket(glob string) (int, string) {
	var b strings.Builder
	b.WriteByte('[')
	i := 1
	if i < len(glob) && (glob[i] == '!' || glob[i] == '^') {
		b.WriteByte('^')
		i++
	}
	for first := true; i < len(glob); first = false {
		c := glob[i]
		switch {
		case c == ']' && !first:
			b.WriteByte(']')
			return i + 1, b.String()
		case c == '[' && i+1 < len(glob) && glob[i+1] == ':':
			end := strings.Index(glob[i:], ":]")
			if end < 0 {
				return 0, ""
			}
			b.WriteString(glob[i : i+end+2])
			i += end + 2
			continue
		case c == '\\' && i+1 < len(glob):
			i++
			c = glob[i]
			fallthrough
		default:
			if c == '-' && !first {
				b.WriteByte('-')
			} else {
				b.WriteString(regexp.QuoteMeta(string(c)))
				if c == '-' || c == '^' {
					s := b.String()
					b.Reset()
					b.WriteString(s[:len(s)-1] + `\` + s[len(s)-1:])
				}
			}
			i++
		}
	}
	return 0, ""
}
