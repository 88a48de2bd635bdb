package derive

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Limits on one expression.
const (
	maxExpr  = 64 << 10 // bytes
	maxDepth = 1000     // expressions inside one another
)

// A syntaxError is an error of the parser: the position and the message, "" if
// the C library has no message either.
type syntaxError struct {
	pos int
	msg string
}

// parse parses an expression. A refused expression gets the position and the
// message of version 6.0.3 of the C library.
func parse(s string) (*node, *syntaxError) { return parseTokens(s, nil) }

// parseTokens is parse, and sets tokens, unless nil, to the tokens read.
func parseTokens(s string, tokens *[]token) (*node, *syntaxError) {
	if len(s) > maxExpr {
		return nil, &syntaxError{0, fmt.Sprintf("Expression of more than %d bytes", maxExpr)}
	}
	s = ctext.String(s)
	p := parser{lexer: lexer{s: s}, recent: true, tokens: tokens}
	if n := p.definition(); n != nil {
		return n, nil
	}
	if p.err.msg == msgTooDeep {
		return nil, p.err
	}
	// An expression that is wrong in both versions gets the error of the older one.
	var olds []token
	old := parser{lexer: lexer{s: s}}
	if tokens != nil {
		old.tokens = &olds
	}
	if old.definition() == nil {
		if tokens != nil {
			*tokens = olds
		}
		return nil, old.err
	}
	return nil, p.err
}

const msgTooDeep = "Expression too deep"

// A parser parses by recursive descent, operators by precedence.
//
// The messages of the C library are those of the error productions of its grammar:
// the innermost construct with one determines the message. frames has the messages
// of the constructs around the parser's position.
type parser struct {
	lexer
	recent bool // accepts additions of later versions: delta(expr), novalue()
	tok    token
	have   bool // tok is the next token
	frames []frameMsg
	depth  int
	tokens *[]token // the tokens read; nil to keep none
	err    *syntaxError
}

func (p *parser) peek() token {
	if !p.have {
		p.tok, p.have = p.next(), true
		if p.tokens != nil {
			*p.tokens = append(*p.tokens, p.tok)
		}
	}
	return p.tok
}

func (p *parser) take() token {
	t := p.peek()
	p.have = false
	return t
}

// taking reports whether the next token is of the given kind, and if so takes it.
func (p *parser) taking(kind tokenKind) bool {
	if p.peek().kind != kind {
		return false
	}
	p.have = false
	return true
}

// unexpected fails at the next token.
func (p *parser) unexpected() *node {
	t := p.peek()
	switch {
	case t.kind == tokError:
		return p.fail(t.pos, p.msg)
	case len(p.frames) > 0:
		f := p.frames[len(p.frames)-1]
		if f.what == "" {
			return p.fail(t.pos, f.where)
		}
		return p.fail(t.pos, f.what+" expected to follow "+f.where)
	}
	return p.fail(t.pos, "")
}

// maxMessage is the maximum length of a message with a quotation, as in C.
const maxMessage = 255

func (p *parser) fail(pos int, msg string) *node {
	if p.err == nil {
		p.err = &syntaxError{pos, msg[:min(len(msg), maxMessage)]}
	}
	return nil
}

// A frameMsg is a message in parts: the thing expected, and the place that it
// must follow; without a thing, the place is the whole message.
type frameMsg struct{ what, where string }

func (p *parser) push(what, where string) { p.frames = append(p.frames, frameMsg{what, where}) }
func (p *parser) pop()                    { p.frames = p.frames[:len(p.frames)-1] }

const (
	anOperator = "Arithmetic or relational or boolean operator"
	aNumber    = "Arithmetic expression"
	aTruth     = "Boolean expression"
	aMetric    = "Metric name"
)

// Precedences, the weakest first. All operators are left associative.
const (
	precTernary = iota + 1
	precBool
	precNot
	precCompare
	precAdd
	precMul
)

func precedence(t token) int {
	if t.kind != tokOp {
		return 0
	}
	switch t.op {
	case opQuest:
		return precTernary
	case opAnd, opOr:
		return precBool
	case opLess, opLessEq, opEq, opGreaterEq, opGreater, opNotEq:
		return precCompare
	case opAdd, opSub:
		return precAdd
	case opMul, opDiv:
		return precMul
	}
	return 0
}

