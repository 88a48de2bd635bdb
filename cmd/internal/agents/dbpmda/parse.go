package dbpmda

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/wire"
)

var (
	// errSyntax is a mistake that the parser must still report; errSaid is a mistake
	// that has been reported.
	errSyntax = errors.New("syntax error")
	errSaid   = errors.New("said")
	errQuit   = errors.New("quit")
)

// A parser parses commands from the tokens, one line at a time. It reads a token only
// when needed, since the position of an error, and the text echoed before a warning,
// depend on it.
type parser struct {
	*session
	lex    *lexer
	ahead  token
	peeked bool
}

func (p *parser) peek() token {
	if !p.peeked {
		p.ahead, p.peeked = p.lex.next(), true
	}
	return p.ahead
}

func (p *parser) take() token {
	t := p.peek()
	p.peeked = false
	return t
}

// eol takes the end of the line.
func (p *parser) eol() error {
	if p.take().kind != kindEOL {
		return errSyntax
	}
	return nil
}

// number takes a number.
func (p *parser) number() (int32, error) {
	t := p.take()
	if t.kind != kindNumber {
		return 0, errSyntax
	}
	return t.nums[0], nil
}

// mistake reports an error in the current command.
func (p *parser) mistake(format string, args ...any) error {
	p.in.errorf(format, args...)
	return errSaid
}

// statement parses a command and returns the function that executes it, nil for none.
// As in the C program a command is executed only if the input continues after it: the
// last line must end with a newline.
func (p *parser) statement() (func(), error) {
	p.peeked = false
	t := p.take()
	switch t.kind {
	case kindEOL:
		return nil, nil
	case kindKeyword:
	default:
		return nil, p.unknown()
	}
	switch t.text {
	case "open":
		return p.open()
	case "help":
		return p.help()
	case "quit":
		return nil, cmpErr(p.eol(), func() error { return errQuit })
	case "close":
		return func() {
			if p.conn == nil {
				p.in.warnf("No PMDA currently opened")
			}
			p.closeConn()
		}, p.eol()
	case "status":
		return p.status, p.eol()
	case "desc", "fetch", "store", "text", "instance", "profile", "watch", "name", "pmid", "children", "traverse",
		"attr", "label", "debug", "timer", "getdesc", "getiname":
		if p.peek().kind == kindEOL {
			p.take()
			return func() { p.usage(t.text) }, nil
		}
	case "namespace", "wait":
	default:
		return nil, p.unknown()
	}
	switch t.text {
	case "desc":
		id, err := p.metric()
		return p.request(func() bool { return p.printDesc(id) }), cmpErr(err, p.eol)
	case "fetch":
		return p.fetchMetrics()
	case "store":
		id, err := p.metric()
		if err != nil {
			return nil, err
		}
		v := p.take()
		if v.kind != kindString {
			return nil, errSyntax
		}
		return p.request(func() bool { return p.store(id, v.text) }), p.eol()
	case "text":
		if p.peek().is("indom") {
			p.take()
			indom, err := p.indom()
			return p.request(func() bool { return p.session.text(uint32(indom), pcp.TextInDom) }), cmpErr(err, p.eol)
		}
		id, err := p.metric()
		return p.request(func() bool { return p.session.text(uint32(id), pcp.TextPMID) }), cmpErr(err, p.eol)
	case "instance":
		return p.instance()
	case "profile":
		return nil, p.setProfile()
	case "watch":
		path, err := p.path()
		if err = cmpErr(err, p.eol); err == nil {
			p.watch(path)
		}
		return nil, err
	case "namespace":
		path, err := p.path()
		return func() { p.loadNames(path) }, cmpErr(err, p.eol)
	case "name":
		id := p.take()
		if id.kind != kindNumber3 {
			return nil, errSyntax
		}
		return p.request(func() bool { return p.nameOf(pmid(id.nums)) }), p.eol()
	case "pmid", "children", "traverse":
		name := p.take()
		if name.kind != kindName {
			return nil, errSyntax
		}
		return p.request(func() bool {
			if t.text == "pmid" {
				return p.pmidOf(name.text)
			}
			return p.children(name.text, t.text == "traverse")
		}), p.eol()
	case "attr":
		return p.attribute()
	case "label":
		return p.label()
	case "debug":
		return nil, p.setDebug()
	case "wait":
		n, err := p.number()
		if err = cmpErr(err, p.eol); err == nil {
			p.flush()
			pacing.Sleep(p.ctx, time.Duration(n)*time.Second)
		}
		return nil, err
	}
	return nil, p.onOff(map[string]*bool{"timer": &p.timer, "getdesc": &p.getDesc, "getiname": &p.getIname}[t.text])
}

