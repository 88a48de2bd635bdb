package importer

import (
	"fmt"

	"github.com/go-pcp/pcp"
)

// A Spec describes the metric that NewMetric declares.
type Spec struct {
	Type    pcp.Type  // Type32 if not set
	Sem     pcp.Sem   // SemInstant if not set
	Units   pcp.Units // none if not set
	InDom   pcp.InDom // of NewInDom, if the metric has instances
	OneLine string    // help text in one line
	Help    string    // help text
}

// A Metric is a metric declared by NewMetric. If it has a single value it is also
// its handle; otherwise Instance returns the handle.
type Metric struct {
	Handle
	im *Importer
	m  *metric
}

// NewMetric declares a metric with a new PMID.
func (im *Importer) NewMetric(name string, spec Spec) (*Metric, error) {
	desc := pcp.Desc{PMID: pcp.PMIDNull, Type: spec.Type, InDom: pcp.InDomNull, Sem: spec.Sem, Units: spec.Units}
	if desc.Sem == 0 {
		desc.Sem = pcp.SemInstant
	}
	if spec.InDom != 0 {
		desc.InDom = spec.InDom
	}
	id, err := im.AddMetric(name, desc)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct {
		kind pcp.TextKind
		text string
	}{{pcp.TextOneLine, spec.OneLine}, {pcp.TextHelp, spec.Help}} {
		if t.text == "" {
			continue
		}
		if err := im.PutText(t.kind|pcp.TextPMID, uint32(id), t.text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	m := &Metric{im: im, m: im.byName[name]}
	if desc.InDom == pcp.InDomNull {
		m.Handle = Handle{im, m.m, -1}
	}
	return m, nil
}

// NewInDom returns a new instance domain of Domain. With Options.Append those of the archive are first: a
// program that calls NewInDom in the same order as before gets the same.
func (im *Importer) NewInDom() pcp.InDom {
	for {
		im.serial++
		id := pcp.NewInDom(Domain, im.serial)
		if im.indoms[id] == nil || im.old.has(id) {
			im.indom(id)
			return id
		}
	}
}

// ID returns the PMID of the metric.
func (m *Metric) ID() pcp.PMID { return m.m.desc.PMID }

// Name returns the name of the metric.
func (m *Metric) Name() string { return m.m.name }

// Desc returns the descriptor of the metric.
func (m *Metric) Desc() pcp.Desc { return m.m.desc }

// Instance returns the handle of an instance. It adds an unknown instance to the
// instance domain, with the next number. Unlike [Importer.Handle] it wants the
// whole name: a name that only begins like another's gives ErrDupInstName.
func (m *Metric) Instance(name string) (Handle, error) {
	if m.m.desc.InDom != pcp.InDomNull && name != "" {
		if err := m.im.EnsureInstance(m.m.desc.InDom, name); err != nil {
			return Handle{}, fmt.Errorf("%s: %w", m.m.name, err)
		}
	}
	return m.im.Handle(m.m.name, name)
}

// EnsureInstance adds an instance, with the next number, unless there is already
// one of that name. An instance whose name only begins like it gives
// ErrDupInstName.
func (im *Importer) EnsureInstance(id pcp.InDom, name string) error {
	d := im.indom(id)
	slot, ok := d.find(name)
	switch {
	case !ok:
		return im.AddInstance(id, name, d.next)
	case d.slots[slot].Name != name:
		return fmt.Errorf("instances %q and %q: %w", d.slots[slot].Name, name, ErrDupInstName)
	}
	return nil
}
