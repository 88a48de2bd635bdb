package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// A SyntaxError is a mistake in a query. Its message is that of pmseries(1): the
// query, and below it a caret under the first unexpected token.
type SyntaxError struct {
	Query string
	Off   int    // of the token, in bytes
	What  string // "syntax error", or an error of the query as a whole
}

func (e *SyntaxError) Error() string {
	var b strings.Builder
	b.WriteString("cannot parse given string\n\n")
	b.WriteString(e.Query)
	b.WriteByte('\n')
	for i := range min(e.Off, len(e.Query)) {
		if c := e.Query[i]; c > ' ' && c < 0x7f {
			b.WriteByte(' ')
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteString("^ -- " + e.What + "\n")
	return b.String()
}

// ErrLimit is the error of queries that exceed the limits.
var ErrLimit = errors.New("the query is too large")

// ErrNoExpr is the error of a query that is only a time window.
const ErrNoExpr = message("Invalid series query specification")

// A message is the text of an error of pmseries(1).
type message string

func (m message) Error() string { return string(m) }

// A mistake is an error in a query other than a syntax error.
type mistake struct{ error }

func (m *mistake) Unwrap() error { return m.error }

// messagef returns a mistake that wraps the error of %w in its format.
func messagef(format string, args ...any) error { return &mistake{fmt.Errorf(format, args...)} }

// A Query is a parsed query.
type Query struct {
	Expr *Expr
	// Window is the window of its operands; Given is false if there is none.
	// Either all operands have a window, or none.
	Window Window
}

// Parse parses a query. Its times are relative to now and in loc, the local
// zone if nil.
//
// The errors are *SyntaxError; those of [Spec.Parse] for a time window; ErrNoExpr;
// and ErrLimit.
func Parse(text string, now time.Time, loc *time.Location) (*Query, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(text), MaxLength)
	}
	if loc == nil {
		loc = time.Local
	}
	p := &parser{now: pcp.TimestampOf(now), loc: loc}
	p.lex.src = text
	p.lex.next()
	e, err := p.query()
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, ErrNoExpr
	}
	return &Query{Expr: e, Window: p.window}, nil
}

// ParseWindow parses a time window between square brackets, as in the option -w
// of pmseries(1).
func ParseWindow(text string, now time.Time, loc *time.Location) (Window, error) {
	w, _, err := parseWindow(text, now, loc)
	return w, err
}

// ParseSpec is like ParseWindow, but returns the parts of the window as text.
func ParseSpec(text string, now time.Time, loc *time.Location) (Spec, error) {
	_, s, err := parseWindow(text, now, loc)
	return s, err
}

func parseWindow(text string, now time.Time, loc *time.Location) (Window, Spec, error) {
	if len(text) > MaxLength {
		return Window{}, Spec{}, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(text), MaxLength)
	}
	if loc == nil {
		loc = time.Local
	}
	p := &parser{now: pcp.TimestampOf(now), loc: loc}
	p.lex.src = text
	p.lex.next()
	e, err := p.query()
	if err != nil {
		return Window{}, Spec{}, err
	}
	if e != nil {
		return Window{}, Spec{}, messagef("Invalid time window specification")
	}
	return p.window, p.spec, nil
}

// A mode is the use of time windows in a query: either all operands have one, or none.
type mode int

const (
	modeOpen    mode = iota // the first operand decides
	modeSeries              // no operand has a window
	modeSamples             // all operands have one
)

type parser struct {
	lex      lexer
	now      pcp.Timestamp
	loc      *time.Location
	mode     mode
	window   Window // of the last operand
	spec     Spec   // the same as text
	depth    int
	matchers int
}

// syntax returns the error of an unexpected token.
func (p *parser) syntax() error {
	return &SyntaxError{p.lex.src, p.lex.off, "syntax error"}
}

// expect consumes a token.
func (p *parser) expect(t token) error {
	if p.lex.tok != t {
		return p.syntax()
	}
	p.lex.next()
	return nil
}

// query parses the whole query; it returns nil for a query that is only a window.
func (p *parser) query() (*Expr, error) {
	e, err := p.vector(true)
	if err != nil {
		return nil, err
	}
	if p.lex.tok != tokEnd {
		return nil, p.syntax()
	}
	return e, nil
}

// vector parses a complete vector: conditions, a window, or an expression. "x =
// vector" gives it a name, which is ignored.
func (p *parser) vector(assign bool) (*Expr, error) {
	switch p.lex.tok {
	case tokOpenBrace:
		m, err := p.braces()
		if err != nil {
			return nil, err
		}
		e := &Expr{Match: m}
		if p.lex.tok == tokOpenSquare {
			if e.Window, err = p.squares(); err != nil {
				return nil, err
			}
		}
		return e, nil
	case tokOpenSquare:
		_, err := p.squares()
		return nil, err
	case tokName:
		after := p.lex
		after.next()
		if assign && after.tok == tokAssign {
			p.lex = after
			p.lex.next()
			return p.vector(false)
		}
	}
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	return e, nil
}

