package send

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/fileversion"
)

const (
	// unsettled is the time in which a server may lose samples that it has accepted. VictoriaMetrics 1.151 needs up to 12 seconds to write
	// them to disk.
	unsettled = 30 * time.Second
	// warmSpan is the time before the position that is read for the series that have samples there.
	warmSpan = time.Hour
	// pollEvery is the time between looks at an archive that grows, and lookEvery the number of them between looks at its directory.
	pollEvery = time.Second
	lookEvery = 5
	// closeGap is the longest time between two archives after which series end with a stale marker. After a longer one they have ended anyway.
	closeGap = 5 * time.Minute
	// maxAhead is how much samples may be ahead of the clock of this host. Prometheus refuses samples that are an hour older than the newest one
	// it has, of whatever host: the samples of a host whose clock is a day ahead would stop those of all others.
	maxAhead = 10 * time.Minute
	// timeMargin is added for file systems whose times are coarse, or from another clock.
	timeMargin = 2 * time.Second
	// readAhead is the number of bytes of an archive that are read at once. There may be a thousand archives whose records wait for a server.
	readAhead = 32 << 10
)

// errBack means that the reader has to begin again, at an earlier place.
var errBack = errors.New("samples have to be sent again")

// errDrained means that the archives have ended and everything is sent.
var errDrained = errors.New("everything is sent")

// A stream sends the archives of a directory to a server, in the order of time, while they grow.
type stream struct {
	n      *node
	name   string
	dir    directory
	path   string // of the file with the state
	settle time.Duration
	poll   time.Duration
	loses  time.Duration // what the constant unsettled has, unless in tests
	now    func() time.Time
	early  bool            // samples wait for their time; reported once
	drain  <-chan struct{} // closed when nothing more is recorded

	client  *remote.Client
	renewed int
	breaks  int       // of the connections, handled so far
	began   bool      // a state was found, or the first archive has begun
	since   time.Time // start of the Recorder

	at       place // accepted
	careful  place // samples up to here may have arrived
	doubt    bool  // so may those of the next window
	quiet    time.Time
	acks     []ack
	before   place // safe when samples were accepted last
	checked  time.Time
	denied   time.Time // no search for lost samples before
	denials  int
	open     *question       // whether samples are lost, or nil
	unsure   bool            // samples may not be visible yet
	marked   int64           // the server has a newer marker of the archive
	hopeful  bool            // parts of the last refused window were accepted
	took     bool            // parts of this one
	bad      map[string]bool // series that were refused alone
	archives []found
	held     bool // the window has memory of the pool

	left atomic.Bool // nothing is recorded in the directory
	done atomic.Bool // and the server has everything

	mu  sync.Mutex
	lag time.Time // time of the last sample sent, if more wait
}

// An ack is a place that was accepted at a time. Places that were accepted within a second of begun have one in common.
type ack struct {
	time  time.Time
	at    place
	begun time.Time
}

// run sends until ctx is done, or everything is sent after drain.
func (s *stream) run(ctx context.Context) error {
	s.breaks, _ = s.n.breaks(0)
	err := s.load()
	if fileversion.IsNewer(err) {
		s.n.event(s.name+": nothing is sent", err)
		return err
	} else if err != nil {
		s.n.event(s.name+": the position is not known", err)
	}
	for {
		err := s.next(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errDrained):
			return nil
		case errors.Is(err, errBack), err == nil:
			continue
		}
		s.n.event(s.name, err)
		if err := pause(ctx, 10*s.poll); err != nil {
			return err
		}
	}
}

