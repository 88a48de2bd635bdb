package ship

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

// Defaults and limits.
const (
	defaultEvery = 10 * time.Second
	longestPause = time.Minute      // after failures
	plainAfter   = 2 * time.Hour    // when files are stored that were not compressed
	fewHosts     = 10               // with them an archive that waits for its compression is looked at
	soon         = time.Second      // again so soon
	workers      = 4                // hosts whose archives are stored at the same time
	maxDropped   = 100              // archives in a Status
	movedEvery   = 10 * time.Minute // between looks at a host that has moved, when all is stored
	quietFor     = time.Minute      // before that
	blindFor     = time.Minute      // after which a store that is away no longer delays the removal of archives
)

// A Config configures a Shipper.
type Config struct {
	// Dir is the directory of the store.
	Dir *objects.Dir
	// Every is the time between looks at a directory of archives; 0 means 10 seconds.
	Every time.Duration
	// Plain stores files of finished archives that are not compressed, without waiting for that.
	Plain bool
	// Lifecycle is what happens to archives later. The zero Lifecycle keeps them.
	Lifecycle Lifecycle
	// Event is called with news of a host, one at a time. It may be nil.
	Event func(host, text string, err error)

	now func() time.Time
}

// A Host is a directory with the archives of a host.
type Host struct {
	Name string
	Path string
	// Moved reports that another recorder has the host, and applies the life cycle to all its archives.
	Moved bool
}

// A Status is the status of a host.
type Status struct {
	Name     string    `json:"name"`
	Shipped  int       `json:"shipped"`          // archives stored since the start, or found there
	Bytes    int64     `json:"bytes"`            // sent since the start
	Waiting  int       `json:"waiting"`          // finished archives that are not stored
	Spool    int64     `json:"spool"`            // their size
	Oldest   time.Time `json:"oldest,omitzero"`  // last change of the oldest of them
	Last     time.Time `json:"last,omitzero"`    // when an archive was stored
	Dropped  int       `json:"dropped"`          // archives removed before they were stored
	Names    []string  `json:"names,omitempty"`  // the last of these
	Errors   uint64    `json:"errors"`           //
	Err      string    `json:"error,omitempty"`  // the last one, "" after a success
	ErrTime  time.Time `json:"errtime,omitzero"` //
	Rollups  int       `json:"rollups"`          // archives made with longer intervals
	Expired  int       `json:"expired"`          // archives removed from the store
	Complete bool      `json:"complete"`         // whether all was stored when it was looked at last
}

// A host is the state of a Host. It belongs to one worker at a time.
type host struct {
	Host
	dir *objects.Dir

	days    map[string]*archiveindex.Day // as they were read or written last
	partial map[string]string            // volumes of growing archives that are stored, by base
	life    time.Time                    // when the life cycle is due
	next    time.Time                    // this, busy and Moved have the mutex of the Shipper
	busy    bool
	begun   time.Time // when it was set
	quiet   time.Time // since when it has moved, and all is stored

	mu       sync.Mutex
	failures int
	known    bool              // the archives have been compared with the index
	clear    time.Time         // when the last visit began, if nothing was left to store, and no archive was written
	stored   map[string]string // identity of finished archives that are stored, by base
	s        Status
}

// A Shipper copies the archives of hosts. It is safe for concurrent use.
type Shipper struct {
	cfg  Config
	talk sync.Mutex

	mu    sync.Mutex
	hosts map[string]*host // by name
}

// New returns a Shipper without hosts, which starts with Run.
func New(cfg Config) (*Shipper, error) {
	if cfg.Dir == nil {
		return nil, errors.New("there is no directory to ship archives to")
	}
	if err := cfg.Lifecycle.check(); err != nil {
		return nil, err
	}
	cfg.Every = cmp.Or(cfg.Every, defaultEvery)
	if cfg.Event == nil {
		cfg.Event = func(string, string, error) {}
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	return &Shipper{cfg: cfg, hosts: make(map[string]*host)}, nil
}

// Set sets the list of hosts. Hosts with names that cannot be names of files in the store are reported.
func (s *Shipper) Set(list []Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	want := make(map[string]bool)
	for _, h := range list {
		want[h.Name] = true
		if old := s.hosts[h.Name]; old != nil && old.Path == h.Path {
			if old.Moved && !h.Moved {
				old.next = time.Time{}
			}
			old.Moved = h.Moved
			continue
		}
		n := &host{Host: h, begun: s.cfg.now(), stored: make(map[string]string), days: make(map[string]*archiveindex.Day), partial: make(map[string]string), s: Status{Name: h.Name}}
		var err error
		if n.dir, err = s.cfg.Dir.Sub(h.Name); err != nil {
			n.s.Err = err.Error()
			go s.event(h.Name, "archives are not shipped", err)
		}
		s.hosts[h.Name] = n
	}
	maps.DeleteFunc(s.hosts, func(name string, h *host) bool { return !want[name] })
}

func (s *Shipper) event(host, text string, err error) {
	s.talk.Lock()
	defer s.talk.Unlock()
	s.cfg.Event(host, text, err)
}

// Run ships archives until ctx is done.
func (s *Shipper) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				h, wait := s.take()
				if h == nil {
					select {
					case <-ctx.Done():
						return
					case <-time.After(wait):
					}
					continue
				}
				s.visit(ctx, h, ", will be tried again")
				if ctx.Err() != nil {
					return
				}
			}
		})
	}
	wg.Wait()
}

