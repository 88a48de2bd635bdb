package pmapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

type (
	celsius  float64
	byName   map[string]uint32
	embedded struct {
		Name string `pcp:"demo.name"`
	}
)

func TestAddStruct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newChanging()
		f.descs[idCount] = pcp.Desc{PMID: idCount, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.NewUnits(0, 0, 1, 0, 0, 0)}
		c := f.dial(t)
		g, err := NewFetchGroup(c)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		type values struct {
			embedded
			Count   int                `pcp:"demo.count"`
			Rate    float64            `pcp:"demo.count,rate"`
			Minute  *uint64            `pcp:"demo.count, count/min"`
			Two     celsius            `pcp:"demo.load[two 2]"`
			All     map[string]float32 `pcp:"demo.load"`
			Some    byName             `pcp:"demo.load[two 2, one]"`
			Single  map[string]int32   `pcp:"demo.count"`
			Ignored float64
		}
		v := values{Rate: 5, Ignored: 7}
		gs, err := g.AddStruct(t.Context(), &v)
		if err != nil {
			t.Fatal(err)
		}
		minute := func(n uint64) *uint64 { return &n }
		check := func(want values, missing string) {
			t.Helper()
			if err := g.Fetch(t.Context()); err != nil {
				t.Error(err)
			}
			var got []string
			for i := range gs.Missing {
				got = append(got, gs.Missing[i].Error())
			}
			want.Ignored = 7
			if diff := cmp.Diff(want, v, cmp.AllowUnexported(values{}, embedded{})); diff != "" || strings.Join(got, "\n") != missing {
				t.Errorf("%s\nmissing %q, want %q", diff, got, missing)
			}
		}
		time.Sleep(time.Second)
		name := embedded{"wallaby"}
		all := map[string]float32{"one": 1, "two 2": 2}
		check(values{name, 10, 0, nil, 2, all, byName{"one": 1, "two 2": 2}, map[string]int32{"": 10}, 7},
			"field Rate: demo.count,rate: "+pcp.ErrAgain.Error()+"\nfield Minute: demo.count, count/min: "+pcp.ErrAgain.Error())
		time.Sleep(2 * time.Second)
		f.set(func() { f.insts = []pcp.Instance{{Inst: 1, Name: "one"}, {Inst: 9, Name: "nine"}} })
		v.Single = nil
		check(values{name, 30, 10, minute(600), 0, map[string]float32{"one": 1, "nine": 9}, byName{"one": 1}, map[string]int32{"": 30}, 7},
			"field Two: demo.load[two 2]: "+pcp.ErrValue.Error()+"\nfield Some: demo.load[two 2, one]: "+pcp.ErrValue.Error())

		// When the collector is lost, no earlier value remains.
		f.set(f.lose)
		if err := g.Fetch(t.Context()); !errors.Is(err, pcp.ErrIPC) || len(gs.Missing) != 8 || v.Count != 0 || v.Minute != nil || len(v.All) != 0 {
			t.Errorf("Fetch: %v, %v, %+v", err, gs.Missing, v)
		}
	})
}

func TestAddStructErrors(t *testing.T) {
	c := openMany(t, 2)
	g, err := NewFetchGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	f := func(dst any, want string) {
		t.Helper()
		if _, err := g.AddStruct(t.Context(), dst); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %s", dst, err, want)
		}
		if len(g.ids)+len(g.items)+len(g.insts)+len(g.structs) > 0 {
			t.Errorf("%T: something was added", dst)
		}
	}
	f(struct{}{}, "not a pointer to a struct")
	f((*struct{})(nil), "not a pointer to a struct")
	f(new(int), "not a pointer to a struct")
	f(&struct{ A int }{}, "no field with a tag pcp")
	f(&struct {
		a int `pcp:"many.count[instance 1]"`
	}{}, "field a: many.count[instance 1]: is not exported")
	f(&struct {
		A int `pcp:"many.count["`
	}{}, "closing ] expected")
	f(&struct {
		A int `pcp:"many.nope"`
		B int `pcp:"many.count[instance 7]"`
		C int `pcp:"many.count[instance 1]"`
	}{}, "field A: many.nope: many.nope: Unknown metric name\nfield B: many.count[instance 7]: instance")
	f(&struct {
		A int `pcp:"many.count"`
	}{}, "field A: many.count: ")
	f(&struct {
		A int `pcp:"many.count[instance 1,instance 0]"`
	}{}, "2 instances for one value")
	f(&struct {
		A float64 `pcp:"many.count[instance 1],Mbyte"`
	}{}, pcp.ErrConv.Error())
	f(&struct {
		A bool `pcp:"many.count[instance 1]"`
	}{}, "of type bool")
	f(&struct {
		A map[int]int `pcp:"many.count"`
	}{}, "keys of type int")
	f(&struct {
		A *celsius `pcp:"many.count[instance 1]"`
	}{}, "of type *pmapi.celsius, where *float64 would do")
	var fe *FieldError
	_, err = g.AddStruct(t.Context(), &struct {
		A int `pcp:"many.nope"`
	}{})
	if !errors.As(err, &fe) || fe.Field != "A" || fe.Metric != "many.nope" || !errors.Is(err, pcp.ErrName) {
		t.Errorf("error %#v", err)
	}
}

type numbers struct {
	One  *float64           `pcp:"many.count[instance 1],rate"`
	Last uint64             `pcp:"many.count[instance 99]"`
	All  map[string]float64 `pcp:"many.count,rate"`
}

// addNumbers makes a group of a struct with 102 values.
func addNumbers(t testing.TB) (*FetchGroup, *numbers) {
	t.Helper()
	g, err := NewFetchGroup(openMany(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	v := new(numbers)
	if _, err := g.AddStruct(context.Background(), v); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := g.Fetch(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if v.One == nil || *v.One <= 0 || v.Last == 0 || len(v.All) != 100 {
		t.Fatalf("%+v", v)
	}
	return g, v
}

func TestAddStructAllocatesNothing(t *testing.T) {
	g, _ := addNumbers(t)
	n := testing.AllocsPerRun(100, func() {
		if err := g.Fetch(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations for each fetch", n)
	}
}

func BenchmarkAddStruct(b *testing.B) {
	g, _ := addNumbers(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Fetch(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
