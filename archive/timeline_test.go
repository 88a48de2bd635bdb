package archive

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-pcp/pcp"
)

// TestTimeline compares the three ways to find instances: record by record, all
// as of a time, and one by one.
func TestTimeline(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var tl timeline
		for i := range 300 {
			rec := MetaRecord{Type: MetaInDomDelta, Time: pcp.Timestamp{Sec: int64(i)}}
			if i > 0 && rnd.IntN(100) == 0 || i == 0 && seed%2 == 0 {
				rec.Type = MetaInDom
			}
			for range 1 + rnd.IntN(6) {
				c := Change{Inst: int32(rnd.IntN(20))}
				if rec.Type == MetaInDom || rnd.IntN(2) == 0 {
					c.Name = fmt.Appendf(nil, "n%d", rnd.IntN(3))
				}
				dup := false
				for _, o := range rec.Instances {
					dup = dup || o.Inst == c.Inst
				}
				if !dup {
					rec.Instances = append(rec.Instances, c)
				}
			}
			tl.add(&rec)
		}
		i := 0
		for at, set := range tl.each {
			if got := tl.members(i); fmt.Sprint(got) != fmt.Sprint(set) {
				t.Fatalf("seed %d, record %d at %v: members %v, want %v", seed, i, at, got, set)
			}
			for inst := range int32(20) {
				want := ""
				for _, m := range set {
					if m.inst == inst {
						want = tl.names[m.name]
					}
				}
				if got, _ := tl.name(i, inst); got != want {
					t.Fatalf("seed %d, record %d: instance %d is %q, want %q", seed, i, inst, got, want)
				}
			}
			i++
		}
		if i != len(tl.records) || i < 250 {
			t.Fatalf("%d records", i)
		}
	}
}
