package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// A host is a recorded host.
type host struct {
	Host
	f    *Fleet
	turn turn

	starting bool // holds a place of Fleet.starts; for the goroutine of run

	after  <-chan struct{} // closed when the directory is free; nil if it is
	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex
	j        *janitor.Janitor // during recording
	fullSaid time.Time        // when a full file system was reported
	s        Status
	base     int64         // bytes of earlier archives
	told     bool          // the daily size was reported
	clock    time.Duration // Status.Clock as it was reported
}

func (f *Fleet) newHost(h Host) *host {
	return &host{
		Host: h, f: f, turn: turn{slots: f.slots}, ended: make(chan struct{}),
		s: Status{Name: h.Name, Spec: pmapi.HidePassword(h.Spec), Dir: h.Dir, Interval: h.Interval},
	}
}

// run records the host until ctx is done.
func (h *host) run(ctx context.Context, wait time.Duration) {
	defer h.state(Ended)
	failures := 0
	for {
		if !pacing.Sleep(ctx, wait) {
			return
		}
		samples := h.status().Samples
		err := h.record(ctx)
		if ctx.Err() != nil {
			return
		}
		if h.status().Samples > samples {
			failures = 0
		}
		failures++
		if archive.NoSpace(err) {
			h.makeRoom(ctx)
		}
		wait = h.f.backoff.After(failures)
		h.failed(err, wait, failures == 1)
	}
}

// record writes an archive, until it ends or fails.
func (h *host) record(ctx context.Context) error {
	if !h.begin(ctx) {
		return ctx.Err()
	}
	defer h.begun()
	h.state(Connecting)
	d := h.f.cfg.Dialer
	d.DialContext = h.turn.dial(h.dial(d.DialContext))
	d.Reconnect = nil
	for i := range 8 {
		d.Reconnect = append(d.Reconnect, h.f.backoff.After(i+1))
	}
	h.turn.Take()
	r, c, config, err := h.open(ctx, &d)
	h.turn.Give()
	if err != nil {
		return err
	}
	defer c.Close()
	h.mu.Lock()
	again := h.s.Archive == r.Archive() // which could not be started
	h.s.Archive = r.Archive()
	h.mu.Unlock()
	if !again {
		h.f.event(h.Name, "recording to "+r.Archive(), nil)
	}
	err = h.recordTo(ctx, r)
	runtime.KeepAlive(config) // others can share it until here
	h.mu.Lock()
	h.base, h.s.Bytes = h.base+h.s.Bytes, 0
	h.mu.Unlock()
	if ctx.Err() != nil {
		if errors.Is(err, ctx.Err()) && !joined(err) {
			err = nil
		}
		h.f.event(h.Name, "ended "+r.Archive(), err)
	}
	return err
}

// compressSpread is the time over which hosts spread the compression of finished archives at midnight.
const compressSpread = time.Hour

// recordTo runs a recorder, and maintains its directory meanwhile.
func (h *host) recordTo(ctx context.Context, r *pmlogger.Recorder) error {
	if h.f.cfg.Janitor == nil {
		return r.Run(ctx)
	}
	cfg := h.janitor()
	cfg.Recorder, cfg.Rotated = r, h.rotated
	if suffix := h.f.cfg.Suffix; suffix != "" {
		cfg.Name = "%Y%m%d.%H.%M" + strings.ReplaceAll(suffix, "%", "%%")
	}
	h.f.mu.Lock()
	if len(h.f.hosts) > 10 {
		cfg.CompressAfter += rand.N(compressSpread)
	}
	h.f.mu.Unlock()
	j, err := janitor.New(cfg)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.j = j
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.j = nil
		h.mu.Unlock()
	}()
	ctx, cancel := context.WithCancel(ctx)
	var tidy sync.WaitGroup
	tidy.Go(func() { j.Run(ctx) }) // until ctx is done; errors are logged
	err = r.Run(ctx)
	cancel()
	tidy.Wait()
	return err
}

// janitor returns the configuration of a janitor without a recorder.
func (h *host) janitor() janitor.Config {
	cfg := *h.f.cfg.Janitor
	cfg.Dir, cfg.Zone = h.Dir, h.f.cfg.Location
	cfg.Log = slog.New(slog.NewTextHandler(&hostLog{path: filepath.Join(h.Dir, "pmlogger.log")}, nil))
	return cfg
}

