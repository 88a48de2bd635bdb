package logsize

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/ctext"
)

// An indom sums up the records of an instance domain.
type indom struct {
	id       pcp.InDom
	records  int
	bytes    int64
	seen     map[instance]bool
	repeated int
	dupBytes int64
}

type instance struct {
	inst int32
	name string
}

// instances returns the number of instances in all records.
func (d *indom) instances() int { return len(d.seen) + d.repeated }

// meta reports on metadata.
func (p *part) meta() error {
	var size [archive.MetaLabel + 1]int64
	var records [archive.MetaLabel + 1]int
	byID := make(map[pcp.InDom]*indom)
	var indoms []*indom
	for {
		n, ok := p.word()
		if !ok {
			break
		}
		kind, ok := p.word()
		if !ok {
			break
		}
		p.overhead += 4
		need := int64(n) - 12
		body := p.bytes(need)
		if int64(len(body)) != need {
			return p.giveUp("Error: metadata read failed: len %d not %d\n", len(body), need)
		}
		typ := archive.MetaType(kind)
		if typ < archive.MetaDesc || typ > archive.MetaLabel {
			return p.giveUp("Error: bad metadata type: %d\n", kind)
		}
		records[typ]++
		size[typ] += 4 + need
		ok = true
		switch typ {
		case archive.MetaDesc:
			if p.verbose > 0 {
				ok = p.desc(body)
			}
		case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaInDomV2:
			if !p.detail && p.verbose == 0 {
				break
			}
			head := 16
			if typ == archive.MetaInDomV2 {
				head = 12
			}
			if ok = len(body) >= head+4; !ok {
				break
			}
			id := pcp.InDom(binary.BigEndian.Uint32(body[head-4:]))
			d := byID[id]
			if d == nil {
				d = &indom{id: id, seen: make(map[instance]bool)}
				byID[id] = d
				indoms = append(indoms, d)
			}
			d.bytes += int64(head) + 8
			ok = p.inDom(d, typ, body[head:])
		case archive.MetaLabel, archive.MetaLabelV2:
			if p.detail && records[typ] == 1 {
				fmt.Fprint(p.out, "LABEL: TODO ... nothing reported as yet\n")
			}
		case archive.MetaText:
			if p.detail && records[typ] == 1 {
				fmt.Fprint(p.out, "TEXT: TODO ... nothing reported as yet\n")
			}
		}
		if !ok {
			return p.giveUp("%s: offset %d: Error: metadata record of type %d is too short for what it says\n", p.path, p.off-need-8, kind)
		}
		p.bytes(4)
		p.overhead += 4
	}
	records[archive.MetaInDom] += records[archive.MetaInDomDelta] + records[archive.MetaInDomV2]
	size[archive.MetaInDom] += size[archive.MetaInDomDelta] + size[archive.MetaInDomV2]
	records[archive.MetaLabel] += records[archive.MetaLabelV2]
	size[archive.MetaLabel] += size[archive.MetaLabelV2]

	var all int64
	line := func(typ archive.MetaType, what, more string) {
		all += size[typ]
		if records[typ] > 0 {
			p.add(what, size[typ], records[typ])
			fmt.Fprintf(p.out, "  %s: %d bytes [%s%%, %d records%s]\n", what, size[typ], percent(size[typ], p.size), records[typ], more)
		}
	}
	line(archive.MetaDesc, "metrics", "")
	more := ""
	if p.detail {
		n := 0
		for _, d := range indoms {
			n += d.instances()
		}
		more = fmt.Sprintf(", %d instances", n)
	}
	line(archive.MetaInDom, "indoms", more)
	if p.detail {
		p.listInDoms(indoms, size[archive.MetaInDom])
	}
	line(archive.MetaLabel, "labels", "")
	line(archive.MetaText, "texts", "")
	p.finish(all)
	return nil
}

