package conf

import (
	"errors"
	"fmt"

	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmcd/access"
)

// access parses the statements of an access section, to the end of the file.
func (p *parser) access(a *access.Rules) {
	if p.tok == "" {
		p.next()
	}
	statements, mistakes := 0, p.mistakes
	for !p.eof() {
		told := len(p.lines)
		if p.accessStatement(a) {
			statements++
		}
		for !p.eof() && p.tok != ";" {
			p.next()
		}
		if p.failed != nil {
			return
		}
		if p.eof() {
			if len(p.lines) == told {
				p.errorf("';' expected at the end of a statement")
			}
			return
		}
		p.next()
	}
	if statements == 0 && p.failed == nil && p.mistakes == mistakes {
		p.errorf("no valid statements in [access] section")
	}
}

// accessStatement parses a statement up to its ';' and adds its rules. It
// reports whether there are any.
func (p *parser) accessStatement(a *access.Rules) (added bool) {
	allow := p.is("allow")
	if !allow && !p.is("disallow") {
		p.errorf("allow or disallow statement expected")
		return false
	}
	p.next()
	kind, add := "host", a.AddHost
	switch {
	case p.quoted:
	case p.is("user"), p.is("users"):
		kind, add = "user", a.AddUser
		p.next()
	case p.is("group"), p.is("groups"):
		kind, add = "group", a.AddGroup
		p.next()
	case p.is("host"), p.is("hosts"):
		p.next()
	}
	names, ok := p.names(kind)
	if !ok {
		return false
	}
	p.next()
	rule := accessRule{allow: allow}
	if !p.accessOps(&rule, false) {
		return false
	}
	for _, name := range names {
		notes, err := add(name, rule.Rule)
		for _, note := range notes {
			p.lines = append(p.lines, daemonlog.Line("pmcd", note.Level, note.Text))
		}
		if err == nil || errors.Is(err, access.ErrNotLookedUp) {
			added = true
			continue
		}
		ignored := errors.Is(err, access.ErrUnknownHost)
		if ignored {
			p.lines = append(p.lines, "Warning: the following access control specification will be ignored")
		}
		p.lines = append(p.lines, fmt.Sprintf("%s config[line %d]: Warning: access control error for %s '%s': %v", p.source, p.no, kind, name, err))
		if !ignored {
			p.mistakes++
			return false
		}
	}
	return added
}

// names parses a list up to its ':', of a kind that messages name. A name may
// contain colons if it is quoted; local: and unix: need not be.
func (p *parser) names(kind string) ([]string, bool) {
	var hosts []string
	for {
		if p.eof() || !p.quoted && (p.tok == ":" || p.tok == ";") {
			if hosts == nil {
				p.errorf("no %ss in allow/disallow statement", kind)
			} else {
				p.errorf("%s expected after ','", kind)
			}
			return nil, false
		}
		host := p.tok
		hosts = append(hosts, host)
		p.next()
		switch p.tok {
		case ",":
			p.next()
		case ":":
			return hosts, true
		default:
			p.errorf("',' or ':' expected after \"%s\"", host)
			return nil, false
		}
	}
}

// An accessRule is the right side of a statement.
type accessRule struct {
	allow     bool
	unlimited bool
	access.Rule
}

// set allows or denies ops; inverted is for operations after "except".
func (r *accessRule) set(ops access.Ops, inverted bool) {
	r.Ops |= ops
	if r.allow != inverted {
		r.Deny &^= ops
	} else {
		r.Deny |= ops
	}
}

// accessOps parses a list of operations up to its ';'.
func (p *parser) accessOps(r *accessRule, except bool) bool {
	if p.tok == ";" || p.eof() {
		p.errorf("empty or incomplete permissions list")
		return false
	}
	var all, ops, comma bool
	for !p.eof() && p.tok != ";" {
		switch {
		case p.is("fetch"), p.is("store"):
			op := access.OpFetch
			if p.is("store") {
				op = access.OpStore
			}
			if all {
				p.errorf("can't have \"all\" mixed with specific permissions")
				return false
			}
			ops = true
			r.set(op, except)
			p.next()
		case p.is("all"):
			if ops {
				p.errorf("can't have \"all\" mixed with specific permissions")
				return false
			}
			if except {
				p.errorf("can't have \"all\" within an \"all except\"")
				return false
			}
			all = true
			r.set(access.OpAll, false)
			p.next()
			if p.is("except") {
				p.next()
				if !p.accessOps(r, true) {
					return false
				}
			}
		case p.is("maximum"), p.is("unlimited"):
			if !p.connectionLimit(r, except && !ops) {
				return false
			}
		default:
			p.errorf("bad access specifier")
			return false
		}
		if p.tok != "," && p.tok != ";" {
			p.errorf("',' or ';' expected in permission list")
			return false
		}
		if comma = p.tok == ","; comma {
			p.next()
		}
	}
	if comma {
		p.errorf("misplaced (trailing) ',' in permission list")
		return false
	}
	return true
}

// connectionLimit parses "maximum n connections" or "unlimited connections".
func (p *parser) connectionLimit(r *accessRule, misplaced bool) bool {
	switch {
	case r.Max != 0 || r.unlimited:
		p.errorf("connection limit already specified")
		return false
	case misplaced:
		p.errorf("connection limit may not immediately follow \"all except\"")
		return false
	case !r.allow:
		p.errorf("can't specify connection limit in a disallow statement")
		return false
	}
	if p.is("unlimited") {
		r.unlimited = true
	} else {
		p.next()
		n, ok := p.number()
		if !ok || n <= 0 {
			p.errorf("maximum connection limit must be a positive number")
			return false
		}
		r.Max = n
	}
	if p.next(); !p.is("connections") {
		p.errorf("\"connections\" expected")
		return false
	}
	p.next()
	return true
}
