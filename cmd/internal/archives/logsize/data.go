package logsize

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A metric sums up the values of a metric.
type metric struct {
	id       pcp.PMID
	names    []string
	bytes    int64
	records  int
	values   int
	repeated int
	dupBytes int64
	last     map[int32]value // since the last mark, with -r
}

// A value is a value in a record.
type value struct {
	word  uint32 // in situ
	typ   pcp.Type
	block []byte // nil if in situ
}

// open returns the metadata of the archive that a volume belongs to, nil if it
// cannot be opened.
func (t *tool) open(path string) *archive.Meta {
	base, _, ok := archive.BaseName(path)
	if !ok {
		base = path
	}
	if base == t.opened {
		return t.metadata
	}
	t.forget()
	t.opened = base
	if a, err := archive.Open(path); err == nil {
		t.archive, t.metadata = a, a.Meta()
	}
	return t.metadata
}

func (t *tool) forget() {
	if t.archive != nil {
		t.archive.Close()
	}
	t.archive, t.metadata, t.opened = nil, nil, ""
}

// data reports on a volume.
func (p *part) data() error {
	// The C tool counts 16 bytes for the time in a record of version 3, though it has
	// 12 in the file.
	stamp := int64(8)
	if p.version >= archive.Version3 {
		stamp = 16
	}
	meta := p.open(p.path)
	var total int64
	records, marks := 0, 0
	byID := make(map[pcp.PMID]*metric)
	var metrics []*metric
	var res pcp.Result
	for {
		n, ok := p.word()
		if !ok {
			break
		}
		need := int64(n) - 8
		total += need - stamp - 4
		body := p.bytes(need)
		if int64(len(body)) != need {
			return p.giveUp("Error: data read failed: len %d not %d\n", len(body), need+12)
		}
		p.word()
		p.overhead += 4 + stamp + 4 + 4
		records++
		if meta == nil {
			continue
		}
		if err := archive.DecodeResult(&res, body, p.version); err != nil {
			return p.giveUp("Error: %s failed: %s\n", "__pmDecodeResult", cli.ErrText(err))
		}
		if len(res.Sets) == 0 {
			for _, m := range metrics {
				clear(m.last)
			}
			marks++
			records--
			continue
		}
		if !p.detail {
			continue
		}
		var sc archive.SetScanner
		for sc.Start(body, p.version); sc.Next(); {
			m := byID[sc.PMID]
			if p.verbose > 0 {
				fmt.Fprintf(p.out, "PMID: %s", sc.PMID)
			}
			if m == nil {
				m = &metric{id: sc.PMID, names: meta.Names(sc.PMID)}
				if p.replication {
					m.last = make(map[int32]value)
				}
				byID[sc.PMID] = m
				metrics = append(metrics, m)
				if p.verbose > 0 && len(m.names) > 0 {
					fmt.Fprintf(p.out, " (%s)", strings.Join(m.names, ", "))
				}
			}
			size := m.take(&sc)
			if p.verbose > 0 {
				fmt.Fprintf(p.out, " bytes=%d\n", size)
			}
		}
	}
	p.add("data", total, records)
	p.addMetrics(metrics)
	fmt.Fprintf(p.out, "  data: %d bytes [%s%%, %d records", total, percent(total, p.size), records)
	if marks > 0 {
		fmt.Fprintf(p.out, " (+ %d <mark> records)", marks)
	}
	fmt.Fprint(p.out, "]\n")
	p.listMetrics(metrics, total)
	p.finish(total)
	return nil
}

// take adds a set and returns its size in bytes.
func (m *metric) take(sc *archive.SetScanner) int64 {
	m.records++
	size := int64(8)
	if sc.Len > 0 {
		size += 4 + 8*int64(sc.Len)
	}
	for i := range sc.Len {
		v := value{word: sc.Word(i)}
		if sc.ValFmt != pcp.ValInSitu {
			// It is within the decoded record.
			v.word = 0
			v.typ, v.block, _ = sc.Block(i)
			size += int64(4+len(v.block)+3) &^ 3
		}
		m.values++
		if m.last == nil {
			continue
		}
		inst := sc.Inst(i)
		switch old, ok := m.last[inst]; {
		case ok && (old.block == nil) == (v.block == nil) && old.word == v.word && old.typ == v.typ && bytes.Equal(old.block, v.block):
			m.repeated++
			m.dupBytes += 8
			if v.block != nil {
				m.dupBytes += int64(4 + len(v.block))
			}
		default:
			if v.block != nil {
				v.block = append(old.block[:0:len(old.block)], v.block...)
				if v.block == nil {
					v.block = []byte{}
				}
			}
			m.last[inst] = v
		}
	}
	m.bytes += size
	return size
}

// listMetrics prints the metrics, the largest first.
func (p *part) listMetrics(metrics []*metric, all int64) {
	slices.SortStableFunc(metrics, func(a, b *metric) int { return int(int32(b.bytes - a.bytes)) })
	var listed int64
	for _, m := range metrics {
		if p.culled(listed, all) {
			fmt.Fprint(p.out, "    ...\n")
			return
		}
		fmt.Fprintf(p.out, "    %s: %d bytes [%s%%, %d record%s, %d value%s", m.id, m.bytes, percent(m.bytes, p.size),
			m.records, s(m.records), m.values, s(m.values))
		if p.replication && m.repeated > 0 {
			fmt.Fprintf(p.out, " (%d bytes for %d dup%s)", m.dupBytes, m.repeated, s(m.repeated))
		}
		p.out.WriteByte(']')
		if len(m.names) > 0 {
			fmt.Fprintf(p.out, " (%s)", strings.Join(m.names, ", "))
		}
		p.out.WriteByte('\n')
		listed += m.bytes
	}
}
