package archives

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/storage"
)

// Columns is a use of files of columns.
type Columns int

// Uses of columns.
const (
	UseColumns  Columns = iota // use those that exist
	MakeColumns                // also make those of finished archives in the background, after their first use, and remove those of archives that are gone
	NoColumns                  // ignore them
)

const (
	// finishedAfter is the time without changes after which an archive counts as finished. If it grows after that, its
	// columns are not used.
	finishedAfter = 10 * time.Minute
	// columnsQueue is the number of archives that wait for their columns. More are considered at their next use.
	columnsQueue = 256
)

// A columnsMaker makes files of columns.
type columnsMaker struct {
	queue chan string
	done  chan struct{}

	mu    sync.Mutex
	bad   map[string]bool   // damaged files that were logged
	tried map[string]string // archives with the names, sizes and times of the volumes then
}

// columnsPaths returns the paths where the columns of an archive may be. Those in stores have no columns.
func (s *Store) columnsPaths(path string) []string {
	if storage.Remote(path) {
		return nil
	}
	list := []string{columns.Path(path)}
	if s.cfg.ColumnsDir != "" {
		sum := sha256.Sum256([]byte(path))
		list = append(list, columns.Path(filepath.Join(s.cfg.ColumnsDir, hex.EncodeToString(sum[:16]))))
	}
	return list
}

// wantColumns has the columns of an archive made, unless it is still written.
func (s *Store) wantColumns(a *arch) {
	if s.columns.queue == nil || storage.Remote(a.path) {
		return
	}
	s.columns.mu.Lock()
	defer s.columns.mu.Unlock()
	if s.columns.tried[a.path] == a.meta+a.volumes {
		return
	}
	select {
	case s.columns.queue <- a.path:
	default:
	}
}

// makeColumns makes columns until ctx is done.
func (s *Store) makeColumns(ctx context.Context) {
	defer close(s.columns.done)
	for {
		select {
		case <-ctx.Done():
			return
		case path := <-s.columns.queue:
			a := s.state.Load().archs[path]
			if a == nil {
				continue
			}
			s.columns.mu.Lock()
			again := s.columns.tried[path] == a.meta+a.volumes
			s.columns.mu.Unlock()
			if again || !finished(path) {
				continue
			}
			s.columns.mu.Lock()
			if s.columns.tried == nil {
				s.columns.tried = map[string]string{}
			}
			s.columns.tried[path] = a.meta + a.volumes
			s.columns.mu.Unlock()
			if err := s.makeOne(ctx, path); err != nil && ctx.Err() == nil {
				s.log.Info("an archive has no columns and is read", "path", path, "err", err)
			}
		}
	}
}

// makeOne makes the columns of an archive, where that is possible.
func (s *Store) makeOne(ctx context.Context, path string) (err error) {
	for i, at := range s.columnsPaths(path) {
		if i > 0 {
			if err := os.MkdirAll(s.cfg.ColumnsDir, 0o755); err != nil {
				return err
			}
		}
		if err = columns.Make(ctx, path, at); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			return err
		}
	}
	return err
}

// finished reports whether an archive has not changed for some time, and is not open in a recorder.
func finished(path string) bool {
	files, err := archive.FindFiles(path)
	if err != nil {
		return false
	}
	for _, f := range files.All() {
		info, err := os.Stat(f)
		if err != nil || time.Since(info.ModTime()) < finishedAfter {
			return false
		}
	}
	written, err := archive.Written(path)
	return err == nil && !written
}

// orphans removes files of columns whose archives are gone: those of ColumnsDir, and of a list.
func (s *Store) orphans(list []string, all map[string]*found) {
	if s.cfg.Columns != MakeColumns {
		return
	}
	keep := map[string]bool{}
	for path := range all {
		for _, at := range s.columnsPaths(path) {
			keep[at] = true
		}
	}
	if s.cfg.ColumnsDir != "" {
		if own, err := os.ReadDir(s.cfg.ColumnsDir); err == nil {
			for _, e := range own {
				if _, ok := columns.BaseName(e.Name()); ok {
					list = append(list, filepath.Join(s.cfg.ColumnsDir, e.Name()))
				}
			}
		}
	}
	for _, path := range list {
		if keep[path] {
			continue
		}
		if columns.Orphan(path) {
			s.log.Info("columns without an archive were removed", "path", path)
		}
	}
}

