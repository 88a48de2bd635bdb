package conf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// The limits of a configuration.
const (
	maxFile          = 16 << 20 // bytes of one file
	maxInterpolation = 10       // values within values, as in Python
	maxValue         = 1 << 20  // bytes of a value with all its references expanded
)

// A section is a part of an ini file.
type section struct {
	name   string
	keys   []string // in the order of their first appearance
	values map[string][]string
}

func newSection(name string) *section { return &section{name: name, values: make(map[string][]string)} }

func (s *section) has(key string) bool { _, ok := s.values[key]; return ok }

func (s *section) set(key string, lines []string) {
	if !s.has(key) {
		s.keys = append(s.keys, key)
	}
	s.values[key] = lines
}

// raw returns a value as written in the file.
func (s *section) raw(key string) string {
	return strings.TrimRightFunc(strings.Join(s.values[key], "\n"), unicode.IsSpace)
}

// An ini has the contents of one or more files.
type ini struct {
	sections []*section
	byName   map[string]*section
	defaults *section
}

func newIni() *ini {
	return &ini{byName: make(map[string]*section), defaults: newSection(defaultSection)}
}

// defaultSection has the default values of all sections.
const defaultSection = "DEFAULT"

func (c *ini) section(name string) *section { return c.byName[name] }

func (c *ini) add(s *section) {
	if old := c.byName[s.name]; old != nil {
		c.remove(s.name)
	}
	c.byName[s.name] = s
	c.sections = append(c.sections, s)
}

func (c *ini) remove(name string) {
	delete(c.byName, name)
	for i, s := range c.sections {
		if s.name == name {
			c.sections = append(c.sections[:i:i], c.sections[i+1:]...)
			return
		}
	}
}

// A SyntaxError is an invalid line in a configuration file.
type SyntaxError struct {
	File string
	Line int
	Text string // the error, in the words of Python's configparser
}

// Error implements error, with the text that programs print.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("Failed to read configuration file '%s', line %d:\n%s", e.File, e.Line, e.Text)
}

// parse adds the contents of a file, and returns its sections.
func (c *ini) parse(file, text string) (seen map[[2]string]bool, err error) {
	p := &parser{ini: c, file: file, seen: make(map[[2]string]bool)}
	for no, line := range splitLines(text) {
		if err := p.line(no+1, line); err != nil {
			return nil, err
		}
	}
	if p.bad != nil {
		return nil, p.bad
	}
	return p.seen, nil
}

// splitLines returns the lines with their ends.
func splitLines(text string) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	return lines
}

// decoded is the size of the blocks that Python decodes, to which the positions in its messages are
// relative.
const decoded = 8192

// notUTF8 returns the position of invalid UTF-8 in a text and the reason, in the words of
// Python, "" if the text is valid.
func notUTF8(text string) string {
	begin := 0 // of the bytes decoded with a character
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if i%decoded == 0 || i/decoded != (i+n-1)/decoded {
			begin = i
		}
		if r != utf8.RuneError || n > 1 {
			i += n
			continue
		}
		n, why := pytext.BadUTF8(text[i:])
		if why == pytext.CutOff { // it is only reported if nothing follows
			begin = i
		}
		what, place := fmt.Sprintf("byte 0x%02x", text[i]), strconv.Itoa(i-begin)
		if n > 1 {
			what, place = "bytes", fmt.Sprintf("%d-%d", i-begin, i-begin+n-1)
		}
		return fmt.Sprintf("'utf-8' codec can't decode %s in position %s: %s", what, place, why)
	}
	return ""
}

// A parser reads one file.
type parser struct {
	*ini
	file   string
	cur    *section
	key    string // of the value that may continue; "": none
	indent int    // of its line
	seen   map[[2]string]bool
	bad    *SyntaxError // lines that are neither sections nor values, reported at the end
}

