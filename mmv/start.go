package mmv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/config"
)

// New makes the registry whose file is called name. Unless opt.Fixed is set, the file
// appears at once and each definition as it is made. On systems without memory-mapped
// files of this kind, such as Windows, the error is errors.ErrUnsupported.
func New(name string, opt Options) (*Registry, error) {
	if !supported {
		return nil, fmt.Errorf("mmv registry %s: %w", name, errors.ErrUnsupported)
	}
	if name == "" || strings.HasPrefix(filepath.Base(name), ".") {
		return nil, fmt.Errorf("%q: %w", name, errNameFile)
	}
	if opt.Cluster < 0 || opt.Cluster > MaxCluster {
		return nil, fmt.Errorf("cluster %d, not in 0..%d: %w", opt.Cluster, MaxCluster, errInvalid)
	}
	if opt.MaxValues == 0 {
		opt.MaxValues = 1 << 16
	}
	if opt.MaxValues < 0 || opt.MaxValues > maxFileValues {
		return nil, fmt.Errorf("room for %d values, not in 1..%d: %w", opt.MaxValues, maxFileValues, errInvalid)
	}
	if opt.Refresh <= 0 {
		opt.Refresh = time.Second
	}
	r := &Registry{
		name: name, opt: opt,
		byName: map[string]*metric{}, byItem: map[int]*metric{}, serials: map[int]*InDom{},
		lowItem: 1, lowInDom: 1,
	}
	r.c.cluster = opt.Cluster
	if !opt.Persist {
		r.c.flags |= FlagProcess
	}
	if opt.NoPrefix {
		r.c.flags |= FlagNoPrefix
	}
	if opt.Sentinel {
		r.c.flags |= FlagSentinel
	}
	r.path = name
	if !filepath.IsAbs(name) {
		dir := opt.Dir
		if dir == "" {
			var err error
			if dir, err = DefaultDir(config.Process()); err != nil {
				return nil, err
			}
		}
		if strings.ContainsRune(name, filepath.Separator) {
			return nil, fmt.Errorf("%q: %w", name, errNameFile)
		}
		r.path = filepath.Join(dir, name)
	}
	if opt.Continue {
		r.past = readPast(r.path)
	}
	if !opt.Fixed {
		if err := r.startGrowing(); err != nil {
			return nil, err
		}
	}
	if err := r.AddLabel(opt.Labels...); err != nil {
		r.err = err
	}
	return r, nil
}

// Start writes the file of a fixed registry and maps it (mmv_stats_start(3)).
// Handles count before as well: their counts are in the file. Do not call it while
// other goroutines use handles. On a registry that grows it only returns Err.
func (r *Registry) Start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil || !r.opt.Fixed {
		return r.err
	}
	if r.started {
		return fmt.Errorf("mmv registry %s: %w", r.name, errStarted)
	}
	for _, m := range r.c.metrics {
		for i := range m.slots.n {
			r.past.resume(m, m.slots.at(i), i)
		}
	}
	generation := nextGeneration(0)
	b := r.c.encode(generation, os.Getpid())
	m, err := createMapping(r.path, b, len(b)+r.c.stringValues()*stringCopies*stringSize)
	if err != nil {
		for _, d := range r.c.metrics {
			for i := range d.slots.n {
				d.slots.at(i).at = 0 // it stays in memory
			}
		}
		return r.giveUp(err)
	}
	r.m, r.fixedEnd = m, len(b)
	for _, d := range r.c.metrics {
		for i := range d.slots.n {
			s := d.slots.at(i)
			s.rec = m.record(s.at)
		}
	}
	atomic.StoreUint64(m.word(hdrG2), generation)
	if err := m.publish(r.path); err != nil {
		m.release()
		return r.giveUp(err)
	}
	r.started = true
	r.startRefreshing()
	return nil
}

// giveUp ends a registry that cannot be started. The caller holds r.mu.
func (r *Registry) giveUp(err error) error {
	r.fail(err)
	r.closed = true
	return r.err
}

// Close ends the registry: it removes the file unless opt.Persist is set, and
// handles still work but have no effect (mmv_stats_stop(3)).
func (r *Registry) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	stop, stopped := r.stop, r.stopped
	r.mu.Unlock()
	if stop != nil {
		close(stop)
		<-stopped
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		return nil
	}
	for _, d := range r.derived {
		d.refresh()
	}
	var err error
	if !r.opt.Persist {
		err = r.m.remove(r.path)
	}
	r.m.release()
	return err
}
