package pmrep

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
)

// TestProcess takes the command out of the names of processes.
func TestProcess(t *testing.T) {
	f := func(name, want string, isProcess bool) {
		t.Helper()
		if got, ok := process(name); got != want || ok != isProcess {
			t.Errorf("process(%q) = %q, %t, want %q, %t", name, got, ok, want, isProcess)
		}
	}
	f("000001 /sbin/init splash", "init", true)
	f("012345 -bash", "bash", true)
	f("012345 sshd: root", "sshd", true)
	f("000002 (kthreadd)", "kthreadd", true)
	f("000003 (", "", true)
	f("000003 /usr/bin/", "", true)
	f("sda", "", false)
	f("dev 1", "", false)
	f("000001", "", false)
	f("000001 ", "", false)
}

// TestMatcher filters names by words and expressions.
func TestMatcher(t *testing.T) {
	f := func(wanted, matching, other string) {
		t.Helper()
		m, err := newMatcher(true, strings.Split(wanted, ","))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from memory
			for name := range strings.SplitSeq(matching, "|") {
				if !m.ok(name) {
					t.Errorf("%s does not match %q", wanted, name)
				}
			}
			for name := range strings.SplitSeq(other, "|") {
				if m.ok(name) {
					t.Errorf("%s matches %q", wanted, name)
				}
			}
		}
	}
	f("sda", "sda", "sda1|xsda|")
	f("sd.", "sda|sdb", "sd|sda1")
	f("sda,sdb", "sda|sdb", "sdc")
	f("init", "000001 /sbin/init splash|init", "000002 (kthreadd)|000003 initial")
	f("sda|sdb", "sdax|sda|sdb", "sdbx|xsda") // only the last alternative must reach the end

	if m, err := newMatcher(false, []string{"a"}); m != nil || err != nil {
		t.Error("there is a matcher without live filter")
	}
	var all *matcher
	if !all.ok("anything") {
		t.Error("no matcher does not match all")
	}
	for wanted, why := range map[string]string{
		"(":  "Invalid regex '(': missing ), unterminated subpattern at position 2.",
		"a)": "Invalid regex 'a)': unbalanced parenthesis at position 3.",
		"*":  "Invalid regex '*': nothing to repeat at position 2.",
		"[a": `Invalid regex '[a': bad escape \Z at position 4.`,
	} {
		_, err := newMatcher(true, []string{wanted})
		if e, ok := errors.AsType[*conf.Error](err); !ok || e.Text != why {
			t.Errorf("%s: %v, want %s", wanted, err, why)
		}
	}
}

// TestSelectInstances chooses instances by name, number, command and expression.
func TestSelectInstances(t *testing.T) {
	processes := []pcp.Instance{{Inst: 1, Name: "000001 /sbin/init"}, {Inst: 27, Name: "000027 -bash"}, {Inst: 300, Name: "000300 bash"}}
	disks := []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 1, Name: "sdb"}, {Inst: 2, Name: "nvme0n1"}}
	f := func(list []pcp.Instance, wanted string, want ...int32) {
		t.Helper()
		found, err := selectInstances(list, strings.Split(wanted, ","))
		var got []int32
		for _, in := range found {
			got = append(got, in.Inst)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", wanted, got, err, want)
		}
	}
	f(disks, "sdb", 1)
	f(disks, "sd.", 0, 1)
	f(disks, "nvme.*,sda", 2, 0)
	f(disks, "1")
	f(processes, "27", 27)
	f(processes, "bash", 27, 300)
	f(processes, "0*1 .*", 1)
	f(processes, "300,init", 300, 1)
}

// TestLimits compares values with limits.
func TestLimits(t *testing.T) {
	f := func(v pcp.Value, limit int, want bool) {
		t.Helper()
		if got := within(v, limit); got != want {
			t.Errorf("within(%v, %d) = %t", v, limit, got)
		}
	}
	f(pcp.StringValue("x"), 0, true)
	f(pcp.StringValue("x"), 1, false)
	f(pcp.Uint64Value(5), 5, true)
	f(pcp.Uint64Value(4), 5, false)
	f(pcp.Uint64Value(5), -5, true)
	f(pcp.DoubleValue(5.1), -5, false)
	f(pcp.DoubleValue(math.NaN()), 5, true)
}

// TestSort sorts values of each type; equal ones stay in their order.
func TestSort(t *testing.T) {
	f := func(down bool, want string, values ...pcp.Value) {
		t.Helper()
		var list []Value
		for i, v := range values {
			list = append(list, Value{Inst: int32(i), Value: v})
		}
		Sort(list, down)
		got := ""
		for _, v := range list {
			got += string(rune('a' + v.Inst))
		}
		if got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
	f(true, "bac", pcp.Uint64Value(1), pcp.Uint64Value(1<<63), pcp.Uint64Value(0))
	f(false, "cab", pcp.Uint64Value(1), pcp.Uint64Value(1<<63), pcp.Uint64Value(0))
	f(true, "acb", pcp.Int64Value(-1), pcp.Int64Value(-3), pcp.Int64Value(-1))
	f(false, "bac", pcp.DoubleValue(0.5), pcp.DoubleValue(-1.5), pcp.DoubleValue(0.5))
	f(false, "bca", pcp.StringValue("z"), pcp.StringValue("a"), pcp.StringValue("b"))
}

// TestParseOptions reads settings.
func TestParseOptions(t *testing.T) {
	o, err := ParseOptions(conf.Settings{
		"rank": "-3", "limit_filter": "10", "width": "12", "precision": "0", "precision_force": "", "live_filter": "1", "type": "1", "type_prefer": "0",
		"space_scale": "MB", "count_scale": "0", "predicate": "a.b,c.d", "output": "archive", "derived": "x=y",
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Rank != -3 || o.Limit != 10 || o.Width != 12 || o.Precision == nil || *o.Precision != 0 || o.PrecisionForce != nil || o.WidthForce != nil {
		t.Errorf("numbers: %+v", o)
	}
	if !o.LiveFilter || !o.Raw || o.RawPrefer || !o.Native || o.OmitFlat {
		t.Errorf("switches: %+v", o)
	}
	if o.SpaceScale != "MB" || o.CountScale != "" || !slices.Equal(o.Predicate, []string{"a.b", "c.d"}) || o.Derived != "x=y" {
		t.Errorf("texts: %+v", o)
	}
	for name, value := range map[string]string{"rank": "x", "width": "-1", "precision": "1.5", "limit_filter": " "} {
		_, err := ParseOptions(conf.Settings{name: value})
		if _, ok := errors.AsType[*conf.NumberError](err); !ok {
			t.Errorf("%s = %q: error %v", name, value, err)
		}
	}
}

// TestFlatten takes labels out of JSON.
func TestFlatten(t *testing.T) {
	m := &Metric{
		labels: []string{`{"host":"app1","cloud":{"zone":"a","rack":7}}`, `{"up":true,"none":null,"f":1.5}`, `no JSON`},
		levels: []pcp.LabelFlags{pcp.LabelContext, pcp.LabelItem, pcp.LabelItem},
		byInst: map[int32]string{3: `{"disk":"sda"}`},
	}
	if got, want := m.LabelText(3), `{'host':'app1','zone':'a','rack':'7','up':'True','none':'None','f':'1.5','disk':'sda'}`; got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
	if got, want := m.LabelText(4), `{'host':'app1','zone':'a','rack':'7','up':'True','none':'None','f':'1.5'}`; got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
	levels := 0
	for level, list := range m.LevelLabels() {
		if levels++; level == pcp.LabelContext && len(list) != 3 {
			t.Errorf("labels of the context: %v", list)
		}
	}
}