// load reads the state. Without one, only archives that were written since the Recorder has started, or begin later, are sent. A host may
// have been recorded for less time than it takes until its directory is found.
func (s *stream) load() error {
	st, ok, err := readState(s.path)
	if fileversion.IsNewer(err) {
		return err
	}
	s.quiet, s.checked = time.Now().Add(s.settle), time.Now()
	if ok {
		s.at, s.before, s.careful, s.doubt, s.unsure, s.began = st.Safe, st.Safe, st.At, true, true, true
		s.acks = []ack{{at: st.Safe}}
		return nil
	}
	list, lerr := s.dir.list()
	if lerr != nil && !errors.Is(lerr, fs.ErrNotExist) {
		err = errors.Join(err, lerr)
	}
	for _, f := range list {
		path := filepath.Join(s.dir.path, f.base)
		if w, werr := archive.Written(path); w && werr == nil || !changed(path).Before(s.since.Add(-timeMargin)) {
			break
		}
		s.at = place{Base: f.base, Started: f.started, Sent: noTime, Whole: true}
	}
	s.doubt = true // a state that was lost
	s.before, s.acks = s.at, []ack{{at: s.at}}
	if err == nil {
		s.save() // if nothing can be sent until the recorder ends, the next one sends the same archives
	}
	return err
}

// changed returns the time of the last change of the files of an archive. A compressed file has the time of the file before.
func changed(path string) (last time.Time) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return last
	}
	for _, e := range entries {
		base, _, ok := archive.BaseName(e.Name())
		if !ok || base != filepath.Base(path) {
			continue
		}
		if st, err := e.Info(); err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last
}

// save writes the state.
func (s *stream) save() {
	st := state{At: s.at, Safe: s.safe()}
	if s.at.compare(s.careful) < 0 {
		st.At = s.careful
	}
	if err := st.write(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.n.event(s.name+": the position cannot be saved", err)
	}
}

// safe returns the place up to which the server does not lose samples.
func (s *stream) safe() place {
	for len(s.acks) > 1 && time.Since(s.acks[1].time) > s.loses {
		s.acks = s.acks[1:]
	}
	return s.acks[0].at
}

// moved notes that everything up to a place is accepted.
func (s *stream) moved(p place) {
	s.at = p
	s.before = s.safe()
	// One place a second is enough.
	now := time.Now()
	if n := len(s.acks); n > 1 && now.Sub(s.acks[n-1].begun) < time.Second {
		s.acks[n-1].time, s.acks[n-1].at = now, p
	} else {
		s.acks = append(s.acks, ack{now, p, now})
	}
	s.save()
}

// back moves to an earlier place, from which on the server may lack samples or have them.
func (s *stream) back(to place) error {
	if s.careful.compare(s.at) < 0 {
		s.careful = s.at
	}
	s.at, s.before = to, to
	s.acks, s.unsure = []ack{{at: to}}, true
	s.quiet = time.Now().Add(s.settle)
	s.save()
	return errBack
}

// unclear is back after an attempt whose result is not known. The server may have been restarted.
func (s *stream) unclear() error {
	s.doubt = true
	if s.n.isBlind() {
		return errBack
	}
	return s.back(s.before)
}

// look finds the archive to send next, and reports those that were removed before they were sent.
func (s *stream) look() (cur, next *found, err error) {
	list, err := s.dir.list()
	if err != nil {
		return nil, nil, err
	}
	at := s.at
	if s.careful.compare(at) > 0 {
		at = s.careful
	}
	for _, f := range s.archives {
		gone := !slices.ContainsFunc(list, func(g found) bool { return g == f })
		if p := (place{Started: f.started, Sent: noTime}); gone && p.compare(at) > 0 && f.base != at.Base {
			s.gone(f.base, noTime)
		}
	}
	s.archives = list
	for i := range list {
		switch f := &list[i]; {
		case f.base == s.at.Base && f.started == s.at.Started && !s.at.Whole:
			cur = f
		case f.started > s.at.Started || f.started == s.at.Started && f.base > s.at.Base:
			if next == nil {
				next = f
			}
		}
	}
	return cur, next, nil
}

