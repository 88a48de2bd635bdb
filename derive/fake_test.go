package derive

import (
	"context"
	"testing"

	"github.com/go-pcp/pcp"
)

// A fake is a source of a few metrics.
type fake struct {
	descs map[string]pcp.Desc
	insts map[pcp.InDom]map[int32]string
	asked int // number of requests for names
}

const (
	disks = pcp.InDom(60<<22 | 1)
	cpus  = pcp.InDom(60<<22 | 2)
)

func newFake() *fake {
	f := &fake{
		descs: make(map[string]pcp.Desc),
		insts: map[pcp.InDom]map[int32]string{
			disks: {0: "sda", 1: "sdb a disk", 2: "nvme0n1"},
			cpus:  {0: "cpu0", 1: "cpu1"},
		},
	}
	kb := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	bytes := pcp.Units{DimSpace: 1}
	count := pcp.Units{DimCount: 1}
	msec := pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
	for _, m := range []struct {
		name  string
		t     pcp.Type
		indom pcp.InDom
		sem   pcp.Sem
		units pcp.Units
	}{
		{"disk.reads", pcp.TypeU64, disks, pcp.SemCounter, count},
		{"disk.writes", pcp.TypeU64, disks, pcp.SemCounter, count},
		{"disk.bytes", pcp.TypeU64, disks, pcp.SemCounter, bytes},
		{"disk.kb", pcp.TypeU32, disks, pcp.SemCounter, kb},
		{"disk.busy", pcp.TypeU32, disks, pcp.SemCounter, msec},
		{"disk.model", pcp.TypeString, disks, pcp.SemDiscrete, pcp.Units{}},
		{"disk.temp", pcp.TypeFloat, disks, pcp.SemInstant, pcp.Units{}},
		{"cpu.user", pcp.TypeU32, cpus, pcp.SemCounter, msec},
		{"ncpu", pcp.TypeU32, pcp.InDomNull, pcp.SemDiscrete, pcp.Units{}},
		{"mem.used", pcp.TypeU64, pcp.InDomNull, pcp.SemInstant, kb},
		{"mem.free", pcp.Type64, pcp.InDomNull, pcp.SemInstant, bytes},
		{"i32", pcp.Type32, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"u32", pcp.TypeU32, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"i64", pcp.Type64, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"u64", pcp.TypeU64, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"float", pcp.TypeFloat, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"double", pcp.TypeDouble, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
		{"text", pcp.TypeString, pcp.InDomNull, pcp.SemDiscrete, pcp.Units{}},
	} {
		f.descs[m.name] = pcp.Desc{
			PMID: pcp.NewPMID(60, 0, len(f.descs)+1), Type: m.t, InDom: m.indom, Sem: m.sem, Units: m.units,
		}
	}
	return f
}

func (f *fake) LookupNames(_ context.Context, names []string, ids []pcp.PMID) error {
	f.asked++
	for i, name := range names {
		if d, ok := f.descs[name]; ok {
			ids[i] = d.PMID
		}
	}
	return nil
}

func (f *fake) Descs(_ context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	for i, id := range ids {
		for _, d := range f.descs {
			if d.PMID == id {
				descs[i] = d
			}
		}
	}
	return nil
}

func (f *fake) InstanceName(_ context.Context, indom pcp.InDom, inst int32, _ pcp.Timestamp) (string, error) {
	if name, ok := f.insts[indom][inst]; ok {
		return name, nil
	}
	return "", pcp.ErrInst
}

func (f *fake) LookupInstance(_ context.Context, indom pcp.InDom, name string) (int32, error) {
	for inst, full := range f.insts[indom] {
		if pcp.MatchInstance(full, name) {
			return inst, nil
		}
	}
	return 0, pcp.ErrInst
}

func (f *fake) Instances(_ context.Context, indom pcp.InDom) ([]int32, error) {
	insts, ok := f.insts[indom]
	if !ok {
		return nil, pcp.ErrInDom
	}
	var list []int32
	for i := range int32(len(insts)) {
		list = append(list, i)
	}
	return list, nil
}

// bind defines name as expr and returns its descriptor, or the reported error.
func bind(t *testing.T, f *fake, expr string) (*Binding, pcp.Desc, error) {
	t.Helper()
	var set Set
	if err := set.Add("x", expr); err != nil {
		t.Fatal(err)
	}
	var reported error
	b := set.Bind(f, func(err error) { reported = err })
	id, _ := b.Lookup("x")
	descs := []pcp.Desc{{PMID: pcp.PMIDNull}}
	if err := b.Descs(t.Context(), []pcp.PMID{id}, descs); err != nil {
		t.Fatal(err)
	}
	return b, descs[0], reported
}

// A sample is the values of metrics at a time.
type sample struct {
	sec  int64
	sets map[string][]pcp.Value
	errs map[string]pcp.Error
}

// fetch returns x as computed by Evaluate from a sample.
func (f *fake) fetch(t *testing.T, b *Binding, s sample) pcp.ValueSet {
	t.Helper()
	id, _ := b.Lookup("x")
	ids, err := b.Operands(t.Context(), []pcp.PMID{id})
	if err != nil {
		t.Fatal(err)
	}
	res := pcp.Result{Time: pcp.Timestamp{Sec: s.sec}}
	for _, id := range ids {
		res.AddError(id, pcp.ErrNoAgent)
		vs := &res.Sets[len(res.Sets)-1]
		for name, d := range f.descs {
			if d.PMID != id {
				continue
			}
			vs.Err = s.errs[name]
			for _, v := range s.sets[name] {
				if d.InDom != pcp.InDomNull {
					v = v.WithInst(int32(len(vs.Values)))
				}
				res.Add(v)
			}
		}
	}
	b.Evaluate(t.Context(), &res, 1)
	return res.Sets[0]
}
