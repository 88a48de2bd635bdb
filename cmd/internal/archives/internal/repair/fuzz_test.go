package repair

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A recorder is an Output that counts and checks its records.
type recorder struct {
	t       *testing.T
	version int
	descs   map[pcp.PMID]pcp.Desc
	last    pcp.Timestamp
	records int
	res     pcp.Result
}

func (c *recorder) WriteMeta(body []byte) error {
	if c.t == nil {
		return nil
	}
	rec, err := archive.DecodeMeta(body, c.version)
	if err != nil {
		c.t.Errorf("a record of the metadata does not decode: %v", err)
		return nil
	}
	if rec.Type == archive.MetaDesc {
		if old, ok := c.descs[rec.Desc.PMID]; ok && old != rec.Desc {
			c.t.Errorf("two descriptors: %+v, %+v", old, rec.Desc)
		}
		c.descs[rec.Desc.PMID] = rec.Desc
	}
	return nil
}

func (c *recorder) WriteRecord(t pcp.Timestamp, body []byte) error {
	c.records++
	if c.t == nil {
		return nil
	}
	if err := archive.DecodeResult(&c.res, body, c.version); err != nil {
		c.t.Errorf("a record does not decode: %v", err)
		return nil
	}
	if c.res.Time != t || t.Compare(c.last) < 0 {
		c.t.Errorf("time %v with a record of %v, after %v", t, c.res.Time, c.last)
	}
	c.last = t
	return nil
}

func (c *recorder) Mark(t pcp.Timestamp) error {
	if t.Compare(c.last) < 0 {
		c.t.Errorf("a mark at %v after %v", t, c.last)
	}
	c.last = t
	return nil
}

func (c *recorder) NewVolume() error { return nil }

// small is an archive of a few hundred bytes: its metadata and one volume.
func small(tb testing.TB, version int) (meta, data []byte) {
	tb.Helper()
	l := archive.Label{Version: version, PID: 1, Host: "h", Start: pcp.Timestamp{Sec: start}}
	l.Vol = archive.VolMeta
	meta = l.Append(nil)
	l.Vol = 0
	data = l.Append(nil)
	add := func(to []byte, body []byte, err error) []byte {
		if err != nil {
			tb.Fatal(err)
		}
		n := uint32(len(body) + 8)
		to = append(binary.BigEndian.AppendUint32(to, n), body...)
		return binary.BigEndian.AppendUint32(to, n)
	}
	b, err := archive.AppendDesc(nil, counter, "a.b")
	meta = add(meta, b, err)
	b, err = archive.AppendDesc(nil, gauge, "a.c")
	meta = add(meta, b, err)
	b, err = archive.AppendInDom(nil, l.Start, indom, []pcp.Instance{{Inst: 1, Name: "i"}}, version)
	meta = add(meta, b, err)
	if version == archive.Version3 {
		b, err = archive.AppendInDomDelta(nil, l.Start, indom, []archive.Change{{Inst: 1}, {Inst: 2, Name: []byte("k")}})
		meta = add(meta, b, err)
	}
	for i := range 3 {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: start + int64(i)}}
		res.AddSet(counter.PMID)
		res.Add(pcp.Uint64Value(uint64(i)).WithInst(1))
		res.Sets[0].ValFmt = pcp.ValDPtr
		res.AddSet(gauge.PMID)
		res.Add(pcp.Uint32Value(7))
		b, err = archive.AppendResult(nil, res, version)
		data = add(data, b, err)
	}
	return meta, data
}

// FuzzRun repairs any bytes. Every record of the output is good, the records are
// in the order of time, and all input is accounted for.
func FuzzRun(f *testing.F) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		meta, data := small(f, version)
		f.Add(meta, data)
		f.Add(meta[40:], data)
		f.Add(meta, append(data[:len(data)-100:len(data)-100], data[len(data)-60:]...))
	}
	f.Fuzz(func(t *testing.T, meta, data []byte) {
		out := &recorder{t: t, descs: make(map[pcp.PMID]pcp.Desc)}
		lost := int64(0)
		cfg := Config{
			Meta:    Source{Name: "m", Data: bytes.NewReader(meta), Size: int64(len(meta))},
			Volumes: []Source{{Name: "v", Data: bytes.NewReader(data), Size: int64(len(data))}}, Numbers: []int{0},
			Dropped: func(d Drop) {
				if d.File == "v" {
					lost += d.Bytes
				}
				if d.Offset > int64(max(len(meta), len(data))) || d.String() == "" {
					t.Errorf("dropped %+v", d)
				}
			},
		}
		sum, err := Run(context.Background(), cfg, func(l archive.Label, _ int) (Output, error) {
			out.version = l.Version
			return out, nil
		})
		if err != nil && !errors.Is(err, ErrNothing) {
			t.Fatal(err)
		}
		if sum.Records != out.records {
			t.Errorf("%d records, %d written", sum.Records, out.records)
		}
		if lost > int64(len(data)) {
			t.Errorf("%d bytes of %d are lost", lost, len(data))
		}
	})
}
