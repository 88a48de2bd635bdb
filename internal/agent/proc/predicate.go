package proc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A predicate selects the hot processes, in the language of pmdaproc(1), as
//
//	cpuburn > 0.2 && (uname == "root" || psargs ~ /pmda/)
type predicate struct {
	test func(*subject) bool
	text string // as the real agent writes it
}

// A subject is a process that a predicate is about.
type subject struct {
	uid, gid                    uint32
	uname, gname, fname, psargs string
	ctxswitch, iodemand         float64 // a second; Kbytes a second
	virtualsize, residentsize   float64 // Kbytes
	iowait, schedwait, cpuburn  float64 // of the time
}

// Limits of a predicate.
const (
	maxPredicate = 64 << 10 // bytes
	maxDepth     = 200      // of parentheses and negations
)

// numbers are the variables that are numbers.
func numbers() map[string]func(*subject) float64 {
	return map[string]func(*subject) float64{
		"uid":          func(s *subject) float64 { return float64(s.uid) },
		"gid":          func(s *subject) float64 { return float64(s.gid) },
		"cpuburn":      func(s *subject) float64 { return s.cpuburn },
		"ctxswitch":    func(s *subject) float64 { return s.ctxswitch },
		"virtualsize":  func(s *subject) float64 { return s.virtualsize },
		"residentsize": func(s *subject) float64 { return s.residentsize },
		"iodemand":     func(s *subject) float64 { return s.iodemand },
		"iowait":       func(s *subject) float64 { return s.iowait },
		"schedwait":    func(s *subject) float64 { return s.schedwait },
	}
}

// strs are the variables that are strings.
func strs() map[string]func(*subject) string {
	return map[string]func(*subject) string{
		"uname":  func(s *subject) string { return s.uname },
		"gname":  func(s *subject) string { return s.gname },
		"fname":  func(s *subject) string { return s.fname },
		"psargs": func(s *subject) string { return s.psargs },
	}
}

// parsePredicate returns nil for a text without a predicate. The error names the line.
func parsePredicate(text string) (*predicate, error) {
	if len(text) > maxPredicate {
		return nil, fmt.Errorf("hotproc predicate of more than %d bytes", maxPredicate)
	}
	p := &predicateParser{text: text, line: 1}
	p.next()
	var result predicate
	if p.err == nil && p.kind != tokenEnd {
		p.version()
		result = p.or(0)
		if p.err == nil && p.kind != tokenEnd {
			p.fail("%s after the predicate", p.token())
		}
	}
	if p.err != nil {
		return nil, fmt.Errorf("hotproc predicate, line %d: %w", p.line, p.err)
	}
	if result.test == nil {
		return nil, nil
	}
	return &result, nil
}

// Kinds of tokens.
const (
	tokenEnd = iota
	tokenWord
	tokenNumber
	tokenString
	tokenPattern
	tokenOperator
)

type predicateParser struct {
	text  string // that is left
	line  int
	kind  int
	value string // of the token
	err   error  // the first
}

func (p *predicateParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
	p.kind, p.value = tokenEnd, ""
}

func (p *predicateParser) token() string {
	if p.kind == tokenEnd {
		return "the end"
	}
	return strconv.Quote(p.value)
}

// next reads a token.
func (p *predicateParser) next() {
	if p.err != nil {
		return
	}
	for p.text != "" {
		switch c := p.text[0]; {
		case c == '\n':
			p.line++
			p.text = p.text[1:]
		case c == ' ' || c == '\t' || c == '\r':
			p.text = p.text[1:]
		case c == '#':
			_, rest, found := strings.Cut(p.text, "\n")
			if p.text = rest; found {
				p.line++
			}
		default:
			p.take()
			return
		}
	}
	p.kind, p.value = tokenEnd, ""
}

