package pmie

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
	"github.com/go-pcp/pcp/pmapi"
)

// A fetcher fetches the values of metrics for tasks.
type fetcher struct {
	*sources
	tasks    []*task
	flights  sync.WaitGroup
	start    float64 // of the window
	expected float64 // evaluations of rules a second
}

// A host is where a task gets metrics from.
type host struct {
	name, conn string
	c          *pmapi.Context
	down       bool
	ids        []pcp.PMID
	series     []*eval.Series // of ids, followed by more where metrics of an id differ
	waits      []*eval.Metric // that are not there yet
	metrics    []*eval.Metric // that were there once
	recheck    bool           // their metadata may be out of date
	res        pcp.Result
	ok         bool // res is the result of the last fetch
	err        error
	pending    pmapi.PendingFetch
	started    bool    // pending must be finished
	flight     *flight // the request under way, nil if there is none
	late       bool    // it is not waited for
	fetches    int     // from an archive in this run, until it is read ahead
	ahead      *readAhead
}

// of returns where the values of a metric come.
func (h *host) of(m *eval.Metric) *eval.Series {
	for _, s := range h.series {
		if s.ID == m.Desc.PMID && s.Type == m.Desc.Type && s.Conv == m.Conv {
			return s
		}
	}
	s := &eval.Series{ID: m.Desc.PMID, Type: m.Desc.Type, Conv: m.Conv}
	if slices.Contains(h.ids, s.ID) {
		h.series = append(h.series, s)
		return s
	}
	h.series = slices.Insert(h.series, len(h.ids), s)
	h.ids = append(h.ids, s.ID)
	return s
}

// distribute sets the values of metrics, in order of instances.
func (h *host) distribute(cfg *Config) {
	time := cfg.real(h.res.Time)
	for i := range h.res.Sets {
		s := &h.res.Sets[i]
		if s.Err == 0 && len(s.Values) > 1 && !slices.IsSortedFunc(s.Values, byInst) {
			slices.SortStableFunc(s.Values, byInst)
		}
	}
	for i, s := range h.series {
		var set *pcp.ValueSet
		if i < len(h.res.Sets) && h.res.Sets[i].PMID == s.ID {
			set = &h.res.Sets[i]
		} else if i = slices.IndexFunc(h.res.Sets, func(set pcp.ValueSet) bool { return set.PMID == s.ID }); i >= 0 {
			set = &h.res.Sets[i]
		}
		if set != nil && set.Err == 0 && len(set.Values) > 0 {
			s.Arrive(set, time)
		}
	}
}

func byInst(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) }

// add adds a rule to the task of its interval.
func (get *fetcher) add(r *rule.Rule, delta float64) {
	if r.X.Op == eval.OpNone {
		return
	}
	if !(delta > 0) {
		get.fail(fmt.Errorf("%s: delta is %g, it must be greater than 0", get.cfg.Name, delta))
		return
	}
	var t *task
	if n := len(get.tasks); n > 0 && get.tasks[n-1].delta == delta {
		t = get.tasks[n-1]
	} else {
		t = &task{delta: delta}
		get.tasks = append(get.tasks, t)
	}
	get.bundle(t, r.X)
	t.rules = append(t.rules, &ruled{Rule: r, deliveries: deliveriesOf(r.X)})
	get.expected += 1 / delta
}

// bundle makes a task fetch the metrics of an expression.
func (get *fetcher) bundle(t *task, x *eval.Expr) {
	if x.Op == eval.OpFetch {
		for _, m := range x.Metrics.List {
			h := t.host(m)
			if m.Ready {
				get.enlist(t, h, m)
			} else {
				h.waits = append([]*eval.Metric{m}, h.waits...)
			}
		}
		return
	}
	if x.Arg1 != nil {
		get.bundle(t, x.Arg1)
		if x.Arg2 != nil {
			get.bundle(t, x.Arg2)
		}
	}
}

// enlist adds a metric to those fetched.
func (get *fetcher) enlist(t *task, h *host, m *eval.Metric) {
	if h.c == nil && !h.down {
		if err := get.begin(t, h); err != nil {
			h.down = true
		}
	}
	if h.down {
		h.waits = append([]*eval.Metric{m}, h.waits...)
		return
	}
	m.Attach(h.of(m))
	if !slices.Contains(h.metrics, m) {
		h.metrics = append(h.metrics, m)
	}
}

// begin makes the context of a host.
func (get *fetcher) begin(t *task, h *host) error {
	c, err := get.open(h.conn)
	if err != nil {
		return err
	}
	h.c = c
	if a, ok := c.Archive(); ok {
		return get.position(a, timestamp(get.start), t.delta)
	}
	return nil
}

// position positions an archive: the next values are those of a time, and then those of delta
// seconds later.
func (get *fetcher) position(a *pmapi.ArchiveContext, start pcp.Timestamp, delta float64) error {
	if err := a.SetMode(get.ctx, pmapi.ModeInterp, &start, get.cfg.step(delta)); err != nil {
		return fmt.Errorf("%s: pmSetMode failed: %s", get.cfg.Name, errText(err))
	}
	return nil
}

// fetch fetches the metrics of a task from all hosts at once.
func (get *fetcher) fetch(t *task) error {
	clear(get.dead)
	if get.archives != nil {
		for _, h := range t.hosts {
			if h.ok, h.err = false, nil; !h.down && h.c != nil && len(h.ids) > 0 {
				if get.fetchesAhead(t, h) {
					h.err = h.ahead.take(get.ctx, &h.res)
				} else {
					_, h.err = h.c.FetchInto(get.ctx, h.ids, &h.res)
				}
				h.ok = h.err == nil
			}
		}
	} else if err := get.gather(t); err != nil {
		return err
	}
	for _, h := range t.hosts {
		for _, s := range h.series {
			s.Set, s.Have = nil, false
		}
		err := h.err
		switch {
		case err == nil && h.ok:
			h.distribute(get.cfg)
		case err == nil:
		case get.ctx.Err() != nil:
			return get.ctx.Err()
		case get.archives != nil:
			if pcp.Code(err) == pcp.ErrLogRec {
				return fmt.Errorf("%s: pmFetch failed: %s", get.cfg.Name, errText(err))
			}
		default:
			get.notify(slog.LevelError, fmt.Sprintf("pmFetch from %s failed: %s\n", h.name, errText(err)))
			get.changed(h.conn, isLost)
			h.down = true
			for _, t := range get.tasks {
				for _, r := range t.rules {
					if ms := r.X.Metrics; ms != nil && slices.ContainsFunc(ms.List, func(m *eval.Metric) bool { return m.Conn == h.conn }) {
						r.X.Unknown()
					}
				}
			}
		}
	}
	return nil
}
