package agentadmin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/agentlink"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

const (
	// maxNames is the maximum number of an agent's metrics that are examined.
	maxNames = 100_000
	// fetchBatch is the number of metrics per fetch.
	fetchBatch = 128
	// maxAsides is the maximum number of PDUs that an agent may send before an answer.
	maxAsides = 16
)

// A fatalError ends a test: after it the agent's answers would belong to other
// requests.
type fatalError struct {
	text string
	err  error
}

func (e *fatalError) Error() string { return e.text }
func (e *fatalError) Unwrap() error { return e.err }

// A probe asks one agent.
type probe struct {
	conn  *agentlink.Conn
	limit time.Duration
	rep   *report
	env   func(string) string

	domain  int
	metrics []metric
	indoms  map[pcp.InDom]*domain
}

// A metric is a metric that the agent should have.
type metric struct {
	name string
	id   pcp.PMID
	desc pcp.Desc
	ok   bool // desc is known
}

// A domain is an instance domain.
type domain struct {
	insts map[int32]string
	ok    bool // insts is known
}

func newProbe(t *tester, c *agentlink.Conn, rep *report) *probe {
	return &probe{
		conn: c, limit: t.timeout, rep: rep, env: t.env.Getenv, domain: t.domain,
		indoms: make(map[pcp.InDom]*domain),
	}
}

// run makes all requests. Its findings are in the report, as is the error that ended it
// early, which it returns.
func (p *probe) run(tree *pmns.Tree) error {
	err := p.handshake()
	for _, step := range []func() error{
		func() error { return p.find(tree) },
		p.describe,
		p.instances,
		p.fetch,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		p.rep.problem("", "%v", err)
	}
	p.rep.Domain, p.rep.Metrics, p.rep.InDoms = p.domain, len(p.metrics), len(p.indoms)
	return err
}

// lost is the error for a PDU that could not be sent or received.
func (p *probe) lost(err error, waiting string) error {
	switch {
	case errors.Is(err, io.EOF):
		return &fatalError{"closes the connection instead of " + waiting, io.EOF}
	case errors.Is(err, pcp.ErrTimeout):
		return &fatalError{fmt.Sprintf("does not answer within %v: no sign of %s", p.limit, waiting), err}
	case errors.Is(err, pcp.ErrIPC):
		return &fatalError{"sends something else than " + waiting + ": nothing but the protocol may go to its standard output", err}
	}
	return &fatalError{fmt.Sprintf("cannot be asked for %s: %v", waiting, err), err}
}

// receive reads a PDU. It handles error PDUs that announce the agent's state.
func (p *probe) receive(waiting string) (h wire.Header, body []byte, ready bool, err error) {
	for range maxAsides {
		if h, body, err = p.conn.Receive(p.limit); err != nil {
			return h, nil, ready, p.lost(err, waiting)
		}
		if h.Type != wire.TypeError {
			return h, body, ready, nil
		}
		var e wire.Error
		if err := e.DecodeBody(body); err != nil {
			return h, nil, ready, p.lost(pcp.ErrIPC, waiting)
		}
		switch {
		case e.Code == pcp.ErrPMDAReady:
			return h, nil, true, nil
		case e.Code > 0: // names or labels have changed
		default:
			return h, nil, ready, e.Code
		}
	}
	return h, nil, ready, &fatalError{"sends notices without end instead of " + waiting, nil}
}

// handshake waits for the agent to announce its protocol, and answers.
func (p *probe) handshake() error {
	const waiting = "the version of its protocol, which comes first"
	h, body, err := p.conn.Receive(p.limit)
	if err != nil {
		return p.lost(err, waiting)
	}
	var creds wire.Creds
	if h.Type != wire.TypeCreds {
		return p.lost(pcp.ErrIPC, waiting)
	}
	if err := creds.DecodeBody(body); err != nil {
		return p.lost(pcp.ErrIPC, waiting)
	}
	if _, _, ok := creds.Version(); !ok {
		return &fatalError{"does not report its version of the protocol", nil}
	}
	return p.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}, int32(os.Getpid()), "what it is")
}

