package pmda

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/wire"
)

// ServeOptions are the settings of [Serve]; the zero value has the defaults.
type ServeOptions struct {
	Log    *slog.Logger   // nil discards
	Config *config.Config // nil means config.Process

	// Attributes asks the collector for the attributes of its clients even if
	// the agent is not an AttributeReceiver, so that [Client.Attrs] has them.
	Attributes bool

	// Help, such as installed help files, is asked for help texts first.
	// The agent is asked for those that Help does not have. It may be nil.
	Help Texter
}

// Serve answers the collector at the other end of rw, ours or the C one. It
// returns nil when the collector closes the connection. It answers requests one
// after the other. If the agent panics, Serve logs that and only the request
// fails.
//
// Serve refuses and logs a PDU whose body cannot be read. A header that cannot
// be read ends the connection with an error. When ctx is done, Serve returns its
// cause, if rw has a method SetReadDeadline or Close.
func Serve(ctx context.Context, rw io.ReadWriter, a Agent, opts ServeOptions) error {
	s := newSession(rw, opts)
	s.use(a)
	s.attributes = s.attributes || s.agent.Attributes()
	return s.serveAll(ctx, rw)
}

func newSession(rw io.ReadWriter, opts ServeOptions) *session {
	s := &session{
		attributes: opts.Attributes,
		log:        opts.Log,
		config:     cmp.Or(opts.Config, config.Process()),
		help:       opts.Help,
		r:          wire.NewReader(rw), w: rw,
		clients:    make(map[int32]*Client),
		profileAll: true,
		shaken:     make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.r.Max = wire.MaxPDU
	return s
}

func (s *session) use(a Agent) { s.agent = NewRunner(a, RunnerOptions{Log: s.log, Help: s.help}) }

// serveAll serves until the connection ends, and then ends the remaining clients.
func (s *session) serveAll(ctx context.Context, rw io.ReadWriter) error {
	defer context.AfterFunc(ctx, func() { interrupt(rw) })()
	err := s.run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		s.endContext(c)
	}
	if !s.asked {
		s.endContext(&Client{}) // the collector itself
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
	// maxAttrBytes is how many bytes the attributes of all clients can have.
	maxAttrBytes = 16 << 20
	// maxOddErrors is how many unexpected errors of one collector are logged.
	maxOddErrors = 20
)

// keepBuf is the largest buffer for answers that is kept for the next one.
const keepBuf = 1 << 20

// A session is one connection with a collector.
type session struct {
	// mu is held while a request is served, as a late agent is set by another
	// goroutine.
	mu     sync.Mutex
	agent  *Runner       // of the agent; nil until there is one
	putOff bool          // a request was answered with pcp.ErrPMDANotReady, or the collector expects a notice
	shaken chan struct{} // closed after the handshake

	attributes bool // ask the collector for attributes
	log        *slog.Logger
	config     *config.Config // of this host
	help       Texter         // may be nil
	r          *wire.Reader
	early      chan message // a message that is read before its turn; else nil
	w          io.Writer
	buf        []byte // the PDU being sent

	clients map[int32]*Client
	asked   bool // there has been a client

	attrBytes   int  // of the attributes of all clients
	attrRefused bool // one was refused, and that was logged
	oddErrors   int  // so far
	// profile is the last one received. Before a client's fetch, the
	// collector sends its profile if the agent has that of another client.
	profile    pcp.Profile
	profileAll bool

	fetch  wire.Fetch  // reused
	result wire.Result // reused
}

func (s *session) run(ctx context.Context) error {
	trace := s.log.Enabled(ctx, slog.LevelDebug)
	if err := s.handshake(); err != nil {
		return err
	}
	close(s.shaken)
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
			s.log.Info("agent ends on request")
			return nil
		}
	}
}

// finished reports whether the agent wants to end.
func (s *session) finished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.agent != nil && s.agent.Done()
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
		code, _ := status(err)
		reply = &wire.Error{Code: code}
	}
	if reply == nil {
		return nil
	}
	return s.send(wire.FromAnon, reply)
}

