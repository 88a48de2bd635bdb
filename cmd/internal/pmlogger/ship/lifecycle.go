package ship

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/period"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

// DefaultLifecycle is the life cycle of a user who does not choose one.
const DefaultLifecycle = "raw=30d,1min=1y,1h=forever"

// lifeEvery is the time between looks at the archives in the store.
const lifeEvery = 6 * time.Hour

// Rollups is the directory of archives with longer intervals, in that of the store: rollup/1min/HOST.
const Rollups = "rollup"

// A Lifecycle is how long archives stay in the store.
type Lifecycle struct {
	// Raw is how long archives are kept as they were recorded; 0 means for ever.
	Raw time.Duration
	// Steps are the intervals of archives that are made from them.
	Steps []Step
	// Reduce makes an archive with an interval from another one.
	Reduce func(ctx context.Context, from, to string, interval time.Duration) error
}

// A Step is an interval of archives.
type Step struct {
	Name     string // "1min", in the names of directories
	Interval time.Duration
	Keep     time.Duration // 0 means for ever
}

// ParseLifecycle reads a life cycle such as "raw=30d,1min=1y,1h=forever". "off" is the zero Lifecycle. Archives of a longer interval
// must not be removed before those of a shorter one.
func ParseLifecycle(text string) (Lifecycle, error) {
	var l Lifecycle
	if text == "off" {
		return l, nil
	}
	seen := make(map[string]bool)
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		keep, err := age(value)
		if !ok || err != nil || seen[name] {
			return Lifecycle{}, fmt.Errorf("%q is not of the form %s, with each interval once", part, DefaultLifecycle)
		}
		seen[name] = true
		if name == "raw" {
			l.Raw = keep
			continue
		}
		interval, err := step(name)
		if err != nil {
			return Lifecycle{}, err
		}
		l.Steps = append(l.Steps, Step{name, interval, keep})
	}
	if !seen["raw"] {
		return Lifecycle{}, fmt.Errorf("%q has no raw=AGE, for archives as they were recorded, such as raw=30d or raw=forever", text)
	}
	slices.SortFunc(l.Steps, func(a, b Step) int { return cmp.Compare(a.Interval, b.Interval) })
	finer := Step{Name: "raw", Keep: l.Raw}
	for _, s := range l.Steps {
		if s.Keep != 0 && (finer.Keep == 0 || s.Keep < finer.Keep) {
			return Lifecycle{}, fmt.Errorf("%q keeps %s for a shorter time than %s, which has more values: keep %[2]s longer, or leave it out", text, s.Name, finer.Name)
		}
		finer = s
	}
	return l, nil
}

// step returns the interval with a name, one of those that readers look for.
func step(name string) (time.Duration, error) {
	var names []string
	for _, l := range period.Levels {
		if l.Name == name {
			return l.Step, nil
		}
		names = append(names, l.Name)
	}
	return 0, fmt.Errorf("%q is not an interval that readers look for: %s", name, strings.Join(names, ", "))
}

// age reads "30d", "12h", "1y" or "forever".
func age(text string) (time.Duration, error) {
	if text == "forever" {
		return 0, nil
	}
	if text == "" {
		return 0, errors.New("no age")
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	unit := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour, 'y': 365 * 24 * time.Hour}[text[len(text)-1]]
	if err != nil || n < 1 || unit == 0 || time.Duration(n) > 200*365*24*time.Hour/unit {
		return 0, fmt.Errorf("%q is not an age such as 30d, 1y or forever", text)
	}
	return time.Duration(n) * unit, nil
}

func (l *Lifecycle) check() error {
	if len(l.Steps) > 0 && l.Reduce == nil {
		return errors.New("nothing makes archives with longer intervals")
	}
	return nil
}

// expired reports whether an archive whose last record is from a time would be removed from the store at once.
func (l *Lifecycle) expired(end, now time.Time) bool { return l.Raw > 0 && now.Sub(end) > l.Raw }

// live makes the archives with longer intervals that a host lacks, and removes old archives of the host from the store.
func (s *Shipper) live(ctx context.Context, h *host) error {
	l, now := &s.cfg.Lifecycle, s.cfg.now()
	if l.Raw == 0 && len(l.Steps) == 0 {
		return nil
	}
	raw, err := readIndexes(ctx, h.dir)
	if err != nil {
		return err
	}
	lacking := make(map[string]bool) // archives from which something is still to be made
	for _, step := range l.Steps {
		dir, err := s.cfg.Dir.Sub(Rollups + "/" + step.Name + "/" + h.Name)
		if err != nil {
			return err
		}
		made, err := readIndexes(ctx, dir)
		if err != nil {
			return err
		}
		for _, a := range raw.sorted() {
			if made.archives[a.Name] != nil || !a.Complete || step.Keep > 0 && now.Sub(a.End) > step.Keep {
				continue
			}
			if err := s.rollUp(ctx, h, a, dir, step); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				lacking[a.Name] = true
				s.event(h.Name, fmt.Sprintf("no archive with the interval %s was made from %s", step.Name, a.Name), err)
				continue
			}
			h.mu.Lock()
			h.s.Rollups++
			h.mu.Unlock()
		}
		if err := s.expire(ctx, h, dir, made, step.Keep, nil); err != nil {
			return err
		}
	}
	return s.expire(ctx, h, h.dir, raw, l.Raw, lacking)
}