// definition parses the whole text.
func (p *parser) definition() *node {
	switch t := p.peek(); {
	case t.kind == tokLeft:
		// C's message for an error in an expression that starts with a parenthesis.
		p.push("", "Unexpected initial '('")
	case t.kind == tokRight, t.kind == tokOp && t.op != opSub && t.op != opNot:
		p.take()
		p.push("", "Unexpected initial '"+t.text+"'")
		return p.unexpected()
	}
	n := p.expr(precTernary)
	if n == nil {
		return nil
	}
	p.frames = p.frames[:0] // its initial parenthesis is closed
	switch t := p.peek(); t.kind {
	case tokEnd:
		return n
	case tokLeft, tokRight:
		p.take()
		p.push("", "Unexpected '"+t.text+"'")
	}
	return p.unexpected()
}

// expr parses an expression of operators that bind at least as strongly as
// lowest. A prefix operator may start it, for any lowest.
func (p *parser) expr(lowest int) *node {
	if p.depth++; p.depth > maxDepth {
		return p.fail(p.peek().pos, msgTooDeep)
	}
	left := p.operators(lowest)
	p.depth--
	return left
}

func (p *parser) operators(lowest int) *node {
	left := p.prefix()
	for left != nil {
		t := p.peek()
		prec := precedence(t)
		if prec == 0 || prec < lowest {
			break
		}
		p.take()
		if t.op == opQuest {
			left = p.ternary(left)
			continue
		}
		want := aNumber
		if t.op == opAnd || t.op == opOr {
			want = aTruth
		}
		p.push(want, t.op.String())
		right := p.expr(prec + 1)
		if right == nil {
			return nil
		}
		p.pop()
		left = &node{op: t.op, left: left, right: right}
	}
	return left
}

func (p *parser) ternary(guard *node) *node {
	p.push(aNumber, "QUEST")
	yes := p.arm(precTernary)
	if yes == nil {
		return nil
	}
	if !p.peek().isOp(opColon) {
		return p.unexpected()
	}
	p.take()
	p.push(aNumber, "COLON")
	no := p.arm(precTernary + 1)
	if no == nil {
		return nil
	}
	if yes.op == opNoValue && no.op == opNoValue {
		return p.fail(p.pos(), "novalue() may appear at most once in a ternary expression")
	}
	p.pop()
	p.pop()
	return &node{op: opQuest, left: guard, right: &node{op: opColon, left: yes, right: no}}
}

// pos returns the start of the last token read.
func (p *parser) pos() int { return p.tok.pos }

// arm parses the text after a question mark or a colon: novalue() is only valid there.
func (p *parser) arm(lowest int) *node {
	if t := p.peek(); p.recent && t.kind == tokName && t.text == "novalue" && strings.HasPrefix(p.s[p.i:], "(") {
		p.take()
		p.take()
		n := &node{op: opNoValue, more: &details{desc: plain(pcp.Type32)}}
		p.push("metadata keyword", "novalue(")
		if !p.taking(tokRight) {
			if !p.specs(n) {
				return nil
			}
		}
		p.pop()
		return n
	}
	return p.expr(lowest)
}

func (p *parser) prefix() *node {
	t := p.peek()
	switch {
	case t.isOp(opSub):
		return p.prefixed(opNeg, aNumber, precAdd+1)
	case t.isOp(opNot):
		return p.prefixed(opNot, aTruth, precNot+1)
	}
	return p.primary()
}

func (p *parser) prefixed(o op, want string, lowest int) *node {
	p.take()
	p.push(want, o.String())
	n := p.expr(lowest)
	if n == nil {
		return nil
	}
	p.pop()
	return &node{op: o, left: n}
}

func (p *parser) primary() *node {
	t := p.peek()
	switch t.kind {
	case tokLeft:
		p.take()
		n := p.expr(precTernary)
		if n == nil {
			return nil
		}
		if !p.taking(tokRight) {
			return p.unexpected()
		}
		return p.selected(n)
	case tokName:
		if isKeyword(t.text) {
			return p.unexpected()
		}
		p.take()
		n := &node{op: opName, text: t.text}
		if p.peek().kind == tokInstance {
			return p.selected(n)
		}
		if !p.endsName() {
			p.push(anOperator, "NAME")
			return p.unexpected()
		}
		return n
	case tokInteger:
		p.take()
		return &node{op: opInteger, text: t.text}
	case tokDouble:
		p.take()
		return &node{op: opDouble, text: t.text}
	case tokFunc:
		p.take()
		p.take() // the parenthesis
		return p.function(t)
	}
	return p.unexpected()
}

