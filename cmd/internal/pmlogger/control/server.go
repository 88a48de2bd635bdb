package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/peercred"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/wire"
)

// maxRequest is the maximum length of a request, in bytes, for about 130,000 instances.
const maxRequest = 1 << 20

// patience limits the time for the rest of a request, and for reading an answer.
const patience = 10 * time.Second

// maxRefused is the number of clients being refused at a time. Further clients wait to be accepted.
const maxRefused = 64

// A Config configures a Server.
type Config struct {
	Recorder  *pmlogger.Recorder
	Listeners []net.Listener
	// Access are the rules of the configuration; nil allows everything.
	Access []conf.Access
	// Version is the highest protocol version; 0 means wire.LogVersion3.
	Version wire.LogVersion
	// Source is the collector of the recorder, such as "local:".
	Source string
	// TimeZone is the zone of this process, in the format of TZ.
	TimeZone string
	// Log receives a line for each change, with the messages of pmlogger; nil discards them.
	Log io.Writer

	// patience is for tests.
	patience time.Duration
}

// A Server lets clients control a recorder, one at a time.
type Server struct {
	cfg   Config
	rules *access.Rules
	gate  chan struct{} // tokens for refusals in progress

	mu   sync.Mutex
	busy bool
}

// New returns a Server. The error is that of the access rules.
func New(cfg Config) (*Server, error) {
	cfg.Version = cmp.Or(cfg.Version, wire.LogVersion3)
	cfg.patience = cmp.Or(cfg.patience, patience)
	if cfg.Log == nil {
		cfg.Log = io.Discard
	}
	s := &Server{cfg: cfg, rules: access.New(conf.OpAll), gate: make(chan struct{}, maxRefused)}
	for _, a := range cfg.Access {
		if _, err := s.rules.AddHost(a.Host, a.Rule); err != nil && !errors.Is(err, access.ErrUnknownHost) {
			return nil, fmt.Errorf("%s, line %d: %w", a.Place.File, a.Place.Line, err)
		}
	}
	return s, nil
}

// Run serves until ctx is done. It closes the listeners, and all goroutines it started have
// ended when it returns.
func (s *Server) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, ln := range s.cfg.Listeners {
		stop := context.AfterFunc(ctx, func() { ln.Close() })
		defer stop()
		wg.Go(func() { s.accept(ctx, &wg, ln) })
	}
	wg.Wait()
}

func (s *Server) accept(ctx context.Context, wg *sync.WaitGroup, ln net.Listener) {
	defer ln.Close()
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil { // such as too many open files
			fmt.Fprintf(s.cfg.Log, "error accepting client: %s\n", pcp.Code(err))
			pacing.Sleep(ctx, time.Second)
			continue
		}
		c := &client{s: s, conn: conn, at: ln.Addr()}
		free := c.enter()
		if !free {
			select {
			case <-ctx.Done():
				conn.Close()
				return
			case s.gate <- struct{}{}:
			}
		}
		wg.Go(func() {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			defer conn.Close()
			if !free {
				defer func() { <-s.gate }()
				c.send(&wire.Error{Code: -pcp.Error(syscall.EADDRINUSE)})
				return
			}
			defer c.leave()
			c.serve(ctx)
		})
	}
}

// A client is one connection.
type client struct {
	s       *Server
	conn    net.Conn
	at      net.Addr // the listener's address
	deny    access.Ops
	version wire.LogVersion // 0 until the client has sent it
	host    string          // for the log, see name
	out     []byte
}

// enter reports whether the client is the only client.
func (c *client) enter() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.busy {
		return false
	}
	c.s.busy = true
	return true
}

func (c *client) leave() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.busy = false
}

// send sends a PDU, with a time limit.
func (c *client) send(p wire.PDU) error { return c.sendFrom(wire.FromAnon, p) }

func (c *client) sendFrom(from int32, p wire.PDU) error {
	c.conn.SetWriteDeadline(time.Now().Add(c.s.cfg.patience))
	c.out = wire.Append(c.out[:0], from, p)
	_, err := c.conn.Write(c.out)
	return err
}

// read reads for a wire.Reader: it waits for the start of a request without a limit, for the rest with one.
func (c *client) read(r *wire.Reader, b []byte) (int, error) {
	var until time.Time
	if r.Buffered() > 0 {
		until = time.Now().Add(c.s.cfg.patience)
	}
	c.conn.SetReadDeadline(until)
	return c.conn.Read(b)
}

// A readerFunc is a function as an io.Reader.
type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// serve serves a client.
func (c *client) serve(ctx context.Context) {
	local, unix := c.conn.(*net.UnixConn)
	ad, err := c.s.rules.Admit(c.conn.RemoteAddr(), unix)
	if err == nil {
		defer c.s.rules.Leave(ad)
		c.deny = ad.Deny
		if unix {
			err = allowed(local)
		}
	}
	if err != nil {
		c.send(&wire.Error{Code: pcp.Code(err)})
		return
	}
	if c.sendFrom(int32(os.Getpid()), &wire.Error{Code: pcp.Error(c.s.cfg.Version)}) != nil {
		return
	}
	var r *wire.Reader
	r = wire.NewReader(readerFunc(func(b []byte) (int, error) { return c.read(r, b) }))
	r.Max = maxRequest
	for {
		h, body, err := r.Next()
		if err != nil {
			if err != io.EOF && ctx.Err() == nil && !peercred.IsReset(err) {
				c.logf("client_req: %v\n", pcp.Code(err))
				if errors.Is(err, pcp.ErrIPC) || errors.Is(err, pcp.ErrTooBig) {
					c.send(&wire.Error{Code: pcp.ErrIPC})
				}
			}
			return
		}
		if err := c.request(ctx, h, body); err != nil {
			if ctx.Err() == nil {
				c.send(&wire.Error{Code: pcp.Code(err)})
			}
			return
		}
	}
}

