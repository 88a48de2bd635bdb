package rep

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

// recorded is the state of an archive so far.
type recorded struct {
	insts []map[int32]bool
	prev  []map[int32]string // the values of discrete metrics in the previous sample
	known map[string]bool    // metrics that are declared
}

func (p *reporter) writeArchiveHeader() {
	r := p.r
	fmt.Fprintf(p.out, "Recording %d metrics to %s", len(p.set.Metrics), p.outFile)
	duration := r.Runtime
	if duration == -1 {
		duration = float64(r.Samples-1) * r.Interval.Seconds()
	}
	if r.Runtime != -1 || r.Samples != 0 {
		fmt.Fprintf(p.out, ":\n%d samples(s) with %.1f sec interval ~ %d sec duration.\n", r.Samples, r.Interval.Seconds(), int64(duration))
		return
	}
	p.out.WriteString("...")
	if !r.Archive {
		p.out.WriteString(" (Ctrl-C to stop)")
	}
	p.out.WriteByte('\n')
}

// startArchive begins the archive, with the metadata of the metrics.
func (p *reporter) startArchive() (err error) {
	opts := importer.Options{TimeZone: p.r.Zone, Version: archive.Version2}
	if p.env.Config().Get("PCP_ARCHIVE_VERSION") == "3" {
		opts.Version = archive.Version3
	}
	if a, ok := p.r.Context.Archive(); ok {
		label, err := a.Label(p.ctx)
		if err != nil {
			return err
		}
		opts.Host = label.Host
	}
	if p.arch, err = importer.Start(p.outFile, opts); err != nil {
		return err
	}
	n := len(p.set.Metrics)
	p.rec = &recorded{insts: make([]map[int32]bool, n), prev: make([]map[int32]string, n), known: make(map[string]bool)}
	for i, m := range p.set.Metrics {
		p.rec.insts[i], p.rec.known[m.Name] = make(map[int32]bool), true
		if _, err := p.arch.AddMetric(m.Name, m.Desc); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := p.metricLabels(m); err != nil {
			return err
		}
		if err := p.putTexts(m); err != nil {
			return err
		}
	}
	return nil
}

// metricLabels writes the labels of a metric. As in the Python program, clusters and items are identified by their
// number alone.
func (p *reporter) metricLabels(m *pmrep.Metric) error {
	for level, list := range m.LevelLabels() {
		ident, id := uint32(0), m.Desc.PMID
		switch level {
		case pcp.LabelDomain:
			ident = uint32(id.Domain())
		case pcp.LabelInDom:
			ident = uint32(m.Desc.InDom)
		case pcp.LabelCluster:
			ident = uint32(id.Cluster())
		case pcp.LabelItem:
			ident = uint32(id.Item())
		}
		for _, l := range list {
			if err := p.putLabel(level, ident, pcp.InNull, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *reporter) putLabel(level pcp.LabelFlags, ident uint32, inst int32, l pmrep.Label) error {
	if err := p.arch.PutLabel(level, ident, inst, l.Name, l.Value); err != nil {
		return errorf("pmiPutLabel failed: %v", err)
	}
	return nil
}

func (p *reporter) putTexts(m *pmrep.Metric) error {
	for _, t := range []struct {
		kind  pcp.TextKind
		ident uint32
		text  string
	}{
		{pcp.TextPMID | pcp.TextOneLine, uint32(m.Desc.PMID), m.Text.Line},
		{pcp.TextPMID | pcp.TextHelp, uint32(m.Desc.PMID), m.Text.Help},
		{pcp.TextInDom | pcp.TextOneLine, uint32(m.Desc.InDom), m.Text.InDomLine},
		{pcp.TextInDom | pcp.TextHelp, uint32(m.Desc.InDom), m.Text.InDomHelp},
	} {
		if t.text == "" {
			continue
		}
		if err := p.arch.PutText(t.kind, t.ident, t.text); err != nil {
			return nil // a text written for other metrics
		}
	}
	return nil
}

// writeArchive records a sample.
func (p *reporter) writeArchive(s *pmrep.Sample) error {
	if p.arch == nil {
		if err := p.startArchive(); err != nil {
			return err
		}
	}
	data := false
	for i, m := range p.set.Metrics {
		discrete := m.Desc.Sem == pcp.SemDiscrete
		var now map[int32]string
		if discrete {
			now = make(map[int32]string, len(s.Results[i]))
		}
		for k := range s.Results[i] {
			v := &s.Results[i][k]
			if err := p.newInstance(i, m, v); err != nil {
				return err
			}
			text := plain(v.Value)
			if discrete {
				now[v.Inst] = text
				if old, ok := p.rec.prev[i][v.Inst]; ok && old == text {
					continue
				}
			}
			// A value that the archive cannot represent is left out.
			_ = p.arch.PutValue(m.Name, v.Name, text)
			data = true
		}
		p.rec.prev[i] = now
	}
	if !data {
		return nil
	}
	return p.arch.Write(time.Unix(s.Time.Sec, int64(s.Time.Nsec)))
}

// newInstance declares the instance of a value if it is new.
func (p *reporter) newInstance(i int, m *pmrep.Metric, v *pmrep.Value) error {
	if v.Inst == pcp.InNull || p.rec.insts[i][v.Inst] {
		return nil
	}
	p.rec.insts[i][v.Inst] = true
	if p.labelled {
		for _, l := range m.InstLabels(v.Inst) {
			if err := p.putLabel(pcp.LabelInstances, uint32(m.Desc.InDom), v.Inst, l); err != nil {
				return err
			}
		}
	}
	if err := p.putTexts(m); err != nil {
		return err
	}
	err := p.arch.AddInstance(m.Desc.InDom, v.Name, v.Inst)
	if errors.Is(err, importer.ErrDupInstName) || errors.Is(err, importer.ErrDupInstID) {
		return nil
	}
	return err
}

// plain formats a value as Python's str does.
func plain(v pcp.Value) string {
	switch v.Type() {
	case pcp.TypeString:
		s, _ := v.Text()
		return valid(s)
	case pcp.TypeFloat, pcp.TypeDouble:
		f, _ := v.Float64()
		return pytext.Float(f)
	case pcp.Type32, pcp.Type64:
		return strconv.FormatInt(v.Int64(), 10)
	}
	return strconv.FormatUint(v.Uint64(), 10)
}

// endArchive completes the archive. An archive without records is not created.
func (p *reporter) endArchive() error {
	if p.arch == nil {
		return nil
	}
	err := p.arch.End()
	p.arch = nil
	if errors.Is(err, importer.ErrNoData) {
		return nil
	}
	return err
}
