package openmetrics

import (
	"context"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A control is a metric about the sources.
type control struct {
	name          string
	item          int
	typ           pcp.Type
	sem           pcp.Sem
	units         pcp.Units
	oneLine, help string
	value         func(*stats) pcp.Value
}

const debugItem = 4

// controls returns the metrics about sources.
func controls() []control {
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	return []control{
		{
			"calls", 1, pcp.TypeU64, pcp.SemCounter,
			pcp.Units{DimCount: 1},
			"how often each source has been read",
			"How often each URL has been fetched or script run since the agent started. The\ninstance control is the sum of all.",
			func(s *stats) pcp.Value { return pcp.Uint64Value(s.calls) },
		},
		{
			"fetch_time", 2, pcp.TypeU64, pcp.SemCounter, msec, "time each source has taken to answer",
			"Milliseconds that each source has taken for its answers, without the time to\nparse them. Answers that did not come are not counted. The instance control is the\nsum of all; sources are read at the same time.",
			func(s *stats) pcp.Value { return pcp.Uint64Value(uint64(s.fetch / time.Millisecond)) },
		},
		{
			"parse_time", 3, pcp.TypeU64, pcp.SemCounter, msec, "time spent on parsing the answers of each source",
			"Milliseconds that it has taken to parse the answers of each source. The instance\ncontrol is the sum of all.",
			func(s *stats) pcp.Value { return pcp.Uint64Value(uint64(s.parse / time.Millisecond)) },
		},
		{
			"debug", debugItem, pcp.TypeU32, pcp.SemDiscrete,
			pcp.Units{},
			"whether the agent logs its reading of sources",
			"With 1 the agent logs each reading of a source, with 0 only problems. It does\nnot log headers of requests, which may contain secrets.",
			nil,
		},
		{
			"status", 5, pcp.TypeString, pcp.SemInstant,
			pcp.Units{},
			"how the last reading of each source went",
			"\"success\", or why the last attempt to read the source failed, and \"unknown\"\nbefore the first. A fetch of this metric reads no source.",
			func(s *stats) pcp.Value { return pcp.StringValue(s.status) },
		},
		{
			"status_code", 6, pcp.Type32, pcp.SemDiscrete,
			pcp.Units{},
			"HTTP status of the last reply of each source",
			"The status of the last reply by HTTP, such as 200. It is 0 for scripts and files,\nand if there was no reply. A fetch of this metric reads no source.",
			func(s *stats) pcp.Value { return pcp.Int32Value(s.code) },
		},
	}
}

func controlOf(item int) *control {
	list := controls()
	for i := range list {
		if list[i].item == item {
			return &list[i]
		}
	}
	return nil
}

func (c *control) desc(id pcp.PMID, domain int) pcp.Desc {
	d := pcp.Desc{PMID: id, Type: c.typ, Sem: c.sem, Units: c.units, InDom: pcp.NewInDom(domain, 0)}
	if c.item == debugItem {
		d.InDom = pcp.InDomNull
	}
	return d
}

// fetchControl appends the values of a metric about sources.
func (a *Agent) fetchControl(id pcp.PMID, req *pmda.FetchRequest) {
	c := controlOf(id.Item())
	if c == nil {
		req.Result.AddError(id, pcp.ErrPMID)
		return
	}
	req.Result.AddSet(id)
	if c.item == debugItem {
		req.Result.Add(pcp.Uint32Value(a.debug.Load()).WithInst(pcp.InNull))
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	indom := pcp.NewInDom(a.domain, 0)
	asked := false
	for i, name := range a.clusters.names {
		if req.Profile != nil && !req.Profile.Includes(indom, int32(i)) {
			continue
		}
		asked = true
		var v pcp.Value
		if i == 0 {
			a.total(func(s *stats) { v = c.value(s) })
		} else if s := a.byName[name]; s != nil {
			s.mu.Lock()
			v = c.value(&s.stats)
			s.mu.Unlock()
		} else {
			continue // it has gone
		}
		req.Result.Add(v.WithInst(int32(i)))
	}
	if set := &req.Result.Sets[len(req.Result.Sets)-1]; asked && len(set.Values) == 0 {
		set.Err = pcp.ErrInst
	}
}

// Store implements [pmda.Storer]: control.debug can be set.
func (a *Agent) Store(_ context.Context, _ *pmda.Client, res *pcp.Result) error {
	for i := range res.Sets {
		set := &res.Sets[i]
		switch {
		case set.PMID.Cluster() == 0 && set.PMID.Item() == debugItem:
		case set.PMID.Cluster() < maxClusters-1 && set.PMID.Item() < maxMetrics-1:
			return pcp.ErrPermission
		default:
			return pcp.ErrPMID
		}
		for _, v := range set.Values {
			on := uint32(0)
			if v.As(pcp.TypeU32).Uint32() != 0 {
				on = 1
			}
			a.debug.Store(on)
			a.log.Info("control.debug is set", "to", on)
		}
	}
	return nil
}