// openColumns opens the file of columns of an archive. It returns nil if there is none that can be used, and logs damage once.
func (s *Store) openColumns(path string) *columns.File {
	if s.cfg.Columns == NoColumns {
		return nil
	}
	for _, at := range s.columnsPaths(path) {
		f, err := columns.Open(path, at)
		if err == nil {
			return f
		}
		s.badColumns(at, err)
	}
	return nil
}

// badColumns logs an error of a file of columns.
func (s *Store) badColumns(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, columns.ErrStale) {
		return
	}
	s.columns.mu.Lock()
	known := s.columns.bad[path]
	if s.columns.bad == nil {
		s.columns.bad = map[string]bool{}
	}
	s.columns.bad[path] = true
	s.columns.mu.Unlock()
	if !known {
		s.log.Warn("the columns of an archive cannot be used, the archive is read", "path", path, "err", err)
	}
}

// A sequence is the samples of the metrics that are in the same records.
type sequence struct {
	times []int64
	marks []mark // among the samples
}

// A mark is a mark record before a sample.
type mark struct {
	sample int
	at     int64
}

// A sheet is the columns of the current archive.
type sheet struct {
	*columns.File
	times     []int64
	sequences map[int]*sequence
}

// sequence returns the samples of a metric.
func (s *sheet) sequence(m *columns.Metric) *sequence {
	q := s.sequences[m.Sequence]
	if q != nil {
		return q
	}
	q = &sequence{}
	marks := s.Marks()
	last := 0
	for n, run := range m.Records {
		for len(marks) > 0 && int(marks[0]) < run.From {
			q.marks = append(q.marks, mark{n, s.times[marks[0]]})
			marks = marks[1:]
		}
		for len(marks) > 0 && int(marks[0]) < run.To { // no writer makes such a file
			marks = marks[1:]
		}
		if n == 0 && run.To-run.From == m.Len() {
			q.times = s.times[run.From:run.To:run.To]
		} else {
			q.times = append(q.times, s.times[run.From:run.To]...)
		}
		last = n + run.To - run.From
	}
	for _, r := range marks {
		q.marks = append(q.marks, mark{last, s.times[r]})
	}
	s.sequences[m.Sequence] = q
	return q
}

