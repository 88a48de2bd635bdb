package repair

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A metaRecord is a complete record of the metadata.
type metaRecord struct {
	off  int64
	sec  int64 // of records with a time
	nsec int32
	n    int32
	typ  archive.MetaType
	id   uint32 // of a metric or an instance domain
	bad  string // reason for dropping it, "" if it is kept
}

func (m *metaRecord) timed() bool {
	return m.typ != archive.MetaDesc && m.typ != archive.MetaText
}

func (m *metaRecord) time() pcp.Timestamp { return pcp.Timestamp{Sec: m.sec, Nsec: m.nsec} }

// A metric has the descriptor of a metric, and others if some are damaged.
type metric struct {
	descs []candidate
	best  int // index in descs, set by elect; -1 if none is good
	doubt bool
}

// A candidate is a descriptor, and the number of sets of values that match it.
type candidate struct {
	pcp.Desc
	record     int // in metadata.list
	fits, does int // does not
}

// metadata has the records found in the metadata.
type metadata struct {
	in      *input
	version int
	list    []metaRecord
	lost    []loss
	metrics map[pcp.PMID]*metric
	indoms  map[pcp.InDom]bool // with a kept record
}

// A loss is a range of bytes without a complete record.
type loss struct {
	span
	records int // known to be records
	why     string
}

// scanMeta finds the complete records of the metadata, from off on.
func scanMeta(in *input, version int, off int64) (*metadata, error) {
	m := &metadata{in: in, version: version, metrics: make(map[pcp.PMID]*metric), indoms: make(map[pcp.InDom]bool)}
	s := scanner{in: in, least: 12, limit: maxMeta, try: func(off, n int64, body []byte, search bool) string {
		rec, err := archive.DecodeMeta(body, version)
		if err != nil {
			return err.Error()
		}
		why := odd(rec, body, version)
		if search && why != "" {
			return why
		}
		m.add(off, n, rec, why)
		return ""
	}, head: func(b []byte, _ int64) bool {
		t := binary.BigEndian.Uint32(b[4:])
		return t >= uint32(archive.MetaDesc) && t <= uint32(archive.MetaLabel)
	}}
	err := s.run(off)
	m.lost = s.lost
	return m, err
}

// odd returns the reason if a record that decodes does not belong to this
// archive, or "" if it does.
func odd(rec *archive.MetaRecord, body []byte, version int) string {
	switch rec.Type {
	case archive.MetaInDomV2, archive.MetaLabelV2:
		if version != archive.Version2 {
			return fmt.Sprintf("version %d has no records of type %d", version, rec.Type)
		}
	case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaLabel:
		if version != archive.Version3 {
			return fmt.Sprintf("version %d has no records of type %d", version, rec.Type)
		}
	}
	switch rec.Type {
	case archive.MetaDesc:
		d := &rec.Desc
		if d.PMID == pcp.PMIDNull || d.Type < pcp.TypeNoSupport || d.Type > pcp.TypeHighResEvent {
			return fmt.Sprintf("the descriptor of metric %s has type %d", d.PMID, int32(d.Type))
		}
		for _, name := range rec.Names {
			if !goodName(name) {
				return fmt.Sprintf("metric %s has the name %q", d.PMID, name)
			}
		}
	case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta:
		if rec.InDom == pcp.InDomNull {
			return "a record of no instance domain"
		}
	case archive.MetaLabelV2, archive.MetaLabel:
		for i := range rec.Labels {
			s := &rec.Labels[i]
			for _, l := range s.Index {
				if int(l.Name)+int(l.NameLen) > len(s.JSON) || int(l.Value)+int(l.ValueLen) > len(s.JSON) {
					return "a label beyond its text"
				}
			}
		}
	}
	if rec.Type != archive.MetaDesc && rec.Type != archive.MetaText && !rawTime(body[4:], version) {
		return "its time stamp is not a time"
	}
	return ""
}

// goodTime reports whether a time is valid.
func goodTime(t pcp.Timestamp) bool { return t.Sec >= 0 && t.Nsec >= 0 && t.Nsec < 1e9 }

