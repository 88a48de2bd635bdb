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
	"github.com/go-pcp/pcp/pmapi"
)

// A Config says how a Fleet records.
type Config struct {
	// Dir is where the directories of hosts are made that do not name their own.
	Dir string
	// Configure returns what is to be recorded of a host.
	Configure Configure
	// Interval is what "default" means in a configuration; 0 means a minute.
	Interval time.Duration
	// Recorder is what recorders have in common. Archive, Interval, Log, Turn and
	// Sampled are not used.
	Recorder pmlogger.Config
	// Dialer makes connections. Its Reconnect is not used.
	Dialer pmapi.Dialer
	// Janitor says how the directory of each host is looked after: a new archive at midnight, what is
	// compressed and when, what is removed. Nil does nothing of this. Dir, Recorder, Zone, Rotated and Log are
	// not used.
	Janitor *janitor.Config
	// Turns is how many hosts are worked for at a time: answers decoded, records made and
	// written. 0 means four for each processor, and at least 8.
	Turns int
	// Spread is the time over which the first hosts start; 0 means Interval, negative not.
	Spread time.Duration
	// Retry is how long a host is left alone after a failure, MaxRetry how long after many;
	// the real times are up to a half shorter or longer. 0 means a second, and a minute.
	Retry, MaxRetry time.Duration
	// Location is where times in the names of archives are local; nil means time.Local.
	Location *time.Location
	// Event is called with what happens, not twice at the same time. It should return soon.
	Event func(Event)
}

// An Event is something that happened to a host.
type Event struct {
	Time time.Time
	Host string // its name
	Text string
	Err  error // nil unless something went wrong
	// Daily is the bytes of records a day, in the event that tells them: when each metric of a host
	// has been recorded for the first time.
	Daily int64
}

// A Host is a host to record.
type Host struct {
	// Spec is the collector, as [pmapi.Dial] takes it.
	Spec string
	// Name is what the host is called; "" means DefaultName of Spec. It must be different for
	// each host.
	Name string
	// Dir is the directory of its archives; "" means one of its name in Config.Dir.
	Dir string
	// Config says to Configure what to record, as the name of a file; "" is what Config.Configure
	// makes of it.
	Config string
	// These override what Config has, if not zero.
	Interval time.Duration
	Volume   pmlogger.Size
	Label    string // the host in the labels of archives
	Report   bool
}

// A Fleet records many hosts. Its methods may be called by any goroutine.
type Fleet struct {
	cfg    Config
	slots  chan struct{}
	parsed parsed
	starts starts

	talk sync.Mutex // held while Event is called

	mu      sync.Mutex
	ctx     context.Context // nil until Run
	ended   bool
	hosts   map[string]*host
	running sync.WaitGroup
}

// New returns a Fleet without hosts. Nothing happens before Run.
func New(cfg Config) (*Fleet, error) {
	if cfg.Configure == nil {
		return nil, errors.New("nothing says what is to be recorded")
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
	return &Fleet{cfg: cfg, slots: make(chan struct{}, cfg.Turns), hosts: make(map[string]*host)}, nil
}

// Run records until ctx is done. Then it ends all archives, waits for that, and returns nil.
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

// maxGap is the longest time between the starts of two hosts. Few hosts need not wait for each other.
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

// start has a host recorded; f.mu is held.
func (f *Fleet) start(h *host, wait time.Duration) {
	ctx, cancel := context.WithCancel(f.ctx)
	h.cancel = cancel
	f.running.Go(func() {
		defer close(h.ended)
		defer cancel()
		if after := h.after; after != nil {
			<-after // another has the directory
		}
		h.run(ctx, wait)
	})
}

// Set makes list the hosts that are recorded: it starts those that are new and ends those that
// are not in list any more. One that differs from what it was is ended, and then started. If
// there is a mistake in list, nothing changes. Set does not wait for anything.
func (f *Fleet) Set(list []Host) error {
	want := make(map[string]Host, len(list))
	dirs := make(map[string]string, len(list))
	for _, h := range list {
		if err := f.complete(&h); err != nil {
			return err
		}
		if old, ok := want[h.Name]; ok {
			return fmt.Errorf("hosts %q and %q have the same name %q", old.Spec, h.Spec, h.Name)
		}
		if old, ok := dirs[h.Dir]; ok {
			return fmt.Errorf("hosts %q and %q have the same directory %s", old, h.Name, h.Dir)
		}
		want[h.Name], dirs[h.Dir] = h, h.Name
	}
	if err := enoughFiles(len(list)); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return errors.New("the fleet has ended")
	}
	busy := make(map[string]<-chan struct{}) // directories of hosts that are about to end
	for name, h := range f.hosts {
		if w, ok := want[name]; ok && w == h.Host {
			delete(want, name)
			continue
		}
		delete(f.hosts, name)
		if h.cancel != nil {
			h.cancel()
			busy[h.Dir] = h.ended
		}
	}
	var fresh []*host
	for _, w := range want {
		h := f.newHost(w)
		h.after = busy[h.Dir]
		f.hosts[h.Name] = h
		fresh = append(fresh, h)
	}
	if f.ctx != nil {
		slices.SortFunc(fresh, byName)
		f.startAll(fresh)
	}
	return nil
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

// Status returns the status of all hosts, by name.
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

// event reports what happened.
func (f *Fleet) event(host, text string, err error) {
	f.Say(Event{Time: time.Now(), Host: host, Text: text, Err: err})
}

// Say calls Config.Event, not beside another call.
func (f *Fleet) Say(e Event) {
	f.talk.Lock()
	defer f.talk.Unlock()
	f.cfg.Event(e)
}