// isKeyword reports whether a name is for the parameters of mkconst only.
func isKeyword(s string) bool { return s == "type" || s == "semantics" || s == "units" }

// endsName reports whether the next token can follow an expression
// anywhere. C checks this before it takes a name for an expression.
func (p *parser) endsName() bool {
	switch t := p.peek(); t.kind {
	case tokEnd, tokLeft, tokRight, tokComma:
		return true
	case tokOp:
		return t.op != opNot
	}
	return false
}

// selected parses the [instance] that may follow n.
func (p *parser) selected(n *node) *node {
	if t := p.peek(); t.kind == tokInstance {
		p.take()
		return &node{op: opSelect, left: n, text: t.text}
	}
	return n
}

// function parses the arguments of a function, after the parenthesis.
func (p *parser) function(f token) *node {
	n := &node{op: f.op}
	opened := f.text + "("
	switch f.op {
	case opAvg, opCount, opMax, opMin, opSum:
		p.push(aMetric, opened)
		n.left = p.metric()
	case opDelta, opRate, opInstant:
		p.push(aMetric, opened)
		if p.recent {
			n.left = p.expr(precTernary)
		} else {
			n.left = p.metric()
		}
		if n.left != nil {
			n.left.last = f.op != opInstant
		}
	case opScalar:
		p.push("<expr>", opened)
		n.left = p.expr(precTernary)
	case opDefined:
		if n.left = p.metric(); n.left == nil || !p.taking(tokRight) {
			return p.unexpected()
		}
		n.text, n.left = n.left.text, nil
		return n
	case opAnon:
		p.push(aMetric, opened)
		if n.left = p.metric(); n.left != nil && p.peek().kind == tokRight {
			t, ok := anonTypes()[n.left.text]
			if !ok {
				return p.fail(p.pos(), "type="+n.left.text+" not allowed for anon()")
			}
			n = &node{op: opAnon, text: n.left.text, more: &details{desc: plain(t)}}
			p.take()
			p.pop()
			return n
		}
	case opInteger:
		return p.mkconst()
	case opRescale:
		return p.rescale(n)
	case opMatch:
		return p.matchinst(n)
	}
	if n.left == nil || !p.taking(tokRight) {
		return p.unexpected()
	}
	p.pop()
	return n
}

// metric parses the name of a metric. It returns nil if the next token is not a name.
func (p *parser) metric() *node {
	t := p.peek()
	if t.kind != tokName || isKeyword(t.text) {
		return nil
	}
	p.take()
	return &node{op: opName, text: t.text}
}

func anonTypes() map[string]pcp.Type {
	return map[string]pcp.Type{
		"PM_TYPE_32": pcp.Type32, "PM_TYPE_U32": pcp.TypeU32, "PM_TYPE_64": pcp.Type64,
		"PM_TYPE_U64": pcp.TypeU64, "PM_TYPE_FLOAT": pcp.TypeFloat, "PM_TYPE_DOUBLE": pcp.TypeDouble,
	}
}

func (p *parser) rescale(n *node) *node {
	p.push(anOperator, "rescale(")
	if n.left = p.expr(precTernary); n.left == nil {
		return nil
	}
	if !p.taking(tokComma) {
		return p.unexpected()
	}
	p.push("Units string", "rescale(<expr>,")
	t := p.peek()
	if t.kind != tokString {
		return p.unexpected()
	}
	p.take()
	if p.peek().kind != tokRight {
		return p.unexpected()
	}
	p.take()
	n.more = new(details)
	if n.more.desc.Units = p.units(t.text); p.err != nil {
		return nil
	}
	p.pop()
	p.pop()
	return n
}

// units parses units; the position of an error is the last token.
func (p *parser) units(s string) pcp.Units {
	u, _, err := pcp.ParseUnits(s)
	if err != nil {
		reason := err.Error()
		if e := (*pcp.UnitsError)(nil); errors.As(err, &e) {
			reason = e.Reason
		}
		p.fail(p.pos(), "Illegal units: '"+reason+"'")
	}
	return u
}

func (p *parser) matchinst(n *node) *node {
	p.push("<filter>, <expr>)", "matchinst(")
	n.more = new(details)
	if p.peek().isOp(opNot) {
		p.take()
		n.more.invert = true
	}
	t := p.peek()
	if t.kind != tokPattern {
		return p.unexpected()
	}
	p.take()
	n.text = t.text
	var err error
	if n.more.re, err = compilePattern(t.text); err != nil {
		return p.fail(t.pos, "bad regular expression: '"+err.Error()+"'")
	}
	p.push(", <expr>)", "matchinst(<filter>")
	if !p.taking(tokComma) {
		return p.unexpected()
	}
	p.push("<expr>)", "matchinst(<filter>,")
	if n.left = p.expr(precTernary); n.left == nil {
		return nil
	}
	if !p.taking(tokRight) {
		return p.unexpected()
	}
	p.patterns = false // also inside of another matchinst, as in C
	p.pop()
	p.pop()
	p.pop()
	return n
}

