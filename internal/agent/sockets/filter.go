package sockets

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A Filter selects the sockets that are reported.
type Filter struct {
	states uint32 // a bit for each
	expr   func(d *diag) bool
}

// Limits of a filter.
const (
	maxFilter = 4096 // bytes
	maxNested = 64   // parentheses and negations
)

// States of sockets, as the kernel numbers them.
const (
	stateEstablished = 1
	stateSynSent     = 2
	stateSynRecv     = 3
	stateTimeWait    = 6
	stateClosed      = 7
	stateListen      = 10
	stateClosing     = 11
	allStates        = 1<<12 - 1
	connected        = allStates &^ (1<<stateClosed | 1<<stateListen)
	bucket           = 1<<stateSynRecv | 1<<stateTimeWait
)

// stateBits returns the states of a name of ss(8), 0 if it is not one.
func stateBits(name string) uint32 {
	switch name {
	case "all":
		return allStates
	case "connected":
		return connected
	case "synchronized":
		return connected &^ (1 << stateSynSent)
	case "bucket":
		return bucket
	case "big":
		return allStates &^ bucket
	case "listen":
		return 1 << stateListen
	case "close":
		return 1 << stateClosed
	}
	names := [...]string{
		stateEstablished: "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait", "closed", "close-wait", "last-ack", "listening", "closing",
	}
	for i, n := range names {
		if n != "" && n == name {
			return 1 << i
		}
	}
	return 0
}

// ParseFilter parses a filter as given after the options of ss(8):
//
//	[state STATE | exclude STATE]... [EXPRESSION]
//
// Without a state all match. An expression consists of these, joined by "and" ("&"; it may be
// left out) and "or" ("|"), with "not" ("!") and parentheses:
//
//	src HOST, dst HOST                  HOST is ADDRESS, ADDRESS/BITS, ADDRESS:PORT, [IPV6]:PORT, *:PORT or :PORT
//	sport OP PORT, dport OP PORT        OP is = != < <= > >=, or eq ne lt le gt ge
//
// Addresses and ports are numbers. Conditions of ss(8) on devices, marks, control groups or names of
// hosts and services are refused.
func ParseFilter(text string) (*Filter, error) {
	if len(text) > maxFilter {
		return nil, fmt.Errorf("filter of %d bytes: at most %d are allowed", len(text), maxFilter)
	}
	p := &filterParser{words: splitFilter(text)}
	f := &Filter{states: allStates}
	for first := true; ; first = false {
		word := p.peek()
		if word != "state" && word != "exclude" && word != "excl" {
			break
		}
		p.pos++
		name := p.next()
		bits := stateBits(name)
		if bits == 0 {
			return nil, fmt.Errorf("filter %q: %q is not a state", text, name)
		}
		switch {
		case word != "state":
			f.states &^= bits
		case first:
			f.states = bits
		default:
			f.states |= bits
		}
	}
	if p.peek() == "" {
		return f, nil
	}
	expr, err := p.or(0)
	if err == nil && p.pos < len(p.words) {
		err = fmt.Errorf("%q is unexpected", p.peek())
	}
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", text, err)
	}
	f.expr = expr
	return f, nil
}

// matches reports whether a socket passes the filter.
func (f *Filter) matches(d *diag) bool {
	return f.states&(1<<(d.state&31)) != 0 && (f.expr == nil || f.expr(d))
}

// splitFilter returns the words and operators of a filter.
func splitFilter(text string) []string {
	var words []string
	for {
		text = strings.TrimLeft(text, " \t\r\n\v\f")
		if text == "" {
			return words
		}
		n := strings.IndexAny(text, " \t\r\n\v\f()!<>=&|")
		if n < 0 {
			n = len(text)
		}
		if n == 0 {
			n = 1
			if len(text) > 1 && (text[1] == '=' && strings.IndexByte("!<>=", text[0]) >= 0 || text[1] == text[0] && (text[0] == '&' || text[0] == '|')) {
				n = 2
			}
		}
		words = append(words, text[:n])
		text = text[n:]
	}
}

type filterParser struct {
	words []string
	pos   int
}

// peek returns the next word, "" at the end.
func (p *filterParser) peek() string {
	if p.pos < len(p.words) {
		return p.words[p.pos]
	}
	return ""
}

func (p *filterParser) next() string {
	word := p.peek()
	p.pos++
	return word
}

type condition = func(d *diag) bool

func (p *filterParser) or(depth int) (condition, error) {
	left, err := p.and(depth)
	for err == nil {
		if w := p.peek(); w != "or" && w != "|" && w != "||" {
			return left, nil
		}
		p.pos++
		a := left
		var b condition
		if b, err = p.and(depth); err == nil {
			left = func(d *diag) bool { return a(d) || b(d) }
		}
	}
	return nil, err
}

