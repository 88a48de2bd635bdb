package pmcc

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-pcp/pcp"
)

// testMetrics have a counter of two disks and a number without instances.
func testMetrics() *Metrics {
	disks := pcp.NewInDom(60, 1)
	m := &Metrics{names: map[pcp.InDom]map[int32]string{disks: {0: "sda", 1: "sdb"}}}
	m.set([]string{"reads", "load"}, []pcp.PMID{1, 2})
	m.descs = []pcp.Desc{{PMID: 1, Type: pcp.TypeU32, Sem: pcp.SemCounter, InDom: disks}, {PMID: 2, Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: pcp.InDomNull}}
	return m
}

// result has the reads of the disks at a time, negative ones are missing, and the load.
func result(sec int64, load float64, reads ...int) *pcp.Result {
	res := &pcp.Result{Time: pcp.Timestamp{Sec: sec, Nsec: 250_000_000}, Sets: []pcp.ValueSet{{PMID: 1}, {PMID: 2}}}
	for inst, n := range reads {
		if n >= 0 {
			res.Sets[0].Values = append(res.Sets[0].Values, pcp.Uint32Value(uint32(n)).WithInst(int32(inst)))
		}
	}
	res.Sets[1].Values = []pcp.Value{pcp.DoubleValue(load)}
	return res
}

// TestMetrics looks at values of two samples.
func TestMetrics(t *testing.T) {
	m := testMetrics()
	if m.counters() || m.Desc("load").Sem != pcp.SemInstant {
		t.Error("all are counters")
	}
	next := func(res *pcp.Result) {
		t.Helper()
		if err := m.next(res); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, got any, want string) {
		t.Helper()
		if s := fmt.Sprint(got); s != want {
			t.Errorf("%s is %s, want %s", what, s, want)
		}
	}
	next(result(100, 0.5, 10, 20))
	is("a second sample", m.Sampled(), "false")
	is("one before", m.OneBefore("load"), "None")
	is("before", m.Before("reads", 0), "None")
	is("a rate of one sample", len(m.Converted("reads")), "0")

	next(result(102, 0.75, 16, 5, 7))
	is("a second sample", m.Sampled(), "true")
	is("the elapsed time", m.Elapsed(), "2")
	is("now", m.Now(), "102")
	is("one", m.One("load"), "0.75")
	is("one before", m.OneBefore("load"), "0.5")
	is("the first of several", m.One("reads"), "16")
	is("an unknown metric", m.One("nosuch"), "None")
	is("an instance", m.Of("reads", 1), "5")
	is("an instance before", m.Before("reads", 1), "20")
	is("no such instance", m.Of("reads", 9), "None")
	is("names", m.Named("reads"), "[{sda 16} {sdb 5} { 7}]") // the third is new
	is("names before", m.NamedBefore("reads"), "[{sda 10} {sdb 20}]")
	is("rates", m.Converted("reads"), "[{sda 3.0}]") // the counter of sdb decreased
	is("a number as it is", m.Converted("load"), "[{ 0.75}]")
	is("by name", ByName(m.Named("reads"))["sdb"], "5")
	is("all values", len(m.All("reads")), "3")
	if v, err := m.As("reads", pcp.TypeU64); err != nil || len(v) != 3 || v[1].Inst != 1 || v[1].Type() != pcp.TypeU64 {
		t.Errorf("As: %v, %v", v, err)
	}
	if err := m.next(&pcp.Result{}); !errors.Is(err, pcp.ErrIPC) {
		t.Errorf("a result without sets: %v", err)
	}
}

// TestProcesses computes shares and rates of a process.
func TestProcesses(t *testing.T) {
	m := &Metrics{}
	names := []string{
		"proc.psinfo.pid", "proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.guest_time", "proc.psinfo.minflt", "proc.psinfo.rss",
		"mem.physmem", "proc.psinfo.policy",
	}
	m.set(names, make([]pcp.PMID, len(names)))
	m.descs = make([]pcp.Desc, len(names))
	for n, values := range [][]uint32{{7, 100, 50, 0, 10, 512, 4096, 2}, {7, 1100, 550, 10, 25, 1024, 4096, 2}} {
		res := &pcp.Result{Time: pcp.Timestamp{Sec: int64(4 * n)}, Sets: make([]pcp.ValueSet, len(names))}
		for i, v := range values {
			res.Sets[i].Values = []pcp.Value{pcp.Uint32Value(v).WithInst(7)}
		}
		if err := m.next(res); err != nil {
			t.Fatal(err)
		}
	}
	list := m.Processes()
	if len(list) != 1 {
		t.Fatalf("%d processes", len(list))
	}
	p := list[0]
	got := []string{
		p.User().String(), p.System().String(), p.Guest().String(), p.Total().String(), p.Rate("proc.psinfo.minflt").String(), p.Memory().String(),
		p.Policy().String(), p.Grown("proc.psinfo.utime").String(), p.Grown("nosuch").String(), p.Percent("nosuch").String(),
	}
	if want := []string{"25.0", "12.5", "0.25", "37.75", "3.75", "25.0", "RR", "1000", "None", "None"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