func (p *parser) line(no int, line string) error {
	value := strings.TrimFunc(line, unicode.IsSpace)
	if strings.HasPrefix(value, "#") || strings.HasPrefix(value, ";") {
		return nil
	}
	if value == "" {
		if p.cur != nil && p.key != "" {
			p.cur.values[p.key] = append(p.cur.values[p.key], "")
		}
		return nil
	}
	indent := utf8.RuneCountInString(line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))])
	if p.cur != nil && p.key != "" && indent > p.indent {
		p.cur.values[p.key] = append(p.cur.values[p.key], value)
		return nil
	}
	p.indent = indent
	if end := strings.LastIndexByte(value, ']'); value[0] == '[' && end > 1 {
		return p.header(no, value[1:end])
	}
	if p.cur == nil {
		return &SyntaxError{p.file, no, fmt.Sprintf("File contains no section headers.\nfile: %s, line: %d\n%s", pytext.Repr(p.file), no, pytext.Repr(line))}
	}
	return p.option(no, line, value)
}

func (p *parser) header(no int, name string) error {
	p.key = ""
	at := [2]string{name}
	switch s := p.section(name); {
	case s != nil && p.seen[at]:
		return p.twice(no, "section "+pytext.Repr(name))
	case s != nil:
		p.cur = s
	case name == defaultSection:
		p.cur = p.defaults
		return nil
	default:
		p.cur = newSection(name)
		p.add(p.cur)
	}
	p.seen[at] = true
	return nil
}

func (p *parser) option(no int, line, value string) error {
	i := strings.IndexAny(value, "=:")
	if i <= 0 {
		if p.bad == nil {
			p.bad = &SyntaxError{p.file, no, "Source contains parsing errors: " + pytext.Repr(p.file)}
		}
		p.bad.Text += fmt.Sprintf("\n\t[line %2d]: %s", no, pytext.Repr(line))
		if i < 0 {
			return nil // and the value before may continue
		}
	}
	p.key = strings.TrimRightFunc(value[:i], unicode.IsSpace)
	at := [2]string{p.cur.name, "k" + p.key}
	if p.seen[at] {
		return p.twice(no, fmt.Sprintf("option %s in section %s", pytext.Repr(p.key), pytext.Repr(p.cur.name)))
	}
	p.seen[at] = true
	p.cur.set(p.key, []string{strings.TrimFunc(value[i+1:], unicode.IsSpace)})
	return nil
}

func (p *parser) twice(no int, what string) error {
	return &SyntaxError{p.file, no, fmt.Sprintf("While reading from %s [line %2d]: %s already exists", pytext.Repr(p.file), no, what)}
}

// keys returns the keys of a section, and after them those of all sections.
func (c *ini) keys(s *section) []string {
	keys := s.keys
	for _, key := range c.defaults.keys {
		if !s.has(key) {
			keys = append(keys[:len(keys):len(keys)], key)
		}
	}
	return keys
}

// get returns a value, with its references expanded.
func (c *ini) get(s *section, key string) (string, error) {
	return c.interpolate(s, key, c.rawValue(s, key), 1)
}

func (c *ini) rawValue(s *section, key string) string {
	if s.has(key) {
		return s.raw(key)
	}
	return c.defaults.raw(key)
}

func (c *ini) interpolate(s *section, key, text string, depth int) (string, error) {
	if !strings.Contains(text, "%") {
		return text, nil
	}
	if depth > maxInterpolation {
		return "", fmt.Errorf("value of %s in [%s]: more than %d values within one another", key, s.name, maxInterpolation)
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:i])
		text = text[i:]
		switch {
		case strings.HasPrefix(text, "%%"):
			b.WriteByte('%')
			text = text[2:]
		case strings.HasPrefix(text, "%("):
			name, rest, ok := strings.Cut(text[2:], ")s")
			if !ok || strings.Contains(name, ")") {
				return "", fmt.Errorf("value of %s in [%s]: bad interpolation variable reference %s", key, s.name, pytext.Repr(text))
			}
			if !s.has(name) && !c.defaults.has(name) {
				return "", fmt.Errorf("value of %s in [%s]: %s is not set", key, s.name, name)
			}
			v, err := c.interpolate(s, key, c.rawValue(s, name), depth+1)
			if err != nil {
				return "", err
			}
			b.WriteString(v)
			text = rest
		default:
			return "", fmt.Errorf("value of %s in [%s]: '%%' must be followed by '%%' or '(', found: %s", key, s.name, pytext.Repr(text))
		}
		if b.Len() > maxValue {
			return "", fmt.Errorf("value of %s in [%s]: more than %d bytes", key, s.name, maxValue)
		}
	}
}
