package janitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pcptime"
)

// ErrBusy is the error for a directory that another janitor maintains.
var ErrBusy = errors.New("another janitor is at work in the directory")

// DefaultName is the default template of archive names: the date and the time of day.
const DefaultName = "%Y%m%d.%H.%M"

// A Config configures a Janitor.
type Config struct {
	// Dir is the directory with the archives of one host.
	Dir string
	// Recorder writes archives in Dir. Nil means that this process does not record there.
	Recorder *pmlogger.Recorder

	// Daily begins a new archive at midnight in Zone, nil for the local one.
	Daily bool
	Zone  *time.Location
	// RotateBytes begins a new archive when the files of one reach this size; 0 means never.
	RotateBytes int64
	// Name is the template for the names of archives, as for strftime(3); "" means DefaultName.
	Name string

	// Format is the compression of finished volumes and metadata; NoCompress disables it.
	Format     Format
	NoCompress bool
	// CompressAfter is the minimum age of a file to be compressed, since its last change.
	CompressAfter time.Duration

	// Policy selects the archives to remove. When the file system is full, the oldest archive with
	// a copy in object storage is removed although the policy keeps it. With MakeRoom, if there is none, the oldest one is.
	Policy   Policy
	MakeRoom bool

	// Interval is the time between checks; 0 means a minute.
	Interval time.Duration
	// Rotated is called with the base name of each new archive, in the goroutine of the
	// recorder. It may be nil.
	Rotated func(base string)
	// Log receives actions and errors. Nil discards them.
	Log *slog.Logger

	// For tests: the time of day, which may be set, and the uptime of the process, which is monotonic.
	now    func() time.Time
	uptime func() time.Duration
}

// A Janitor maintains a directory, see [Config].
type Janitor struct {
	cfg    Config
	full   chan struct{} // signalled by the recorder
	failed map[string]time.Time
	next   time.Time // next midnight

	seen time.Time     // the time of day at the last check
	at   time.Duration // the uptime at the last check
	wary time.Duration // uptime until which ages are not trusted
}