// goodName reports whether a metric can have a name.
func goodName(name string) bool {
	return name != "" && utf8.ValidString(name) && name[0] != '.' && name[len(name)-1] != '.' && !strings.Contains(name, "..") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func (m *metadata) add(off, n int64, rec *archive.MetaRecord, why string) {
	r := metaRecord{off: off, n: int32(n), typ: rec.Type, sec: rec.Time.Sec, nsec: rec.Time.Nsec, bad: why}
	switch rec.Type {
	case archive.MetaDesc:
		r.id = uint32(rec.Desc.PMID)
	case archive.MetaInDom, archive.MetaInDomV2, archive.MetaInDomDelta:
		r.id = uint32(rec.InDom)
	}
	m.list = append(m.list, r)
	if why != "" {
		return
	}
	switch rec.Type {
	case archive.MetaInDom, archive.MetaInDomV2, archive.MetaInDomDelta:
		if len(rec.Instances) > 0 {
			m.indoms[rec.InDom] = true
		}
	case archive.MetaDesc:
		x := m.metrics[rec.Desc.PMID]
		if x == nil {
			x = new(metric)
			m.metrics[rec.Desc.PMID] = x
		}
		if !slices.ContainsFunc(x.descs, func(c candidate) bool { return c.Desc == rec.Desc }) {
			x.descs = append(x.descs, candidate{Desc: rec.Desc, record: len(m.list) - 1})
		}
	}
}

// order drops records whose time is not between those of the others, and reports
// whether there were any. Of two that contradict each other it keeps the one with
// a time that occurs elsewhere too, as loggers write metadata.
func (m *metadata) order(known func(pcp.Timestamp) bool) bool {
	var at []int32
	inOrder := true
	for i := range m.list {
		if r := &m.list[i]; r.timed() && r.bad == "" {
			if len(at) > 0 {
				l := &m.list[at[len(at)-1]]
				inOrder = inOrder && r.time().Compare(l.time()) >= 0
			}
			at = append(at, int32(i))
		}
	}
	if inOrder {
		return false
	}
	same := make(map[pcp.Timestamp]int)
	for _, i := range at {
		same[m.list[i].time()]++
	}
	weights := make([]int64, len(at))
	for k, i := range at {
		weights[k] = weight
		t := m.list[i].time()
		if known(t) {
			weights[k] += weightConfirmed
		}
		if same[t] > 1 {
			weights[k] += weightRegular
		}
	}
	best := heaviest(len(at), func(a, b int32) int { return m.list[at[a]].time().Compare(m.list[at[b]].time()) }, weights)
	clear(weights)
	for _, k := range best {
		weights[k] = 1
	}
	clear(m.indoms)
	for k, i := range at {
		r := &m.list[i]
		if weights[k] == 0 {
			r.bad = "its time is not between those of the records around it"
			continue
		}
		switch r.typ {
		case archive.MetaInDom, archive.MetaInDomV2, archive.MetaInDomDelta:
			m.indoms[pcp.InDom(r.id)] = true
		}
	}
	return true
}

// elect chooses the descriptor of each metric that matches most of its values.
func (m *metadata) elect() {
	for _, x := range m.metrics {
		for i, c := range x.descs {
			if b := &x.descs[x.best]; i > 0 && m.score(&c) > m.score(b) {
				x.best = i
			}
		}
		for i, c := range x.descs {
			switch {
			case i != x.best:
				m.list[c.record].bad = fmt.Sprintf("another descriptor of metric %s goes better with its values", c.PMID)
			case c.does > c.fits && c.does >= 3:
				m.list[c.record].bad = fmt.Sprintf("the descriptor of metric %s says %s, which is not what the values are", c.PMID, c.Type)
				x.best = -1
			default:
				continue
			}
			x.doubt = true
		}
		if len(x.descs) > 1 {
			x.doubt = true
		}
	}
	// The same descriptor may occur more than once.
	for i := range m.list {
		r := &m.list[i]
		if r.typ != archive.MetaDesc || r.bad != "" {
			continue
		}
		x := m.metrics[pcp.PMID(r.id)]
		if !x.doubt || x.best >= 0 && x.descs[x.best].record == i {
			continue
		}
		rec, err := archive.DecodeMeta(m.body(r), m.version)
		if err != nil || x.best < 0 || rec.Desc != x.descs[x.best].Desc {
			r.bad = fmt.Sprintf("the descriptor of metric %s contradicts another one", pcp.PMID(r.id))
		}
	}
}

// score compares descriptors of one metric.
func (m *metadata) score(c *candidate) int {
	n := 8 * (c.fits - c.does)
	if c.InDom == pcp.InDomNull || c.InDom.Domain() == c.PMID.Domain() {
		n += 4
	}
	if c.InDom == pcp.InDomNull || m.indoms[c.InDom] {
		n += 2
	}
	return n
}

// desc returns the descriptor of a metric, nil if it is lost.
func (m *metadata) desc(id pcp.PMID) *pcp.Desc {
	x := m.metrics[id]
	if x == nil || x.best < 0 {
		return nil
	}
	return &x.descs[x.best].Desc
}

// body returns the contents of a record, valid until the next call.
func (m *metadata) body(r *metaRecord) []byte {
	b := m.in.at(r.off, int64(r.n))
	if len(b) < int(r.n) {
		return nil // the file was cut meanwhile
	}
	return b[4 : len(b)-4]
}
