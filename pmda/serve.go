package pmda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// ServeOptions are the settings of [Serve]; the zero value has the defaults.
type ServeOptions struct {
	Log *slog.Logger // nil discards

	// Attributes asks the collector for the attributes of its clients even if
	// the agent is no AttributeReceiver, so that [Client.Attrs] has them.
	Attributes bool

	// Help is asked for help texts first, the agent only for what it does not
	// have: a file of help (pmda/help), for example. It may be nil.
	Help Texter
}

// Serve answers the collector at the other end of rw, ours or the C one, until
// it closes the connection: then the error is nil. Requests are answered one
// after the other. A panic of the agent is logged and costs only the request.
//
// A PDU whose body cannot be read is refused and logged; one whose header
// cannot be read ends the connection with an error. When ctx is done Serve
// returns its cause, provided that rw has a method SetReadDeadline or Close.
func Serve(ctx context.Context, rw io.ReadWriter, a Agent, opts ServeOptions) error {
	s := newSession(rw, opts)
	s.use(a)
	if _, ok := a.(AttributeReceiver); ok {
		s.attributes = true
	}
	return s.serveAll(ctx, rw)
}

func newSession(rw io.ReadWriter, opts ServeOptions) *session {
	s := &session{
		attributes: opts.Attributes,
		log:        opts.Log,
		help:       opts.Help,
		r:          wire.NewReader(rw), w: rw,
		clients:    make(map[int32]*Client),
		profileAll: true,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.r.Max = wire.MaxPDU
	return s
}

func (s *session) use(a Agent) { s.agent, s.namer = a, namerOf(a) }

// serveAll serves until the end, and ends what clients are left.
func (s *session) serveAll(ctx context.Context, rw io.ReadWriter) error {
	defer context.AfterFunc(ctx, func() { interrupt(rw) })()
	err := s.run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		s.endContext(c)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// interrupt ends a read that waits for the collector.
func interrupt(rw io.ReadWriter) {
	if d, ok := rw.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	if c, ok := rw.(io.Closer); ok {
		c.Close()
	}
}

// maxClients is more contexts than any collector has descriptors for.
const maxClients = 1 << 16

const (
	// maxAttrs is how many attributes one client can have. There are a dozen.
	maxAttrs = 64
	// maxAttrBytes is how much those of all clients can have in bytes.
	maxAttrBytes = 16 << 20
	// maxOddErrors is how many unexpected errors of one collector are logged.
	maxOddErrors = 20
)

// keepBuf is the largest buffer for answers that is kept for the next one.
const keepBuf = 1 << 20

// A session is one connection with a collector.
type session struct {
	// mu is held while a request is served: an agent that is late comes from
	// another goroutine.
	mu     sync.Mutex
	agent  Agent // nil until then
	namer  DynamicNamer
	putOff bool // a request was answered with pcp.ErrPMDANotReady

	attributes bool // to ask for
	log        *slog.Logger
	help       Texter // may be nil
	r          *wire.Reader
	early      chan message // what was read before its turn, or will be; else nil
	w          io.Writer
	buf        []byte // the PDU being sent

	clients map[int32]*Client

	attrBytes   int  // of the attributes of all clients
	attrRefused bool // and that was logged
	oddErrors   int  // so far
	// profile is the last one received. The collector sends a client's before
	// its fetch if the profile that the agent has is another's.
	profile    pcp.Profile
	profileAll bool

	panics      int // so far
	panicAt     string
	panicLogged time.Time // of the last one in the log

	fetch  wire.Fetch  // reused
	result wire.Result // reused
}

func (s *session) run(ctx context.Context) error {
	trace := s.log.Enabled(ctx, slog.LevelDebug)
	if err := s.handshake(); err != nil {
		return err
	}
	for {
		h, body, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if trace {
			s.log.Debug("request", "type", h.Type, "context", h.From, "bytes", h.Len)
		}
		if err := s.respond(ctx, h, body); err != nil {
			return fmt.Errorf("answering a request: %w", err)
		}
		if s.finished() {
			s.log.Info("agent ends as it was told to")
			return nil
		}
	}
}

// finished tells whether the agent wants to end.
func (s *session) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.agent.(Finisher)
	return ok && f.Done()
}

// respond serves one request and sends the answer.
func (s *session) respond(ctx context.Context, h wire.Header, body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.answer(ctx, h, body)
	if handled, err := s.away(ctx, err); handled {
		return err
	}
	if err != nil {
		reply = &wire.Error{Code: s.code(h, err)}
	}
	if reply == nil {
		return nil
	}
	return s.send(wire.FromAnon, reply)
}

// ready brings the agent of a session that began without, and tells the
// collector if it has been put off.
func (s *session) ready(ctx context.Context, a Agent, help Texter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use(a)
	s.help = help
	if r, ok := a.(AttributeReceiver); ok {
		for _, c := range s.clients {
			for key, value := range c.Attrs {
				s.tell(ctx, r, c, key, value)
			}
		}
	}
	if !s.putOff {
		return nil
	}
	return s.send(wire.FromAnon, &wire.Error{Code: pcp.ErrPMDAReady})
}

// handshake exchanges versions: the agent speaks first.
func (s *session) handshake() error {
	var features wire.Features
	if s.attributes {
		features = wire.FeatureAuth | wire.FeatureContainer
	}
	err := s.send(int32(os.Getpid()), &wire.Creds{Creds: []wire.Cred{
		wire.VersionCred(wire.PDUVersion, features),
	}})
	if err != nil {
		return fmt.Errorf("sending credentials: %w", err)
	}
	h, body, err := s.r.Next()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("waiting for credentials: %w", err)
	}
	if h.Type != wire.TypeCreds {
		return fmt.Errorf("waiting for credentials: got a %v PDU: %w", h.Type, pcp.ErrIPC)
	}
	var creds wire.Creds
	if err := creds.DecodeBody(body); err != nil {
		return fmt.Errorf("waiting for credentials: %w", err)
	}
	for _, c := range creds.Creds {
		if version, _, ok := c.Version(); ok && version != wire.PDUVersion {
			return fmt.Errorf("collector speaks protocol version %d, not %d: %w", version, wire.PDUVersion, pcp.ErrIPC)
		}
	}
	return nil
}