// Once visits each host once, and reports whether all was stored.
func (s *Shipper) Once(ctx context.Context) bool {
	s.mu.Lock()
	list := slices.SortedFunc(maps.Values(s.hosts), func(a, b *host) int { return strings.Compare(a.Name, b.Name) })
	s.mu.Unlock()
	all := true
	for _, h := range list {
		if ctx.Err() != nil {
			return false
		}
		s.visit(ctx, h, "")
		all = all && h.status().Complete
	}
	return all
}

// Finish stores what Run had not stored when it returned, such as the archives that ended with the recording, which it compresses first.
// It stops when ctx is done, and leaves hosts alone whose archives could not be stored before. The rest is stored after the next
// start.
func (s *Shipper) Finish(ctx context.Context) {
	s.mu.Lock()
	list := slices.SortedFunc(maps.Values(s.hosts), func(a, b *host) int { return strings.Compare(a.Name, b.Name) })
	s.mu.Unlock()
	work := make(chan *host)
	var wg sync.WaitGroup
	for range min(workers, len(list)) {
		wg.Go(func() {
			for h := range work {
				s.finish(ctx, h)
			}
		})
	}
	for _, h := range list {
		if ctx.Err() == nil && h.dir != nil && h.status().Err == "" {
			work <- h
		}
	}
	close(work)
	wg.Wait()
}

// finish compresses and stores the archives of a host.
func (s *Shipper) finish(ctx context.Context, h *host) {
	if unlock, err := janitor.Lock(h.Path); err == nil {
		if j, err := janitor.New(janitor.Config{Dir: h.Path}); err == nil {
			j.Tidy(ctx)
		}
		unlock()
	}
	_, err := s.ship(ctx, h)
	if st := h.status(); st.Waiting > 0 {
		s.event(h.Name, fmt.Sprintf("%d archives with %d bytes wait to be shipped after the next start", st.Waiting, st.Spool), err)
	}
}

// take returns a host that is due, or the time until it is worth looking again.
func (s *Shipper) take() (*host, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.now()
	var due *host
	wait := time.Second
	for _, h := range s.hosts {
		switch {
		case h.busy || h.dir == nil:
		case h.next.After(now):
			wait = min(wait, h.next.Sub(now))
		case due == nil || h.next.Before(due.next):
			due = h
		}
	}
	if due != nil {
		due.busy = true
	}
	return due, max(wait, 10*time.Millisecond)
}

// visit ships the archives of a host, and sets the time of the next visit. The report of a failure ends with after.
func (s *Shipper) visit(ctx context.Context, h *host, after string) {
	if h.dir == nil {
		return
	}
	s.mu.Lock()
	moved := h.Moved
	s.mu.Unlock()
	began := s.cfg.now()
	clear, err := s.ship(ctx, h)
	now := s.cfg.now()
	if err == nil && !moved && !now.Before(h.life) {
		if err = s.live(ctx, h); err == nil {
			h.life = now.Add(lifeEvery)
		}
	}
	pause := s.cfg.Every
	h.mu.Lock()
	was := h.s.Err
	h.clear = time.Time{}
	if err == nil {
		h.failures, h.s.Err = 0, ""
		if clear {
			h.clear = began
		}
	} else if ctx.Err() == nil {
		h.failures++
		pause = min(pause<<min(h.failures, 10), max(longestPause, s.cfg.Every))
		h.s.Err, h.s.ErrTime = err.Error(), now
		h.s.Errors++
		h.s.Complete = false
	}
	isErr, waiting, spool := h.s.Err, h.s.Waiting, h.s.Spool
	h.mu.Unlock()
	switch {
	case isErr != "" && was == "":
		s.event(h.Name, fmt.Sprintf("archives are not shipped, %d wait with %d bytes%s", waiting, spool, after), err)
	case isErr == "" && was != "":
		s.event(h.Name, "archives are shipped again", nil)
	}
	s.mu.Lock()
	switch {
	case waiting > 0 && isErr == "" && len(s.hosts) <= fewHosts:
		pause = min(pause, soon)
	case !h.Moved || !clear || isErr != "":
		h.quiet = time.Time{}
	case h.quiet.IsZero():
		h.quiet = began
	case began.Sub(h.quiet) > quietFor:
		pause = max(pause, movedEvery)
	}
	h.busy, h.next = false, now.Add(pause)
	s.mu.Unlock()
}

