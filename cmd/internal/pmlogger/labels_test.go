package pmlogger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A moody agent changes its labels on request.
type moody struct {
	*pmda.Table
	mood, told atomic.Int32
}

func (a *moody) Changes() (names, labels bool) {
	now := a.mood.Load()
	return false, a.told.Swap(now) != now
}

// Labels returns labels that change, except at the level of the domain.
func (a *moody) Labels(ctx context.Context, ident uint32, kind pcp.LabelFlags) ([]pcp.LabelSet, error) {
	level := kind.Level()
	if level == pcp.LabelDomain {
		return a.Table.Labels(ctx, ident, kind)
	}
	set, err := pcp.ParseLabels(fmt.Sprintf(`{"mood":%d}`, a.mood.Load()), level)
	if err != nil {
		return nil, err
	}
	if level != pcp.LabelInstances {
		return []pcp.LabelSet{set}, nil
	}
	other := set
	set.Inst, other.Inst = 1, 2
	return []pcp.LabelSet{set, other}, nil
}

// TestLabelsChange changes labels of all levels of an agent during recording: they are recorded again once,
// from that sample on.
func TestLabelsChange(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { testLabelsChange(t, version) })
	}
}

func testLabelsChange(t *testing.T, version int) {
	dir := t.TempDir()
	socket, base := filepath.Join(dir, "socket"), filepath.Join(dir, "a")
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		return []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 2, Name: "two"}}, nil
	}}
	a := &moody{}
	var err error
	a.Table, err = pmda.NewTable(pmda.Config{Name: "moody", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "moody.n", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(inst)), nil
		}},
		{Name: "moody.single", Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) {
			return pcp.Uint32Value(1), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer collect(t, socket, pmcd.AgentSpec{Name: "moody", Domain: 400, Agent: a})()
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 1 sec moody"), "config"); err != nil {
		t.Fatal(err)
	}
	if err := r.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	var times []pcp.Timestamp
	for _, mood := range []int32{0, 0, 7, 7, 8} {
		a.mood.Store(mood)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
		times = append(times, r.Last())
	}
	back, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	for _, k := range []struct {
		level pcp.LabelFlags
		ident uint32
		sets  int
	}{
		{pcp.LabelCluster, uint32(pcp.NewPMID(400, 0, 0)), 1},
		{pcp.LabelItem, uint32(pcp.NewPMID(400, 0, 0)), 1},
		{pcp.LabelItem, uint32(pcp.NewPMID(400, 0, 1)), 1},
		{pcp.LabelInDom, uint32(pcp.NewInDom(400, 1)), 1},
		{pcp.LabelInstances, uint32(pcp.NewInDom(400, 1)), 2},
	} {
		for i, mood := range []int{0, 0, 7, 7, 8} {
			sets, known := back.Meta().LookupLabels(k.level, k.ident, times[i])
			want := fmt.Sprintf(`{"mood":%d}`, mood)
			if !known || len(sets) != k.sets || sets[0].JSON != want || sets[k.sets-1].JSON != want {
				t.Errorf("labels %#x of %#x in sample %d: %v, %t, want %s", uint8(k.level), k.ident, i, sets, known, want)
			}
		}
	}
	records := make(map[pcp.LabelFlags]int)
	for _, rec := range back.Meta().LabelRecords() {
		records[rec.Level]++
	}
	for level, want := range map[pcp.LabelFlags]int{
		pcp.LabelContext: 1, pcp.LabelDomain: 1, pcp.LabelCluster: 3, pcp.LabelItem: 6, pcp.LabelInDom: 3, pcp.LabelInstances: 3,
	} {
		if records[level] != want {
			t.Errorf("%d records of labels %#x, want %d", records[level], uint8(level), want)
		}
	}
}
