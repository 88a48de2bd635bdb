package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// A Config configures a Fleet.
type Config struct {
	// Dir is the parent directory for hosts without a directory of their own.
	Dir string
	// Configure returns the configuration for a host.
	Configure Configure
	// Interval is the "default" interval of configurations; 0 means a minute.
	Interval time.Duration
	// Recorder has the common settings of the recorders. Archive, Interval, Log,
	// Turn and Sampled are not used.
	Recorder pmlogger.Config
	// Dialer opens connections. Its Reconnect is not used.
	Dialer pmapi.Dialer
	// Janitor configures the maintenance of each host's directory: new archives at midnight, compression, and
	// removal. Nil disables it. Dir, Recorder, Zone, Rotated and Log are not used.
	Janitor *janitor.Config
	// Turns is the number of hosts worked for at a time: decoding answers, making and
	// writing records. 0 means four for each processor, and at least 8.
	Turns int
	// Spread is the time over which the first hosts start; 0 means Interval, a negative value no spread.
	Spread time.Duration
	// Retry is the delay after a failure, MaxRetry the longest delay after repeated
	// failures; the real times are up to a half shorter. 0 means a second, and a
	// minute.
	Retry, MaxRetry time.Duration
	// Location is the time zone for the names of archives; nil means time.Local.
	Location *time.Location
	// Suffix ends the names of archives, so that they differ from those of other recorders of the same hosts.
	Suffix string
	// Event is called with each event, one at a time. It should return soon.
	Event func(Event)
}

// An Event is an event of a host.
type Event struct {
	Time time.Time
	Host string // name of the host
	Text string
	Err  error // nil unless it is a failure
	// Daily is the bytes of records a day, in the event that reports it: when each metric of a host
	// has been recorded for the first time.
	Daily int64
}

// A Host is a host to record.
type Host struct {
	// Spec is the collector, as in [pmapi.Dial].
	Spec string
	// Name is the name of the host; "" means DefaultName of Spec. It must be unique.
	Name string
	// Dir is the directory of its archives; "" means a directory in Config.Dir named after the host.
	Dir string
	// Config selects the host's configuration for Configure, as the name of a file; "" leaves the
	// choice to Config.Configure.
	Config string
	// These override the settings of Config, if not zero.
	Interval time.Duration
	Volume   pmlogger.Size
	Label    string // host name in the labels of archives
	Report   bool
}

// A Fleet records many hosts. It is safe for concurrent use.
type Fleet struct {
	cfg     Config
	slots   chan struct{}
	backoff pacing.Backoff
	parsed  parsed
	starts  starts

	talk sync.Mutex // held while Event is called

	mu      sync.Mutex
	ctx     context.Context // nil before Run
	ended   bool
	hosts   map[string]*host
	ending  map[string]<-chan struct{} // hosts that are not in hosts any more, by directory; closed when they have ended
	running sync.WaitGroup
}

// New returns a Fleet without hosts. Recording starts with Run.
func New(cfg Config) (*Fleet, error) {
	if cfg.Configure == nil {
		return nil, errors.New("there is nothing to record: no configuration")
	}
	cfg.Interval = cmp.Or(cfg.Interval, time.Minute)
	if cfg.Interval < 0 {
		return nil, fmt.Errorf("interval %v is negative", cfg.Interval)
	}
	cfg.Spread = cmp.Or(cfg.Spread, cfg.Interval)
	cfg.Retry = cmp.Or(cfg.Retry, time.Second)
	cfg.MaxRetry = max(cmp.Or(cfg.MaxRetry, time.Minute), cfg.Retry)
	if cfg.Turns <= 0 {
		cfg.Turns = max(8, 4*runtime.GOMAXPROCS(0))
	}
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	if cfg.Dialer.DialContext == nil {
		cfg.Dialer.DialContext = (&net.Dialer{KeepAlive: -1}).DialContext
	}
	if cfg.Event == nil {
		cfg.Event = func(Event) {}
	}
	return &Fleet{
		cfg: cfg, slots: make(chan struct{}, cfg.Turns), hosts: make(map[string]*host), ending: make(map[string]<-chan struct{}),
		backoff: pacing.Backoff{First: cfg.Retry, Longest: cfg.MaxRetry},
	}, nil
}

