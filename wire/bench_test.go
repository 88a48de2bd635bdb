package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// results are the answers that a collector sends all day: one value, fifty
// metrics of a host, and one metric of a thousand instances; with numbers of 64
// bits, which are sent in blocks.
func results() map[string]*wire.Result {
	one := &wire.Result{HighRes: true}
	one.AddSet(pcp.NewPMID(60, 2, 0))
	one.Add(pcp.FloatValue(0.25))

	fifty := &wire.Result{HighRes: true}
	for i := range 50 {
		fifty.AddSet(pcp.NewPMID(60, 0, i))
		switch i % 5 {
		case 0:
			fifty.Add(pcp.RawValue(pcp.TypeUnknown, uint64(i)))
		case 1:
			fifty.Add(pcp.StringValue(fmt.Sprintf("string %d", i)))
		case 2:
			fifty.Sets[len(fifty.Sets)-1].Err = pcp.ErrAppVersion
		default:
			for inst := range int32(4) {
				fifty.Add(pcp.Uint64Value(uint64(i) << 33).WithInst(inst))
			}
		}
	}

	thousand := &wire.Result{HighRes: true}
	thousand.AddSet(pcp.NewPMID(60, 0, 4))
	for inst := range int32(1000) {
		thousand.Add(pcp.Uint64Value(uint64(inst) << 33).WithInst(inst))
	}
	insitu := &wire.Result{HighRes: true}
	insitu.AddSet(pcp.NewPMID(60, 0, 4))
	for inst := range int32(1000) {
		insitu.Add(pcp.RawValue(pcp.TypeUnknown, uint64(inst)).WithInst(inst))
	}
	return map[string]*wire.Result{"1metric": one, "50metrics": fifty, "1000instances": thousand, "1000insitu": insitu}
}

var resultNames = []string{"1metric", "50metrics", "1000instances", "1000insitu"}

func BenchmarkResultAppend(b *testing.B) {
	for _, name := range resultNames {
		p := results()[name]
		b.Run(name, func(b *testing.B) {
			buf := wire.Append(nil, 0, p)
			b.ReportAllocs()
			b.SetBytes(int64(len(buf)))
			for b.Loop() {
				buf = wire.Append(buf[:0], 0, p)
			}
		})
	}
}

func BenchmarkResultDecode(b *testing.B) {
	for _, name := range resultNames {
		body := wire.AppendBody(results()[name])
		b.Run(name, func(b *testing.B) {
			q := wire.Result{HighRes: true}
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := q.DecodeBody(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInstanceDecode(b *testing.B) {
	p := &wire.Instance{InDom: pcp.NewInDom(60, 1)}
	for i := range int32(1000) {
		p.Instances = append(p.Instances, pcp.Instance{Inst: i, Name: fmt.Sprintf("instance-%d", i)})
	}
	body := wire.AppendBody(p)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := p.DecodeBody(body); err != nil {
			b.Fatal(err)
		}
	}
}

// repeat returns the same bytes forever.
type repeat struct {
	b   []byte
	off int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.off:])
	r.off = (r.off + n) % len(r.b)
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	for _, name := range resultNames {
		pdu := wire.Append(nil, 0, results()[name])
		b.Run(name, func(b *testing.B) {
			r := wire.NewReader(&repeat{b: pdu})
			b.ReportAllocs()
			b.SetBytes(int64(len(pdu)))
			for b.Loop() {
				if _, _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocs checks that the hot path allocates nothing in its steady state.
func TestAllocs(t *testing.T) {
	f := func(name string, run func()) {
		t.Helper()
		run() // memory is taken once
		run()
		if n := testing.AllocsPerRun(50, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for name, p := range results() {
		buf := wire.Append(nil, 0, p)
		body := bytes.Clone(buf[wire.HeaderSize:])
		q := &wire.Result{HighRes: true}
		r := wire.NewReader(&repeat{b: bytes.Clone(buf)})
		f("encode "+name, func() { buf = wire.Append(buf[:0], 0, p) })
		f("decode "+name, func() { check(q.DecodeBody(body)) })
		f("read "+name, func() {
			_, _, err := r.Next()
			check(err)
		})
	}
	fetch := &wire.Fetch{HighRes: true, PMIDs: make([]pcp.PMID, 50)}
	buf := wire.Append(nil, 0, fetch)
	body := bytes.Clone(buf[wire.HeaderSize:])
	f("encode a fetch", func() { buf = wire.Append(buf[:0], 0, fetch) })
	f("decode a fetch", func() { check(fetch.DecodeBody(body)) })

	// Of alternating sizes, after the longest has been read once.
	all := results()
	var bodies [][]byte
	for _, name := range resultNames {
		bodies = append(bodies, wire.AppendBody(all[name]))
	}
	q := &wire.Result{HighRes: true}
	f("decode in turn", func() {
		for _, b := range bodies {
			check(q.DecodeBody(b))
		}
	})
}

// A long PDU does not hold its memory forever.
func TestReaderShrinks(t *testing.T) {
	long := wire.Append(nil, 0, &wire.Text{Text: string(make([]byte, 1<<20))})
	small := wire.Append(nil, 0, &wire.DescReq{PMID: 1})
	client := make(chan []byte, 1)
	r := wire.NewReader(chanReader(client))
	r.Max = wire.MaxPDU
	send := func(pdu []byte) {
		t.Helper()
		go func() { client <- pdu }()
		for {
			h, _, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if int(h.Len) == len(pdu) {
				return
			}
		}
	}
	send(long)
	for range 100 {
		send(small)
	}
	close(client)
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if got := wire.ReaderCap(r); got > 1<<16 {
		t.Errorf("%d bytes are kept after a PDU of a MiB and a hundred small ones", got)
	}
}

// chanReader reads the pieces sent over a channel, one at a time.
func chanReader(c <-chan []byte) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		for b := range c {
			pw.Write(b)
		}
		pw.Close()
	}()
	return pr
}