func (h *host) status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := h.s
	st.Names = slices.Clone(st.Names)
	return st
}

// Status returns the status of all hosts, sorted by name.
func (s *Shipper) Status() []Status {
	s.mu.Lock()
	list := slices.SortedFunc(maps.Values(s.hosts), func(a, b *host) int { return strings.Compare(a.Name, b.Name) })
	s.mu.Unlock()
	all := make([]Status, len(list))
	for i, h := range list {
		all[i] = h.status()
	}
	return all
}

// of returns the host with a directory.
func (s *Shipper) of(path string) *host {
	path = filepath.Clean(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if filepath.Clean(h.Path) == path {
			return h
		}
	}
	return nil
}

// Shipped reports whether all files of an archive are stored and were verified, for [janitor.Policy].
func (s *Shipper) Shipped(a *janitor.Archive) bool {
	h := s.of(filepath.Dir(a.Base))
	if h == nil {
		return false
	}
	if s.cfg.Lifecycle.expired(a.Time, s.cfg.now()) {
		return true // it would be removed from the store at once
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	id, ok := h.stored[a.Base]
	return ok && id == identity(a)
}

// Ready reports whether the archives of a directory have been compared with the index in the store, for [janitor.Policy]. It does not wait long for a
// store that is away.
func (s *Shipper) Ready(dir string) bool {
	h := s.of(dir)
	if h == nil {
		return false // it is set soon
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known || h.dir == nil || h.failures > 0 && s.cfg.now().Sub(h.begun) > blindFor
}

// Done reports whether all archives of a host were stored when a visit began after a time, and none of them was written then.
func (s *Shipper) Done(host Host, since time.Time) bool {
	s.mu.Lock()
	h := s.hosts[host.Name]
	s.mu.Unlock()
	if h == nil || h.Path != host.Path {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clear.After(since)
}

// Dropped records an archive that was removed before it was stored, for [janitor.Policy].
func (s *Shipper) Dropped(a *janitor.Archive) {
	h := s.of(filepath.Dir(a.Base))
	if h == nil {
		return
	}
	h.mu.Lock()
	h.s.Dropped++
	h.s.Names = append(h.s.Names, filepath.Base(a.Base))
	if n := len(h.s.Names) - maxDropped; n > 0 {
		h.s.Names = h.s.Names[n:]
	}
	h.mu.Unlock()
	s.event(h.Name, fmt.Sprintf("the archive %s was removed and had not been shipped: %d bytes", a.Base, a.Size), nil)
}

// identity returns the names, sizes and times of the files of an archive.
func identity(a *janitor.Archive) string {
	var b strings.Builder
	for _, f := range a.Files {
		fmt.Fprintf(&b, "%s %d %d\n", filepath.Base(f.Path), f.Size, f.Time.UnixNano())
	}
	return b.String()
}

// ship stores the files of the archives of a host that are finished and not stored, the oldest first. It reports whether all archives are stored,
// and none of them is being written.
func (s *Shipper) ship(ctx context.Context, h *host) (clear bool, err error) {
	list, err := janitor.List(h.Path)
	if errors.Is(err, fs.ErrNotExist) {
		h.mu.Lock()
		h.known = true
		h.mu.Unlock()
		return true, nil // nothing was recorded yet
	} else if err != nil {
		return false, err
	}
	var waiting []*janitor.Archive
	var written []bool
	h.mu.Lock()
	known := make(map[string]string)
	for _, a := range list {
		if id, ok := h.stored[a.Base]; ok {
			known[a.Base] = id
		}
	}
	h.stored = known
	h.mu.Unlock()
	for _, a := range list {
		if id, ok := known[a.Base]; ok && id == identity(a) || s.cfg.Lifecycle.expired(a.Time, s.cfg.now()) {
			continue
		}
		waiting, written = append(waiting, a), append(written, janitor.Written(a))
	}
	h.waiting(waiting, written)
	h.mu.Lock()
	first := !h.known
	h.mu.Unlock()
	if first { // those that are stored, before others are sent
		if err := s.archives(ctx, h, waiting, written, true); err != nil {
			return false, err
		}
		h.mu.Lock()
		h.known = true
		h.mu.Unlock()
	}
	if err := s.archives(ctx, h, waiting, written, false); err != nil {
		return false, err
	}
	h.waiting(waiting, written)
	return !slices.ContainsFunc(waiting, func(a *janitor.Archive) bool { return a != nil }), nil
}

// archives stores archives, and replaces those that are done with nil in the list. With listed it does so for those that the index lists.
func (s *Shipper) archives(ctx context.Context, h *host, waiting []*janitor.Archive, written []bool, listed bool) error {
	var errs []error
	for i, a := range waiting {
		if a == nil || listed && written[i] {
			continue
		}
		var done bool
		var err error
		there := true
		if listed {
			there, err = s.listed(ctx, h, a)
		}
		if there && err == nil {
			done, err = s.archive(ctx, h, a, written[i])
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist) && missing(a):
			continue // it was compressed or removed just now
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", a.Base, err))
			if len(errs) > 2 {
				h.waiting(waiting, written)
				return errors.Join(errs...) // the store is away, probably
			}
		case done:
			h.mu.Lock()
			h.stored[a.Base] = identity(a)
			h.s.Shipped++
			h.s.Last = s.cfg.now()
			h.mu.Unlock()
			waiting[i] = nil
		}
	}
	if len(errs) > 0 {
		h.waiting(waiting, written)
	}
	return errors.Join(errs...)
}

// listed reports whether the index lists files of the sizes that those of an archive have.
func (s *Shipper) listed(ctx context.Context, h *host, a *janitor.Archive) (bool, error) {
	e, err := describe(a.Base, a.Files, true)
	if err != nil {
		return false, nil // to be reported with those that are not listed
	}
	d, err := s.day(ctx, h.dir, h.days, archiveindex.DayOf(e.Begin))
	if err != nil {
		return false, err
	}
	for i := range d.Archives {
		if was := &d.Archives[i]; was.Complete && was.Begin.Equal(e.Begin) && slices.EqualFunc(was.Files, e.Files, func(x, y archiveindex.File) bool {
			return x.Size == y.Size
		}) {
			return true, nil
		}
	}
	return false, nil
}

// missing reports whether a file of an archive is gone.
func missing(a *janitor.Archive) bool {
	return slices.ContainsFunc(a.Files, func(f janitor.File) bool {
		_, err := os.Lstat(f.Path)
		return errors.Is(err, fs.ErrNotExist)
	})
}

func (h *host) waiting(list []*janitor.Archive, written []bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.s.Waiting, h.s.Spool, h.s.Oldest = 0, 0, time.Time{}
	for i, a := range list {
		if a == nil || written[i] {
			continue
		}
		if h.s.Waiting == 0 {
			h.s.Oldest = a.Time
		}
		h.s.Waiting++
		h.s.Spool += a.Size
	}
	h.s.Complete = h.s.Waiting == 0
}

// archive stores the files of an archive that are finished, and reports whether these are all.
func (s *Shipper) archive(ctx context.Context, h *host, a *janitor.Archive, written bool) (done bool, err error) {
	var files []janitor.File
	last := -1
	for _, f := range a.Files {
		last = max(last, f.Volume)
	}
	volumes, metas := 0, 0
	for _, f := range a.Files {
		switch {
		case written && (f.Volume == last || f.Volume == archive.VolIndex):
			continue
		case f.Volume == archive.VolIndex || f.Suffix != "":
		case written && f.Volume == archive.VolMeta:
		case s.cfg.Plain || s.cfg.now().Sub(a.Time) > plainAfter || !roomFor(h.Path, f.Size):
		default:
			if written {
				continue
			}
			return false, nil // until it is compressed
		}
		if f.Volume == archive.VolMeta {
			metas++
		} else if f.Volume >= 0 {
			volumes++
		}
		files = append(files, f)
	}
	if metas != 1 || volumes == 0 {
		return false, nil
	}
	id := ""
	if written {
		id = identity(&janitor.Archive{Files: slices.DeleteFunc(slices.Clone(files), func(f janitor.File) bool { return f.Volume < 0 })})
		if h.partial[a.Base] == id {
			return false, nil // until another volume is finished
		}
	}
	entry, err := describe(a.Base, files, !written)
	if err != nil {
		return false, err
	}
	if err := s.store(ctx, h, h.dir, h.days, h.Name, a.Base, entry); err != nil {
		return false, err
	}
	if written {
		h.partial[a.Base] = id
	} else {
		delete(h.partial, a.Base)
	}
	return !written, nil
}
