package cpp

import (
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Define defines a macro, as the line "#define definition" would; with an = in
// place of the first space, if there is one (-D name=value).
func (r *Reader) Define(definition string) error {
	r.line = append(r.line[:0], definition...)
	return r.define(strings.Replace(definition, "=", " ", 1))
}

// macroName returns the name at the beginning of the argument of a directive.
func (r *Reader) macroName(s string) (name, rest string, err error) {
	if s == "" {
		return "", "", r.fail("Missing macro name")
	}
	n := 0
	for n < len(s) && ctext.IsName(s[n], n) {
		n++
	}
	if n == 0 || n < len(s) && !ctext.IsSpace(s[n]) {
		return "", "", r.fail("Illegal character in macro name")
	}
	return s[:n], s[n:], nil
}

// noMore checks that nothing follows the arguments of a directive.
func (r *Reader) noMore(s string) error {
	if s = strings.TrimLeft(s, " \t"); s != "" && s[0] != '\r' {
		return r.fail("Unexpected extra text in a control line")
	}
	return nil
}

func (r *Reader) define(arg string) error {
	name, rest, err := r.macroName(arg)
	if err != nil {
		return err
	}
	rest = strings.TrimLeft(rest, " \t")
	var value string
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		var ok bool
		if value, rest, ok = strings.Cut(rest[1:], rest[:1]); !ok {
			return r.fail("Unterminated value string in %cdefine", r.ctl)
		}
	} else {
		n := 0
		for n < len(rest) && !ctext.IsSpace(rest[n]) {
			n++
		}
		value, rest = rest[:n], rest[n:]
	}
	if err := r.noMore(rest); err != nil || r.skip {
		return err
	}
	if _, ok := r.macros[name]; ok {
		return r.fail("Macro redefinition")
	}
	r.macros[name] = value
	return nil
}

// condition handles the directives that set macros or depend on them.
func (r *Reader) condition(word, rest string) error {
	if word == "define" {
		return r.define(rest)
	}
	var name string
	if word != "else" && word != "endif" {
		var err error
		if name, rest, err = r.macroName(rest); err != nil {
			return err
		}
	}
	if err := r.noMore(rest); err != nil {
		return err
	}
	_, defined := r.macros[name]
	switch word {
	case "undef":
		if !r.skip {
			delete(r.macros, name)
		}
	case "else", "endif":
		if r.cond == 0 {
			return r.fail("No matching %cifdef or %[1]cifndef for %[1]c%[2]s", r.ctl, word)
		}
		if r.skip = !r.skip; word == "endif" {
			r.cond, r.skip = 0, false
		}
	default:
		if r.cond != 0 {
			return r.fail("Nested %cifdef or %[1]cifndef", r.ctl)
		}
		r.cond, r.skip = r.cur().line, defined == (word == "ifndef")
	}
	return nil
}

// expand returns r.line with its macros substituted.
func (r *Reader) expand() ([]byte, error) {
	if len(r.macros) == 0 {
		return r.line, nil
	}
	b, out, copied := r.line, r.out[:0], 0
	for i := 0; i < len(b); {
		start := i
		name, next := r.token(b, i)
		i = next
		if name == nil {
			continue
		}
		value, ok := r.macros[string(name)]
		if !ok {
			continue
		}
		out = append(append(out, b[copied:start]...), value...)
		copied = next
		if len(out) > MaxLine {
			return nil, r.fail("line of more than %d bytes after substitution", MaxLine)
		}
	}
	if copied == 0 {
		return b, nil
	}
	out = append(out, b[copied:]...)
	r.out = out
	if len(out) > MaxLine {
		return nil, r.fail("line of more than %d bytes after substitution", MaxLine)
	}
	return out, nil
}

// token returns the name of the possible macro at b[i], or nil if there is none,
// and where to continue.
func (r *Reader) token(b []byte, i int) (name []byte, next int) {
	if !r.cfg.Restrict {
		if !ctext.IsName(b[i], 0) {
			return nil, i + 1
		}
		n := i + 1
		for n < len(b) && ctext.IsName(b[n], 1) {
			n++
		}
		return b[i:n], n
	}
	if b[i] != r.ctl || i+1 == len(b) {
		return nil, i + 1
	}
	from, n := i+1, i+1
	braced := b[from] == '{'
	if braced {
		from, n = from+1, n+1
	}
	for n < len(b) && ctext.IsName(b[n], 1) && (n > from || b[n] != '_') {
		n++
	}
	switch {
	case n == from || braced && (n == len(b) || b[n] != '}'):
		return nil, n
	case braced:
		return b[from:n], n + 1
	}
	return b[from:n], n
}
