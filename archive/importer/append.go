package importer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// An old is what an importer knows about the archive that it appends to.
type old struct {
	texts     map[text]bool
	instances map[pcp.InDom]int // number of its slots
	begun     bool              // something was written
}

// has reports whether an instance domain is in the archive.
func (o *old) has(id pcp.InDom) bool {
	if o == nil {
		return false
	}
	_, ok := o.instances[id]
	return ok
}

// resume opens the archive to append to it.
func (im *Importer) resume() error {
	opt := &im.opt
	if opt.Version != 0 && archive.LabelSize(opt.Version) == 0 {
		return fmt.Errorf("version %d: %w", opt.Version, ErrBadVersion)
	}
	w, err := archive.Create(im.base, archive.WriterConfig{
		Label:       archive.Label{Version: opt.Version, Host: opt.Host, TimeZone: opt.TimeZone, ZoneInfo: opt.ZoneInfo},
		ManualIndex: true,
		Append:      true,
	})
	if err != nil {
		return err
	}
	im.w = w
	a, err := archive.Open(im.base)
	if err != nil {
		return err
	}
	defer a.Close()
	l := a.Label()
	opt.Version, opt.Host, opt.TimeZone, opt.ZoneInfo = l.Version, l.Host, l.TimeZone, l.ZoneInfo
	if im.last, err = a.End(); err != nil {
		return err
	}
	if index := a.Index(); len(index) > 0 && index[len(index)-1].Time.Compare(im.last) > 0 {
		im.last = index[len(index)-1].Time
	}
	_, im.flush, _ = w.Position() // the first record gets an entry
	im.load(a.Meta())
	if inherit := opt.Inherit; inherit != nil {
		opt.Inherit = nil
		return im.inheritInto(inherit)
	}
	return nil
}

// load takes the metrics, instances and text of the archive.
func (im *Importer) load(meta *archive.Meta) {
	im.old = &old{texts: make(map[text]bool), instances: make(map[pcp.InDom]int)}
	for _, desc := range meta.Descs() {
		for _, name := range meta.Names(desc.PMID) {
			m := im.add(name, desc)
			m.done, m.stored = true, true
		}
		if desc.InDom != pcp.InDomNull {
			im.indom(desc.InDom)
			im.old.instances[desc.InDom] = 0
		}
	}
	for _, id := range meta.InDoms() {
		rec, err := meta.InDom(id, pcp.Timestamp{Sec: math.MaxInt64})
		if err != nil {
			continue // it never had instances
		}
		d := im.indom(id)
		for _, in := range rec.Instances {
			d.add(in)
		}
		slices.SortStableFunc(d.disk, func(a, b pcp.Instance) int { return cmp.Compare(a.Inst, b.Inst) })
		d.done = true
		im.old.instances[id] = len(d.slots)
	}
	for _, t := range meta.Texts() {
		im.old.texts[text{kind: t.Kind, ident: t.Ident, content: t.Text}] = true
	}
}

// declare declares a metric of the archive again.
func (im *Importer) declare(m *metric, desc pcp.Desc) (pcp.PMID, error) {
	was := m.desc
	fail := func(what string, now, was any, err error) (pcp.PMID, error) {
		return pcp.PMIDNull, fmt.Errorf("%s: %s %v, which is %v in the archive: %w", m.name, what, now, was, err)
	}
	switch {
	case desc.Type < pcp.Type32 || desc.Type > pcp.TypeString:
		return pcp.PMIDNull, fmt.Errorf("%s: type %s: %w", m.name, desc.Type, ErrBadType)
	case desc.PMID != pcp.PMIDNull && desc.PMID != was.PMID:
		return fail("PMID", desc.PMID, was.PMID, ErrDupMetricName)
	case desc.Type != was.Type:
		return fail("type", desc.Type, was.Type, pcp.ErrLogChangeType)
	case desc.Sem != was.Sem:
		return fail("semantics", desc.Sem, was.Sem, pcp.ErrLogChangeSem)
	case desc.InDom != was.InDom:
		return fail("instance domain", desc.InDom, was.InDom, pcp.ErrLogChangeInDom)
	case desc.Units != was.Units:
		return fail("units", desc.Units, was.Units, pcp.ErrLogChangeUnits)
	}
	m.stored = false
	return was.PMID, nil
}

// inheritInto takes the metrics, instances, text and labels of another archive, which must not
// contradict those of the archive that is appended to.
func (im *Importer) inheritInto(from *Importer) error {
	for _, m := range from.metrics {
		if m.stored {
			continue
		}
		if _, err := im.AddMetric(m.name, m.desc); err != nil {
			return err
		}
	}
	for id, d := range from.indoms {
		for _, in := range d.slots {
			if err := im.AddInstance(id, in.Name, in.Inst); err != nil {
				return fmt.Errorf("instance domain %s: %w", id, err)
			}
		}
	}
	im.inheritRest(from)
	im.serial = max(im.serial, from.serial)
	return nil
}
