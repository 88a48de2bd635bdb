package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/internal/pacing"
)

// followMany is the number of hosts that are not recorded here any more whose archives are sent, or stored, at a time. The others wait.
const followMany = 32

// A pace has the times of a follower.
type pace struct {
	every time.Duration // between looks at the list of hosts
	calm  time.Duration // after the end of a recording, until its last archive is there
	scan  time.Duration // from the first list of hosts in a fleet until archives of other hosts are looked for
	turn  time.Duration // for a host, if others wait
	tidy  time.Duration // between looks at the archives of a host that has moved

	unsettled time.Duration // of send.Config
}

var usualPace = pace{every: 2 * time.Second, calm: 10 * time.Second, scan: time.Minute, turn: 10 * time.Minute, tidy: tidyEvery}

// A sender sends the archives of directories, as [send.Recorder].
type sender interface {
	Set(list []send.Dir)
	Leave(list []send.Dir)
	Done(d send.Dir) bool
}

// A storer stores the archives of hosts, as [ship.Shipper].
type storer interface {
	Set(list []ship.Host)
	Done(h ship.Host, since time.Time) bool
}

// A follower has the archives of hosts sent and stored: of those that are recorded here, and of those that were, until all is sent and stored.
// These have moved to another recorder, or were removed from the list.
type follower struct {
	pace   pace
	dir    string // parent of the directories of hosts
	suffix string // of the names of this recorder's archives in a fleet
	keeps  bool   // stored archives are removed here later, for which the storer must know them

	recorded func() []fleet.Status
	others   func() (dirs map[string]string, joined bool) // directories of hosts that others record, by name; joined reports that the fleet is known
	tidy     func(ctx context.Context, dir string)        // compresses and removes archives
	event    func(text string, err error)
	out      sender // or nil
	store    storer // or nil

	mu      sync.Mutex
	here    map[string]string // names of recorded hosts, by directory
	left    []*leaver         // in the order in which they are followed
	joined  time.Time
	scanned bool
	moved   int // as it was reported
}

// A leaver is a host that is not recorded here any more.
type leaver struct {
	name, dir string
	since     time.Time // when this was noticed
	tidied    time.Time
	sent      errand
	stored    errand
}

// An errand is the sending or storing of the archives of a host.
type errand struct {
	begun time.Time // of its turn; zero while it waits
	done  bool
}

func (l *leaver) done() bool { return l.sent.done && l.stored.done }

// run follows until ctx is done.
func (w *follower) run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			w.step(time.Now())
			if !pacing.Sleep(ctx, w.pace.every) {
				return
			}
		}
	})
	for pacing.Sleep(ctx, w.pace.every) {
		w.maintain(ctx)
	}
	tasks.Wait()
}

// count returns the number of hosts that are not recorded here any more and whose archives are not all sent and stored.
func (w *follower) count() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.left {
		if !l.done() {
			n++
		}
	}
	return n
}

// follows reports whether a directory is that of a host which is not recorded here any more.
func (w *follower) follows(dir string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.left, func(l *leaver) bool { return l.dir == dir })
}

// step updates the lists of the sender and the storer.
func (w *follower) step(now time.Time) {
	others, joined := w.others()
	w.mu.Lock()
	defer w.mu.Unlock()
	here := make(map[string]string)
	for _, h := range w.recorded() {
		here[h.Dir] = h.Name
	}
	w.left = slices.DeleteFunc(w.left, func(l *leaver) bool { return here[l.dir] != "" })
	var gone []*leaver
	for dir, name := range w.here {
		if here[dir] == "" {
			gone = append(gone, w.leaver(name, dir, now))
		}
	}
	w.here = here
	slices.SortFunc(gone, func(a, b *leaver) int { return strings.Compare(a.name, b.name) })
	w.left = append(w.left, gone...)
	if joined && w.joined.IsZero() {
		w.joined = now
	}
	found := 0
	if joined && !w.scanned && now.Sub(w.joined) >= w.pace.scan {
		w.scanned = true
		found = w.scan(others, now)
	}
	for _, l := range w.left {
		since := l.since.Add(w.pace.calm)
		if !l.sent.begun.IsZero() && now.After(since) {
			l.sent.done = l.sent.done || w.out.Done(l.sending())
		}
		if !l.stored.begun.IsZero() {
			l.stored.done = l.stored.done || w.store.Done(l.storing(others), since)
		}
	}
	w.left = slices.DeleteFunc(w.left, func(l *leaver) bool { return l.done() && !w.keeps })
	w.turns(now, func(l *leaver) *errand { return &l.sent })
	w.turns(now, func(l *leaver) *errand { return &l.stored })
	w.set(others)
	w.report(len(gone), found)
}

// leaver returns a host that is not recorded here any more.
func (w *follower) leaver(name, dir string, now time.Time) *leaver {
	return &leaver{name: name, dir: dir, since: now, sent: errand{done: w.out == nil}, stored: errand{done: w.store == nil}}
}

func (l *leaver) sending() send.Dir { return send.Dir{Path: l.dir, Name: l.name} }

func (l *leaver) storing(others map[string]string) ship.Host {
	_, moved := others[l.name]
	return ship.Host{Name: l.name, Path: l.dir, Moved: moved}
}