// desc prints the names of a descriptor.
func (p *part) desc(body []byte) bool {
	const head = 20
	if len(body) < head+4 {
		return false
	}
	fmt.Fprintf(p.out, "PMID: %s", pcp.PMID(binary.BigEndian.Uint32(body)))
	n := int32(binary.BigEndian.Uint32(body[head:]))
	for body = body[head+4:]; n > 0; n-- {
		if len(body) < 4 {
			return false
		}
		k := binary.BigEndian.Uint32(body)
		if uint64(k) > uint64(len(body)-4) {
			return false
		}
		name := ctext.Bytes(body[4 : 4+k])
		fmt.Fprintf(p.out, " %*s", k, name)
		body = body[4+k:]
	}
	p.out.WriteByte('\n')
	return true
}

// inDom adds a record of an instance domain, starting at its number of instances.
func (p *part) inDom(d *indom, typ archive.MetaType, body []byte) bool {
	n := int(int32(binary.BigEndian.Uint32(body)))
	body = body[4:]
	if n < 0 || uint64(n)*8 > uint64(len(body)) {
		return false
	}
	d.records++
	if p.verbose > 0 {
		kind := map[archive.MetaType]string{
			archive.MetaInDom: "INDOM", archive.MetaInDomDelta: "INDOM_DELTA", archive.MetaInDomV2: "INDOM_V2",
		}[typ]
		fmt.Fprintf(p.out, "%s: %s %d instance", kind, d.id, n)
		if n > 1 {
			p.out.WriteByte('s')
		}
	}
	insts, names, text := body[:4*n], body[4*n:8*n], body[8*n:]
	for j := range n {
		inst, at := int32(binary.BigEndian.Uint32(insts[4*j:])), int32(binary.BigEndian.Uint32(names[4*j:]))
		if inst < 0 {
			// No domain has so many instances. The C tool stops here.
			if p.verbose > 0 {
				fmt.Fprint(p.out, " ... ")
			}
			break
		}
		if at < 0 {
			// An instance removed by a delta has no name.
			d.bytes += 8
			if p.verbose > 0 && j == n-1 {
				fmt.Fprint(p.out, " ... ")
			}
			continue
		}
		if int(at) >= len(text) {
			return false
		}
		name := ctext.Bytes(text[at:])
		if p.verbose > 0 {
			switch {
			case j == 0:
				fmt.Fprintf(p.out, " %d \"%s\"", inst, name)
			case j == n-1:
				fmt.Fprintf(p.out, " ... %d \"%s\"", inst, name)
			}
		}
		size := int64(8 + len(name) + 1)
		d.bytes += size
		if d.seen[instance{inst, string(name)}] {
			d.repeated++
			d.dupBytes += size
		} else {
			d.seen[instance{inst, string(name)}] = true
		}
	}
	if p.verbose > 0 {
		p.out.WriteByte('\n')
	}
	return true
}

// listInDoms prints the instance domains, the largest first.
func (p *part) listInDoms(indoms []*indom, all int64) {
	slices.SortStableFunc(indoms, func(a, b *indom) int { return int(int32(b.bytes - a.bytes)) })
	var listed int64
	for _, d := range indoms {
		if p.culled(listed, all) {
			fmt.Fprint(p.out, "    ...\n")
			return
		}
		n := d.instances()
		fmt.Fprintf(p.out, "    %s: %d bytes [%s%%, %d record", d.id, d.bytes, percent(d.bytes, p.size), d.records)
		if d.records > 1 {
			p.out.WriteByte('s')
		}
		fmt.Fprintf(p.out, ", %d instance", n)
		if n > 1 {
			p.out.WriteByte('s')
		}
		if p.replication && d.repeated > 0 {
			fmt.Fprintf(p.out, " (%d bytes for %d dup", d.dupBytes, d.repeated)
			if d.repeated > 1 {
				p.out.WriteByte('s')
			}
			p.out.WriteByte(')')
		}
		fmt.Fprint(p.out, "]\n")
		listed += d.bytes
	}
}
