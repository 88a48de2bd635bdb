package stat

import (
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// withValues returns a host that has fetched values for some items.
func withValues(values map[int]pcp.Value) *host {
	s := &host{}
	for item, v := range values {
		s.items[item] = &pmapi.GroupItem{Value: v}
	}
	return s
}

func TestScaled(t *testing.T) {
	f := func(v uint32, want, wantMemory string) {
		t.Helper()
		s := withValues(map[int]pcp.Value{0: pcp.Uint32Value(v)})
		r := &reporter{}
		r.scaled(s, 0)
		if got := string(r.out); got != want {
			t.Errorf("scaled(%d) = %q, want %q", v, got, want)
		}
		r.out = nil
		r.kbytes(s, 0)
		if got := string(r.out); got != wantMemory {
			t.Errorf("kbytes(%d) = %q, want %q", v, got, wantMemory)
		}
	}
	f(0, "    0", "      0")
	f(9999, " 9999", "   9999")
	f(10000, "  10K", "  10000")
	f(999999, " 999K", " 999999")
	f(1000000, "   1M", "   976m")
	f(102399999, " 102M", " 99999m")
	f(102400000, " 102M", "    97g")
	f(4294967295, " 4294M", "  4095g")

	r := &reporter{}
	r.scaled(&host{}, 0)
	r.kbytes(&host{}, 0)
	failed := withValues(map[int]pcp.Value{0: pcp.Uint32Value(1)})
	failed.items[0].Err = pcp.ErrAgain
	r.scaled(failed, 0)
	if got, want := string(r.out), "    ?      ?    ?"; got != want {
		t.Errorf("no value is %q, want %q", got, want)
	}
}

func TestCPU(t *testing.T) {
	f := func(xcpu bool, values map[int]uint64, want string) {
		t.Helper()
		s := &host{}
		for item, v := range values {
			s.items[item] = &pmapi.GroupItem{Value: pcp.Uint64Value(v)}
		}
		r := &reporter{xcpu: xcpu}
		r.cpu(s)
		if got := string(r.out); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
	all := map[int]uint64{cpuNice: 10, cpuUser: 20, cpuIntr: 5, cpuSys: 15, cpuIdle: 30, cpuWait: 15, cpuSteal: 5}
	f(false, all, "  30  25  45")
	f(true, all, "  30  20  30  15   5")
	f(false, map[int]uint64{cpuUser: 1, cpuSys: 0, cpuIdle: 2}, "  33   0  67")
	f(false, map[int]uint64{cpuUser: 1, cpuSys: 0}, "   ?   ?   ?") // idle must be known
	f(true, map[int]uint64{cpuSys: 0, cpuIdle: 1}, "   ?   ?   ?   ?   ?")
	// No time has passed, which makes the C tool divide by zero.
	f(false, map[int]uint64{cpuUser: 0, cpuSys: 0, cpuIdle: 0}, "   ?   ?   ?")

	// With PCP_COMPAT=7 guests have a column, and count twice, as in C.
	s := &host{}
	all[cpuGuest], all[cpuGuestNice] = 60, 40
	for item, v := range all {
		s.items[item] = &pmapi.GroupItem{Value: pcp.Uint64Value(v)}
	}
	r := &reporter{xcpu: true, guests: true}
	r.cpu(s)
	r.cpu(&host{})
	if got, want := string(r.out), "  15  10  15   8   3  50   ?   ?   ?   ?   ?   ?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