func nanos(t pcp.Timestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func stampOf(n int64) pcp.Timestamp { return pcp.Timestamp{Sec: n / 1e9, Nsec: int32(n % 1e9)} }

// window returns the samples of a window, and the marks.
func (q *sequence) window(from, to pcp.Timestamp) (lo, hi int, marks []mark) {
	start, hi, last := nanos(from), len(q.times), len(q.marks)
	lo, _ = slices.BinarySearch(q.times, start)
	first, _ := slices.BinarySearchFunc(q.marks, start, func(m mark, t int64) int { return cmp.Compare(m.at, t) })
	if !to.IsZero() {
		end := nanos(to) + 1
		hi, _ = slices.BinarySearch(q.times, end)
		last, _ = slices.BinarySearchFunc(q.marks, end, func(m mark, t int64) int { return cmp.Compare(m.at, t) })
	}
	return lo, max(lo, hi), q.marks[first:max(first, last)]
}

// columns yields the samples of the targets in part i that are held in columns. It reports whether to continue,
// and returns the targets of the part that remain to be read from the archive: all of them without columns.
func (w *sweeper) columns(i int) (rest map[pcp.PMID][]int, more bool) {
	w.i = i
	all := w.has[i]
	f := w.s.openColumns(w.parts[i].path)
	if f == nil {
		w.s.wantColumns(w.parts[i].arch)
		return all, true
	}
	defer f.Close()
	s := &sheet{File: f, sequences: map[int]*sequence{}}
	var err error
	if s.times, err = f.Times(); err != nil {
		w.s.badColumns(f.Path(), err)
		return all, true
	}
	rest = map[pcp.PMID][]int{}
	for id, list := range all {
		if w.ctx.Err() != nil {
			return all, true // the archive's reader returns the error
		}
		state, t := f.State(id)
		switch {
		case state == columns.Absent:
			// Marks end series of an earlier archive.
			if !w.absent(s, list) {
				return nil, false
			}
			continue
		case state == columns.Left || slices.ContainsFunc(list, func(n int) bool { return w.targets[n].desc.Type != t }):
			rest[id] = list
			continue
		}
		m, err := f.Metric(id)
		if err != nil {
			w.s.badColumns(f.Path(), err)
			rest[id] = list
			continue
		}
		q := s.sequence(m)
		for _, n := range list {
			block, ok := w.identify(n, m, q)
			if !ok {
				rest[id] = append(rest[id], n)
				continue
			}
			if !w.held(n, m, q, block) {
				return nil, false
			}
		}
	}
	return rest, true
}

// held reports whether columns have the values of the series in all of its archives.
func (v *walker) held() bool {
	for _, p := range v.parts {
		f := v.s.openColumns(p.path)
		if f == nil {
			v.s.wantColumns(p.arch)
			return false
		}
		state, t := f.State(p.pmid)
		f.Close()
		if state == columns.Left || state == columns.Held && t != v.desc.Type {
			return false
		}
	}
	return len(v.parts) > 0
}

// columns is window for a series whose values are in columns.
func (v *walker) columns(w series.Window, yield func(*series.Sample, error) bool) bool {
	end := v.to
	if !end.IsZero() {
		end.Nsec += 999 // times are compared in microseconds
	}
	thin := series.NewThinner(series.Window{Start: v.from, Interval: w.Interval, Count: w.Count})
	var before series.Sample
	have, more := false, true
	take := func(s *series.Sample, err error) bool {
		switch {
		case err != nil:
			yield(nil, err)
			more = false
			return false
		case s.Gap || s.Err == 0 && len(s.Values) == 0:
			return true
		}
		if more = !thin.Next(s.Time) || yield(&before, nil); !more || thin.Done() {
			have = false
			return false
		}
		values := append(before.Values[:0], s.Values...)
		before, have = *s, true
		before.Values = values
		return true
	}
	ctx := series.WithResolution(v.ctx, w.Interval)
	for s, err := range v.s.Sweep(ctx, []sid.ID{v.id}, v.from, end) {
		if err == nil && s.Block != nil {
			ok := true
			s.Block.Samples(v.id, func(s *series.Sample, err error) bool {
				ok = take(s, err)
				return ok
			})
			if !ok {
				return more
			}
			continue
		}
		if !take(s, err) {
			return more
		}
	}
	if have && thin.Last() {
		return yield(&before, nil)
	}
	return true
}

// absent interrupts targets that have no samples in the part at its first mark, if any.
func (w *sweeper) absent(s *sheet, list []int) bool {
	for _, r := range s.Marks() {
		at := stampOf(s.times[r])
		if at.Compare(w.from) < 0 {
			continue
		}
		if !w.to.IsZero() && at.Compare(w.to) > 0 {
			break
		}
		for _, n := range list {
			if !w.interrupt(n, at) {
				return false
			}
		}
	}
	return true
}

// identify returns the columns of all samples of a metric with the identifiers of a target's instances. It returns false if an instance
// is not known.
func (w *sweeper) identify(n int, m *columns.Metric, q *sequence) ([]series.BlockColumn, bool) {
	t := &w.targets[n]
	list := make([]series.BlockColumn, 0, len(m.Columns))
	for k := range m.Columns {
		c := &m.Columns[k]
		value := 0
		runs := make([]series.Run, len(c.Runs))
		for j, r := range c.Runs {
			runs[j] = series.Run{From: r.From, To: r.To, Value: value}
			value += r.To - r.From
		}
		if t.desc.InDom == pcp.InDomNull {
			list = append(list, series.NewBlockColumn(sid.ID{}, c, runs))
			continue
		}
		id, ok := t.insts[c.Inst]
		if !ok {
			return nil, false
		}
		if !t.many[c.Inst] {
			list = append(list, series.NewBlockColumn(id, c, runs))
			continue
		}
		life := w.life(t)
		if life == nil {
			return nil, false
		}
		var byID map[sid.ID]int
		spans := life.insts[c.Inst]
		if len(spans) == 0 {
			return nil, false
		}
		for j, span := range spans {
			id, ok := life.ids[instKey{c.Inst, span.name}]
			if !ok {
				return nil, false
			}
			from, to := 0, len(q.times)
			if j > 0 {
				from, _ = slices.BinarySearch(q.times, nanos(span.from))
			}
			if j+1 < len(spans) {
				to, _ = slices.BinarySearch(q.times, nanos(spans[j+1].from))
			}
			part := clip(runs, from, to, 0)
			if len(part) == 0 {
				continue
			}
			if byID == nil {
				byID = map[sid.ID]int{}
			}
			if at, ok := byID[id]; ok {
				list[at].Runs = append(list[at].Runs, part...)
				continue
			}
			byID[id] = len(list)
			list = append(list, series.NewBlockColumn(id, c, part))
		}
	}
	return list, true
}

// life returns the identifiers of a target's instances over time in the current part, nil if they cannot be read.
func (w *sweeper) life(t *swept) *lifeline {
	path := w.parts[w.i].path
	if l, ok := t.lives[path]; ok {
		return l
	}
	f, err := w.s.files.get(path, w.parts[w.i].volumes)
	if err != nil {
		w.complain(err)
		return nil
	}
	defer w.s.files.put(f)
	l, err := readLifeline(f.Archive, t.desc.InDom)
	if err != nil {
		w.complain(err)
	}
	if t.lives == nil {
		t.lives = map[string]*lifeline{}
	}
	t.lives[path] = l
	return l
}

// clip returns the parts of runs between two samples, counted from the sample base on.
func clip(runs []series.Run, from, to, base int) []series.Run {
	i, _ := slices.BinarySearchFunc(runs, from, func(r series.Run, from int) int {
		if r.To <= from {
			return -1
		}
		return 1
	})
	var list []series.Run
	for _, r := range runs[i:] {
		if r.From >= to {
			break
		}
		a, b := max(r.From, from), min(r.To, to)
		list = append(list, series.Run{From: a - base, To: b - base, Value: r.Value + a - r.From})
	}
	return list
}

// held yields the samples of a target from columns, and reports whether to continue.
func (w *sweeper) held(n int, m *columns.Metric, q *sequence, cols []series.BlockColumn) bool {
	to := w.to
	if cut := w.parts[w.i].cut; !cut.IsZero() && (to.IsZero() || cut.Compare(to) <= 0) {
		to = cut.Add(-time.Nanosecond)
	}
	lo, hi, marks := q.window(w.from, to)
	type failure struct {
		columns.Run
		err pcp.Error
	}
	var failures []failure
	for run, err := range m.Errors {
		if run.To > lo && run.From < hi {
			failures = append(failures, failure{run, err})
		}
	}
	for pos := lo; ; {
		for len(marks) > 0 && marks[0].sample <= pos {
			if !w.interrupt(n, stampOf(marks[0].at)) {
				return false
			}
			marks = marks[1:]
		}
		if pos >= hi {
			return true
		}
		end := hi
		if len(marks) > 0 {
			end = min(end, marks[0].sample)
		}
		for len(failures) > 0 && failures[0].To <= pos {
			failures = failures[1:]
		}
		if len(failures) > 0 && failures[0].From <= pos {
			end = min(end, failures[0].To)
			for ; pos < end; pos++ {
				w.now = series.Sample{Err: failures[0].err, Values: w.now.Values[:0]}
				if !w.send(n, q.times[pos:pos+1]) {
					return false
				}
			}
			continue
		}
		if len(failures) > 0 {
			end = min(end, failures[0].From)
		}
		if !w.block(n, m, q, cols, pos, end) {
			return false
		}
		pos = end
	}
}

// block yields the samples of a target from pos to end, which have values.
func (w *sweeper) block(n int, m *columns.Metric, q *sequence, cols []series.BlockColumn, pos, end int) bool {
	if last := w.targets[n].last; !last.IsZero() && end > pos && q.times[pos] <= nanos(last) { // of an earlier archive too
		k, _ := slices.BinarySearch(q.times[pos:end], nanos(last)+1)
		pos += k
	}
	if pos >= end {
		return true
	}
	b := &series.Block{Type: m.Type, Times: q.times[pos:end:end], Columns: make([]series.BlockColumn, 0, len(cols)), Path: w.parts[w.i].path}
	for i := range cols {
		if runs := clip(cols[i].Runs, pos, end, pos); len(runs) > 0 {
			c := cols[i]
			c.Runs = runs
			b.Columns = append(b.Columns, c)
		}
	}
	w.now = series.Sample{Values: w.now.Values[:0], Block: b}
	return w.send(n, b.Times)
}

// send yields w.now, which is samples of a target at the given times.
func (w *sweeper) send(n int, times []int64) bool {
	t := &w.targets[n]
	now := w.now
	first, last := stampOf(times[0]), stampOf(times[len(times)-1])
	if first.Compare(t.last) <= 0 {
		return true
	}
	if !w.follow(n, first) {
		return false
	}
	if k := len(times); k > 1 {
		t.gap = float64(times[k-1]-times[k-2]) / 1e9
	}
	t.last = last
	now.Series, now.Time = t.id, first
	w.now = now
	return w.yield(&w.now, nil)
}
