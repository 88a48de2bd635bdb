package pcp

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Errors that carry the status that libpcp returns.
var (
	errInvalid       = -Error(syscall.EINVAL)
	errTooManyLabels = fmt.Errorf("too many labels: %w", -Error(syscall.E2BIG))
	errLabelsTooLong = fmt.Errorf("labels exceed %d bytes: %w", MaxLabelJSONLen, -Error(syscall.E2BIG))
)

// ParseLabels reads a JSON object of labels that were set at the level in
// flags; LabelOptional there makes them optional. Names are letters, digits
// and underscores and start with a letter; with LabelCompound in flags names
// joined by dots are accepted as well. A value is any JSON. An object as value
// makes compound labels: {"a":{"b":1}} is {"a.b":1}.
//
// No two labels may have the same name. The empty string and the empty object
// make an empty set. The error is -E2BIG if s exceeds a limit, and -EINVAL if it
// is invalid otherwise.
func ParseLabels(json string, flags LabelFlags) (LabelSet, error) {
	return parseLabels(json, flags, MaxLabels)
}

func parseLabels(json string, flags LabelFlags, limit int) (LabelSet, error) {
	if json == "" {
		return LabelSet{Inst: InNull}, nil
	}
	p := labelParser{in: json, flags: flags &^ LabelCompound, dots: flags&LabelCompound != 0, limit: limit}
	p.space()
	if p.err == nil && p.peek() != '{' {
		p.fail(errors.New("not an object"))
	}
	p.labels("", 0)
	p.space()
	if p.err == nil && p.off < len(p.in) {
		p.fail(errors.New("more after the object"))
	}
	if p.err != nil {
		return LabelSet{}, fmt.Errorf("labels: offset %d: %w", p.off, p.err)
	}
	n := len(p.list)
	if n == 0 {
		return LabelSet{Inst: InNull}, nil
	}
	list := lastOfEach(p.list)
	if len(list) < n {
		return LabelSet{}, fmt.Errorf("labels: a name appears twice: %w", errInvalid)
	}
	s, err := buildLabels(list, limit)
	if err != nil {
		return LabelSet{}, fmt.Errorf("labels: %w", err)
	}
	return s, nil
}

// maxLabelDepth is the maximum nesting of arrays and objects.
const maxLabelDepth = 64

// A labelParser reads JSON. Its first failure sticks.
type labelParser struct {
	in    string
	off   int
	err   error
	flags LabelFlags
	dots  bool // names may have dots
	limit int
	list  []Label
}

// fail ends the parsing. An err without a status is -EINVAL.
func (p *labelParser) fail(err error) {
	if p.err != nil {
		return
	}
	if _, ok := errors.AsType[Error](err); !ok {
		err = fmt.Errorf("%w: %w", err, errInvalid)
	}
	p.err = err
}

func (p *labelParser) space() {
	for p.off < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.off]) >= 0 {
		p.off++
	}
}

// peek returns the next byte, 0 at the end or after a failure.
func (p *labelParser) peek() byte {
	if p.err != nil || p.off >= len(p.in) {
		return 0
	}
	return p.in[p.off]
}

// want skips white space and the byte c.
func (p *labelParser) want(c byte) {
	p.space()
	if p.err != nil {
		return
	}
	if p.peek() != c {
		p.fail(fmt.Errorf("expected %q", c))
		return
	}
	p.off++
}

// members calls the function one for each member of the array or object that starts here.
func (p *labelParser) members(open, end byte, one func()) {
	p.want(open)
	p.space()
	if p.peek() == end {
		p.off++
		return
	}
	for p.err == nil {
		one()
		p.space()
		if p.peek() == ',' {
			p.off++
			continue
		}
		p.want(end)
		return
	}
}