// enter counts the depth of the parser up, and leave counts it down.
func (p *parser) enter() error {
	if p.depth++; p.depth > MaxDepth {
		return fmt.Errorf("%w: nested deeper than %d", ErrLimit, MaxDepth)
	}
	return nil
}

// sum parses expressions with + and - between.
func (p *parser) sum() (*Expr, error) {
	left, err := p.product()
	for n := 0; err == nil && (p.lex.tok == tokPlus || p.lex.tok == tokMinus); n++ {
		op := OpAdd
		if p.lex.tok == tokMinus {
			op = OpSub
		}
		left, err = p.binary(op, left, n, p.product)
	}
	return left, err
}

// binary parses the operator and its right side. A chain of n operators has the
// depth of n nested ones.
func (p *parser) binary(op Op, left *Expr, n int, right func() (*Expr, error)) (*Expr, error) {
	if p.depth+n >= MaxDepth {
		return nil, fmt.Errorf("%w: nested deeper than %d", ErrLimit, MaxDepth)
	}
	p.lex.next()
	r, err := right()
	return &Expr{Op: op, Left: left, Right: r}, err
}

// product parses expressions with * and / between.
func (p *parser) product() (*Expr, error) {
	left, err := p.factor()
	for n := 0; err == nil && (p.lex.tok == tokStar || p.lex.tok == tokSlash); n++ {
		op, right := OpMul, p.scale
		if p.lex.tok == tokSlash {
			op, right = OpDiv, p.factor
		}
		left, err = p.binary(op, left, n, right)
	}
	return left, err
}

// scale parses the right side of a *, which may be a number.
func (p *parser) scale() (*Expr, error) {
	if p.lex.tok == tokInteger || p.lex.tok == tokDouble {
		e := &Expr{Number: p.lex.text}
		p.lex.next()
		return e, nil
	}
	return p.factor()
}

// factor parses an operand, a function, or a number, which must be multiplied
// by an expression: "a / 2 * b" is a/(2*b).
func (p *parser) factor() (*Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	switch p.lex.tok {
	case tokInteger, tokDouble:
		e := &Expr{Number: p.lex.text}
		p.lex.next()
		if p.lex.tok != tokStar {
			return nil, p.syntax()
		}
		p.lex.next()
		right, err := p.factor()
		return &Expr{Op: OpMul, Left: e, Right: right}, err
	case tokFunction:
		return p.function()
	case tokName:
		return p.operand()
	}
	return nil, p.syntax()
}

// operand parses the name of a metric with conditions and a window.
func (p *parser) operand() (*Expr, error) {
	m := metricMatch(p.lex.text)
	p.matchers++
	p.lex.next()
	if p.lex.tok == tokOpenBrace {
		more, err := p.braces()
		if err != nil {
			return nil, err
		}
		m = &Match{Op: OpAnd, Left: m, Right: more}
	}
	e := &Expr{Match: m}
	windowed := p.lex.tok == tokOpenSquare
	switch {
	case p.mode == modeOpen && windowed:
		p.mode = modeSamples
	case p.mode == modeOpen:
		p.mode = modeSeries
	case windowed != (p.mode == modeSamples):
		return nil, p.syntax()
	}
	var err error
	if windowed {
		e.Window, err = p.squares()
	}
	return e, err
}

// metricMatch returns the condition for a name: a pattern if it has an
// unescaped star.
func metricMatch(name string) *Match {
	m := &Match{Op: OpEqual, Name: "metric.name", Text: name, operand: true}
	if i := strings.IndexByte(name, '*'); i == 0 || i > 0 && name[i-1] != '%' && name[i-1] != '\\' {
		m.Op = OpGlob
	}
	return m
}

// function parses a function and its arguments.
func (p *parser) function() (*Expr, error) {
	e := &Expr{Func: p.lex.fn}
	if e.Func == FuncCount {
		return nil, p.syntax() // a name without a grammar rule
	}
	p.lex.next()
	err := p.expect(tokOpen)
	if err != nil {
		return nil, err
	}
	if e.Left, err = p.sum(); err != nil {
		return nil, err
	}
	switch e.Func {
	case FuncTopkInst, FuncTopkSample, FuncNthPercentileInst, FuncNthPercentileSample:
		err = p.argument(e, tokInteger, tokInteger)
	case FuncRescale:
		err = p.argument(e, tokString, tokString)
	case FuncLog:
		if p.lex.tok == tokComma {
			err = p.argument(e, tokInteger, tokDouble)
		}
	}
	if err != nil {
		return nil, err
	}
	if p.lex.tok != tokClose {
		return nil, p.syntax()
	}
	if err := p.checkArgument(e); err != nil {
		return nil, err
	}
	p.lex.next()
	return e, nil
}

// argument parses the second argument of a function, of one of two token types.
func (p *parser) argument(e *Expr, t, or token) error {
	if err := p.expect(tokComma); err != nil {
		return err
	}
	if p.lex.tok != t && p.lex.tok != or {
		return p.syntax()
	}
	e.Arg = p.lex.text
	p.lex.next()
	return nil
}