func (p *parser) mkconst() *node {
	var n *node
	switch t := p.peek(); t.kind {
	case tokInteger:
		n = &node{op: opInteger, text: t.text, more: &details{desc: plain(pcp.TypeU32)}}
	case tokDouble:
		n = &node{op: opDouble, text: t.text, more: &details{desc: plain(pcp.TypeDouble)}}
	default:
		return p.unexpected()
	}
	p.take()
	if !p.taking(tokComma) {
		return p.unexpected()
	}
	if !p.specs(n) {
		return nil
	}
	if t := n.more.desc.Type; n.op == opDouble && t != pcp.TypeDouble && t != pcp.TypeFloat {
		return p.fail(p.pos(), "Incompatible floating point constant and type '"+t.String()+"'")
	}
	return n
}

// specs parses "type=double, units=..." up to the closing parenthesis into n.
func (p *parser) specs(n *node) bool {
	for {
		key := p.peek()
		known := key.kind == tokName && (isKeyword(key.text) || p.recent && (key.text == "indom" || key.text == "meta"))
		if !known {
			p.unexpected()
			return false
		}
		p.take()
		if !p.taking(tokAssign) {
			p.unexpected()
			return false
		}
		value := p.peek()
		switch {
		case value.kind == tokString, value.kind == tokInteger, value.kind == tokName && !isKeyword(value.text):
		case value.kind == tokDouble && p.recent:
		default:
			p.unexpected()
			return false
		}
		p.take()
		if p.spec(n.more, key.text, value); p.err != nil {
			return false
		}
		if p.taking(tokRight) {
			return true
		}
		if !p.taking(tokComma) {
			p.unexpected()
			return false
		}
	}
}

// specTypes and specSems are the words of a specification.
func specTypes() map[string]pcp.Type {
	return map[string]pcp.Type{
		"32": pcp.Type32, "u32": pcp.TypeU32, "64": pcp.Type64, "u64": pcp.TypeU64,
		"float": pcp.TypeFloat, "double": pcp.TypeDouble,
	}
}

func specSems() map[string]pcp.Sem {
	return map[string]pcp.Sem{
		"counter": pcp.SemCounter, "instant": pcp.SemInstant, "discrete": pcp.SemDiscrete,
	}
}

func (p *parser) spec(n *details, key string, value token) {
	s, ok := value.text, true
	switch key {
	case "type":
		if n.desc.Type, ok = specTypes()[strings.ToLower(s)]; !ok {
			p.fail(value.pos, "Unrecognized value for type '"+s+"'")
		}
		n.meta |= metaType
	case "semantics":
		if n.desc.Sem, ok = specSems()[strings.ToLower(s)]; !ok {
			p.fail(value.pos, "Unrecognized value for semantics '"+s+"'")
		}
		n.meta |= metaSem
	case "units":
		n.desc.Units = p.units(s)
		n.meta |= metaUnits
	case "indom":
		if n.desc.InDom, ok = parseInDom(s); !ok {
			p.fail(value.pos, "Illegal indom: '"+s+"'")
		}
		n.meta |= metaInDom
	case "meta":
		if value.kind != tokName {
			p.fail(value.pos, "")
		}
		n.metaName = s
	}
}

// parseInDom reads an instance domain as the tools print it, or "null".
func parseInDom(s string) (pcp.InDom, bool) {
	if strings.EqualFold(s, "null") {
		return pcp.InDomNull, true
	}
	var domain, serial int
	before, after, _ := strings.Cut(s, ".")
	if len(before) > 3 || len(after) > 7 || !number(before, &domain) || !number(after, &serial) ||
		domain > pcp.MaxAgentDomain || serial > pcp.MaxSerial {
		return 0, false
	}
	return pcp.NewInDom(domain, serial), true
}

// number reads a few decimal digits.
func number(s string, n *int) bool {
	for i := range len(s) {
		if !ctext.IsDigit(s[i]) {
			return false
		}
		*n = *n*10 + int(s[i]-'0')
	}
	return s != ""
}