// take reads a token that is not white space.
func (p *predicateParser) take() {
	c := p.text[0]
	switch {
	case c == '"' || c == '/':
		value, rest, found := strings.Cut(p.text[1:], string(c))
		if !found || strings.Contains(value, "\n") {
			p.fail("%c without an end", c)
			return
		}
		p.kind, p.value, p.text = tokenString, value, rest
		if c == '/' {
			p.kind = tokenPattern
		}
	case isLetter(c):
		p.run(tokenWord, isLetter)
	case isDigit(c):
		p.run(tokenNumber, isDigit)
	default:
		for _, op := range [...]string{"&&", "||", "==", "!=", "<=", ">=", "!~", "<", ">", "~", "!", "(", ")"} {
			if rest, ok := strings.CutPrefix(p.text, op); ok {
				p.kind, p.value, p.text = tokenOperator, op, rest
				return
			}
		}
		p.fail("illegal character %q", c)
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' || c == '.' }

func (p *predicateParser) run(kind int, in func(byte) bool) {
	n := 1
	for n < len(p.text) && in(p.text[n]) {
		n++
	}
	p.kind, p.value, p.text = kind, p.text[:n], p.text[n:]
}

// is reports whether the token is the operator, and if so advances to the next token.
func (p *predicateParser) is(op string) bool {
	if p.kind != tokenOperator || p.value != op {
		return false
	}
	p.next()
	return p.err == nil
}

// version reads "Version 1.0".
func (p *predicateParser) version() {
	if p.kind != tokenWord || p.value != "Version" {
		return
	}
	p.next()
	if n, err := strconv.ParseFloat(p.value, 64); p.kind != tokenNumber || err != nil || n != 1 {
		p.fail("version %s, not 1.0", p.token())
		return
	}
	if p.next(); p.kind == tokenEnd {
		p.fail("no predicate")
	}
}

func (p *predicateParser) or(depth int) predicate {
	x := p.and(depth)
	for p.is("||") {
		l, r := x, p.and(depth)
		x = predicate{func(s *subject) bool { return l.test(s) || r.test(s) }, "(" + l.text + " || " + r.text + ")"}
	}
	return x
}

func (p *predicateParser) and(depth int) predicate {
	x := p.not(depth)
	for p.is("&&") {
		l, r := x, p.not(depth)
		x = predicate{func(s *subject) bool { return l.test(s) && r.test(s) }, "(" + l.text + " && " + r.text + ")"}
	}
	return x
}

func (p *predicateParser) not(depth int) predicate {
	if depth > maxDepth {
		p.fail("more than %d levels", maxDepth)
	}
	switch {
	case p.err != nil:
		return predicate{}
	case p.is("!"):
		x := p.not(depth + 1)
		return predicate{func(s *subject) bool { return !x.test(s) }, "(! " + x.text + ")"}
	case p.is("("):
		x := p.or(depth + 1)
		if p.err == nil && !p.is(")") {
			p.fail("%s instead of )", p.token())
		}
		return x
	case p.kind == tokenWord && p.value == "true":
		p.next()
		return predicate{func(*subject) bool { return true }, "(true)"}
	case p.kind == tokenWord && p.value == "false":
		p.next()
		return predicate{func(*subject) bool { return false }, "(false)"}
	}
	return p.comparison()
}

// An operand is a number or a string.
type operand struct {
	number func(*subject) float64
	str    func(*subject) string
	text   string
}

func (p *predicateParser) operand() (o operand) {
	o.text = p.value
	switch p.kind {
	case tokenNumber:
		n, err := strconv.ParseFloat(p.value, 64)
		if err != nil {
			p.fail("%s is not a number", p.token())
			return o
		}
		if o.text = strconv.FormatFloat(n, 'f', 6, 64); n == float64(int32(n)) {
			o.text = strconv.Itoa(int(n))
		}
		o.number = func(*subject) float64 { return n }
	case tokenString:
		v := p.value
		o.str, o.text = func(*subject) string { return v }, `"`+v+`"`
	case tokenWord:
		if o.number = numbers()[p.value]; o.number == nil {
			if o.str = strs()[p.value]; o.str == nil {
				p.fail("%s is not a variable", p.token())
			}
		}
	default:
		p.fail("%s instead of a value", p.token())
	}
	p.next()
	return o
}

func (p *predicateParser) comparison() predicate {
	l := p.operand()
	op := p.value
	if p.err == nil && p.kind != tokenOperator {
		p.fail("%s instead of an operator", p.token())
	}
	p.next()
	if op == "~" || op == "!~" {
		return p.match(l, op)
	}
	r := p.operand()
	if p.err != nil {
		return predicate{}
	}
	text := "(" + l.text + " " + op + " " + r.text + ")"
	switch {
	case l.number != nil && r.number != nil:
		if compare := numberOperators()[op]; compare != nil {
			return predicate{func(s *subject) bool { return compare(l.number(s), r.number(s)) }, text}
		}
	case l.str != nil && r.str != nil && op == "==":
		return predicate{func(s *subject) bool { return l.str(s) == r.str(s) }, text}
	case l.str != nil && r.str != nil && op == "!=":
		return predicate{func(s *subject) bool { return l.str(s) != r.str(s) }, text}
	}
	p.fail("%s cannot compare %s and %s", op, l.text, r.text)
	return predicate{}
}

func numberOperators() map[string]func(a, b float64) bool {
	return map[string]func(a, b float64) bool{
		"<":  func(a, b float64) bool { return a < b },
		"<=": func(a, b float64) bool { return a <= b },
		">":  func(a, b float64) bool { return a > b },
		">=": func(a, b float64) bool { return a >= b },
		"==": func(a, b float64) bool { return a == b },
		"!=": func(a, b float64) bool { return a != b },
	}
}

// match reads the pattern of a comparison.
func (p *predicateParser) match(l operand, op string) predicate {
	if p.err == nil && (l.str == nil || p.kind != tokenPattern) {
		p.fail("%s wants a string and a pattern", op)
	}
	if p.err != nil {
		return predicate{}
	}
	re, err := regexp.Compile(fromEmacs(p.value))
	if err != nil {
		p.fail("pattern %s: %v", p.token(), err)
		return predicate{}
	}
	text := "(" + l.text + " " + op + ` "` + p.value + `")`
	p.next()
	return predicate{func(s *subject) bool { return re.MatchString(l.str(s)) == (op == "~") }, text}
}

// fromEmacs translates a regular expression of re_comp(3), in which \( \| \) are operators and
// ( | ) are themselves.
func fromEmacs(re string) string {
	var b strings.Builder
	inSet := false
	for i := 0; i < len(re); i++ {
		c := re[i]
		switch {
		case inSet:
			inSet = c != ']'
		case c == '[':
			if inSet = true; i+1 < len(re) && re[i+1] == '^' {
				b.WriteByte(c)
				i++
				c = re[i]
			}
			if i+1 < len(re) && re[i+1] == ']' { // which is in the set
				b.WriteByte(c)
				b.WriteByte('\\')
				i++
				c = ']'
			}
		case c == '\\' && i+1 < len(re):
			i++
			if c = re[i]; !strings.ContainsRune("(|)", rune(c)) {
				b.WriteByte('\\')
			}
		case strings.ContainsRune("(|){}", rune(c)):
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