// cmpErr returns err, or if it is nil the error of next.
func cmpErr(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// request returns a function that executes the request fn.
func (p *parser) request(fn func() bool) func() {
	return func() { p.timed(fn) }
}

// unknown handles words that are not commands.
func (p *parser) unknown() error {
	if p.in.ended() {
		return nil
	}
	return p.mistake("Unrecognized command")
}

func (p *parser) onOff(setting *bool) error {
	t := p.take()
	if !t.is("on") && !t.is("off") {
		return errSyntax
	}
	if err := p.eol(); err != nil {
		return err
	}
	*setting = t.is("on")
	return nil
}

// path takes the path of a file.
func (p *parser) path() (string, error) {
	t := p.take()
	switch {
	case t.kind == kindName:
		return "./" + t.text, nil
	case t.kind == kindPath:
		return t.text, nil
	}
	return "", errSyntax
}

func (p *parser) open() (func(), error) {
	opened := func() { p.profileChanged = true }
	switch t := p.take(); {
	case t.kind == kindEOL:
		return func() { p.usage("open") }, nil
	case t.is("dso"):
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		init := "" // the initialization function; ours need none
		if p.peek().kind == kindName {
			init = p.take().text
		}
		var domain int32
		if t := p.peek(); t.kind == kindNumber {
			domain = p.take().nums[0]
		}
		if err := p.eol(); err != nil {
			return nil, err
		}
		p.openDSO(path, init, domain)
	case t.is("pipe"):
		path, err := p.path()
		if err != nil {
			return nil, err
		}
		p.openPipe(path, p.in.words())
	case t.is("socket"):
		switch t := p.peek(); {
		case t.is("inet"), t.is("ipv6"):
			p.take()
			port, err := p.port()
			if err != nil {
				return nil, err
			}
			if t.is("inet") {
				p.openPort("tcp4", "inet", "127.0.0.1", port)
			} else {
				p.openPort("tcp6", "ipv6", "::1", port)
			}
		default:
			if t.is("unix") {
				p.take()
			}
			path, err := p.path()
			if err != nil {
				return nil, err
			}
			p.openUnix(path)
		}
	default:
		return nil, errSyntax
	}
	return opened, nil
}

func (p *parser) port() (int32, error) {
	t := p.take()
	switch t.kind {
	case kindNumber:
		return t.nums[0], nil
	case kindString:
		port, err := net.LookupPort("tcp", t.text)
		if err != nil {
			return 0, p.mistake("Failed to map (%s) to a port number", t.text)
		}
		p.in.warnf("Mapped %s to port number %d", t.text, port)
		return int32(port), nil
	}
	return 0, errSyntax
}

func (p *parser) help() (func(), error) {
	t := p.take()
	if t.kind == kindEOL {
		return p.usages, nil
	}
	if t.kind != kindKeyword || helpOf(t.text) == nil {
		return nil, errSyntax
	}
	return func() { p.explain(t.text) }, p.eol()
}

// metric takes a metric.
func (p *parser) metric() (pcp.PMID, error) {
	t := p.take()
	id := pcp.PMID(t.nums[0])
	switch t.kind {
	case kindNumber:
	case kindNumber2:
		id = pmid([3]int32{0, t.nums[0], t.nums[1]})
	case kindNumber3:
		id = pmid(t.nums)
	case kindName:
		id, err := p.tree.Lookup(t.text)
		if err == nil && id.IsDynamicRoot() {
			id, err = p.dynamic(t.text, id)
		}
		if err != nil {
			return 0, p.mistake("%s", pcp.Code(err))
		}
		return id, nil
	default:
		return 0, errSyntax
	}
	if _, err := p.tree.Names(id); err != nil {
		p.in.warnf("PMID (%s) is not defined in the PMNS", id)
	}
	return id, nil
}

func pmid(n [3]int32) pcp.PMID { return pcp.NewPMID(int(n[0]), int(n[1]), int(n[2])) }

func (p *parser) indom() (pcp.InDom, error) {
	switch t := p.take(); t.kind {
	case kindNumber, kindNegNumber:
		return pcp.InDom(t.nums[0]), nil
	case kindNumber2:
		return pcp.NewInDom(int(t.nums[0]), int(t.nums[1])), nil
	}
	return 0, errSyntax
}

func (p *parser) fetchMetrics() (func(), error) {
	id, err := p.metric()
	ids := []pcp.PMID{id}
	for err == nil {
		if p.peek().kind == kindEOL {
			p.take()
			return p.request(func() bool { return p.fetch(ids) }), nil
		}
		if p.peek().is(",") {
			p.take()
		}
		id, err = p.metric()
		ids = append(ids, id)
	}
	return nil, err
}

func (p *parser) instance() (func(), error) {
	indom, err := p.indom()
	if err != nil {
		return nil, err
	}
	inst, name := pcp.InNull, ""
	switch t := p.peek(); t.kind {
	case kindNumber:
		inst = t.nums[0]
		p.take()
	case kindString, kindName:
		name = t.text
		p.take()
	}
	return p.request(func() bool { return p.instances(indom, inst, name) }), p.eol()
}

func (p *parser) setProfile() error {
	indom, err := p.indom()
	if err != nil {
		return err
	}
	change := p.profile.Add
	var insts []int32
	switch t := p.take(); {
	case t.is("all"):
	case t.is("none"):
		change = p.profile.Del
	case t.is("add"), t.is("delete"):
		if t.is("delete") {
			change = p.profile.Del
		}
		inst, err := p.number()
		if err != nil {
			return err
		}
		insts = []int32{inst}
	default:
		return errSyntax
	}
	if err := p.eol(); err != nil {
		return err
	}
	if err := change(indom, insts...); err != nil {
		return p.mistake("%s", pcp.Code(err))
	}
	p.profileChanged = true
	return nil
}

// attributes are additional names of attributes.
func attributes() map[string]wire.AttrKey {
	return map[string]wire.AttrKey{
		"authorise": wire.AttrUserAuth, "authorize": wire.AttrUserAuth, "user": wire.AttrUserName,
		"authmeth": wire.AttrMethod, "pass": wire.AttrPassword, "unix": wire.AttrUnixSocket,
		"uid": wire.AttrUserID, "gid": wire.AttrGroupID, "pid": wire.AttrProcessID,
	}
}

func attributeNamed(name string) (wire.AttrKey, bool) {
	if key, ok := attributes()[name]; ok {
		return key, true
	}
	for key := wire.AttrProtocol; key <= wire.AttrExclusive; key++ {
		// The C library does not recognize these two.
		if key != wire.AttrProtocol && key != wire.AttrAuthName && key.String() == name {
			return key, true
		}
	}
	return 0, false
}

func (p *parser) attribute() (func(), error) {
	var key wire.AttrKey
	switch t := p.take(); t.kind {
	case kindNumber:
		key = wire.AttrKey(t.nums[0])
		if key < wire.AttrProtocol || key > wire.AttrExclusive {
			return nil, p.mistake("Attribute (%d) is not recognised", t.nums[0])
		}
	case kindString:
		var ok bool
		if key, ok = attributeNamed(t.text); !ok {
			return nil, p.mistake("%.79s", fmt.Sprintf("Attribute (%s) is not recognised", t.text))
		}
	default:
		return nil, errSyntax
	}
	value, given := "", false
	if t := p.peek(); t.kind == kindString {
		value, given = p.take().text, true
	}
	return p.request(func() bool { return p.attr(key, value, given) }), p.eol()
}

func (p *parser) label() (func(), error) {
	var kind pcp.LabelFlags
	ident := ^uint32(0)
	switch t := p.take(); {
	case t.is("context"):
		kind = pcp.LabelContext
	case t.is("domain"):
		kind = pcp.LabelDomain
	case t.is("indom"), t.is("instances"):
		if kind = pcp.LabelInDom; t.is("instances") {
			kind = pcp.LabelInstances
		}
		indom, err := p.indom()
		if err != nil {
			return nil, err
		}
		ident = uint32(indom)
	case t.is("cluster"):
		kind = pcp.LabelCluster
		switch t := p.take(); t.kind {
		case kindNumber:
			ident = uint32(t.nums[0])
		case kindNumber2:
			ident = uint32(pmid([3]int32{t.nums[0], t.nums[1], 0}))
		default:
			return nil, errSyntax
		}
	case t.is("item"):
		kind = pcp.LabelItem
		id, err := p.metric()
		if err != nil {
			return nil, err
		}
		ident = uint32(id)
	default:
		return nil, errSyntax
	}
	return p.request(func() bool { return p.labels(ident, kind) }), p.eol()
}

// setDebug sets and clears debug options one by one.
func (p *parser) setDebug() error {
	t := p.take()
	if t.is("all") || t.is("none") {
		if err := p.eol(); err != nil {
			return err
		}
		names, _ := debug.Parse("all")
		p.debugs(names, t.is("all"))
		return nil
	}
	for {
		spec, on := t.text, true
		switch {
		case t.kind == kindNumber:
			spec = fmt.Sprint(t.nums[0])
		case t.kind == kindNegName:
			on = false
		case t.kind == kindName, t.is("fetch"), t.is("profile"), t.is("context"), t.is("indom"), t.is("attr"):
		default:
			return errSyntax
		}
		names, ok := debug.Parse(strings.TrimPrefix(spec, "-"))
		if !ok {
			return p.mistake("Bad debug flag (%.63s)", spec)
		}
		p.debugs(names, on)
		if t = p.take(); t.kind == kindEOL {
			return nil
		}
		if t.is(",") {
			t = p.take()
		}
	}
}
