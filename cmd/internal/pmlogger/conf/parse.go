package conf

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/go-pcp/pcp/pmcd/access"
)

// MaxConfig is the maximum size of a configuration, in bytes.
const MaxConfig = 64 << 20

// Parse parses a configuration, and calls use for each metric as soon as it is
// parsed, so that problems with a metric are reported before later mistakes in the
// text. A mistake is an *Error and ends the parsing. The rules of the access section
// are returned in order, those before a mistake included.
//
// Name is the name of the text in messages until a preprocessor line names another
// file.
func Parse(r io.Reader, name string, defaultInterval time.Duration, use func(Statement, Metric) error) ([]Access, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > MaxConfig {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, MaxConfig)
	}
	p := parser{lexer: lexer{text: text, place: Place{name, 1}}, def: defaultInterval, use: use}
	return p.config()
}

// Read is Parse for a whole configuration. Equal statements are not merged: each
// keeps its own metrics.
func Read(r io.Reader, name string, defaultInterval time.Duration) (*Config, error) {
	var c Config
	var last Statement
	rules, err := Parse(r, name, defaultInterval, func(s Statement, m Metric) error {
		if len(c.Groups) == 0 || s != last {
			c.Groups = append(c.Groups, Group{Statement: s})
			last = s
		}
		g := &c.Groups[len(c.Groups)-1]
		g.Metrics = append(g.Metrics, m)
		return nil
	})
	c.Access = rules
	return &c, err
}

// A parser reads one token ahead, and only when it needs the next one: the meaning
// of a word, and the line in a message, depend on the position.
type parser struct {
	lexer
	tok    token
	peeked bool
	def    time.Duration
	use    func(Statement, Metric) error
}

// peek returns the next token without consuming it.
func (p *parser) peek() (token, error) {
	if !p.peeked {
		t, err := p.next()
		if err != nil {
			return t, err
		}
		p.tok, p.peeked = t, true
	}
	return p.tok, nil
}

// take consumes the next token if it is of a kind, and fails otherwise.
func (p *parser) take(k kind) (token, error) {
	t, err := p.peek()
	if err == nil && t.kind != k {
		err = p.unexpected()
	}
	p.peeked = false
	return t, err
}

// sign consumes a sign.
func (p *parser) sign(c byte) error {
	t, err := p.peek()
	if err == nil && (t.kind != tSign || t.sign != c) {
		err = p.unexpected()
	}
	p.peeked = false
	return err
}

// at reports whether the next token is of a kind.
func (p *parser) at(k kind) (bool, error) {
	t, err := p.peek()
	return err == nil && t.kind == k, err
}

// atSign reports whether the next token is a sign.
func (p *parser) atSign(c byte) (bool, error) {
	t, err := p.peek()
	return err == nil && t.kind == tSign && t.sign == c, err
}

// skip consumes the next token if it is of a kind, and reports whether it did.
func (p *parser) skip(k kind) (bool, error) {
	ok, err := p.at(k)
	if ok {
		p.peeked = false
	}
	return ok, err
}

func (p *parser) unexpected() error { return &Error{p.place, "syntax error"} }

func (p *parser) config() ([]Access, error) {
	for {
		t, err := p.peek()
		switch {
		case err != nil:
			return nil, err
		case t.kind == tEnd:
			return nil, nil
		case t.kind == tSign && t.sign == '[':
			return p.accessSection()
		}
		if err := p.statement(); err != nil {
			return nil, err
		}
	}
}

// statement parses: log mandatory on every 10 seconds METRICS.
func (p *parser) statement() error {
	if _, err := p.skip(tLog); err != nil {
		return err
	}
	s, err := p.action()
	if err != nil {
		return err
	}
	braces, err := p.atSign('{')
	if err != nil {
		return err
	}
	if !braces {
		return p.metric(s)
	}
	p.peeked = false
	p.inside = true
	for first := true; ; first = false {
		if !first {
			end, err := p.atSign('}')
			if err != nil {
				return err
			}
			if end {
				p.peeked = false
				p.inside = false
				return nil
			}
			if comma, err := p.atSign(','); err != nil {
				return err
			} else if comma {
				p.peeked = false
			}
		}
		if err := p.metric(s); err != nil {
			return err
		}
	}
}

// action parses: mandatory on every 10 seconds.
func (p *parser) action() (Statement, error) {
	var s Statement
	var err error
	if s.State.Mandatory, err = p.skip(tMandatory); err != nil {
		return s, err
	}
	if s.State.Mandatory {
		if maybe, err := p.skip(tMaybe); maybe || err != nil {
			return Statement{State: State{Maybe: true}}, err
		}
	} else if _, err := p.skip(tAdvisory); err != nil {
		return s, err
	}
	if off, err := p.skip(tOff); off || err != nil {
		return s, err
	}
	if _, err := p.take(tOn); err != nil {
		return s, err
	}
	s.State.On = true
	ms, err := p.interval()
	switch {
	case err != nil:
		return s, err
	case ms < 0:
		return s, &Error{p.place, fmt.Sprintf("Logging delta (%d msec) must be positive", ms)}
	case ms > MaxInterval.Milliseconds():
		return s, &Error{p.place, fmt.Sprintf("Logging delta (%d msec) cannot be bigger than %d msec", ms, MaxInterval.Milliseconds())}
	}
	s.Interval = time.Duration(ms) * time.Millisecond
	return s, nil
}