// checkArgument refuses invalid arguments. They are reported at the
// parenthesis, as in the C implementation.
func (p *parser) checkArgument(e *Expr) error {
	switch e.Func {
	case FuncNthPercentileInst, FuncNthPercentileSample:
		if n, err := strconv.Atoi(e.Arg); err != nil || n > 100 {
			return p.syntax()
		}
	case FuncRescale:
		if _, _, err := pcp.ParseUnits(e.Arg); err != nil {
			return p.syntax()
		}
	}
	return nil
}

// braces parses conditions between braces. A comma joins them as && does, but
// binds less tightly.
func (p *parser) braces() (*Match, error) {
	p.lex.next()
	m, err := p.conditions()
	for err == nil && p.lex.tok == tokComma {
		p.lex.next()
		var r *Match
		r, err = p.conditions()
		m = &Match{Op: OpAnd, Left: m, Right: r, comma: true}
	}
	if err != nil {
		return nil, err
	}
	return m, p.expect(tokCloseBrace)
}

// conditions parses conditions joined by && and ||, which have the same
// precedence, from left to right.
func (p *parser) conditions() (*Match, error) {
	m, err := p.condition()
	for err == nil && (p.lex.tok == tokAnd || p.lex.tok == tokOr) {
		op := OpAnd
		if p.lex.tok == tokOr {
			op = OpOr
		}
		p.lex.next()
		var r *Match
		r, err = p.condition()
		m = &Match{Op: op, Left: m, Right: r}
	}
	return m, err
}

// condition parses a name, an operator and a value.
func (p *parser) condition() (*Match, error) {
	if p.matchers++; p.matchers > MaxMatchers {
		return nil, fmt.Errorf("%w: more than %d conditions", ErrLimit, MaxMatchers)
	}
	if p.lex.tok != tokName && p.lex.tok != tokString {
		return nil, p.syntax()
	}
	m := &Match{Name: p.lex.text}
	p.lex.next()
	var text, number bool
	switch p.lex.tok {
	case tokLess:
		m.Op, number = OpLess, true
	case tokLessEqual:
		m.Op, number = OpLessEqual, true
	case tokGreater:
		m.Op, number = OpGreater, true
	case tokGreaterEqual:
		m.Op, number = OpGreaterEqual, true
	case tokEqual:
		m.Op, number, text = OpEqual, true, true
	case tokNotEqual:
		m.Op, number, text = OpNotEqual, true, true
	case tokGlob, tokColon:
		m.Op, number, text = OpGlob, true, true
	case tokRegex:
		m.Op, text = OpRegex, true
	case tokNotRegex:
		m.Op, text = OpNotRegex, true
	default:
		return nil, p.syntax()
	}
	p.lex.next()
	switch {
	case text && p.lex.tok == tokString:
		m.Kind = KindString
	case text && p.lex.tok == tokName:
		m.Kind = KindName
	case number && (p.lex.tok == tokInteger || p.lex.tok == tokDouble):
		m.Kind = KindNumber
	default:
		return nil, p.syntax()
	}
	m.Text = p.lex.text
	p.lex.next()
	return m, nil
}

// squares parses a time window between square brackets.
func (p *parser) squares() (*Window, error) {
	var s Spec
	for {
		p.lex.next()
		if err := p.windowPart(&s); err != nil {
			return nil, err
		}
		if p.lex.tok != tokComma {
			break
		}
	}
	if err := p.expect(tokCloseSquare); err != nil {
		return nil, err
	}
	w, err := s.parse(windowParser{now: p.now, loc: p.loc, inQuery: true})
	if err != nil {
		return nil, err
	}
	p.window, p.spec = w, s
	return &w, nil
}

// windowPart parses one part of a window.
func (p *parser) windowPart(s *Spec) error {
	part, text := partRange, p.lex.text
	switch p.lex.tok {
	case tokRange:
	case tokWindow:
		part = p.lex.part
		p.lex.next()
		if err := p.expect(tokColon); err != nil {
			return err
		}
		ok := false
		switch p.lex.tok {
		case tokInteger:
			ok = part != partZone
		case tokDouble:
			ok = part != partZone && part != partSamples && part != partOffset
		case tokString:
			ok = part != partSamples && part != partOffset
		}
		if !ok {
			return p.syntax()
		}
		text = p.lex.text
	default:
		return p.syntax()
	}
	old := s.part(part)
	if *old != "" && *old != text {
		a, b := *old, text
		if part == partSamples || part == partOffset {
			a, b = b, a // as in C
		}
		return messagef("Invalid second %s requested - \"%s\" vs \"%s\"", partNames[part], a, b)
	}
	*old = text
	p.lex.next()
	return nil
}

// partNames are the names of the parts in messages.
var partNames = [...]string{
	partInterval: "time delta", partZone: "timezone", partStart: "start time", partFinish: "end time",
	partSamples: "sample count", partOffset: "time offset", partAlign: "alignment", partRange: "time range",
}