func (p *filterParser) and(depth int) (condition, error) {
	left, err := p.not(depth)
	for err == nil {
		switch p.peek() {
		case "", ")", "or", "|", "||":
			return left, nil
		case "and", "&", "&&":
			p.pos++
		}
		a := left
		var b condition
		if b, err = p.not(depth); err == nil {
			left = func(d *diag) bool { return a(d) && b(d) }
		}
	}
	return nil, err
}

func (p *filterParser) not(depth int) (condition, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("it is nested deeper than %d", maxNested)
	}
	switch word := p.next(); word {
	case "not", "!":
		c, err := p.not(depth + 1)
		if err != nil {
			return nil, err
		}
		return func(d *diag) bool { return !c(d) }, nil
	case "(":
		c, err := p.or(depth + 1)
		if err == nil && p.next() != ")" {
			err = errors.New("a parenthesis is not closed")
		}
		return c, err
	case "src", "dst":
		return p.host(word == "src")
	case "sport", "dport":
		return p.port(word == "sport")
	case "":
		return nil, errors.New("a condition is missing at the end")
	default:
		return nil, fmt.Errorf("the condition %q is not supported; src, dst, sport and dport are", word)
	}
}

// operator reads an operator, and returns the required result of comparing a value with the wanted one.
func (p *filterParser) operator() (holds func(cmp int) bool, ok bool) {
	switch p.peek() {
	case "=", "==", "eq":
		holds = func(c int) bool { return c == 0 }
	case "!=", "ne", "neq":
		holds = func(c int) bool { return c != 0 }
	case "<", "lt":
		holds = func(c int) bool { return c < 0 }
	case "<=", "le", "leq":
		holds = func(c int) bool { return c <= 0 }
	case ">", "gt":
		holds = func(c int) bool { return c > 0 }
	case ">=", "ge", "geq":
		holds = func(c int) bool { return c >= 0 }
	default:
		return func(c int) bool { return c == 0 }, false
	}
	p.pos++
	return holds, true
}

func side(d *diag, src bool) netip.AddrPort {
	if src {
		return d.src
	}
	return d.dst
}

// port reads the text after sport or dport.
func (p *filterParser) port(src bool) (condition, error) {
	holds, ok := p.operator()
	if !ok {
		return nil, fmt.Errorf("%q is not an operator such as = or >=", p.peek())
	}
	port, err := parsePort(strings.TrimPrefix(p.next(), ":"))
	if err != nil {
		return nil, err
	}
	return func(d *diag) bool { return holds(int(side(d, src).Port()) - port) }, nil
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a port", text)
	}
	return int(n), nil
}

// host reads the text after src or dst.
func (p *filterParser) host(src bool) (condition, error) {
	equal := true
	switch w := p.peek(); w {
	case "!=", "ne", "neq":
		equal = false
		p.pos++
	case "=", "==", "eq":
		p.pos++
	}
	word := p.next()
	prefix, port, err := parseHost(word)
	if err != nil {
		return nil, err
	}
	return func(d *diag) bool {
		s := side(d, src)
		match := (port < 0 || int(s.Port()) == port) && (!prefix.IsValid() || prefix.Contains(s.Addr()) || prefix.Contains(s.Addr().Unmap()))
		return match == equal
	}, nil
}

// parseHost reads an address, with bits or a port or both. The prefix is not valid if any address
// will do, and the port -1.
func parseHost(word string) (prefix netip.Prefix, port int, err error) {
	host, port := word, -1
	// Brackets, or another colon, show that the last colon is part of an IPv6 address.
	if i := strings.LastIndexByte(word, ':'); i >= 0 && (strings.Count(word, ":") == 1 || strings.Contains(word[:i], "]")) {
		host = word[:i]
		if text := word[i+1:]; text != "*" {
			if port, err = parsePort(text); err != nil {
				return prefix, port, err
			}
		}
	}
	if host == "" && port >= 0 || host == "*" {
		return prefix, port, nil
	}
	addr, bits, hasBits := strings.Cut(host, "/")
	if strings.HasPrefix(addr, "[") && strings.HasSuffix(addr, "]") {
		addr = addr[1 : len(addr)-1]
	}
	a, err := netip.ParseAddr(addr)
	if err != nil || a.Zone() != "" {
		return prefix, port, fmt.Errorf("%q is not an address, nor one with a port", word)
	}
	n := a.BitLen()
	if hasBits {
		if n, err = strconv.Atoi(bits); err != nil || n < 0 || n > a.BitLen() {
			return prefix, port, fmt.Errorf("%q: %q is not a number of bits", word, bits)
		}
	}
	return netip.PrefixFrom(a, n), port, nil
}