// settled reports whether the server accepted everything so long ago that it does not lose it, and still has it. A server that lacks it although
// it was sent twice does not keep samples of that age.
func (s *stream) settled(ctx context.Context, m *markers) (bool, error) {
	if s.safe(); len(s.acks) > 1 {
		return false, nil
	}
	if s.n.isBlind() {
		return true, nil
	}
	if s.checked.Sub(s.acks[0].time) > s.loses && time.Since(s.checked) < s.loses {
		return false, nil // it was asked, and lacked something
	}
	s.checked = time.Now()
	sent, ok, err := s.marker(ctx, m)
	if err != nil || !ok {
		return false, err
	}
	s.compare(m, sent)
	if err := s.resolve(ctx); err != nil {
		return false, err
	}
	return sent >= s.at.Sent || s.denials > 1, nil
}

// gone reports that an archive was removed before all of it was sent.
func (s *stream) gone(base string, sent int64) {
	s.n.missed()
	text := "none of it was sent"
	if sent != noTime {
		text = "its samples after " + time.UnixMilli(sent).UTC().Format(time.RFC3339) + " were not sent"
	}
	s.n.event(fmt.Sprintf("%s: archive %s was removed: %s", s.name, base, text), nil)
}

// next sends an archive from the position on, to its end.
func (s *stream) next(ctx context.Context) error {
	cur, next, err := s.look()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if cur != nil || next != nil {
		s.done.Store(false)
	}
	if cur == nil {
		if s.at.Base != "" && !s.at.Whole {
			if s.at.compare(s.careful) >= 0 {
				s.gone(s.at.Base, s.at.Sent)
			}
			s.at.Whole = true
		}
		if next == nil {
			select {
			case <-s.drain:
				return errDrained
			default:
			}
			s.safe()
			s.done.Store(s.left.Load() && len(s.acks) == 1)
			return pauseOr(ctx, s.poll*lookEvery, s.drain)
		}
		s.at = place{Base: next.base, Started: next.started, Sent: noTime}
	}
	path := filepath.Join(s.dir.path, s.at.Base)
	a, err := archive.Options{Text: s.n.shared.text, ReadAhead: readAhead}.Open(path)
	if err != nil {
		if w, werr := archive.Written(path); w || werr != nil || errors.Is(err, fs.ErrNotExist) {
			return err // it is about to begin, or to be removed
		}
		s.gone(s.at.Base, s.at.Sent)
		s.at.Whole = true
		return err
	}
	defer a.Close()
	return s.follow(ctx, a)
}

// pauseOr waits for a time, or until a channel is closed.
func pauseOr(ctx context.Context, d time.Duration, done <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
	case <-done:
	}
	return nil
}

// A tail is the end of an archive that grows.
type tail struct {
	volume int
	size   int64
}

// measure returns the end of the files of an archive. A volume that is compressed does not grow.
func measure(a *archive.Archive) tail {
	vols := a.Volumes()
	t := tail{volume: vols[len(vols)-1], size: math.MaxInt64}
	if st, err := os.Stat(a.Path() + "." + strconv.Itoa(t.volume)); err == nil {
		t.size = st.Size()
	}
	if _, err := os.Stat(a.Path() + "." + strconv.Itoa(t.volume+1)); err == nil {
		return tail{volume: t.volume + 1, size: -1}
	}
	return t
}

