package ieconf

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Read reads the user's changes back from an earlier configuration, and the user's own text in it. It
// returns the path that the configuration names as the source of its rules.
//
// Changes to rules that the rule files do not have any more, or only in another version, are left out. The
// text of these rules is kept, as comments, among the user's own lines; see NewlyDeprecated. An empty
// configuration is the same as none.
func (s *Set) Read(text []byte, check func(path string) error) (path string, err error) {
	if len(text) == 0 {
		return s.cfg.Path, nil
	}
	if len(text) > MaxConfig {
		return "", s.failf("cannot open %s: it is longer than %d bytes", s.cfg.File, MaxConfig)
	}
	r := &reader{Set: s, position: position{file: s.cfg.File, line: 1}, text: text}
	if path, err = r.header(); err != nil {
		return "", err
	}
	if check != nil {
		if err := check(path); err != nil {
			return "", s.fail(mistakef("%v", err))
		}
	}
	if err := r.locals(); err != nil {
		return "", err
	}
	r.restore()
	return path, nil
}

// A reader reads a configuration. Its tokens are in comments.
type reader struct {
	*Set
	position
	text []byte
	off  int
	seen string // the last token, with the part read of the next token
}

func (r *reader) get() int {
	if r.off >= len(r.text) {
		r.off = len(r.text) + 1
		return endOfFile
	}
	r.off++
	return int(r.text[r.off-1])
}

// comment reads the two slashes that begin a line, and reports whether they are there.
func (r *reader) comment() bool {
	for range 2 {
		if r.get() != '/' {
			return false
		}
	}
	return true
}

// next returns the next token, or errEnd where the comments end.
func (r *reader) next() (string, error) {
	var c int
	for {
		c = r.get()
		if c == endOfFile {
			return "", errEnd
		}
		if c == '\n' {
			r.line++
			if !r.comment() {
				return "", errEnd
			}
			continue
		}
		if graph(byte(c)) {
			break
		}
	}
	var b []byte
	switch c {
	case '"':
		for c = r.get(); c != '"'; c = r.get() {
			if c == '\\' {
				c = r.get()
			}
			if c == endOfFile || len(b) == maxToken {
				return "", r.fail(r.expected("end-of-string", string(b)))
			}
			if c == '\n' {
				return "", r.fail(r.expected("end-of-string", "end-of-line"))
			}
			b = append(b, byte(c))
		}
	case '=':
		b = append(b, '=')
	default:
		for c != endOfFile && graph(byte(c)) {
			if c == '=' {
				r.off--
				break
			}
			if len(b) == maxToken {
				return "", r.fail(r.expected("end-of-token", string(b)))
			}
			b = append(b, byte(c))
			c = r.get()
		}
		if c == '\n' {
			r.line++
			if !bytes.HasPrefix(b, []byte("end")) && !r.comment() {
				r.seen = string(b) + r.seen[min(len(b), len(r.seen)):]
				return "", errEnd
			}
		}
	}
	r.seen = string(b)
	return r.seen, nil
}

// header reads the first line.
func (r *reader) header() (path string, err error) {
	var words [4]string
	n := 0
	for n < len(words) {
		if words[n], err = r.next(); err != nil {
			break
		}
		if n++; n == 1 && words[0] != "//" || n == 2 && words[1] != fileFormat {
			n = 0
			break
		}
		if n == 3 && words[2] != fileVersion {
			break
		}
	}
	switch {
	case n < 3:
		return "", r.failf("%s is not a rule customization file (bad header)", r.file)
	case words[2] != fileVersion:
		return "", r.failf("unknown version number in %s: \"%s\" (expected %s)", r.file, words[2], fileVersion)
	case n < 4:
		return "", r.failf("no rules path specified in %s after version number", r.file)
	}
	return words[3], nil
}

// locals reads the user's changes, up to the word "end":
//
//	version rule variable = value
func (r *reader) locals() error {
	for {
		version, err := r.next()
		if err == errEnd {
			return r.fail(r.expected("rule identifier or \"end\" symbol", "end-of-file"))
		} else if err != nil {
			return err
		}
		if version == "end" {
			return nil
		}
		n, all := scanInt(version, 1<<64-1)
		if !all {
			return r.fail(r.expected("version number", version))
		}
		var words [4]string
		for i, want := range []string{"rule name", "rule attribute", "'=' symbol", "rule attribute value"} {
			words[i], err = r.next()
			switch {
			case err == errEnd && i < 2:
				return r.fail(r.expected(want, r.seen)) // as the C tool does
			case err == errEnd:
				return r.fail(r.expected(want, "end-of-file"))
			case err == nil && i == 2 && words[i] != "=":
				return &mistake{r.last} // as in the C tool, whatever it was
			case err != nil:
				return err
			}
		}
		rule := r.byName[words[0]]
		if rule == nil {
			r.last = fmt.Sprintf("rule named \"%s\" does not exist", words[0])
			continue
		}
		if rule.version != uint32(n) {
			continue
		}
		if err := r.change(r.position, rule, words[1], words[3]); err != nil {
			return err
		}
	}
}

// ruleLine returns the version and the name of the rule that a line of the generated section begins.
func ruleLine(line string) (version uint32, name string, ok bool) {
	line, ok = strings.CutPrefix(line, "//")
	if !ok {
		return 0, "", false
	}
	line = ctext.TrimSpace(line)
	end := 0
	if end < len(line) && (line[0] == '-' || line[0] == '+') {
		end++
	}
	digits := ctext.Digits(line, end)
	n, err := strconv.ParseUint(line[end:digits], 10, 64)
	if digits == end || err != nil {
		return 0, "", false
	}
	if line[0] == '-' {
		n = -n
	}
	name = ctext.TrimSpace(line[digits:])
	for i := range len(name) {
		if ctext.IsSpace(name[i]) {
			name = name[:i]
			break
		}
	}
	return uint32(n), name, name != ""
}

// restore keeps the user's own lines, and the rules of the generated section that nothing defines now.
func (r *reader) restore() {
	rest := r.text[min(r.off, len(r.text)):]
	save := false
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			end = len(rest)
		}
		line := string(rest[:end])
		rest = rest[end:]
		if line == endLine {
			r.saved = append(r.saved, rest...)
			return
		}
		if version, name, ok := ruleLine(line); ok {
			rule := r.byName[name]
			why := noRule
			if rule != nil {
				why = noVersion
			}
			if save = rule == nil || rule.version != version; save {
				line = fmt.Sprintf("// %d %s (deprecated, %s)\n", version, name, why)
				r.deprecate(name, version, why)
			}
		}
		if save {
			r.saved = append(append(r.saved, "// "...), line...)
		}
	}
}

func (s *Set) deprecate(name string, version uint32, why string) {
	for _, d := range s.deprecated {
		if d.Name == name && d.Version == version {
			return
		}
	}
	s.deprecated = append(s.deprecated, Deprecated{name, version, why})
}
