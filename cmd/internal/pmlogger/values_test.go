package pmlogger

import (
	"slices"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/wire"
)

// TestValues encodes values as records, which have the archive's numbers of metrics, while sets has those of the
// collector.
func TestValues(t *testing.T) {
	derived, plain := pcp.NewPMID(511, 0, 1)|1<<31, desc(1).PMID
	for _, version := range []int{archive.Version2, archive.Version3} {
		v := values{res: pcp.Result{Time: pcp.Timestamp{Sec: 1000}}}
		v.res.AddSet(derived)
		v.res.Add(pcp.Uint32Value(1).WithInst(pcp.InNull))
		v.res.AddSet(plain)
		v.res.Add(pcp.Uint32Value(2).WithInst(7))
		v.res.Add(pcp.Uint32Value(3).WithInst(8))
		if events, err := v.prepare(newGroup(), newPlan(), &dictionary{}); len(events) > 0 || err != nil {
			t.Fatal(events, err)
		}
		if err := v.encode(version); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the record can be read again
			var ids []pcp.PMID
			var sizes []int
			for id, pairs := range v.sets() {
				ids, sizes = append(ids, id), append(sizes, len(pairs))
			}
			if !slices.Equal(ids, []pcp.PMID{derived, plain}) || !slices.Equal(sizes, []int{8, 16}) {
				t.Errorf("version %d: sets %v of sizes %v", version, ids, sizes)
			}
		}
		if got := v.res.Sets[0].PMID; got != derived.Logged() {
			t.Errorf("the record has %v, want %v", got, derived.Logged())
		}
		if v.rest(); v.record != nil || v.res.Sets != nil {
			t.Error("memory is kept")
		}
	}
}

// TestSteady asks a dictionary about records: a new metric, the same instances again, others, and none.
func TestSteady(t *testing.T) {
	d := dictionary{}
	d.begin(nil)
	g := newGroup()
	of := &loggedInDom{}
	known := desc(1)
	d.indoms[known.InDom] = of
	record := func(want bool, id pcp.PMID, insts ...int32) {
		t.Helper()
		v := values{}
		v.res.AddSet(id)
		for _, inst := range insts {
			v.res.Add(pcp.Uint32Value(1).WithInst(inst))
		}
		if _, err := v.prepare(g, newPlan(), &d); err != nil {
			t.Fatal(err)
		}
		if err := v.encode(archive.Version3); err != nil {
			t.Fatal(err)
		}
		g.records++
		if got := d.steady(g, &v); got != want {
			t.Errorf("record %d with %v of %v: steady %t", g.records, insts, id, got)
		}
	}
	record(false, known.PMID, 1, 2)
	d.metrics[known.PMID] = &logged{desc: known, seen: []int32{1, 2, 3}, available: []int32{1, 2}}
	g.last = map[pcp.PMID]*instances{known.PMID: {record: 1, of: of, order: []int32{1, 2}}}
	record(true, known.PMID, 1, 2)
	record(true, known.PMID, 1, 2)
	record(false, known.PMID, 2, 1)
	record(false, known.PMID)
	record(false, desc(3).PMID, 1)

	if got, want := d.state(known.PMID, 2), wire.LogBitInLog|wire.LogBitAvailable; got != want {
		t.Errorf("state %v, want %v", got, want)
	}
	if got, want := d.state(known.PMID, 3), wire.LogBitInLog; got != want {
		t.Errorf("state %v, want %v", got, want)
	}
	d.gone()
	if got, want := d.state(known.PMID, 2), wire.LogBitInLog; got != want {
		t.Errorf("state without the connection %v, want %v", got, want)
	}
	if d.begin(nil); d.state(known.PMID, 2) != 0 {
		t.Error("a new archive has the metrics of the old one")
	}
}