// follow sends an archive from the position on.
func (s *stream) follow(ctx context.Context, a *archive.Archive) error {
	s.open = nil // it was about another reader's archive
	shard := ""
	if s.n.filter != nil && s.n.filter.shards > 1 {
		shard = strconv.Itoa(s.n.shard)
	}
	marks := newMarkers(a, s.n.target.Name, shard)
	if err := s.arrive(ctx, &marks); err != nil {
		return err
	}
	start := a.Label().Start
	if s.at.Sent != noTime {
		if t := s.at.Sent - warmSpan.Milliseconds(); t > millis(start) {
			start = pcp.Timestamp{Sec: t / 1000, Nsec: int32(t%1000) * 1e6}
		}
	}
	var known, seen tail
	polls, closing, mark, last, settled := 0, false, false, false, false
	r := newReader(a, start, pcp.Timestamp{Sec: math.MaxInt64}, false, position{sent: s.at.Sent, end: noTime}, func(w *window) (*window, error) {
		return w, s.window(ctx, &marks, w)
	})
	r.filter, r.shared, r.uncounted = s.n.filter, s.n.shared, true
	w := new(window)
	r.fill = func(at int64) error { return s.fill(ctx, &marks, w, at) }
	r.empty = func() { s.empty(w) }
	defer s.empty(w)
	r.fresh = func(rec *archive.Record) (bool, error) {
		if rec.Volume < known.volume || rec.Volume == known.volume && rec.Offset < known.size {
			return false, nil
		}
		known = measure(a)
		return true, a.Refresh()
	}
	r.more = func(ctx context.Context, end error) (bool, error) {
		s.setLag(time.Time{})
		for {
			if closing {
				return false, nil
			}
			drained := false
			select {
			case <-s.drain:
				drained = true
			default:
				if err := pauseOr(ctx, s.poll, s.drain); err != nil {
					return false, err
				}
			}
			if err := s.check(ctx, &marks); err != nil {
				return false, err
			}
			if err := s.resolve(ctx); err != nil {
				return false, err
			}
			now := measure(a)
			if polls++; drained || now == seen && (polls%lookEvery == 0 || now.size == math.MaxInt64) {
				_, next, err := s.look()
				if err != nil {
					return false, err
				}
				if next != nil || s.left.Load() && !drained {
					w, err := archive.Written(a.Path())
					switch {
					case w || err != nil:
					case next != nil:
						closing = true
						mark = next.started/1000-s.at.Sent < closeGap.Milliseconds()
					case now == measure(a): // it has ended, and all of it was read
						if settled, err = s.settled(ctx, &marks); err != nil {
							return false, err
						}
						closing = settled
					}
				}
				if drained && !closing {
					if last {
						return false, errDrained
					}
					last = true // after the last records
				}
			}
			if now != seen || closing || last {
				seen = now
				err := a.Refresh()
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, pcp.ErrLogFile) {
					err = nil // it was removed; its volumes may still be open
					closing = true
				}
				if err == nil {
					r.updated()
				}
				return true, err
			}
		}
	}
	err := r.read(ctx, w)
	if err != nil {
		if !closing || ctx.Err() != nil || errors.Is(err, errBack) || errors.Is(err, errDrained) {
			return err
		}
		s.n.event(fmt.Sprintf("%s: archive %s is damaged: the rest of it is not sent", s.name, s.at.Base), err)
	}
	if mark {
		// The same as at the end of an archive that pcp push sends, if another one follows.
		r.follow = true
		if err := r.end(true); err != nil {
			return err
		}
	}
	if cur, _, err := s.look(); err == nil && cur == nil && len(a.Volumes()) > 1 {
		s.gone(s.at.Base, s.at.Sent) // and volumes that were not open
	}
	p := s.at
	p.Whole = true
	s.moved(p)
	if settled {
		s.before, s.acks = p, []ack{{at: p}}
		s.save()
	}
	return nil
}

// fill gives a window memory, unless it has some, when there is a place for it at the server.
func (s *stream) fill(ctx context.Context, m *markers, w *window, at int64) error {
	if s.held {
		return nil
	}
	s.setLag(time.UnixMilli(at))
	if err := s.resolve(ctx); err != nil {
		return err
	}
	// Other streams have the places while this one would only wait.
	if err := s.ripe(ctx, at); err != nil {
		return err
	}
	if s.cautious(w) {
		if s.unsure {
			if err := s.prove(ctx, m, at); err != nil {
				return err
			}
		}
		if err := pause(ctx, time.Until(s.quiet)); err != nil {
			return err
		}
	}
	mem, err := s.n.pool.take(ctx)
	if err == nil {
		w.memory, s.held = mem, true
	}
	return err
}