// makeRoom removes an archive, if one may be removed, when there is no space to begin one.
func (h *host) makeRoom(ctx context.Context) {
	if h.f.cfg.Janitor == nil {
		return
	}
	cfg := h.janitor()
	cfg.Daily, cfg.RotateBytes = false, 0
	if j, err := janitor.New(cfg); err == nil {
		j.MakeRoom(ctx)
	}
}

// fullEvery is the shortest time between reports of a full file system. Samples are accepted meanwhile, into memory.
const fullEvery = time.Minute

// full makes the janitor free space. It is called by the recorder.
func (h *host) full(err error) {
	h.mu.Lock()
	j := h.j
	h.s.Errors++
	h.s.Err, h.s.ErrTime = err, time.Now()
	said := time.Since(h.fullSaid) < fullEvery
	if !said {
		h.fullSaid = time.Now()
	}
	h.mu.Unlock()
	if j != nil {
		j.Full(err)
	}
	if !said {
		h.f.event(h.Name, "the file system is full, samples are buffered in memory", err)
	}
}

// rotated records a new archive. It is called by the recorder.
func (h *host) rotated(base string) {
	h.mu.Lock()
	h.s.Archive = base
	h.mu.Unlock()
	h.f.event(h.Name, "recording to "+base, nil)
}

// joined reports whether an error was joined with others, from closing an archive.
func joined(err error) bool {
	j, ok := err.(interface{ Unwrap() []error })
	return ok && len(j.Unwrap()) > 1
}

// open connects to the host and creates its recorder.
func (h *host) open(ctx context.Context, d *pmapi.Dialer) (_ *pmlogger.Recorder, _ *pmapi.Context, config any, err error) {
	c, err := d.Dial(ctx, h.Spec)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	text, name, err := h.f.cfg.Configure(ctx, c, h.Host)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("what to record: %w", err)
	}
	parsed, err := h.f.parsed.get(text, name, h.Interval)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := os.MkdirAll(h.Dir, 0o755); err != nil {
		return nil, nil, nil, err
	}
	cfg := h.f.cfg.Recorder
	cfg.Interval, cfg.Turn, cfg.Sampled = h.Interval, &h.turn, h.sampled
	cfg.Host, cfg.Volume, cfg.Report = cmp.Or(h.Label, cfg.Host), cmp.Or(h.Volume, cfg.Volume), cfg.Report || h.Report
	cfg.Log = &hostLog{path: filepath.Join(h.Dir, "pmlogger.log")}
	cfg.Full = h.full
	if cfg.Archive, err = freeName(h.Dir, time.Now().In(h.f.cfg.Location), h.f.cfg.Suffix); err != nil {
		return nil, nil, nil, err
	}
	r, err := pmlogger.New(ctx, c, cfg)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := r.ConfigureFrom(ctx, parsed); err != nil {
		return nil, nil, nil, err
	}
	if r.Metrics() == 0 {
		return nil, nil, nil, fmt.Errorf("%s: the host has none of the metrics; see %s", name, filepath.Join(h.Dir, "pmlogger.log"))
	}
	return r, c, parsed, nil
}

// freeName returns the name of the next archive in a directory: the time and the suffix, with a number if that
// name exists.
func freeName(dir string, now time.Time, suffix string) (string, error) {
	base := filepath.Join(dir, now.Format("20060102.15.04")+suffix)
	name := base
	for n := 0; ; n++ {
		err := archive.CheckFree(name)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) || n > 99 {
			return "", err
		}
		name = fmt.Sprintf("%s-%02d", base, n)
	}
}

// A hostLog is the log file of a recorder. It is open only during a write, and is started again
// when it is long.
type hostLog struct{ path string }

const maxHostLog = 256 << 10

func (l *hostLog) Write(b []byte) (int, error) {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > maxHostLog {
		os.Rename(l.path, l.path+".prior") // if that fails, the file is truncated anyway
		if err := f.Truncate(0); err != nil {
			return 0, err
		}
	}
	return f.Write(b)
}
