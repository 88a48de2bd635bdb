package lc

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/wire"
)

// failed is the kind of a statement that has been reported as wrong.
const failed kind = -1

// A parser reads statements. It stores their contents in the session, in part even if a mistake
// follows.
type parser struct {
	s    *session
	lex  *lexer
	tok  token // the next token, if have is set
	have bool
}

func (p *parser) peek() token {
	if !p.have {
		p.tok, p.have = p.lex.next(), true
	}
	return p.tok
}

func (p *parser) next() token {
	t := p.peek()
	p.have = false
	return t
}

// accept takes the next token if it is of a kind.
func (p *parser) accept(k kind) bool {
	if p.peek().kind != k {
		return false
	}
	p.have = false
	return true
}

func (p *parser) syntax() kind {
	p.have = false
	p.lex.errorf("syntax error")
	return failed
}

// end expects the end of a statement.
func (p *parser) end(k kind) kind {
	if !p.accept(tokEOL) {
		return p.syntax()
	}
	return k
}

// statement reads a statement and returns its kind, which is the kind of its first word: tokLog
// for query too, 0 for an empty line.
func (p *parser) statement() kind {
	p.have = false
	t := p.peek()
	switch t.kind {
	case tokEnd:
		return failed
	case tokEOL:
		return 0
	case tokLog, tokMandatory, tokAdvisory:
		p.accept(tokLog)
		return p.log()
	}
	p.have = false
	switch t.kind {
	case tokQuery:
		p.s.state = stateEnquire
		return p.metrics()
	case tokShow:
		p.accept(tokLogger)
		if !p.host() {
			return p.syntax()
		}
	case tokConnect:
		if !p.target() || !p.host() {
			return p.syntax()
		}
	case tokDisconnect, tokHelp, tokQuit, tokStatus, tokSync:
	case tokNew:
		if !p.accept(tokVolume) {
			return p.syntax()
		}
	case tokTimezone:
		if !p.zone() {
			return p.syntax()
		}
	case tokSleep, tokQA:
		n := p.next()
		if n.kind != tokNumber {
			return p.syntax()
		}
		if t.kind == tokSleep {
			p.s.sleep = int32(n.num)
		} else {
			p.s.qaCase = int32(n.num)
		}
	default:
		return p.syntax()
	}
	return p.end(t.kind)
}

// log reads the statement after the optional word log.
func (p *parser) log() kind {
	s := p.s
	switch t := p.next(); t.kind {
	case tokMandatory:
		s.control = wire.LogMandatory
		if p.accept(tokMaybe) {
			s.state = wire.LogMaybe
			return p.metrics()
		}
	case tokAdvisory:
		s.control = wire.LogAdvisory
	default:
		return p.syntax()
	}
	switch t := p.next(); t.kind {
	case tokOff:
		s.state = wire.LogOff
		return p.metrics()
	case tokOn:
	default:
		return p.syntax()
	}
	if p.accept(tokOnce) {
		s.delta = 0
	} else {
		p.accept(tokEvery)
		n := p.next()
		if n.kind != tokNumber {
			return p.syntax()
		}
		unit := int64(0)
		switch p.next().kind {
		case tokMsec:
			unit = 1
		case tokSecond:
			unit = 1000
		case tokMinute:
			unit = 60000
		case tokHour:
			unit = 3600000
		default:
			return p.syntax()
		}
		s.delta = math.MaxInt64
		if n.num <= math.MaxInt64/unit {
			s.delta = n.num * unit
		}
	}
	s.state = wire.LogOn
	return p.metrics()
}

// target reads the target of a statement: a pmlogger.
func (p *parser) target() bool {
	switch t := p.next(); t.kind {
	case tokPrimary:
		p.s.target = control.Target{PID: control.Primary, Port: control.NoPort}
	case tokNumber:
		p.s.target = control.Target{PID: int(int32(t.num)), Port: control.NoPort}
	case tokPort:
		n := p.next()
		if n.kind != tokNumber {
			return false
		}
		p.s.target = control.Target{PID: control.NoPID, Port: int(int32(n.num))}
	case tokSocket:
		p.s.target = control.Target{PID: control.NoPID, Port: control.NoPort}
	default:
		return false
	}
	return true
}

// host reads the optional host of the target.
func (p *parser) host() bool {
	if !p.accept(tokAt) {
		return true
	}
	switch t := p.next(); t.kind {
	case tokName, tokHostname, tokString:
		p.s.setHost(t.text, false)
	case tokURL:
		p.s.setHost(t.text, true)
	case tokNumber:
		p.s.setHost(strconv.Itoa(int(int32(t.num))), false)
	default:
		return false
	}
	return true
}

// zone reads a time zone.
func (p *parser) zone() bool {
	switch t := p.next(); t.kind {
	case tokLocal:
		p.s.zone = zoneLocal
	case tokLogger:
		p.s.zone = zoneLogger
	case tokString:
		p.s.zone, p.s.zoneName = zoneOther, t.text
	default:
		return false
	}
	return true
}

// metrics reads the metrics of a statement.
func (p *parser) metrics() kind {
	s := p.s
	p.lex.enter(false)
	if !s.connected() {
		s.metrics.status = noMetrics
		return failed
	}
	if !s.connectCollector() {
		p.lex.errorf("")
		s.metrics.status = noMetrics
		return failed
	}
	s.metrics.begin()
	if p.accept(tokLBrace) {
		p.lex.enter(true)
		for first := true; first || !p.accept(tokRBrace); first = false {
			if !first {
				p.accept(tokComma)
			}
			if !p.metric() {
				return p.syntax()
			}
		}
	} else if !p.metric() {
		return p.syntax()
	}
	p.lex.leave()
	s.endMetrics()
	return p.end(tokLog)
}

// metric reads a name and optional instances.
func (p *parser) metric() bool {
	t := p.next()
	if t.kind != tokName {
		return false
	}
	p.s.addMetrics(t.text)
	if p.accept(tokLSquare) {
		for first := true; first || !p.accept(tokRSquare); first = false {
			if !first {
				p.accept(tokComma)
			}
			switch t := p.next(); t.kind {
			case tokName, tokString:
				p.s.addInstance(instanceSpec{name: t.text, named: true})
			case tokNumber:
				p.s.addInstance(instanceSpec{inst: int32(t.num)})
			default:
				return false
			}
		}
	}
	p.s.endGroup()
	return true
}

// isSocket reports whether a host specification begins like a Unix socket, and whether
// it has a path.
func isSocket(spec string) (kind string, path bool) {
	for _, kind := range []string{"local:", "unix:"} {
		if rest, ok := strings.CutPrefix(spec, kind); ok {
			return kind, strings.TrimLeft(rest, "/") != ""
		}
	}
	return "", false
}