// interval parses: once, default, or every 10 seconds. It returns milliseconds.
func (p *parser) interval() (int64, error) {
	every, err := p.skip(tEvery)
	if err != nil {
		return 0, err
	}
	if !every {
		if once, err := p.skip(tOnce); once || err != nil {
			return 0, err
		}
		if def, err := p.skip(tDefault); def || err != nil {
			return p.def.Milliseconds(), err
		}
	}
	n, err := p.take(tNumber)
	if err != nil {
		return 0, err
	}
	unit, err := p.peek()
	if err != nil {
		return 0, err
	}
	ms := int64(0)
	switch unit.kind {
	case tMillisec:
		ms = 1
	case tSecond:
		ms = 1000
	case tMinute:
		ms = 60_000
	case tHour:
		ms = 3_600_000
	default:
		return 0, p.unexpected()
	}
	p.peeked = false
	return min(n.number, math.MaxInt64/ms) * ms, nil // the limit is too long anyway
}

// metric parses: NAME [ instance, instance ... ].
func (p *parser) metric(s Statement) error {
	name, err := p.take(tName)
	if err != nil {
		return err
	}
	m := Metric{Name: name.text}
	some, err := p.atSign('[')
	if err != nil {
		return err
	}
	if some {
		p.peeked = false
		if m.Instances, err = p.instances(); err != nil {
			return err
		}
	}
	m.Place = p.place
	return p.use(s, m)
}

func (p *parser) instances() ([]Instance, error) {
	var list []Instance
	for {
		t, err := p.peek()
		switch {
		case err != nil:
			return nil, err
		case t.kind == tName || t.kind == tString:
			list = append(list, Instance{Name: t.text})
		case t.kind == tNumber:
			list = append(list, Instance{ID: int32(t.number)})
		default:
			return nil, p.unexpected()
		}
		p.peeked = false
		if end, err := p.atSign(']'); err != nil {
			return nil, err
		} else if end {
			p.peeked = false
			return list, nil
		}
		if comma, err := p.atSign(','); err != nil {
			return nil, err
		} else if comma {
			p.peeked = false
		}
	}
}

// accessSection parses: [access], and the rest of the text.
func (p *parser) accessSection() ([]Access, error) {
	if err := p.sign('['); err != nil {
		return nil, err
	}
	if _, err := p.take(tAccess); err != nil {
		return nil, err
	}
	if err := p.sign(']'); err != nil {
		return nil, err
	}
	var rules []Access
	for {
		more, err := p.rule()
		if err != nil {
			return rules, err // including those before the mistake
		}
		rules = append(rules, more...)
		if end, err := p.at(tEnd); end || err != nil {
			return rules, err
		}
	}
}

// rule parses: allow HOST, HOST : OPERATIONS ;.
func (p *parser) rule() ([]Access, error) {
	allow, err := p.skip(tAllow)
	if err != nil {
		return nil, err
	}
	if !allow {
		if _, err := p.take(tDisallow); err != nil {
			return nil, err
		}
	}
	var rules []Access
	for {
		t, err := p.peek()
		if err != nil {
			return nil, err
		}
		if t.kind != tName && t.kind != tHost && t.kind != tAddress && t.kind != tURL {
			return nil, p.unexpected()
		}
		p.peeked = false
		rules = append(rules, Access{Host: t.text, Place: p.place})
		if colon, err := p.atSign(':'); err != nil {
			return nil, err
		} else if colon {
			p.peeked = false
			break
		}
		if err := p.sign(','); err != nil {
			return nil, err
		}
	}
	rule, err := p.operations(allow)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		rules[i].Rule = rule
	}
	return rules, p.sign(';')
}

// operations parses: all, all except LIST, or LIST.
func (p *parser) operations(allow bool) (access.Rule, error) {
	all, err := p.skip(tAll)
	if err != nil {
		return access.Rule{}, err
	}
	if all {
		except, err := p.skip(tExcept)
		if err != nil {
			return access.Rule{}, err
		}
		var not access.Ops
		if except {
			if not, err = p.list(); err != nil {
				return access.Rule{}, err
			}
		}
		if allow {
			return access.Rule{Ops: OpAll, Deny: not}, nil
		}
		return access.Rule{Ops: OpAll, Deny: OpAll &^ not}, nil
	}
	ops, err := p.list()
	if allow {
		return access.Rule{Ops: ops}, err
	}
	return access.Rule{Ops: ops, Deny: ops}, err
}

func (p *parser) list() (access.Ops, error) {
	var ops access.Ops
	for {
		t, err := p.peek()
		if err != nil {
			return 0, err
		}
		switch t.kind {
		case tAdvisory:
			ops |= OpAdvisory
		case tMandatory:
			ops |= OpMandatory
		case tEnquire:
			ops |= OpEnquire
		default:
			return 0, p.unexpected()
		}
		p.peeked = false
		comma, err := p.atSign(',')
		if !comma || err != nil {
			return ops, err
		}
		p.peeked = false
	}
}