// turns gives errands their turns. After a long turn an errand waits again, if others do.
func (w *follower) turns(now time.Time, of func(*leaver) *errand) {
	n, waiting := 0, 0
	for _, l := range w.left {
		switch e := of(l); {
		case e.done:
		case e.begun.IsZero():
			waiting++
		default:
			n++
		}
	}
	var late []*leaver
	for _, l := range w.left {
		if e := of(l); !e.done && !e.begun.IsZero() && n == followMany && len(late) < waiting && now.Sub(e.begun) > w.pace.turn {
			late = append(late, l)
			e.begun = time.Time{}
		}
	}
	n -= len(late)
	if len(late) > 0 { // to the end of the queue
		w.left = append(slices.DeleteFunc(w.left, func(l *leaver) bool { return slices.Contains(late, l) }), late...)
	}
	for _, l := range w.left {
		if e := of(l); !e.done && e.begun.IsZero() && n < followMany {
			e.begun = now
			n++
		}
	}
}

// set passes the lists on.
func (w *follower) set(others map[string]string) {
	if w.out != nil {
		var all, left []send.Dir
		for dir, name := range w.here {
			all = append(all, send.Dir{Path: dir, Name: name})
		}
		for _, l := range w.left {
			if !l.sent.done && !l.sent.begun.IsZero() {
				left = append(left, l.sending())
			}
		}
		w.out.Set(append(all, left...))
		w.out.Leave(left)
	}
	if w.store != nil {
		var all []ship.Host
		names := make(map[string]bool)
		for dir, name := range w.here {
			all = append(all, ship.Host{Path: dir, Name: name})
			names[name] = true
		}
		for _, l := range w.left {
			if !l.stored.begun.IsZero() && !names[l.name] { // also if all is stored, since its archives may be removed
				all = append(all, l.storing(others))
				names[l.name] = true
			}
		}
		w.store.Set(all)
	}
}

// report reports how many hosts have left.
func (w *follower) report(gone, found int) {
	n := 0
	for _, l := range w.left {
		if !l.done() {
			n++
		}
	}
	what := "sent and stored"
	switch {
	case w.store == nil:
		what = "sent"
	case w.out == nil:
		what = "stored"
	}
	switch {
	case found > 0:
		w.event(fmt.Sprintf("directories with archives of hosts no longer recorded here: %d; the rest is %s", found, what), nil)
	case gone > 0:
		w.event(fmt.Sprintf("hosts no longer recorded here: %d; the rest of their archives is %s", gone, what), nil)
	case n == 0 && w.moved > 0:
		w.event("all archives of hosts no longer recorded here are "+what, nil)
	}
	w.moved = n
}

// scan finds hosts that an earlier process recorded, by archives of this recorder, and returns their number.
func (w *follower) scan(others map[string]string, now time.Time) (found int) {
	dirs := make(map[string]string) // names, by directory
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		w.event("archives of hosts no longer recorded here are not looked for", err)
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs[filepath.Join(w.dir, e.Name())] = e.Name()
		}
	}
	for name, dir := range others {
		dirs[dir] = name
	}
	for _, l := range w.left {
		delete(dirs, l.dir)
	}
	for dir := range w.here {
		delete(dirs, dir)
	}
	for dir, name := range dirs {
		if !w.own(dir) {
			delete(dirs, dir)
			continue
		}
		w.left = append(w.left, w.leaver(name, dir, now))
	}
	slices.SortStableFunc(w.left, func(a, b *leaver) int { return strings.Compare(a.name, b.name) })
	return len(dirs)
}

// own reports whether a directory has an archive of this recorder.
func (w *follower) own(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		base, part, ok := archive.BaseName(e.Name())
		return ok && part == "meta" && ownName(base, w.suffix)
	})
}

// ownName reports whether a name is that of an archive with a suffix, which a number may follow.
func ownName(base, suffix string) bool {
	rest, ok := strings.CutSuffix(base, suffix)
	if n := len(base); !ok && n > 3 && base[n-3] == '-' && isDigit(base[n-2]) && isDigit(base[n-1]) {
		rest, ok = strings.CutSuffix(base[:n-3], suffix)
	}
	return ok && suffix != "" && rest != "" && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "-")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// maintain compresses and removes archives of hosts that are not recorded here any more.
func (w *follower) maintain(ctx context.Context) {
	w.mu.Lock()
	list := slices.Clone(w.left)
	w.mu.Unlock()
	for _, l := range list {
		now := time.Now()
		if ctx.Err() != nil {
			return
		}
		if now.Sub(l.since) < w.pace.calm/2 || now.Sub(l.tidied) < w.pace.tidy {
			continue
		}
		l.tidied = now
		w.mu.Lock()
		still := slices.Contains(w.left, l)
		w.mu.Unlock()
		if !still {
			continue
		}
		w.tidy(ctx, l.dir)
		if entries, err := os.ReadDir(l.dir); err != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			_, _, ok := archive.BaseName(e.Name())
			return ok
		}) {
			w.mu.Lock()
			w.left = slices.DeleteFunc(w.left, func(x *leaver) bool { return x == l && l.done() })
			w.mu.Unlock()
		}
	}
}