// ready gives a session that began without an agent its agent, and notifies the
// collector if it has been put off.
func (s *session) ready(ctx context.Context, a Agent, help Texter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.help = help
	s.use(a)
	for _, c := range s.clients {
		for key, value := range c.Attributes() {
			s.tell(ctx, c, key, value)
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

// answer serves one request. If reply and err are nil, nothing is sent.
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

	case wire.TypeCreds: // repeated; nothing to do
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
	return s.serve(ctx, client, h, decode)
}

// client returns the client whose context has the number from.
func (s *session) client(from int32) (*Client, error) {
	c := s.clients[from]
	if c == nil {
		if len(s.clients) >= maxClients {
			return nil, fmt.Errorf("%d client contexts are open: %w", len(s.clients), pcp.ErrConnLimit)
		}
		c = &Client{ID: int(from)}
		s.clients[from], s.asked = c, true
	}
	return c, nil
}

func (s *session) endContext(c *Client) {
	if s.agent != nil {
		s.agent.EndContext(c)
	}
}

// attribute records an attribute of a client. The PDU gets no answer.
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
	attrs := make(map[AttrKey]string, len(c.Attrs)+1)
	maps.Copy(attrs, c.Attrs)
	attrs[p.Attr] = value
	c.Attrs = attrs
	s.tell(ctx, c, p.Attr, value)
}

// refuseAttr logs once that a collector sends more attributes than any should.
func (s *session) refuseAttr(context int32, err error) {
	if !s.attrRefused {
		s.attrRefused = true
		s.log.Warn("client attribute was not accepted; later ones may not be either", "context", context, "err", err)
	}
}

func (s *session) tell(ctx context.Context, c *Client, key AttrKey, value string) {
	if s.agent == nil {
		return
	}
	if err := s.agent.Attribute(ctx, c, key, value); err != nil {
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

	case wire.TypeDescReq:
		var p wire.DescReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		desc, err := s.agent.Desc(ctx, client, p.PMID)
		return &wire.Desc{Desc: desc}, err

	case wire.TypeInstanceReq:
		var p wire.InstanceReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		list, err := s.agent.Instances(ctx, client, p.InDom, p.Inst, p.Name)
		return &wire.Instance{InDom: p.InDom, Instances: list}, err

	case wire.TypeTextReq:
		var p wire.TextReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		text, err := s.agent.Text(ctx, client, p.Ident, p.Kind)
		return &wire.Text{Ident: p.Ident, Text: text}, err

	case wire.TypeResult, wire.TypeHighResResult:
		p := wire.Result{HighRes: h.Type == wire.TypeHighResResult}
		if err := decode(&p); err != nil {
			return nil, err
		}
		return &wire.Error{}, s.agent.Store(ctx, client, &p.Result)

	case wire.TypeLabelReq:
		var p wire.LabelReq
		if err := decode(&p); err != nil {
			return nil, err
		}
		sets, err := s.agent.Labels(ctx, client, p.Ident, p.Kind, s.selected())
		if p.Kind.Level() == pcp.LabelContext && len(sets) == 0 && err == nil {
			sets = siteLabels(s.config, s.log)
		}
		return &wire.Labels{Ident: p.Ident, Kind: p.Kind, Sets: sets}, err

	case wire.TypePMNSNames, wire.TypePMNSIDs, wire.TypePMNSChild, wire.TypePMNSTraverse:
		return s.serveNames(ctx, client, h, decode)
	}
	return nil, fmt.Errorf("unrecognised %v PDU: %w", h.Type, pcp.ErrIPC)
}

func (s *session) serveFetch(ctx context.Context, client *Client) (wire.PDU, error) {
	s.result.HighRes = s.fetch.HighRes
	s.result.Reset()
	req := &FetchRequest{Client: client, Profile: s.selected(), PMIDs: s.fetch.PMIDs, Result: &s.result.Result}
	state, err := s.agent.Fetch(ctx, req)
	if err != nil {
		return nil, err
	}
	// The state is sent in place of the time (ExtractState in src/pmcd/src/dofetch.c).
	s.result.Time = pcp.Timestamp{Sec: int64(state)}
	return &s.result, nil
}

// selected returns the profile of the client whose request is served, nil for
// all instances. It applies to labels as well as to values (pmdaLabel in
// src/libpcp_pmda/src/callback.c).
func (s *session) selected() *pcp.Profile {
	if s.profileAll {
		return nil
	}
	return &s.profile
}