// allowed returns an error unless the user at the other end is root, or the user of this
// process.
func allowed(conn *net.UnixConn) error {
	cred, err := peercred.Of(conn)
	if err != nil {
		return err
	}
	if cred.UID != 0 && cred.UID != os.Getuid() && cred.UID != os.Geteuid() {
		return pcp.ErrPermission
	}
	return nil
}

// request executes a request. An error ends the connection.
func (c *client) request(ctx context.Context, h wire.Header, body []byte) error {
	switch h.Type {
	case wire.TypeCreds:
		var p wire.Creds
		if err := p.DecodeBody(body); err != nil {
			return err
		}
		if v, _, ok := p.Version(); ok {
			c.version = wire.LogVersion(v)
		}
		return nil
	case wire.TypeLogRequest:
		var p wire.LogRequest
		if err := p.DecodeBody(body); err != nil {
			return err
		}
		return c.ask(ctx, p.Request)
	case wire.TypeLogControl:
		var p wire.LogControl
		if err := p.DecodeBody(body); err != nil {
			c.logf("Error: %v\n", pcp.Code(err))
			return err
		}
		return c.control(ctx, &p)
	}
	c.logf("client_req: bad PDU type 0x%x\n", uint32(h.Type))
	return pcp.ErrIPC
}

// logf writes to the log. Its lines may appear between the recorder's, never within one.
func (c *client) logf(format string, args ...any) { fmt.Fprintf(c.s.cfg.Log, format, args...) }

// ask answers a LOG_REQUEST.
func (c *client) ask(ctx context.Context, kind wire.LogRequestKind) error {
	r := c.s.cfg.Recorder
	switch kind {
	case wire.LogStatusRequest:
		if c.version != wire.LogVersion2 && c.version != wire.LogVersion3 {
			return pcp.ErrIPC
		}
		var st wire.LogStatus
		if err := r.Call(ctx, func() { st = r.Status() }); err != nil {
			return err
		}
		st.V2 = c.version == wire.LogVersion2
		st.FQDN, st.LoggerTimeZone = c.s.cfg.Source, c.s.cfg.TimeZone
		return c.send(&st)
	case wire.LogNewVolume:
		if c.deny&conf.OpMandatory != 0 {
			return c.send(&wire.Error{Code: pcp.ErrPermission})
		}
		var vol int
		var verr error
		if err := r.Call(ctx, func() { vol, verr = r.NewVolume("pmlc request") }); err != nil {
			return err
		}
		if verr != nil {
			return c.send(&wire.Error{Code: pcp.Code(verr)})
		}
		return c.send(&wire.Error{Code: pcp.Error(vol)})
	case wire.LogSync: // records are written immediately
		return c.send(&wire.Error{})
	}
	c.logf("do_request: bad request type %d\n", kind)
	return pcp.ErrIPC
}

// control answers a LOG_CONTROL.
func (c *client) control(ctx context.Context, q *wire.LogControl) error {
	r := c.s.cfg.Recorder
	from := ""
	deny := map[wire.LogControlKind]access.Ops{wire.LogMandatory: conf.OpMandatory, wire.LogAdvisory: conf.OpAdvisory}[q.Control]
	if deny != 0 {
		from = c.name(ctx)
	}
	var res *pcp.Result
	var why error
	if err := r.Call(ctx, func() {
		if deny != 0 {
			c.logf("\n%s\npmlc request from %s: %s\n", time.Now().Format(time.ANSIC), from, describe(q))
		}
		switch {
		case c.deny&deny != 0:
			why = pcp.ErrPermission
		case deny == 0 && q.Control != wire.LogEnquire:
			c.logf("Bad control PDU type %d\n", q.Control)
			why = pcp.ErrIPC
		default:
			res, why = r.Control(ctx, q)
		}
		if why != nil {
			c.logf("Error: %v\n", pcp.Code(why))
		}
	}); err != nil {
		return err
	}
	if why != nil {
		return c.send(&wire.Error{Code: pcp.Code(why)})
	}
	return c.send(&wire.Result{Result: *res})
}

// describe describes the change of a request.
func describe(q *wire.LogControl) string {
	how := "advisory"
	if q.Control == wire.LogMandatory {
		how = "mandatory"
	}
	switch {
	case q.State == wire.LogOn && q.Delta == 0:
		return how + " on once"
	case q.State == wire.LogOn:
		return fmt.Sprintf("%s on %.1f sec", how, float32(q.Delta)/1000)
	case q.State == wire.LogOff:
		return how + " off"
	}
	return how + " maybe"
}

// naming limits the time for the name service to name a client.
const naming = 2 * time.Second

// name returns the client's address in the format of the log.
func (c *client) name(ctx context.Context) string {
	if c.host != "" {
		return c.host
	}
	c.host = c.at.String() // path of a socket
	if a, ok := c.conn.RemoteAddr().(*net.TCPAddr); ok {
		c.host = a.IP.String()
		ctx, cancel := context.WithTimeout(ctx, naming)
		defer cancel()
		if names, err := net.DefaultResolver.LookupAddr(ctx, c.host); err == nil && len(names) > 0 {
			c.host = strings.TrimSuffix(names[0], ".")
		}
	}
	return c.host
}
