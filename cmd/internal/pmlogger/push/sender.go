package push

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/internal/pacing"
)

// A SenderConfig configures a Sender.
type SenderConfig struct {
	// Dir is the directory with the archives of a host.
	Dir string
	// Host is the name of the host. It decides which receiver is responsible.
	Host string
	// Receivers are the servers that share hosts. Interval, Progress, Warn and Back of them are not used.
	Receivers []Config
	// Event receives news for the log: of a failure the first one, with its error. It is called by one goroutine.
	Event func(text string, err error)
	// Poll is the time between looks at the directory; 0 means two seconds.
	Poll time.Duration
	// Delays are the delays between attempts to reach a receiver; zero means one second up to a minute.
	Delays pacing.Backoff
}

// A Sender pushes the archives of a directory while they are recorded, the oldest first. The archives are its
// queue: a file in their directory has the names of those that a receiver has, and receivers know how much of
// the others they have.
//
// Of several receivers the first that answers gets the archives, in the order of package rendezvous. When an
// earlier one answers again it gets the rest, so that two receivers may have parts of an archive.
type Sender struct {
	cfg       SenderConfig
	receivers []*receiver // in the order of the host
	current   *receiver   // nil before the first
	drain     chan struct{}
	once      sync.Once
	cancel    context.CancelFunc
	ended     chan struct{} // closed when Run has returned

	done    map[string]finished // by the names of archives
	labels  map[string]label
	seen    map[string]bool   // archives that are not finished
	refused map[string]string // by receivers, with the message
	skipped map[string]string // that cannot be read, with the error
	newer   bool              // a later release wrote the file of done

	mu     sync.Mutex
	status Status
}

// A Status is the status of a Sender.
type Status struct {
	Receiver string `json:"receiver"` // the current one
	Sent     int64  `json:"sent"`     // bytes
	Archives int    `json:"archives"` // pushed to their end
	Refused  int    `json:"refused"`  // archives that a receiver refused
	Lost     int    `json:"lost"`     // archives removed before they were pushed
	Waiting  int    `json:"waiting"`  // archives with more to push
	Err      string `json:"error,omitempty"`
}

// A receiver is a server, and when to try it again.
type receiver struct {
	url      string
	p        *Pusher
	failures int
	next     time.Time
	said     string // the last reported error
}

// A label is the part of a label that a Sender needs.
type label struct {
	started int64 // in microseconds
}

const (
	defaultPoll = 2 * time.Second
	// maxPasses limits the passes after Drain, drainPause is the time between them.
	maxPasses  = 5
	drainPause = 100 * time.Millisecond
	// maxAgain is the number of requests for an archive that the receiver has ended, in one attempt.
	maxAgain = 3
)

var defaultDelays = pacing.Backoff{First: time.Second, Longest: maxPause}

// NewSender returns a Sender, which pushes during Run.
func NewSender(cfg SenderConfig) (*Sender, error) {
	if len(cfg.Receivers) == 0 {
		return nil, errors.New("there is no receiver")
	}
	if cfg.Poll <= 0 {
		cfg.Poll = defaultPoll
	}
	if cfg.Delays == (pacing.Backoff{}) {
		cfg.Delays = defaultDelays
	}
	if cfg.Event == nil {
		cfg.Event = func(string, error) {}
	}
	s := &Sender{
		cfg: cfg, drain: make(chan struct{}), ended: make(chan struct{}), cancel: func() {},
		done: map[string]finished{}, labels: map[string]label{}, seen: map[string]bool{}, refused: map[string]string{}, skipped: map[string]string{},
	}
	var urls []string
	for _, r := range cfg.Receivers {
		p, err := New(r)
		if err != nil {
			return nil, err
		}
		if slices.Contains(urls, p.base) {
			return nil, fmt.Errorf("%s is named twice", r.URL)
		}
		urls = append(urls, p.base)
		s.receivers = append(s.receivers, &receiver{url: p.base, p: p})
	}
	var order []*receiver
	for _, i := range rendezvous.Order(cfg.Host, urls) {
		order = append(order, s.receivers[i])
	}
	s.receivers = order
	return s, nil
}

