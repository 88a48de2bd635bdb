package toptest

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// Start is the start of archives of a Host: 2026-11-21 08:00:00 UTC.
var Start = time.Unix(1795248000, 0)

// Domain is that of all metrics of a Host.
const Domain = 480

const domain = Domain

// A Host is an agent (pmda.Agent) that simulates a whole host.
type Host struct {
	start   time.Time
	now     func() time.Time
	metrics []metric
	indoms  map[pcp.InDom]func(t float64) []pcp.Instance
	without map[string]bool

	// More is the number of processes besides those that have a name.
	More int
	// Threads lists threads as well as processes. Clients set it by proc.control.perclient.threads.
	Threads bool
	// Steady leaves out the processes that come and go. Archives of a Host list them as instances for ever, unlike those of
	// pmlogger, so that a replay looks for their values everywhere.
	Steady bool
	// Every is the time between the records of an archive.
	Every time.Duration
	// NetModule is the state of the module netatop of the agent bpf, "running" at first.
	NetModule string
	// Alone is the user whose processes alone have I/O, "" for all users.
	Alone string
	// Fetched counts how often each metric was fetched.
	Fetched map[string]int
}

type metric struct {
	name  string
	desc  pcp.Desc
	value func(t float64, inst int32) pcp.Value
}

// New returns a host that started a day before a time.
func New(start time.Time) *Host {
	h := &Host{start: start, now: time.Now, indoms: map[pcp.InDom]func(float64) []pcp.Instance{}, without: map[string]bool{}, Fetched: map[string]int{}, NetModule: "running", Every: 10 * time.Second}
	h.define()
	return h
}

// Names returns the names of all metrics.
func (h *Host) Names() []string {
	names := make([]string, len(h.metrics))
	for i := range h.metrics {
		names[i] = h.metrics[i].name
	}
	return names
}

// Without takes metrics away.
func (h *Host) Without(names ...string) {
	for _, name := range names {
		h.without[name] = true
	}
}

// t is the time of a value, in seconds since the start.
func (h *Host) t() float64 { return h.now().Sub(h.start).Seconds() }

// Context returns a context on the host as it is now.
func (h *Host) Context() (*pmapi.Context, error) {
	return pmapi.OpenLocal(pmapi.LocalAgent{Name: "toptest", Domain: domain, Agent: h})
}

// Archive writes an archive of the host, with a gap of two minutes in the middle, and
// returns its name.
func (h *Host) Archive(dir string, long time.Duration) (string, error) {
	base := filepath.Join(dir, "host")
	im, err := importer.Start(base, importer.Options{Host: "web1.example.com", TimeZone: "UTC"})
	if err != nil {
		return "", err
	}
	for _, m := range h.metrics {
		if h.without[m.name] {
			continue
		}
		if _, err := im.AddMetric(m.name, m.desc); err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
	}
	known := map[pcp.InDom]map[int32]bool{}
	for at := time.Duration(0); at <= long; at += h.Every {
		switch gap := at - long/2; {
		case gap == 0:
			if err := im.PutMark(); err != nil {
				return "", err
			}
			continue
		case gap > 0 && gap < 2*time.Minute:
			continue
		}
		t := at.Seconds()
		for id, members := range h.indoms {
			if known[id] == nil {
				known[id] = map[int32]bool{}
			}
			for _, in := range members(t) {
				if !known[id][in.Inst] {
					known[id][in.Inst] = true
					if err := im.AddInstance(id, in.Name, in.Inst); err != nil {
						return "", fmt.Errorf("%q: %w", in.Name, err)
					}
				}
			}
		}
		res := &pcp.Result{Time: pcp.TimestampOf(h.start.Add(at))}
		for i := range h.metrics {
			if !h.without[h.metrics[i].name] {
				h.put(res, &h.metrics[i], t, nil)
			}
		}
		if err := im.PutResult(res); err != nil {
			return "", err
		}
	}
	return base, im.End()
}

func (h *Host) put(res *pcp.Result, m *metric, t float64, profile *pcp.Profile) {
	res.AddSet(m.desc.PMID)
	if m.desc.InDom == pcp.InDomNull {
		res.Add(m.value(t, 0).WithInst(pcp.InNull))
		return
	}
	for _, in := range h.indoms[m.desc.InDom](t) {
		if h.Alone != "" && strings.HasPrefix(m.name, "proc.io.") && h.process(in.Inst).owner != h.Alone {
			continue
		}
		if profile == nil || profile.Includes(m.desc.InDom, in.Inst) {
			res.Add(m.value(t, in.Inst).WithInst(in.Inst))
		}
	}
}

// Desc implements [pmda.Agent].
func (h *Host) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if m := h.metric(id); m != nil {
		return m.desc, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

func (h *Host) metric(id pcp.PMID) *metric {
	for i := range h.metrics {
		if h.metrics[i].desc.PMID == id {
			return &h.metrics[i]
		}
	}
	return nil
}

// Instances implements [pmda.Agent].
func (h *Host) Instances(_ context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if members := h.indoms[indom]; members != nil {
		return members(h.t()), nil
	}
	return nil, pcp.ErrInDom
}

// Fetch implements [pmda.Agent].
func (h *Host) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	t := h.t()
	for _, id := range req.PMIDs {
		m := h.metric(id)
		if m == nil {
			req.Result.AddError(id, pcp.ErrPMID)
			continue
		}
		h.Fetched[m.name]++
		h.put(req.Result, m, t, req.Profile)
	}
	return nil
}

// perClientThreads is the name of the only metric that can be stored.
const perClientThreads = "proc.control.perclient.threads"

// Store implements [pmda.Storer].
func (h *Host) Store(_ context.Context, _ *pmda.Client, res *pcp.Result) error {
	for _, set := range res.Sets {
		if m := h.metric(set.PMID); m == nil || m.name != perClientThreads {
			return pcp.ErrPermission
		}
		h.Threads = set.Values[0].Uint32() != 0
	}
	return nil
}

// NameSpace implements [pmda.NameSpacer].
func (h *Host) NameSpace() *pmns.Tree {
	tree := pmns.New()
	for _, m := range h.metrics {
		if !h.without[m.name] {
			_ = tree.Add(m.name, m.desc.PMID)
		}
	}
	return tree
}

// grow is a counter whose rate goes up and down around a mean.
func grow(t, mean, swing, period float64) float64 {
	return mean*t + swing*period/(2*math.Pi)*(1-math.Cos(2*math.Pi*t/period))
}

// swing is a value that goes up and down around a mean.
func swing(t, mean, by, period float64) float64 {
	return mean + by*math.Sin(2*math.Pi*t/period)
}