// indexes are the index files of a directory.
type indexes struct {
	days     map[string]*archiveindex.Day
	archives map[string]*archiveindex.Archive // the newest entry of each
}

func (x *indexes) sorted() []*archiveindex.Archive {
	return slices.SortedFunc(maps.Values(x.archives), func(a, b *archiveindex.Archive) int {
		return cmp.Or(a.Begin.Compare(b.Begin), strings.Compare(a.Name, b.Name))
	})
}

func readIndexes(ctx context.Context, dir *objects.Dir) (*indexes, error) {
	x := &indexes{make(map[string]*archiveindex.Day), make(map[string]*archiveindex.Archive)}
	list, err := dir.List(ctx, "index")
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		day, ok := strings.CutSuffix(e.Name, ".json")
		if !ok || len(day) != 8 {
			continue
		}
		d, _, err := archiveindex.Load(ctx, dir, day)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		x.days[day] = d
		for i := range d.Archives {
			a := &d.Archives[i]
			if old := x.archives[a.Name]; old == nil || old.End.Before(a.End) || a.Complete {
				x.archives[a.Name] = a
			}
		}
	}
	return x, nil
}

// rollUp makes an archive with a longer interval and stores it.
func (s *Shipper) rollUp(ctx context.Context, h *host, a *archiveindex.Archive, to *objects.Dir, step Step) error {
	from := filepath.Join(h.Path, a.Name)
	if f, err := archive.FindFiles(from); err != nil || len(f.Volumes) < len(a.Files)-2 {
		from = h.dir.Address(a.Name)
	}
	temp, err := os.MkdirTemp("", "pcp-rollup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	base := filepath.Join(temp, a.Name)
	if err := s.cfg.Lifecycle.Reduce(ctx, from, base, step.Interval); err != nil {
		return err
	}
	list, err := janitor.List(temp)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%d archives were made", len(list))
	}
	if err == nil {
		_, err = janitor.CompressArchive(ctx, list[0], janitor.Zstd, false)
	}
	if err == nil {
		list, err = janitor.List(temp)
	}
	if err != nil {
		return err
	}
	entry, err := describe(base, list[0].Files, true)
	if err != nil {
		return err
	}
	return s.store(ctx, h, to, make(map[string]*archiveindex.Day), h.Name, base, entry)
}

// expire removes archives that are older than keep from a directory of the store, 0 meaning none, except those in not: first
// from the index, then their files, so that a reader finds no archive without files. Files that a process which was
// killed has left are removed too.
func (s *Shipper) expire(ctx context.Context, h *host, dir *objects.Dir, x *indexes, keep time.Duration, not map[string]bool) error {
	now := s.cfg.now()
	if keep == 0 {
		return nil
	}
	old := make(map[string]bool)
	for name, a := range x.archives {
		if now.Sub(a.End) > keep && !not[name] {
			old[name] = true
		}
	}
	for _, day := range slices.Sorted(maps.Keys(x.days)) {
		d, empty := x.days[day], false
		if !slices.ContainsFunc(d.Archives, func(a archiveindex.Archive) bool { return old[a.Name] }) && len(d.Archives) > 0 {
			continue
		}
		err := archiveindex.Update(ctx, dir, h.Name, day, func(d *archiveindex.Day) bool {
			changed := false
			for name := range old {
				changed = d.Drop(name) || changed
			}
			empty = len(d.Archives) == 0
			return changed
		})
		if err == nil && empty {
			err = dir.Remove(ctx, archiveindex.NameOf(day))
		}
		if err != nil {
			return err
		}
		delete(h.days, day)
	}
	list, err := dir.List(ctx, ".")
	if err != nil {
		return err
	}
	removed := make(map[string]bool)
	for _, e := range list {
		base, _, ok := archive.BaseName(e.Name)
		known := x.archives[base] != nil
		if e.Dir || !ok || known && !old[base] || !known && now.Sub(e.Time) <= keep {
			continue
		}
		if err := dir.Remove(ctx, e.Name); err != nil {
			return err
		}
		removed[base] = true
	}
	h.mu.Lock()
	h.s.Expired += len(removed)
	h.mu.Unlock()
	return nil
}

// Reducer returns a function for [Lifecycle] that runs pmlogreduce by a function that runs commands and returns their status.
func Reducer(run func(ctx context.Context, out *bytes.Buffer, args ...string) int) func(ctx context.Context, from, to string, interval time.Duration) error {
	return func(ctx context.Context, from, to string, interval time.Duration) error {
		var out bytes.Buffer
		if status := run(ctx, &out, "-t", fmt.Sprintf("%dsec", int(interval/time.Second)), from, to); status != 0 {
			return fmt.Errorf("pmlogreduce: exit status %d: %.300s", status, strings.TrimSpace(out.String()))
		}
		return nil
	}
}
