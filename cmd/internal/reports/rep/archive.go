package rep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
)

// A recorder writes samples to an archive.
type recorder struct {
	ctx      context.Context
	r        *metricset.Report
	out      io.Writer // for the header
	set      *pmrep.Set
	file     string
	labelled bool

	arch  *importer.Importer // nil until the first sample
	insts []map[int32]bool   // instances that are declared
	prev  []map[int32]string // the values of discrete metrics in the previous sample
}

// header implements writer.
func (w *recorder) header(*pmrep.Sample, bool) {
	r := w.r
	fmt.Fprintf(w.out, "Recording %d metrics to %s", len(w.set.Metrics), w.file)
	duration := r.Runtime
	if duration == -1 {
		duration = float64(r.Samples-1) * r.Interval.Seconds()
	}
	switch {
	case r.Runtime != -1 || r.Samples != 0:
		fmt.Fprintf(w.out, ":\n%d samples(s) with %.1f sec interval ~ %d sec duration.\n", r.Samples, r.Interval.Seconds(), int64(duration))
	case r.Archive:
		fmt.Fprintln(w.out, "...")
	default:
		fmt.Fprintln(w.out, "... (Ctrl-C to stop)")
	}
}

// start begins the archive, with the metadata of the metrics.
func (w *recorder) start() (err error) {
	opts := importer.Options{TimeZone: w.r.Zone, Version: archive.Version2}
	if w.r.Env.Config().Get("PCP_ARCHIVE_VERSION") == "3" {
		opts.Version = archive.Version3
	}
	if a, ok := w.r.Context.Archive(); ok {
		label, err := a.Label(w.ctx)
		if err != nil {
			return err
		}
		opts.Host = label.Host
	}
	if w.arch, err = importer.Start(w.file, opts); err != nil {
		return err
	}
	n := len(w.set.Metrics)
	w.insts, w.prev = make([]map[int32]bool, n), make([]map[int32]string, n)
	for i, m := range w.set.Metrics {
		w.insts[i] = make(map[int32]bool)
		if _, err := w.arch.AddMetric(m.Name, m.Desc); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		if err := w.metricLabels(m); err != nil {
			return err
		}
		if err := w.putTexts(m); err != nil {
			return err
		}
	}
	return nil
}

// metricLabels writes the labels of a metric. As in the Python program, clusters and items are identified by their
// number alone.
func (w *recorder) metricLabels(m *pmrep.Metric) error {
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
			if err := w.putLabel(level, ident, pcp.InNull, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *recorder) putLabel(level pcp.LabelFlags, ident uint32, inst int32, l pmrep.Label) error {
	if err := w.arch.PutLabel(level, ident, inst, l.Name, l.Value); err != nil {
		return errorf("pmiPutLabel failed: %v", err)
	}
	return nil
}

func (w *recorder) putTexts(m *pmrep.Metric) error {
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
		if err := w.arch.PutText(t.kind, t.ident, t.text); err != nil {
			return nil // a text written for other metrics
		}
	}
	return nil
}

// sample implements writer.
func (w *recorder) sample(s *pmrep.Sample) error {
	if w.arch == nil {
		if err := w.start(); err != nil {
			return err
		}
	}
	data := false
	for i, m := range w.set.Metrics {
		discrete := m.Desc.Sem == pcp.SemDiscrete
		var now map[int32]string
		if discrete {
			now = make(map[int32]string, len(s.Results[i]))
		}
		for k := range s.Results[i] {
			v := &s.Results[i][k]
			if err := w.newInstance(i, m, v); err != nil {
				return err
			}
			text := plain(v.Value)
			if discrete {
				now[v.Inst] = text
				if old, ok := w.prev[i][v.Inst]; ok && old == text {
					continue
				}
			}
			// A value that the archive cannot represent is left out.
			_ = w.arch.PutValue(m.Name, v.Name, text)
			data = true
		}
		w.prev[i] = now
	}
	if !data {
		return nil
	}
	return w.arch.Write(time.Unix(s.Time.Sec, int64(s.Time.Nsec)))
}

// newInstance declares the instance of a value if it is new.
func (w *recorder) newInstance(i int, m *pmrep.Metric, v *pmrep.Value) error {
	if v.Inst == pcp.InNull || w.insts[i][v.Inst] {
		return nil
	}
	w.insts[i][v.Inst] = true
	if w.labelled {
		for _, l := range m.InstLabels(v.Inst) {
			if err := w.putLabel(pcp.LabelInstances, uint32(m.Desc.InDom), v.Inst, l); err != nil {
				return err
			}
		}
	}
	if err := w.putTexts(m); err != nil {
		return err
	}
	err := w.arch.AddInstance(m.Desc.InDom, v.Name, v.Inst)
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

// finish implements writer. The archive is completed by close, which is called even if the report fails.
func (w *recorder) finish() error { return nil }

// close completes the archive. An archive without records is not created.
func (w *recorder) close() error {
	if w.arch == nil {
		return nil
	}
	err := w.arch.End()
	w.arch = nil
	if errors.Is(err, importer.ErrNoData) {
		return nil
	}
	return err
}