// labels reads an object whose members are labels below prefix.
func (p *labelParser) labels(prefix string, depth int) {
	if depth > maxLabelDepth {
		p.fail(errors.New("nested too deep"))
	}
	p.members('{', '}', func() {
		p.space()
		start := p.off
		quoted := p.text()
		if p.err != nil {
			return
		}
		name := quoted[1 : len(quoted)-1]
		if err := checkLabelName(name, p.dots); err != nil {
			p.off = start
			p.fail(fmt.Errorf("label name %.40q: %w", name, err))
			return
		}
		flags := p.flags
		if prefix != "" {
			name = prefix + "." + name
		}
		if len(name) > MaxLabelNameLen {
			p.fail(fmt.Errorf("label name %.40q is too long: %w", name, -Error(syscall.E2BIG)))
			return
		}
		if strings.IndexByte(name, '.') >= 0 {
			flags |= LabelCompound
		}
		p.want(':')
		p.space()
		if p.peek() == '{' && !p.emptyObject() {
			p.labels(name, depth+1)
			return
		}
		value := p.value(nil, depth+1)
		if p.err != nil {
			return
		}
		if len(value) > MaxLabelJSONLen {
			p.fail(errLabelsTooLong)
			return
		}
		if len(p.list) >= p.limit {
			p.fail(errTooManyLabels)
			return
		}
		p.list = append(p.list, Label{name, string(value), flags})
	})
}

// emptyObject reports whether the next value is {}. As a value it is kept unchanged.
func (p *labelParser) emptyObject() bool {
	rest := strings.TrimLeft(p.in[p.off+1:], " \t\r\n")
	return rest != "" && rest[0] == '}'
}

// value reads any value and appends it to b without insignificant white space.
func (p *labelParser) value(b []byte, depth int) []byte {
	if depth > maxLabelDepth {
		p.fail(errors.New("nested too deep"))
		return b
	}
	p.space()
	switch c := p.peek(); {
	case c == '"':
		return append(b, p.text()...)
	case c == '{':
		b = append(b, c)
		p.members('{', '}', func() {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			p.space()
			b = append(append(b, p.text()...), ':')
			p.want(':')
			b = p.value(b, depth+1)
		})
		return append(b, '}')
	case c == '[':
		b = append(b, c)
		first := true
		p.members('[', ']', func() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = p.value(b, depth+1)
		})
		return append(b, ']')
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if p.err == nil && strings.HasPrefix(p.in[p.off:], word) {
			p.off += len(word)
			return append(b, word...)
		}
	}
	return append(b, p.number()...)
}

// text reads a string and returns it unchanged, with its quotes.
func (p *labelParser) text() string {
	start := p.off
	if p.peek() != '"' {
		p.fail(errors.New("expected a string"))
		return ""
	}
	for p.off++; p.off < len(p.in); p.off++ {
		switch c := p.in[p.off]; {
		case c == '"':
			p.off++
			return p.in[start:p.off]
		case c < ' ':
			p.fail(errors.New("control character in a string"))
			return ""
		case c == '\\':
			if n := escapeLen(p.in[p.off:]); n > 0 {
				p.off += n - 1
				continue
			}
			p.fail(errors.New("bad escape in a string"))
			return ""
		}
	}
	p.fail(errors.New("string without end"))
	return ""
}

// escapeLen returns the length of the escape that s starts with, or 0.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	if s[1] != 'u' {
		if strings.IndexByte(`"\/bfnrt`, s[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(s) < 6 {
		return 0
	}
	for i := 2; i < 6; i++ {
		if !ctext.IsHexDigit(s[i]) {
			return 0
		}
	}
	return 6
}

// number reads a number and returns its text unchanged.
func (p *labelParser) number() string {
	start := p.off
	digits := func() bool {
		from := p.off
		for ctext.IsDigit(p.peek()) {
			p.off++
		}
		return p.off > from
	}
	ok := true
	if p.peek() == '-' {
		p.off++
	}
	if p.peek() == '0' {
		p.off++
	} else {
		ok = digits()
	}
	if ok && p.peek() == '.' {
		p.off++
		ok = digits()
	}
	if ok && p.peek()|0x20 == 'e' {
		p.off++
		if c := p.peek(); c == '+' || c == '-' {
			p.off++
		}
		ok = digits()
	}
	if !ok {
		p.off = start
		p.fail(errors.New("expected a value"))
		return ""
	}
	return p.in[start:p.off]
}

// checkLabelName applies the rule for names, to each part if dots join them.
func checkLabelName(name string, dots bool) error {
	if len(name) > MaxLabelNameLen {
		return fmt.Errorf("too long: %w", -Error(syscall.E2BIG))
	}
	start := true // of the name or of a part
	for i := range len(name) {
		c := name[i]
		switch {
		case ctext.IsAlpha(c):
			start = false
		case !start && (c == '_' || ctext.IsDigit(c)):
		case !start && c == '.' && dots:
			start = true
		default:
			return errors.New("letters, digits and underscores only, a letter first")
		}
	}
	if start {
		return errors.New("empty name")
	}
	return nil
}