// empty gives the memory of a window back.
func (s *stream) empty(w *window) {
	if s.held {
		s.n.pool.give(w.memory)
		w.memory, s.held = memory{}, false
	}
}

// without calls f, which waits, without the place of the window, which keeps its memory.
func (s *stream) without(ctx context.Context, f func() error) error {
	if s.held {
		s.n.pool.leave()
		s.held = false
		defer func() { s.held = s.n.pool.enter(ctx) == nil }()
	}
	return f()
}

// cautious reports whether samples of a window may have arrived.
func (s *stream) cautious(w *window) bool {
	here := place{Base: s.at.Base, Started: s.at.Started, Sent: w.after}
	return !s.n.isBlind() && (here.compare(s.careful) < 0 || s.doubt)
}

func (s *stream) setLag(t time.Time) {
	s.mu.Lock()
	s.lag = t
	s.mu.Unlock()
}

// marker returns the time of the newest marker of an archive.
func (s *stream) marker(ctx context.Context, m *markers) (sent int64, ok bool, err error) {
	sent = noTime
	ok, err = s.ask(ctx, func(c *remote.Client) error {
		p, err := m.ask(ctx, c.Ask)
		sent = p.sent
		return err
	})
	return sent, ok, err
}

// arrive finds out what the server has of an archive.
func (s *stream) arrive(ctx context.Context, m *markers) error {
	s.marked = noTime
	if !s.doubt && s.at.Sent == noTime && s.careful.compare(s.at) <= 0 {
		return nil // a new archive
	}
	sent, ok, err := s.marker(ctx, m)
	if err != nil {
		return err
	}
	if !ok {
		return s.forward()
	}
	s.marked = sent
	switch {
	case sent > s.at.Sent && s.careful.Started < s.at.Started:
		// The position was lost, or pcp push has sent a part of it.
		if !s.began {
			s.at.Sent = sent
		}
		s.careful = place{Base: s.at.Base, Started: s.at.Started, Sent: sent}
	case sent > s.careful.Sent && s.careful.Base == s.at.Base && !s.careful.Whole:
		s.careful.Sent = sent
	}
	s.began = true
	s.compare(m, sent)
	return nil
}

// forward moves to what the server has accepted, if it cannot be asked whether it still has that.
func (s *stream) forward() error {
	if s.careful.compare(s.at) <= 0 {
		return nil
	}
	s.at = s.careful
	s.acks = []ack{{at: s.at}}
	return errBack
}

// check asks once in a while whether the server still has the accepted samples: each minute, unless in tests.
func (s *stream) check(ctx context.Context, m *markers) error {
	if s.open != nil || time.Since(s.checked) < 2*s.loses {
		return nil
	}
	s.checked = time.Now()
	if _, _, err := s.look(); err != nil {
		return err
	}
	sent, ok, err := s.marker(ctx, m)
	if err != nil || !ok {
		return err
	}
	s.compare(m, sent)
	return nil
}

// ahead returns how much a time is ahead of the clock of this host.
func (s *stream) ahead(at int64) time.Duration { return time.UnixMilli(at).Sub(s.now()) }

// ripe waits until the time of samples is not too far ahead.
func (s *stream) ripe(ctx context.Context, end int64) error {
	for {
		ahead := s.ahead(end)
		if ahead <= maxAhead {
			s.early = false
			return nil
		}
		if !s.early {
			s.early = true
			s.n.event(fmt.Sprintf("%s: samples are ahead of the clock of this host by %v; they are sent when their time has come", s.name, ahead.Round(time.Second)), nil)
		}
		select {
		case <-s.drain:
			return errDrained
		default:
		}
		// In steps, since a clock may be set.
		if err := pauseOr(ctx, min(ahead-maxAhead, s.poll*lookEvery), s.drain); err != nil {
			return err
		}
	}
}
