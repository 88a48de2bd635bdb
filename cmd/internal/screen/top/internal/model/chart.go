package model

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/internal/metrics"
	"github.com/go-pcp/pcp/pmapi"
)

// maxLines limits the instances of one metric in a chart.
const maxLines = 1000

// A chart is a metric that a user named.
type chart struct {
	spec  string
	name  string
	insts []string
	id    pcp.PMID
	err   error
	units string
	col   column
}

// SetCharts sets the metrics in the Charts of samples: names, with instances between brackets if not all are
// wanted.
func (s *Sampler) SetCharts(specs []string) {
	old := s.charts
	s.charts = nil
	for _, spec := range specs {
		var ch *chart
		for _, o := range old {
			if o.spec == spec {
				ch = o
			}
		}
		if ch == nil {
			ch = &chart{spec: spec, id: pcp.PMIDNull}
			ms, err := pmapi.ParseMetricSpec(spec, pmapi.SourceHost, "")
			if ch.err = err; err == nil {
				ch.name, ch.insts = ms.Metric, ms.Insts
			}
		}
		s.charts = append(s.charts, ch)
	}
}

// resolveCharts looks up the metrics of the charts that are not known yet.
func (s *Sampler) resolveCharts(ctx context.Context) error {
	for _, ch := range s.charts {
		if ch.id != pcp.PMIDNull || ch.name == "" {
			continue
		}
		ids, err := s.c.LookupName(ctx, ch.name)
		if err == nil {
			var d pcp.Desc
			if d, err = s.c.LookupDesc(ctx, ids[0]); err == nil {
				ch.use(ids[0], d)
				err = ch.err
			}
		}
		if metrics.Lost(ctx, err) {
			return err
		}
		if ch.err = err; errors.Is(err, pcp.ErrName) {
			meant := ""
			if s.cfg.Meant != nil {
				meant = s.cfg.Meant(ctx, ch.name)
			}
			ch.err = fmt.Errorf("there is no metric %s%s", ch.name, meant)
		} else if errors.Is(err, pcp.ErrNonLeaf) {
			ch.err = fmt.Errorf("%s is a group of metrics; name one of them", ch.name)
		}
	}
	return nil
}

func (ch *chart) use(id pcp.PMID, d pcp.Desc) {
	switch d.Type {
	case pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble:
	default:
		ch.err = fmt.Errorf("%s has no numbers as values", ch.name)
		return
	}
	ch.id = id
	ch.col = column{kind: instant, name: ch.name, id: id, desc: d, factor: baseFactor(d.Units)}
	if d.Sem == pcp.SemCounter {
		ch.col.kind = rate
	}
	ch.units = baseUnits(d.Units, ch.col.kind == rate)
}

// baseUnits names the units of a chart: bytes, seconds and counts, per second for a rate.
func baseUnits(u pcp.Units, perSecond bool) string {
	u.ScaleSpace, u.ScaleTime, u.ScaleCount = 0, 0, 0
	if u.DimTime != 0 {
		u.ScaleTime = pcp.TimeSec
	}
	if u.DimSpace == 0 && u.DimTime == 0 {
		u.DimCount = 0
	}
	text := ""
	if u.HasDim() {
		text = u.String()
	}
	switch {
	case perSecond && text == "sec":
		return "" // a share of time
	case perSecond:
		return text + "/s"
	}
	return strings.ReplaceAll(text, " / ", "/")
}

// chartsAreNew reports whether a chart has no values to make a rate from.
func (s *Sampler) chartsAreNew() bool {
	for _, ch := range s.charts {
		if ch.id != pcp.PMIDNull && ch.col.at.IsZero() {
			return true
		}
	}
	return false
}

func (s *Sampler) chartValues(ctx context.Context, snap *Snapshot) error {
	for len(snap.Charts) < len(s.charts) {
		snap.Charts = append(snap.Charts, Chart{})
	}
	snap.Charts = snap.Charts[:len(s.charts)]
	for i, ch := range s.charts {
		to := &snap.Charts[i]
		to.Spec, to.Err, to.Units = ch.spec, ch.err, ch.units
		to.Lines = to.Lines[:0]
		if ch.id == pcp.PMIDNull || ch.err != nil {
			continue
		}
		if ch.col.err != 0 {
			to.Err = ch.col.err
			continue
		}
		for j, inst := range ch.col.insts {
			name := ""
			if ch.col.desc.InDom != pcp.InDomNull {
				var err error
				if name, err = s.name(ctx, &ch.col, inst); err != nil {
					return err
				}
			}
			if len(ch.insts) > 0 && !ch.wants(name) || len(to.Lines) == maxLines {
				continue
			}
			to.Lines = append(to.Lines, Line{Name: name, Value: ch.col.nums[j]})
		}
		if len(to.Lines) == 0 && len(ch.insts) > 0 {
			to.Err = fmt.Errorf("%s has no instance %s", ch.name, strings.Join(ch.insts, ", "))
		}
	}
	return nil
}

func (ch *chart) wants(name string) bool {
	for _, want := range ch.insts {
		if pcp.MatchInstance(name, want) {
			return true
		}
	}
	return false
}

// maxNames limits the names of metrics offered for completion.
const maxNames = 200000

// Names returns the names of all metrics of the source, for completion.
func Names(ctx context.Context, c *pmapi.Context) ([]string, error) {
	var names []string
	for name, err := range c.Traverse(ctx, "") {
		if err != nil {
			return names, err
		}
		if names = append(names, name); len(names) == maxNames {
			break
		}
	}
	return names, nil
}
