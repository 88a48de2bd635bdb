package archive_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// wide is a result of 20 metrics with 500 instances each.
func wide() *pcp.Result {
	res := new(pcp.Result)
	for m := range 20 {
		res.AddSet(pcp.NewPMID(510, 1, m))
		for i := range 500 {
			v := pcp.Uint32Value(uint32(m * i))
			if m%2 == 1 {
				v = pcp.Uint64Value(uint64(m*i) << 20)
			}
			res.Add(v.WithInst(int32(i)))
		}
	}
	return res
}

// bench writes records, and starts again before the disk is full.
func bench(b *testing.B, version int, write func(w *archive.Writer, t pcp.Timestamp) error) {
	var w *archive.Writer
	dir, n := b.TempDir(), 0
	start := func() {
		if w != nil {
			must(b, w.Close())
			files, _ := filepath.Glob(w.Path() + ".*")
			for _, f := range files {
				must(b, os.Truncate(f, 0)) // removed with the test; empty now
			}
		}
		n++
		var err error
		w, err = archive.Create(filepath.Join(dir, strconv.Itoa(n)), archive.WriterConfig{Label: archive.Label{Version: version, Host: "h"}})
		must(b, err)
	}
	start()
	must(b, write(w, at(0)))
	_, data0, meta0 := w.Position()
	must(b, write(w, at(0)))
	_, data, meta := w.Position()
	b.SetBytes(data + meta - data0 - meta0)
	b.ReportAllocs()
	sec := int64(0)
	for b.Loop() {
		sec++
		if err := write(w, at(sec)); err != nil {
			b.Fatal(err)
		}
		if _, size, _ := w.Position(); size > 200<<20 {
			b.StopTimer()
			start()
			b.StartTimer()
		}
	}
	must(b, w.Close())
}

func BenchmarkAppendResult(b *testing.B) {
	res := wide()
	res.Time = at(0)
	body, err := archive.AppendResult(nil, res, archive.Version3)
	must(b, err)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		body, _ = archive.AppendResult(body[:0], res, archive.Version3)
	}
}

func BenchmarkWriteResult(b *testing.B) {
	res := wide()
	bench(b, archive.Version3, func(w *archive.Writer, t pcp.Timestamp) error {
		res.Time = t
		return w.WriteResult(res)
	})
}

func BenchmarkWriteRecord(b *testing.B) {
	res := wide()
	res.Time = at(0)
	body, err := archive.AppendResult(nil, res, archive.Version3)
	must(b, err)
	bench(b, archive.Version3, func(w *archive.Writer, t pcp.Timestamp) error { return w.WriteRecord(t, body) })
}

// BenchmarkWriteChurn writes an instance domain that changes before each record.
func BenchmarkWriteChurn(b *testing.B) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		b.Run("v"+strconv.Itoa(version), func(b *testing.B) {
			var insts []pcp.Instance
			for i := range 500 {
				insts = append(insts, pcp.Instance{Inst: int32(i), Name: "process " + strconv.Itoa(i)})
			}
			names := make([]string, 1000)
			for i := range names {
				names[i] = "new process " + strconv.Itoa(i)
			}
			res := &pcp.Result{}
			res.AddSet(pcp.NewPMID(510, 1, 1))
			res.Add(pcp.Uint32Value(1).WithInst(499))
			bench(b, version, func(w *archive.Writer, t pcp.Timestamp) error {
				next := insts[len(insts)-1].Inst + 1
				copy(insts, insts[1:])
				insts[len(insts)-1] = pcp.Instance{Inst: next, Name: names[int(next)%len(names)]}
				if err := w.InDom(t, pcp.NewInDom(510, 1), insts); err != nil {
					return err
				}
				res.Time = t
				return w.WriteResult(res)
			})
		})
	}
}

// BenchmarkCopy copies an archive record by record.
func BenchmarkCopy(b *testing.B) {
	w := create(b, archive.WriterConfig{})
	res := wide()
	for _, vs := range res.Sets {
		must(b, w.Desc(pcp.Desc{PMID: vs.PMID, InDom: pcp.NewInDom(510, 1)}, "bench."+strconv.Itoa(vs.PMID.Item())))
	}
	for i := range 400 {
		res.Time = at(int64(i))
		must(b, w.WriteResult(res))
	}
	must(b, w.Close())
	size, err := archive.FileSize(w.Path() + ".0")
	must(b, err)
	b.SetBytes(size)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		a, err := archive.Open(w.Path())
		must(b, err)
		out, err := archive.Create(filepath.Join(b.TempDir(), strconv.Itoa(n)), archive.WriterConfig{})
		must(b, err)
		r := a.NewReader()
		for {
			res, err := r.Next()
			if err == io.EOF {
				break
			}
			must(b, err)
			must(b, out.WriteRecord(res.Time, r.Body()))
		}
		must(b, out.Close())
		must(b, a.Close())
	}
}

// TestWriteAllocs checks that writing a record does not allocate.
func TestWriteAllocs(t *testing.T) {
	w := create(t, archive.WriterConfig{BufferBytes: 4096})
	res := wide()
	res.Time = at(0)
	body, err := archive.AppendResult(nil, res, archive.Version3)
	must(t, err)
	if n := testing.AllocsPerRun(200, func() {
		if err := w.WriteResult(res); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteRecord(res.Time, body); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for two records", n)
	}
}
