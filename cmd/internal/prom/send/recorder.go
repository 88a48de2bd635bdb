package send

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A Dir is a directory of archives.
type Dir struct {
	Path string
	Name string // for messages
	Host string // only archives with this host in their labels; "" means all
}

// A Config configures a Recorder.
type Config struct {
	Targets []*Target
	// Agent is the name and version of the program.
	Agent string
	// Event receives news for the log: of a failure the first one, with its error. It is called by one goroutine at a time.
	Event func(text string, err error)
	// Settle and Poll replace the defaults in tests, if not 0.
	Settle, Poll time.Duration
	// Unsettled is the time in which a server may lose samples that it has accepted, if not 0; for tests.
	Unsettled time.Duration
	delays    pacing.Backoff
	now       func() time.Time
}

// A Recorder sends the archives of directories to all targets while they are recorded. The archives are its queue: it has a position in them
// for each server, in a file in their directory, and moves it when the server has accepted the samples.
type Recorder struct {
	cfg    Config
	since  time.Time // start
	nodes  []*node
	ctx    context.Context
	cancel context.CancelFunc
	talk   sync.Mutex
	wg     sync.WaitGroup

	mu      sync.Mutex
	streams map[Dir][]*stream
	stops   map[Dir]context.CancelFunc
	drains  map[Dir]chan struct{}
	drained bool
}

// NewRecorder returns a Recorder. It sends the directories of Set.
func NewRecorder(cfg Config) *Recorder {
	r := &Recorder{cfg: cfg, since: time.Now(), streams: make(map[Dir][]*stream), stops: make(map[Dir]context.CancelFunc), drains: make(map[Dir]chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.cfg.Settle == 0 {
		r.cfg.Settle = Settle
	}
	if r.cfg.Poll == 0 {
		r.cfg.Poll = pollEvery
	}
	if r.cfg.Unsettled == 0 {
		r.cfg.Unsettled = unsettled
	}
	if r.cfg.now == nil {
		r.cfg.now = time.Now
	}
	if r.cfg.delays == (pacing.Backoff{}) {
		r.cfg.delays = delays
	}
	common := new(shared)
	for _, t := range cfg.Targets {
		for i, url := range t.URLs {
			n := &node{target: t, url: url, shard: i, agent: cfg.Agent, slots: make(chan struct{}, requests), pool: newPool(places), shared: common, delays: r.cfg.delays}
			if len(t.URLs) > 1 || len(t.keep)+len(t.drop)+len(t.rules) > 0 {
				n.filter = &filter{keep: t.keep, drop: t.drop, rules: t.rules, shard: i, shards: len(t.URLs), replicas: t.Replicas}
			}
			n.event = func(text string, err error) {
				r.talk.Lock()
				defer r.talk.Unlock()
				r.cfg.Event("remote write to "+n.name()+": "+text, err)
			}
			r.nodes = append(r.nodes, n)
		}
	}
	return r
}

// Set sets the list of directories. Records of a directory that is not in it any more are sent when it is in it again.
func (r *Recorder) Set(list []Dir) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drained {
		return
	}
	for d, stop := range r.stops {
		if !slices.Contains(list, d) {
			stop()
			delete(r.stops, d)
			delete(r.streams, d)
			delete(r.drains, d)
		}
	}
	for _, d := range list {
		if r.stops[d] != nil {
			continue
		}
		ctx, stop := context.WithCancel(r.ctx)
		drain := make(chan struct{})
		r.stops[d], r.drains[d] = stop, drain
		for _, n := range r.nodes {
			s := &stream{
				n: n, name: d.Name, dir: directory{path: d.Path, host: d.Host}, path: filepath.Join(d.Path, stateName(n, d)),
				settle: r.cfg.Settle, poll: r.cfg.Poll, loses: r.cfg.Unsettled, since: r.since, now: r.cfg.now, drain: drain, hopeful: true, bad: make(map[string]bool),
			}
			r.streams[d] = append(r.streams[d], s)
			r.wg.Go(func() { s.keep(ctx) })
		}
	}
}

// Leave sets which of the directories of Set are left: nothing is recorded there for now. Their archives are sent to their end.
func (r *Recorder) Leave(list []Dir) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for d, streams := range r.streams {
		left := slices.Contains(list, d)
		for _, s := range streams {
			if !left {
				s.done.Store(false)
			}
			s.left.Store(left)
		}
	}
}

// Done reports whether all servers have all samples of a directory that was left, for so long that they do not lose them.
func (r *Recorder) Done(d Dir) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.streams[d] {
		if !s.left.Load() || !s.done.Load() {
			return false
		}
	}
	return r.stops[d] != nil
}

// stateName returns the name of the file with the position of a server. Another address is another server.
func stateName(n *node, d Dir) string {
	t := n.target
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %d %d", t.Name, n.url, d.Host, n.shard, len(t.URLs), t.Replicas))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, t.Name)
	return fmt.Sprintf(".remote-write-%.40s-%x", name, sum[:6])
}

// keep runs the stream when no other process sends the same archives to the same server.
func (s *stream) keep(ctx context.Context) {
	for said, last := false, false; ; {
		lock, err := lockFile(s.path + ".lock")
		if err == nil {
			s.run(ctx)
			lock.Close()
			return
		}
		if last || ctx.Err() != nil {
			return
		}
		if errors.Is(err, fs.ErrNotExist) { // a directory is made when the host is found
			s.done.Store(s.left.Load())
		} else if !said {
			said = true
			s.n.event(s.name+": nothing is sent yet", err)
		}
		if pauseOr(ctx, 2*s.poll, s.drain) != nil {
			return
		}
		select {
		case <-s.drain:
			last = true
		default:
		}
	}
}

// lockFile locks a file until it is closed.
func lockFile(path string) (*os.File, error) {
	f, _, err := safefile.OpenAppend(path, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another recorder sends the archives of this directory")
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Drain sends the rest of the archives, when nothing more is recorded, for at most a time. The rest is sent by the next Recorder.
func (r *Recorder) Drain(most time.Duration) {
	r.mu.Lock()
	if !r.drained {
		r.drained = true
		for _, drain := range r.drains {
			close(drain)
		}
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
	r.cancel()
	<-done
	for _, n := range r.nodes {
		n.close()
	}
}

// A Status is the status of a server.
type Status struct {
	Target   string            `json:"target"`
	URL      string            `json:"url"`
	Dirs     int               `json:"directories"`
	Sent     uint64            `json:"sent"`     // samples
	Rejected uint64            `json:"rejected"` // samples that the server refused
	Reasons  map[string]uint64 `json:"reasons,omitempty"`
	Lost     uint64            `json:"lost"` // archives removed before they were sent
	Lag      float64           `json:"lag"`  // seconds since the oldest sample that is not sent was recorded
	Err      string            `json:"error,omitempty"`
	ErrTime  time.Time         `json:"errortime,omitzero"`
}

// Status returns the status of each server.
func (r *Recorder) Status() []Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Status
	for _, n := range r.nodes {
		st := n.status()
		for _, streams := range r.streams {
			for _, s := range streams {
				if s.n != n {
					continue
				}
				st.Dirs++
				s.mu.Lock()
				if !s.lag.IsZero() {
					st.Lag = max(st.Lag, time.Since(s.lag).Seconds())
				}
				s.mu.Unlock()
			}
		}
		list = append(list, st)
	}
	return list
}