func (p *probe) send(req wire.PDU, from int32, waiting string) error {
	if err := p.conn.Send(req, from, p.limit); err != nil {
		return p.lost(err, waiting)
	}
	return nil
}

// ask makes a request. The error is a *fatalError, or the pcp.Error that the
// agent answers with.
func (p *probe) ask(req, ans wire.PDU, waiting string) error {
	for range maxAsides {
		if err := p.send(req, wire.FromAnon, waiting); err != nil {
			return err
		}
		h, body, ready, err := p.receive(waiting)
		for err == nil && ready {
			h, body, ready, err = p.receive(waiting) // it was ready all the time
		}
		if errors.Is(err, pcp.ErrPMDANotReady) {
			// It asks for patience, and announces when it is ready.
			if _, _, ready, err = p.receive("word that it is ready"); err == nil && !ready {
				err = p.lost(pcp.ErrIPC, "word that it is ready")
			}
			if err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if h.Type != ans.Type() {
			return &fatalError{fmt.Sprintf("answers with a PDU %v to a request for %s", h.Type, waiting), nil}
		}
		if err := ans.DecodeBody(body); err != nil {
			return &fatalError{fmt.Sprintf("answers with %s that cannot be read: %v", waiting, err), err}
		}
		return nil
	}
	return &fatalError{"reports repeatedly that it is not ready", nil}
}

// fatal reports whether err must end the test.
func fatal(err error) bool {
	_, ok := errors.AsType[*fatalError](err)
	return ok
}

// find finds the names of the agent's metrics: in tree, else from the agent, else in
// the installed name space.
func (p *probe) find(tree *pmns.Tree) error {
	if tree != nil {
		if err := p.fromTree(tree); err != nil {
			return err
		}
	} else if err := p.fromAgent(""); err != nil {
		return err
	} else if len(p.metrics) == 0 && p.domain != 0 {
		loader := pmns.Loader{DupOK: true, Raw: true, Config: config.New(p.env)}
		if tree, err := loader.Load(""); err == nil {
			if err := p.fromTree(tree); err != nil {
				return err
			}
		}
	}
	if len(p.metrics) == 0 {
		p.rep.problem("", "there are no names of metrics: it brings none along, and the name space has none%s; -n names a file that has",
			map[bool]string{true: " of its domain, which is not known: see --domain"}[p.domain == 0])
		return nil
	}
	if p.domain == 0 {
		p.domain = p.metrics[0].id.Domain()
	}
	ids := make(map[pcp.PMID]bool)
	p.metrics = slices.DeleteFunc(p.metrics, func(m metric) bool {
		if m.id.Domain() != p.domain {
			p.rep.problem(m.name, "is %v, and not in the domain %d", m.id, p.domain)
		}
		seen := ids[m.id] // by another name
		ids[m.id] = true
		return seen
	})
	return nil
}

func (p *probe) fromTree(tree *pmns.Tree) error {
	var dynamic []string
	domains := make(map[int]bool)
	for name, id := range tree.All() {
		d, root := tree.DynamicRoot(name)
		if !root {
			d = id.Domain()
		}
		if p.domain == 0 || d == p.domain {
			domains[d] = true
			if root {
				dynamic = append(dynamic, name)
			} else {
				p.metrics = append(p.metrics, metric{name: name, id: id})
			}
		}
	}
	if len(domains) > 1 {
		return &fatalError{"the name space has metrics of several domains: select one with --domain", nil}
	}
	for d := range domains {
		p.domain = d
	}
	for _, name := range dynamic {
		if err := p.fromAgent(name); err != nil {
			return err
		}
	}
	return nil
}

// fromAgent asks the agent for its names below one.
func (p *probe) fromAgent(root string) error {
	var names wire.PMNSNames
	err := p.ask(&wire.PMNSTraverse{Name: root}, &names, "its names")
	if fatal(err) {
		return err
	}
	if err != nil {
		if root != "" {
			p.rep.problem(root, "no names below it: %v", err)
		}
		return nil
	}
	if len(names.Names) > maxNames {
		p.rep.problem("", "has %d names; the first %d are looked at", len(names.Names), maxNames)
		names.Names = names.Names[:maxNames]
	}
	for _, name := range slices.Clone(names.Names) {
		if !pmns.ValidName(name) {
			p.rep.problem("", "%q cannot be the name of a metric", name)
			continue
		}
		var ids wire.PMNSIDs
		switch err := p.ask(&wire.PMNSNames{Names: []string{name}}, &ids, "the identifier of "+name); {
		case fatal(err):
			return err
		case err != nil:
			p.rep.problem(name, "is among its names, but has no identifier: %v", err)
		case len(ids.PMIDs) != 1 || ids.Status < 0:
			p.rep.problem(name, "is among its names, but has no identifier")
		default:
			p.metrics = append(p.metrics, metric{name: name, id: ids.PMIDs[0]})
		}
	}
	return nil
}

// describe requests the descriptors and help texts.
func (p *probe) describe() error {
	for i := range p.metrics {
		m := &p.metrics[i]
		var ans wire.Desc
		err := p.ask(&wire.DescReq{PMID: m.id}, &ans, "the descriptor of "+m.name)
		if fatal(err) {
			return err
		}
		if err != nil {
			p.rep.problem(m.name, "has no descriptor: %v", err)
			continue
		}
		if m.desc = ans.Desc; p.checkDesc(m) {
			m.ok = true
		}
		if err := p.text(m.name, uint32(m.id), pcp.TextPMID); err != nil {
			return err
		}
		if d := m.desc.InDom; m.ok && d != pcp.InDomNull && p.indoms[d] == nil {
			p.indoms[d] = new(domain)
		}
	}
	return nil
}

func (p *probe) checkDesc(m *metric) bool {
	d := m.desc
	before := len(p.rep.Problems)
	if d.PMID != m.id {
		p.rep.problem(m.name, "is %v, but its descriptor is for %v", m.id, d.PMID)
	}
	if d.Type.String() == "???" || d.Type == pcp.TypeUnknown {
		p.rep.problem(m.name, "its descriptor has the type %d, which does not exist", int32(d.Type))
	}
	if d.Sem != pcp.SemCounter && d.Sem != pcp.SemInstant && d.Sem != pcp.SemDiscrete && d.Type != pcp.TypeNoSupport {
		p.rep.problem(m.name, "its descriptor has the semantics %d, which do not exist", int32(d.Sem))
	}
	if d.InDom != pcp.InDomNull && d.InDom.Domain() != p.domain {
		p.rep.problem(m.name, "its instance domain %v is not in the domain %d", d.InDom, p.domain)
	}
	return len(p.rep.Problems) == before
}

// text requests both help texts. Everything needs a one-line text.
func (p *probe) text(name string, ident uint32, kind pcp.TextKind) error {
	var ans wire.Text
	err := p.ask(&wire.TextReq{Ident: ident, Kind: kind | pcp.TextOneLine}, &ans, "the help text of "+name)
	switch {
	case fatal(err):
		return err
	case err != nil:
		p.rep.problem(name, "has no one-line help text: %v", err)
	case strings.TrimSpace(ans.Text) == "":
		p.rep.problem(name, "its one-line help text is empty")
	case strings.Contains(strings.TrimRight(ans.Text, "\n"), "\n"):
		p.rep.problem(name, "its one-line help text has several lines")
	}
	if err = p.ask(&wire.TextReq{Ident: ident, Kind: kind | pcp.TextHelp}, &ans, "the help text of "+name); fatal(err) {
		return err
	}
	if err != nil {
		p.rep.note(name, "has no help text beyond one line: %v", err)
	}
	return nil
}
