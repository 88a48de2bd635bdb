package timecontrol

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
)

// Limits of a Server.
const (
	// MaxFollowers is how many followers a server has at a time; more are refused.
	MaxFollowers = 256
	// MaxSpeed is how much faster than time passed an archive can go.
	MaxSpeed = 10000
	// minTick is the shortest time between two steps.
	minTick = time.Millisecond
	// patience is how long a step waits for followers that have not shown the one
	// before. Later steps pass over those until they have.
	patience = 10 * time.Second
	// settle is the time that a silent follower has for reading the answer to its first
	// message. The C library takes all bytes received by then for the answer, so nothing may
	// follow at once.
	settle = 100 * time.Millisecond
	// writeTimeout is how long a follower may leave messages unread.
	writeTimeout = 5 * time.Second
)

// A Config configures a Server. The zero Config suits most.
type Config struct {
	// UntilLast ends Serve when the last follower has left, as pmtime ends.
	UntilLast bool
	// Changed is called when something has changed that Status shows. It must
	// return soon and not call the server.
	Changed func()
	// Log gets the errors of followers; nil discards them.
	Log *slog.Logger
	// Debug prints the messages of all followers with -D timecontrol; nil prints
	// nothing.
	Debug *debug.Log
}

// A Server is a controller (pmtime(1)). Followers of archives and followers of
// hosts are controlled apart from each other: see Control.
type Server struct {
	cfg      Config
	patience time.Duration

	mu        sync.Mutex
	live, arc Control
	followers []*follower
	closed    bool
	last      chan struct{} // closed when the last follower has left
}

// NewServer returns a server. Hosts are shown from the start on; archives are stopped
// until [Control.Play].
func NewServer(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{cfg: cfg, patience: patience, last: make(chan struct{})}
	s.live = Control{s: s, Status: Status{Source: Host, State: Forward, Mode: NormalMode, Delta: time.Second, Speed: 1}}
	s.arc = Control{s: s, Status: Status{Source: Archive, Mode: NormalMode, Delta: time.Second, Speed: 1}}
	return s
}

// Control returns the Control that moves the followers of archives, or of hosts.
func (s *Server) Control(source Source) *Control {
	if source == Archive {
		return &s.arc
	}
	return &s.live
}

// Listen returns a listener on this machine at a port, or with 0 at the first free one
// from base on.
func Listen(port, base int) (net.Listener, error) {
	if port != 0 {
		return net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	}
	for p := base; ; p++ {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p})
		if err == nil || p >= 65535 || p-base >= 1000 {
			return l, err
		}
	}
}

// Serve serves followers until ctx is done, or, if Config.UntilLast is set, until
// the last one has left. It closes l, and leaves no goroutine running.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.last:
		case <-done:
		}
		l.Close()
	})
	s.mu.Lock()
	s.live.start()
	s.mu.Unlock()
	var err error
	for {
		var conn net.Conn
		if conn, err = l.Accept(); err != nil {
			break
		}
		if f := s.admit(conn); f != nil {
			wg.Go(f.read)
		}
	}
	close(done)
	s.mu.Lock()
	s.closed = true
	s.live.halt()
	s.arc.halt()
	for _, f := range s.followers {
		f.conn.Close()
	}
	s.mu.Unlock()
	wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// admit adds a follower, or returns nil if there are too many.
func (s *Server) admit(conn net.Conn) *follower {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.followers) == MaxFollowers {
		s.cfg.Log.Warn("too many followers", "limit", MaxFollowers)
		conn.Close()
		return nil
	}
	f := &follower{s: s, conn: conn}
	s.followers = append(s.followers, f)
	return f
}

// A follower is the server's end of a connection.
type follower struct {
	s    *Server
	conn net.Conn

	// The server's mutex guards these.
	c       *Control // nil before the first message
	ready   bool     // it has read the answer to that: see settle
	pending bool     // it has a step to acknowledge, for the position at
	at      pcp.Timestamp
	acked   bool // it has acknowledged a step
	out     []byte
}

// read takes the follower's messages until it leaves.
func (f *follower) read() {
	defer f.leave()
	for {
		var m Message
		if err := m.read(f.conn); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				f.s.cfg.Log.Warn("a follower is dropped", "err", err)
			}
			return
		}
		m.trace(f.s.cfg.Debug, "pmTimeRecv", f.conn)
		if err := f.take(m); err != nil {
			f.s.cfg.Log.Warn("a follower is dropped", "err", err)
			return
		}
	}
}

func (f *follower) leave() {
	f.conn.Close()
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers = slices.DeleteFunc(s.followers, func(o *follower) bool { return o == f })
	if f.c == nil {
		return // it never followed
	}
	f.ready, f.pending = true, false
	f.c.proceed()
	s.changed()
	follows := func(f *follower) bool { return f.c != nil }
	if s.cfg.UntilLast && !s.closed && !slices.ContainsFunc(s.followers, follows) {
		s.closed = true
		close(s.last)
	}
}

// errFirst is what a follower is dropped for that does not begin as it should.
var errFirst = errors.New("the first message does not set what it shows")

func (f *follower) take(m Message) error {
	s := f.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.c == nil {
		if m.Command != Set || m.Source != Host && m.Source != Archive {
			return errFirst
		}
		f.c = s.Control(m.Source)
		m.Command = Ack
		f.send(Message{Command: Ack, Source: m.Source, State: m.State, Mode: m.Mode, Delta: m.Delta, Position: m.Position, Start: m.Start, End: m.End})
		f.c.join(m)
		time.AfterFunc(settle, f.settled)
		return nil
	}
	f.begin()
	switch m.Command {
	case Ack:
		if f.acked && (!f.pending || m.Position != f.at) {
			return nil // of a step that was given up
		}
		f.acked, f.pending = true, false
		f.c.proceed()
	case Boundary, Set:
		f.c.extend(m)
		s.changed()
	}
	return nil
}

// begin adds f to the followers.
func (f *follower) begin() {
	if !f.ready {
		f.ready = true
		f.c.proceed()
		f.s.changed()
	}
}

// settled is begin when f had its time.
func (f *follower) settled() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if slices.Contains(f.s.followers, f) {
		f.begin()
	}
}

// send sends a message. A follower that does not read is disconnected, which ends its
// read.
func (f *follower) send(m Message) {
	m.trace(f.s.cfg.Debug, "pmTimeSend", f.conn)
	f.out = m.Append(f.out[:0])
	err := f.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = f.conn.Write(f.out)
	}
	if err != nil {
		f.conn.Close()
	}
}

func (s *Server) changed() {
	if s.cfg.Changed != nil {
		s.cfg.Changed()
	}
}
