package check

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// BenchmarkValues measures pass 3 on records with 1,000 values of counters, half
// of them in blocks, and with changing instances.
func BenchmarkValues(b *testing.B) {
	for _, churn := range []bool{false, true} {
		name := "same"
		if churn {
			name = "churn"
		}
		b.Run(name, func(b *testing.B) {
			var bodies [][]byte
			size := int64(0)
			for k := range int32(64) {
				res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000 + int64(k)}}
				for i, d := range descs[:2] {
					res.AddSet(d.PMID)
					for j := range int32(500) {
						inst := j
						if churn {
							inst += 3 * k // three go, and three come
						}
						v := pcp.Uint32Value(uint32(1000 + k))
						if i == 1 {
							v = pcp.Uint64Value(uint64(1000 + k))
						}
						res.Add(v.WithInst(inst))
					}
					res.Sets[i].ValFmt = pcp.ValFmt(i)
				}
				body, err := archive.AppendResult(nil, res, archive.Version3)
				if err != nil {
					b.Fatal(err)
				}
				bodies = append(bodies, body)
				size += int64(len(body))
			}
			a, err := archive.Open(testArchive(b, archive.Version3, 1))
			if err != nil {
				b.Fatal(err)
			}
			defer a.Close()
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				s := &valueScan{c: &Checker{a: a, name: "a"}, metrics: make(map[pcp.PMID]*metric)}
				var check archive.Checker
				for _, body := range bodies {
					rec := archive.Record{Body: body, Version: archive.Version3}
					if err := check.Record(&rec); err != nil {
						b.Fatal(err)
					}
					s.time = rec.Time
					if s.record(&rec); len(s.pending) > 0 {
						b.Fatalf("%+v", s.pending)
					}
				}
			}
		})
	}
}

// TestAllocs checks that records like earlier ones need no memory.
func TestAllocs(t *testing.T) {
	a, err := archive.Open(testArchive(t, archive.Version3, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := &valueScan{c: &Checker{a: a, name: "a"}, metrics: make(map[pcp.PMID]*metric)}
	body, err := archive.AppendResult(nil, result(pcp.Timestamp{Sec: 1700000000}, 1), archive.Version3)
	if err != nil {
		t.Fatal(err)
	}
	sec := int64(1700000000)
	var check archive.Checker
	rec := archive.Record{Body: body, Version: archive.Version3}
	n := testing.AllocsPerRun(100, func() {
		s.time = pcp.Timestamp{Sec: sec}
		sec++
		if err := check.Record(&rec); err != nil {
			t.Fatal(err)
		}
		s.record(&rec)
	})
	if n > 0 {
		t.Errorf("%v allocations for a record", n)
	}
}