// Start runs the Sender until Drain is called.
func (s *Sender) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		s.run(ctx)
		for _, r := range s.receivers {
			r.p.Close()
		}
	}()
}

// Drain pushes the rest of the archives, when nothing more is recorded, for at most a time. The next Sender pushes the rest.
func (s *Sender) Drain(most time.Duration) {
	s.once.Do(func() { close(s.drain) })
	select {
	case <-s.ended:
	case <-time.After(most):
	}
	s.cancel()
	<-s.ended
}

// Status returns the status.
func (s *Sender) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// update changes the status.
func (s *Sender) update(change func(st *Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}

// run pushes until ctx is done, or all is pushed after Drain.
func (s *Sender) run(ctx context.Context) {
	if err := s.load(); err != nil {
		s.cfg.Event("the list of pushed archives is not known; receivers are asked", err)
	}
	for left := maxPasses; left > 0; {
		wait, err := s.pass(ctx)
		if err != nil && ctx.Err() == nil {
			s.skip("", err)
		}
		wake, pause := s.drain, max(wait, s.cfg.Poll)
		if left < maxPasses { // it drains
			if wait > 0 || s.Status().Waiting == 0 { // what no receiver accepts now is for the next Sender
				return
			}
			left--
			wake, pause = nil, min(pause, drainPause)
		}
		select {
		case <-time.After(pause):
		case <-wake:
			left--
			for _, r := range s.receivers {
				r.next = time.Time{}
			}
		case <-ctx.Done():
			return
		}
	}
}

// pass pushes once what the archives have. It returns a time to wait if no receiver accepts archives now.
func (s *Sender) pass(ctx context.Context) (wait time.Duration, err error) {
	list, err := s.list()
	if err != nil {
		return 0, err
	}
	s.update(func(st *Status) { st.Waiting = len(list) })
	for _, name := range list {
		if s.refused[name] != "" {
			continue
		}
		for again := 0; ; again++ {
			r, wait := s.choose(ctx)
			if r == nil {
				return wait, nil
			}
			err := s.push(ctx, r, name)
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			if err == nil {
				s.succeeded(r)
				delete(s.skipped, name)
				break
			}
			status, refused := errors.AsType[*StatusError](err)
			if refused && again < maxAgain && (status.Status == http.StatusGone || status.Status == http.StatusConflict) {
				r.p.id = 0 // ask how much it has
				continue
			}
			if refused && aboutArchive(status.Status) {
				s.refused[name] = status.Message
				s.update(func(st *Status) { st.Refused++ })
				s.cfg.Event(fmt.Sprintf("archive %s is refused by %s", name, r.url), err)
				break
			}
			var lost *lostError
			var answer *answerError
			if refused || errors.As(err, &lost) || errors.As(err, &answer) {
				s.failed(r, err)
				continue // with another receiver
			}
			if !errors.Is(err, errNotBegun) && !errors.Is(err, fs.ErrNotExist) { // it is about to begin, or was compressed just now
				s.skip(name, err)
			}
			break
		}
	}
	return 0, nil
}

// aboutArchive reports whether a status is about the contents of an archive, not about the client or the server.
func aboutArchive(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// skip reports an error of an archive, or of the directory, once.
func (s *Sender) skip(name string, err error) {
	if text := err.Error(); s.skipped[name] != text {
		s.skipped[name] = text
		if name != "" {
			name = "archive " + name + " "
		}
		s.cfg.Event(name+"cannot be pushed", err)
	}
}

// push pushes an archive, and ends it if it is complete.
func (s *Sender) push(ctx context.Context, r *receiver, name string) error {
	path := filepath.Join(s.cfg.Dir, name)
	written, err := archive.Written(path)
	if err != nil {
		return err
	}
	before := r.p.pushed
	err = r.p.Push(ctx, path)
	s.update(func(st *Status) { st.Sent += r.p.pushed - before })
	if err != nil || written {
		return err
	}
	if err := r.p.end(ctx); err != nil {
		return err
	}
	s.done[name] = finished{Archive: name, Started: s.labels[name].started, Receiver: r.url}
	delete(s.seen, name)
	err = s.save()
	s.update(func(st *Status) { st.Archives++; st.Waiting-- })
	return err
}

// choose returns the first receiver that may be tried, or nil and the time until there is one.
func (s *Sender) choose(ctx context.Context) (*receiver, time.Duration) {
	now := time.Now()
	wait := time.Duration(1<<63 - 1)
	for _, r := range s.receivers {
		if left := r.next.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		// A receiver that failed must answer before it replaces another that works.
		if s.current != nil && r != s.current && r.failures > 0 && s.current.failures == 0 {
			if err := r.p.Ping(ctx); err != nil {
				s.failed(r, err)
				continue
			}
		}
		if r != s.current {
			if s.current != nil {
				s.cfg.Event("archives are pushed to "+r.url, nil)
			}
			s.current = r
			s.update(func(st *Status) { st.Receiver = r.url })
		}
		return r, 0
	}
	return nil, wait
}

func (s *Sender) failed(r *receiver, err error) {
	r.failures++
	r.next = time.Now().Add(s.cfg.Delays.After(r.failures))
	if text := err.Error(); text != r.said {
		r.said = text
		s.update(func(st *Status) { st.Err = text })
		s.cfg.Event(r.url+" is tried again later", err)
	}
}

func (s *Sender) succeeded(r *receiver) {
	if r.failures > 0 {
		s.cfg.Event(r.url+" accepts archives again", nil)
	}
	r.failures, r.next, r.said = 0, time.Time{}, ""
	s.update(func(st *Status) { st.Err = "" })
}

// list returns the names of the archives that are not finished, the oldest first.
func (s *Sender) list() ([]string, error) {
	names, err := archives(s.cfg.Dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // it is made with the first archive
		}
		return nil, err
	}
	there := map[string]bool{}
	var list []string
	for _, name := range names {
		there[name] = true
		if _, ok := s.labels[name]; !ok {
			started, err := start(filepath.Join(s.cfg.Dir, name))
			if err != nil {
				if !errors.Is(err, errNotBegun) && !errors.Is(err, fs.ErrNotExist) {
					s.skip(name, err)
				}
				continue
			}
			s.labels[name] = label{started}
		}
		if d, ok := s.done[name]; !ok || d.Started != s.labels[name].started {
			list = append(list, name)
		}
	}
	maps.DeleteFunc(s.labels, func(name string, _ label) bool { return !there[name] })
	maps.DeleteFunc(s.skipped, func(name, _ string) bool { return name != "" && !there[name] })
	maps.DeleteFunc(s.refused, func(name, _ string) bool { return !there[name] })
	for name := range s.seen {
		if !there[name] {
			s.update(func(st *Status) { st.Lost++ })
			s.cfg.Event(fmt.Sprintf("archive %s was removed before all of it was pushed", name), nil)
		}
	}
	clear(s.seen)
	for _, name := range list {
		s.seen[name] = s.refused[name] == ""
	}
	maps.DeleteFunc(s.seen, func(_ string, waits bool) bool { return !waits })
	slices.SortFunc(list, func(a, b string) int {
		return compareStarts(s.labels[a].started, s.labels[b].started, a, b)
	})
	changed := false
	maps.DeleteFunc(s.done, func(name string, _ finished) bool {
		changed = changed || !there[name]
		return !there[name]
	})
	if changed {
		return list, s.save()
	}
	return list, nil
}