// New returns a Janitor, which starts with Run.
func New(cfg Config) (*Janitor, error) {
	if cfg.Dir == "" {
		return nil, errors.New("janitor: no directory is named")
	}
	if cfg.Interval <= 0 {
		cfg.Interval = time.Minute
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	if began := time.Now(); cfg.uptime == nil {
		cfg.uptime = func() time.Duration { return time.Since(began) }
	}
	if cfg.Recorder == nil && (cfg.Daily || cfg.RotateBytes > 0) {
		return nil, errors.New("janitor: there is no recorder to begin new archives")
	}
	return &Janitor{cfg: cfg, full: make(chan struct{}, 1), failed: make(map[string]time.Time)}, nil
}

// Full is for pmlogger.Config.Full: it makes the Janitor free space. It does not block.
func (j *Janitor) Full(error) {
	select {
	case j.full <- struct{}{}:
	default:
	}
}

// Run works until ctx is done. Errors are logged, and retried later; Run itself returns
// the cause of ctx.
func (j *Janitor) Run(ctx context.Context) error {
	j.next = midnight(j.cfg.now(), j.cfg.Zone)
	j.locked(func() {
		j.complain("recover", Recover(ctx, j.cfg.Dir, j.written(ctx), func(what, path string) {
			j.cfg.Log.Info(what, "path", path)
		}))
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-j.full:
			wait := min(j.cfg.Interval, 5*time.Second)
			if !j.cfg.Policy.ready(j.cfg.Dir) {
				wait = min(wait, 500*time.Millisecond)
			}
			j.locked(func() { j.makeRoom(ctx) })
			select { // the recorder signals with each sample: once in a while is enough
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(wait):
			}
			continue
		case <-timer.C:
		}
		j.rotate(ctx)
		j.locked(func() { j.Tidy(ctx) })
		timer.Reset(j.wait())
	}
}

// wait returns the time until the next action.
func (j *Janitor) wait() time.Duration {
	d := j.cfg.Interval
	if j.cfg.Daily {
		// If midnight is past, the new archive failed, and is retried.
		if left := j.next.Sub(j.cfg.now()); left > 0 {
			d = min(d, max(left, 10*time.Millisecond))
		}
	}
	return d
}

// locked calls f while no other janitor works in the directory.
func (j *Janitor) locked(do func()) {
	unlock, err := Lock(j.cfg.Dir)
	if err != nil {
		j.complain("lock", err)
		return
	}
	defer unlock()
	do()
}

// complain logs an error, the same one at most once an hour.
func (j *Janitor) complain(what string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	now := j.cfg.now()
	if at, ok := j.failed[err.Error()]; ok && now.Sub(at) < time.Hour && !now.Before(at) {
		return
	}
	if len(j.failed) > 1000 {
		clear(j.failed)
	}
	j.failed[err.Error()] = now
	j.cfg.Log.Error(what, "dir", j.cfg.Dir, "error", err)
}

// Lock locks a directory for one janitor. The error is ErrBusy if another holds it.
func Lock(dir string) (unlock func(), err error) {
	unlock, err = fsdir.TryLock(dir)
	if errors.Is(err, fsdir.ErrBusy) {
		err = ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return unlock, nil
}

// midnight returns the start of the next day.
func midnight(now time.Time, zone *time.Location) time.Time {
	y, m, d := now.In(zone).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, zone)
}

// longestDay limits the time until midnight.
const longestDay = 25 * time.Hour

// rotate begins a new archive if it is due.
func (j *Janitor) rotate(ctx context.Context) {
	now := j.cfg.now()
	if j.next.Sub(now) > longestDay { // the clock was set back
		j.next = midnight(now, j.cfg.Zone)
	}
	daily := j.cfg.Daily && !now.Before(j.next)
	due := daily
	base, ok := j.current(ctx)
	if !ok {
		if daily {
			j.next = midnight(now, j.cfg.Zone)
		}
		return
	}
	if n := j.cfg.RotateBytes; !due && n > 0 {
		list, err := List(filepath.Dir(base))
		if err != nil {
			j.complain("rotate", err)
			return
		}
		for _, a := range list {
			due = due || a.Base == base && a.Size >= n
		}
	}
	if !due {
		return
	}
	err := j.Rotate(ctx)
	j.complain("rotate", err)
	if daily && err == nil {
		j.next = midnight(now, j.cfg.Zone)
	}
}

// Rotate begins a new archive immediately.
func (j *Janitor) Rotate(ctx context.Context) error {
	r := j.cfg.Recorder
	if r == nil {
		return errors.New("rotate: there is no recorder")
	}
	base, err := j.free(j.cfg.now())
	if err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	var rotated error
	if err := r.Call(ctx, func() {
		if rotated = r.Rotate(ctx, base); rotated == nil && j.cfg.Rotated != nil {
			j.cfg.Rotated(base)
		}
	}); err != nil {
		return err
	}
	if rotated == nil {
		j.cfg.Log.Info("a new archive was begun", "archive", base)
	}
	return rotated
}

// free returns an unused base name for a new archive.
func (j *Janitor) free(now time.Time) (string, error) {
	base := filepath.Join(j.cfg.Dir, pcptime.Strftime(j.cfg.Name, now.In(j.cfg.Zone)))
	name, err := base, error(nil)
	for n := range 100 {
		if n > 0 {
			name = fmt.Sprintf("%s-%02d", base, n-1)
		}
		if err = archive.CheckFree(name); err == nil {
			return name, nil
		}
	}
	return "", err
}

// current returns the base name of the recorder's current archive, as in List.
func (j *Janitor) current(ctx context.Context) (string, bool) {
	if j.cfg.Recorder == nil {
		return "", false
	}
	base := ""
	if err := j.cfg.Recorder.Call(ctx, func() { base = j.cfg.Recorder.Archive() }); err != nil {
		return "", false // not started, or ended
	}
	if dir, err := filepath.Abs(filepath.Dir(base)); err == nil {
		if own, err := filepath.Abs(j.cfg.Dir); err == nil && own == dir {
			return filepath.Join(j.cfg.Dir, filepath.Base(base)), true
		}
	}
	return "", false
}

// written returns a function that reports whether an archive is being written.
func (j *Janitor) written(ctx context.Context) func(*Archive) bool {
	base, _ := j.current(ctx)
	return func(a *Archive) bool { return a.Base == base || Written(a) }
}

// Tidy compresses and culls once. No other janitor may work in the directory.
func (j *Janitor) Tidy(ctx context.Context) {
	j.cull(ctx, j.cfg.Policy)
	if !j.cfg.NoCompress {
		j.compress(ctx)
	}
}

func (j *Janitor) cull(ctx context.Context, p Policy) (removed []string) {
	now := j.cfg.now()
	if !j.believes(now) {
		p.MaxAge, p.KeepShipped = 0, min(p.KeepShipped, 0)
	}
	removed, err := Cull(j.cfg.Dir, p, now, j.written(ctx))
	for _, base := range removed {
		j.cfg.Log.Info("an archive was removed", "archive", base)
	}
	j.complain("cull", err)
	return removed
}

// Limits on clock changes.
const (
	largestStep = time.Hour // forward, between two checks, that is plausible
	waryFor     = time.Hour // time to correct a clock after a larger change
)

// believes reports whether the ages of archives can be trusted. A clock that was set forward makes all of them old at
// once, and their removal could not be undone when the clock is corrected.
func (j *Janitor) believes(now time.Time) bool {
	up := j.cfg.uptime()
	now = now.Round(0) // without the monotonic clock
	if step := now.Sub(j.seen) - (up - j.at); !j.seen.IsZero() && step > largestStep {
		j.wary = up + waryFor
		j.cfg.Log.Warn("the clock was set forward: no archive is removed for its age for a while", "dir", j.cfg.Dir, "by", step, "for", waryFor)
	}
	j.seen, j.at = now, up
	return up >= j.wary
}

// compress compresses finished files.
func (j *Janitor) compress(ctx context.Context) {
	list, err := List(j.cfg.Dir)
	if err != nil {
		j.complain("compress", err)
		return
	}
	written := j.written(ctx)
	for _, a := range list {
		if !a.whole() {
			continue
		}
		w := written(a)
		if d := j.cfg.CompressAfter; d > 0 {
			old := *a
			old.Files = nil
			for _, f := range a.Files {
				if j.cfg.now().Sub(f.Time) >= d || w && f.Volume == lastVolume(a) {
					old.Files = append(old.Files, f)
				}
			}
			a = &old
		}
		made, err := CompressArchive(ctx, a, j.cfg.Format, w)
		for _, path := range made {
			j.cfg.Log.Info("a file was compressed", "path", path)
		}
		j.complain("compress", err)
		if archive.NoSpace(err) || ctx.Err() != nil {
			return
		}
	}
}

// MakeRoom removes archives because the file system is full, for a caller that does not call Run.
func (j *Janitor) MakeRoom(ctx context.Context) {
	j.locked(func() { j.makeRoom(ctx) })
}

// makeRoom removes archives when the file system is full.
func (j *Janitor) makeRoom(ctx context.Context) {
	if len(j.cull(ctx, j.cfg.Policy)) > 0 {
		return
	}
	if !j.cfg.Policy.ready(j.cfg.Dir) {
		return // soon
	}
	list, err := List(j.cfg.Dir)
	if err != nil {
		j.complain("full", err)
		return
	}
	for _, c := range j.cfg.Policy.candidates(list, j.written(ctx)) {
		if !c.shipped && !j.cfg.MakeRoom {
			continue
		}
		if err := j.cfg.Policy.remove(c); err != nil {
			j.complain("full", err)
			continue
		}
		text := "the file system is full: the oldest archive was removed"
		if c.shipped {
			text = "the file system is full: the oldest archive that is stored elsewhere was removed"
		}
		j.cfg.Log.Warn(text, "archive", c.Base, "bytes", c.Size)
		return
	}
	if !j.cfg.MakeRoom {
		j.complain("full", fmt.Errorf("%s: the file system is full, and no archive is to be removed", j.cfg.Dir))
		return
	}
	j.complain("full", fmt.Errorf("%s: the file system is full, and there is no archive to remove", j.cfg.Dir))
}