// Run records until ctx is done. Then it closes all archives and returns nil.
func (f *Fleet) Run(ctx context.Context) error {
	f.mu.Lock()
	if f.ctx != nil {
		f.mu.Unlock()
		return errors.New("a fleet runs once")
	}
	f.ctx = ctx
	f.startAll(slices.SortedFunc(maps.Values(f.hosts), byName))
	f.mu.Unlock()

	<-ctx.Done()
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

func byName(a, b *host) int { return cmp.Compare(a.Name, b.Name) }

// maxGap is the longest time between the starts of two hosts, so that a few hosts start without delay.
const maxGap = 100 * time.Millisecond

// startAll starts hosts, spread over the interval; f.mu is held.
func (f *Fleet) startAll(list []*host) {
	for i, h := range list {
		wait := time.Duration(0)
		if f.cfg.Spread > 0 {
			wait = min(f.cfg.Spread/time.Duration(len(list)), maxGap) * time.Duration(i)
		}
		f.start(h, wait)
	}
}

// start starts recording a host; f.mu is held.
func (f *Fleet) start(h *host, wait time.Duration) {
	ctx, cancel := context.WithCancel(f.ctx)
	h.cancel = cancel
	f.running.Go(func() {
		defer close(h.ended)
		defer cancel()
		if after := h.after; after != nil {
			<-after // another host uses the directory
		}
		h.run(ctx, wait)
	})
}

// Set sets the list of recorded hosts: it starts new hosts and ends those that are not in list
// any more. A host with changed settings is ended, and then started. If there is a mistake in
// list, nothing changes. Set does not wait.
func (f *Fleet) Set(list []Host) error {
	list, err := f.Complete(list)
	if err != nil {
		return err
	}
	if err := enoughFiles(len(list)); err != nil {
		return err
	}
	want := make(map[string]Host, len(list))
	for _, h := range list {
		want[h.Name] = h
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return errors.New("the fleet has ended")
	}
	for dir, ended := range f.ending {
		select {
		case <-ended:
			delete(f.ending, dir)
		default:
		}
	}
	for name, h := range f.hosts {
		if w, ok := want[name]; ok && w == h.Host {
			delete(want, name)
			continue
		}
		delete(f.hosts, name)
		if h.cancel != nil {
			h.cancel()
			f.ending[h.Dir] = h.ended
		}
	}
	var fresh []*host
	for _, w := range want {
		h := f.newHost(w)
		h.after = f.ending[h.Dir]
		f.hosts[h.Name] = h
		fresh = append(fresh, h)
	}
	if f.ctx != nil {
		slices.SortFunc(fresh, byName)
		f.startAll(fresh)
	}
	return nil
}

// Restart ends the recording of a host and starts it again, in a new archive and with the configuration that Configure makes now. It does not wait. A
// host that is not in the list is ignored.
func (f *Fleet) Restart(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := f.hosts[name]
	if old == nil || old.cancel == nil || f.ended {
		return // it has not begun, or has ended
	}
	old.cancel()
	f.ending[old.Dir] = old.ended
	h := f.newHost(old.Host)
	h.after = old.ended
	f.hosts[name] = h
	f.start(h, 0)
}

// Complete returns a list of hosts with their defaults filled in, as Set does. It returns an error if there is a mistake in the list.
func (f *Fleet) Complete(list []Host) ([]Host, error) {
	list = slices.Clone(list)
	names := make(map[string]string, len(list))
	dirs := make(map[string]string, len(list))
	for i := range list {
		h := &list[i]
		if err := f.complete(h); err != nil {
			return nil, err
		}
		if old, ok := names[h.Name]; ok {
			return nil, fmt.Errorf("hosts %q and %q have the same name %q", old, h.Spec, h.Name)
		}
		if old, ok := dirs[h.Dir]; ok {
			return nil, fmt.Errorf("hosts %q and %q have the same directory %s", old, h.Name, h.Dir)
		}
		names[h.Name], dirs[h.Dir] = h.Spec, h.Name
	}
	return list, nil
}

// complete fills in the defaults of h, and checks it.
func (f *Fleet) complete(h *Host) error {
	if err := checkSpec(h.Spec); err != nil {
		return err
	}
	if h.Name == "" {
		h.Name = DefaultName(h.Spec)
	}
	if err := checkName(h.Name); err != nil {
		return err
	}
	if h.Interval < 0 {
		return fmt.Errorf("host %q: interval %v is negative", h.Spec, h.Interval)
	}
	if h.Interval == 0 {
		h.Interval = f.cfg.Interval
	}
	if h.Dir == "" {
		h.Dir = filepath.Join(f.cfg.Dir, h.Name)
	}
	h.Dir = filepath.Clean(h.Dir)
	return nil
}

// Status returns the status of all hosts, sorted by name.
func (f *Fleet) Status() []Status {
	f.mu.Lock()
	list := slices.SortedFunc(maps.Values(f.hosts), byName)
	f.mu.Unlock()
	all := make([]Status, len(list))
	for i, h := range list {
		all[i] = h.status()
	}
	return all
}

// event reports an event.
func (f *Fleet) event(host, text string, err error) {
	f.Say(Event{Time: time.Now(), Host: host, Text: text, Err: err})
}

// Say calls Config.Event, never during another call.
func (f *Fleet) Say(e Event) {
	f.talk.Lock()
	defer f.talk.Unlock()
	f.cfg.Event(e)
}
