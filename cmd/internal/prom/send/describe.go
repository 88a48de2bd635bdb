package send

import (
	"encoding/hex"
	"hash/maphash"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// maxDescribed limits a label of a description in bytes. VictoriaMetrics drops series with labels of more than 4096 bytes.
const maxDescribed = 4000

// describeEvery is the time in milliseconds between samples of a description.
const describeEvery = 3600_000

// descriptions makes the series that describe metrics, with what names and labels of Prometheus do not have: the name and descriptor
// in PCP, all labels, and the identifiers of the series and its source.
type descriptions struct {
	metrics map[string]*catalog.Metric // by name
	source  string
	read    bool // they are those of the archive
	stale   bool // the archive has further metadata
}

// A description is the series that describes a metric with one of its names.
type description struct {
	name string // in PCP
	of   uint64 // hash of the description
	last int64  // time of the last sample, or noTime
}

// lookup returns a metric of the catalog, or nil.
func (d *descriptions) lookup(r *reader, name string, due bool) *catalog.Metric {
	m := d.metrics[name]
	if d.read && !(d.stale && (m == nil || due)) {
		return m
	}
	d.read, d.stale = true, false
	c, err := catalog.Read(r.a)
	if err != nil {
		return m // nor do readers of the archive's series accept it
	}
	d.source = c.Source.String()
	d.metrics = make(map[string]*catalog.Metric, len(c.Metrics))
	for i := range c.Metrics {
		d.metrics[c.Metrics[i].Name] = &c.Metrics[i]
	}
	return d.metrics[name]
}

// rest releases memory. The next lookup reads the catalog again.
func (d *descriptions) rest() { d.metrics, d.read, d.stale = nil, false, false }

// describe adds samples of a metric's descriptions: at its first values in the archive and in each hour.
func (r *reader) describe(m *metric, at int64) {
	hour := at / describeEvery
	if int64(m.hour) == hour {
		return
	}
	m.hour = int32(hour)
	for i := range m.names {
		d := &m.names[i].about
		of := r.described.lookup(r, d.name, true)
		if of == nil {
			continue
		}
		if hash := maphash.String(r.seeds[0], of.ID.String()+of.Labels.JSON); hash != d.of {
			d.of, d.last = hash, noTime
		}
		if at <= d.last {
			continue
		}
		d.last = at
		if r.warm {
			continue
		}
		if s := r.description(of); s != nil { // which is not kept: it is seldom needed
			r.w.add(s, at, remote.Number(1))
		}
	}
}

// description returns the series that describes a metric, nil if it cannot be sent.
func (r *reader) description(m *catalog.Metric) *series {
	flags := make([]byte, 0, len(m.Labels.Index))
	for l := range m.Labels.All() {
		flags = append(flags, byte(l.Flags))
	}
	var labels []remote.Label
	for _, l := range []remote.Label{
		{Name: nameLabel, Value: names.Series},
		{Name: names.SeriesFlags, Value: hex.EncodeToString(flags)},
		{Name: names.SeriesHost, Value: r.a.Label().Host},
		{Name: names.SeriesLabels, Value: m.Labels.JSON},
		{Name: names.SeriesMetric, Value: m.Name},
		{Name: names.SeriesPMID, Value: m.Desc.PMID.String()},
		{Name: names.SeriesSem, Value: m.Desc.Sem.String()},
		{Name: names.SeriesID, Value: m.ID.String()},
		{Name: names.SeriesSource, Value: r.described.source},
		{Name: names.SeriesType, Value: m.Desc.Type.String()},
		{Name: names.SeriesUnits, Value: m.Desc.Units.String()},
	} {
		if l.Value != "" {
			labels = append(labels, l)
		}
	}
	if m.Desc.InDom != pcp.InDomNull {
		labels = append(labels, remote.Label{Name: names.SeriesInDom, Value: m.Desc.InDom.String()}, remote.Label{Name: names.SeriesWithin, Value: m.Within})
	}
	for _, l := range labels {
		if len(l.Value) > maxDescribed || !utf8.ValidString(l.Value) {
			return nil
		}
	}
	labels, key, ok := r.filter.series(labels)
	if !ok {
		return nil
	}
	f := r.shared.family(remote.Family{Name: nameOf(labels), Help: "1 for a metric of PCP that is sent, with its description"})
	return &series{base: newBase(labels), family: f, bytes: sizeOf(key, labels), about: true}
}

// described reports whether a series describes a metric.
func described(s *remote.Series) bool { return nameOf(s.Labels) == names.Series }