func (s *session) send(from int32, p wire.PDU) error {
	s.buf = wire.Append(s.buf[:0], from, p)
	if len(s.buf) > wire.MaxPDU {
		s.log.Error("answer is too long", "type", p.Type().String(), "bytes", len(s.buf))
		s.buf = wire.Append(s.buf[:0], from, &wire.Error{Code: pcp.ErrTooBig})
	}
	_, err := s.w.Write(s.buf)
	if cap(s.buf) > keepBuf {
		s.buf = nil
	}
	if err != nil {
		return err
	}
	if f, ok := s.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// code returns the status to send for err, and logs what has no status.
func (s *session) code(h wire.Header, err error) pcp.Error {
	code, known := status(err)
	if p, ok := errors.AsType[*PanicError](err); ok {
		// It may come with every fetch.
		if s.panics++; s.panics > 1 && p.At == s.panicAt && time.Since(s.panicLogged) < time.Minute {
			return code
		}
		s.panicAt, s.panicLogged = p.At, time.Now()
		attrs := []any{"request", h.Type.String(), "panic", fmt.Sprint(p.Value), "at", p.At, "times", s.panics}
		if doing := doing(s.agent); doing != "" {
			attrs = append(attrs, "doing", doing)
		}
		s.log.Error("agent panicked", attrs...)
	} else if !known {
		s.log.Error("request failed", "request", h.Type.String(), "err", err)
	}
	return code
}

// answer serves one request. A nil reply without an error means that none is sent.
func (s *session) answer(ctx context.Context, h wire.Header, body []byte) (reply wire.PDU, err error) {
	decode := func(p wire.PDU) error {
		if err := p.DecodeBody(body); err != nil {
			s.log.Error("request cannot be read", "request", h.Type.String(), "err", err)
			return err
		}
		return nil
	}
	switch h.Type {
	case wire.TypeError:
		var p wire.Error
		if decode(&p) != nil {
			return nil, nil
		}
		if p.Code != pcp.ErrNotConn {
			if s.oddErrors++; s.oddErrors <= maxOddErrors {
				s.log.Error("unexpected error from the collector", "err", p.Code, "times", s.oddErrors)
			}
			return nil, nil
		}
		if c := s.clients[h.From]; c != nil {
			delete(s.clients, h.From)
			for _, value := range c.Attrs {
				s.attrBytes -= len(value)
			}
			s.endContext(c)
		}
		return nil, nil

	case wire.TypeProfile:
		var p wire.Profile
		if decode(&p) == nil {
			s.profile, s.profileAll = p.Profile, p.Profile.IsAll()
		}
		return nil, nil

	case wire.TypeAttr:
		var p wire.Attr
		if decode(&p) == nil {
			s.attribute(ctx, h, &p)
		}
		return nil, nil

	case wire.TypeCreds: // again; nothing to do
		return nil, nil
	}

	if s.agent == nil {
		s.putOff = true
		return nil, pcp.ErrPMDANotReady
	}
	client, err := s.client(h.From)
	if err != nil {
		return nil, err
	}
	err = Protect(func() error {
		if c, ok := s.agent.(Checker); ok {
			if err := c.Check(WithClient(ctx, client)); err != nil {
				return err
			}
		}
		reply, err = s.serve(ctx, client, h, decode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// client returns the client whose context has the number from.
func (s *session) client(from int32) (*Client, error) {
	c := s.clients[from]
	if c == nil {
		if len(s.clients) >= maxClients {
			return nil, fmt.Errorf("%d client contexts are open: %w", len(s.clients), pcp.ErrConnLimit)
		}
		c = &Client{ID: int(from)}
		s.clients[from] = c
	}
	return c, nil
}

func (s *session) endContext(c *Client) {
	e, ok := s.agent.(ContextEnder)
	if !ok {
		return
	}
	if err := Protect(func() error { e.EndContext(c); return nil }); err != nil {
		s.code(wire.Header{Type: wire.TypeError}, err)
	}
}

// attribute notes an attribute of a client. There is no answer.
func (s *session) attribute(ctx context.Context, h wire.Header, p *wire.Attr) {
	c, err := s.client(h.From)
	if err != nil {
		s.refuseAttr(h.From, err)
		return
	}
	value := string(bytes.TrimRight(p.Value, "\x00")) // C agents see a string
	old, had := c.Attrs[p.Attr]
	more := len(value) - len(old)
	if !had && len(c.Attrs) >= maxAttrs || more > 0 && s.attrBytes+more > maxAttrBytes {
		s.refuseAttr(h.From, fmt.Errorf("%d attributes of the client and %d bytes of all: %w", len(c.Attrs), s.attrBytes, pcp.ErrTooBig))
		return
	}
	s.attrBytes += more
	attrs := make(map[wire.AttrKey]string, len(c.Attrs)+1)
	maps.Copy(attrs, c.Attrs)
	attrs[p.Attr] = value
	c.Attrs = attrs
	if r, ok := s.agent.(AttributeReceiver); ok {
		s.tell(ctx, r, c, p.Attr, value)
	}
}

// refuseAttr logs, once, that a collector has more than any should.
func (s *session) refuseAttr(context int32, err error) {
	if !s.attrRefused {
		s.attrRefused = true
		s.log.Warn("client attribute was not accepted; later ones may not be either", "context", context, "err", err)
	}
}

func (s *session) tell(ctx context.Context, r AttributeReceiver, c *Client, key wire.AttrKey, value string) {
	if err := Protect(func() error { return r.Attribute(ctx, c, key, value) }); err != nil {
		s.log.Warn("client attribute was not accepted", "context", c.ID, "err", err)
	}
}

// serve makes the calls of one request.
func (s *session) serve(ctx context.Context, client *Client, h wire.Header, decode func(wire.PDU) error) (wire.PDU, error) {
	switch h.Type {
	case wire.TypeFetch, wire.TypeHighResFetch:
		s.fetch.HighRes = h.Type == wire.TypeHighResFetch
		if err := decode(&s.fetch); err != nil {
			return nil, err
		}
		return s.serveFetch(ctx, client)
	}
	ctx = WithClient(ctx, client)
	switch h.Type {
	case wire.TypeDescReq:
		var p wire.DescReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		desc, err := s.agent.Desc(ctx, p.PMID)
		return &wire.Desc{Desc: desc}, err

	case wire.TypeInstanceReq:
		var p wire.InstanceReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		return s.serveInstance(ctx, &p)

	case wire.TypeTextReq:
		var p wire.TextReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		if s.help != nil {
			if text, err := s.help.Text(ctx, p.Ident, p.Kind); err == nil {
				return &wire.Text{Ident: p.Ident, Text: text}, nil
			}
		}
		t, ok := s.agent.(Texter)
		if !ok {
			return nil, pcp.ErrText
		}
		text, err := t.Text(ctx, p.Ident, p.Kind)
		return &wire.Text{Ident: p.Ident, Text: text}, err

	case wire.TypeResult, wire.TypeHighResResult:
		p := wire.Result{HighRes: h.Type == wire.TypeHighResResult}
		if err := decode(&p); err != nil {
			return nil, err
		}
		st, ok := s.agent.(Storer)
		if !ok {
			return nil, pcp.ErrPermission
		}
		return &wire.Error{}, st.Store(ctx, client, &p.Result)

	case wire.TypeLabelReq:
		var p wire.LabelReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		reply := &wire.Labels{Ident: p.Ident, Kind: p.Kind}
		var sets []pcp.LabelSet
		var err error
		if l, ok := s.agent.(Labeler); ok {
			sets, err = l.Labels(ctx, p.Ident, p.Kind)
		}
		if p.Kind.Level() == pcp.LabelContext && len(sets) == 0 && err == nil {
			sets = siteLabels(s.log)
		}
		if p.Kind.Level() == pcp.LabelInstances {
			sets = s.selected(pcp.InDom(p.Ident), sets)
		} else if len(sets) > 1 {
			sets = sets[:1]
		}
		reply.Sets = sets
		return reply, err

	case wire.TypePMNSNames, wire.TypePMNSIDs, wire.TypePMNSChild, wire.TypePMNSTraverse:
		return s.serveNames(ctx, h, decode)
	}
	return nil, fmt.Errorf("unrecognised %v PDU: %w", h.Type, pcp.ErrIPC)
}

func (s *session) serveFetch(ctx context.Context, client *Client) (wire.PDU, error) {
	if r, ok := s.agent.(Refresher); ok {
		if err := r.Refresh(ctx, s.fetch.PMIDs); err != nil {
			return nil, err
		}
	}
	s.result.HighRes = s.fetch.HighRes
	s.result.Reset()
	req := &FetchRequest{Client: client, PMIDs: s.fetch.PMIDs, Result: &s.result.Result}
	if !s.profileAll {
		req.Profile = &s.profile
	}
	if err := s.agent.Fetch(ctx, req); err != nil {
		return nil, err
	}
	if err := CheckResult(req); err != nil {
		return nil, err
	}
	s.result.Time = s.changes()
	return &s.result, nil
}

// changes returns what takes the place of the time in an agent's result: the
// PMCD_*_CHANGE bits (ExtractState in src/pmcd/src/dofetch.c).
func (s *session) changes() (ts pcp.Timestamp) {
	c, ok := s.agent.(Changer)
	if !ok {
		return ts
	}
	var state wire.State
	names, labels := c.Changes()
	if labels {
		state |= wire.LabelChange
	}
	if names {
		state |= wire.NamesChange
	}
	ts.Sec = int64(state)
	return ts
}

// selected returns the sets of the instances in the client's profile, which
// holds for labels as it does for values (pmdaLabel in
// src/libpcp_pmda/src/callback.c).
func (s *session) selected(indom pcp.InDom, sets []pcp.LabelSet) []pcp.LabelSet {
	if s.profileAll {
		return sets
	}
	profile, kept := s.profile.InDom(indom), make([]pcp.LabelSet, 0, len(sets))
	for _, set := range sets {
		if profile.Includes(set.Inst) {
			kept = append(kept, set)
		}
	}
	return kept
}

// CheckResult tells whether an agent kept to the contract of Fetch: a set for
// each metric, in order.
func CheckResult(req *FetchRequest) error {
	sets := req.Result.Sets
	if len(sets) != len(req.PMIDs) {
		return fmt.Errorf("agent answered with %d metrics where %d were asked for", len(sets), len(req.PMIDs))
	}
	for i, id := range req.PMIDs {
		if sets[i].PMID != id {
			return fmt.Errorf("agent answered for %v where %v was asked for", sets[i].PMID, id)
		}
	}
	return nil
}

func (s *session) serveInstance(ctx context.Context, p *wire.InstanceReq) (wire.PDU, error) {
	reply := &wire.Instance{InDom: p.InDom}
	switch {
	case p.Name == "" && p.Inst == pcp.InNull:
		insts, err := s.agent.Instances(ctx, p.InDom)
		if err != nil {
			return nil, err
		}
		reply.Instances = insts
	case p.Name == "":
		name, err := InstanceName(ctx, s.agent, p.InDom, p.Inst)
		if err != nil {
			return nil, err
		}
		reply.Instances = []pcp.Instance{{Inst: pcp.InNull, Name: name}} // the asker has the number
	case p.Inst == pcp.InNull:
		inst, err := LookupInstance(ctx, s.agent, p.InDom, p.Name)
		if err != nil {
			return nil, err
		}
		reply.Instances = []pcp.Instance{{Inst: inst}} // the asker has the name
	default: // both: pmdaInstance calls that a bogus argument
		return nil, pcp.ErrInst
	}
	return reply, nil
}
