package perfevent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
)

// machineFiles are those of two nodes with two processors each.
func machineFiles() map[string]string {
	const d = "sys/bus/event_source/devices/"
	return map[string]string{
		"sys/devices/system/cpu/online":                   "0-3\n",
		"sys/devices/system/node/node0/cpulist":           "0-1\n",
		"sys/devices/system/node/node1/cpulist":           "2-3\n",
		"proc/sys/kernel/perf_event_paranoid":             "2\n",
		"sys/kernel/tracing/events/sched/sched_switch/id": "314\n",
		d + "cpu/type":                      "4\n",
		d + "cpu/format/event":              "config:0-7,32-35\n",
		d + "cpu/format/umask":              "config:8-15\n",
		d + "cpu/format/inv":                "config:23\n",
		d + "cpu/format/ldlat":              "config1:0-15\n",
		d + "cpu/events/mem-loads":          "event=0xacd,umask=0x1,inv,ldlat=3\n",
		d + "cpu/events/mem-loads.unit":     "loads\n",
		d + "cpu/events/uops":               "event=0x10e\n",
		d + "power/type":                    "9\n",
		d + "power/cpumask":                 "0,2\n",
		d + "power/format/event":            "config:0-7\n",
		d + "power/events/energy-pkg":       "event=0x02\n",
		d + "power/events/energy-pkg.scale": "0.25\n",
		d + "hv_24x7/type":                  "12\n",
		d + "hv_24x7/format/offset":         "config:32-63\n",
		d + "hv_24x7/format/chip":           "config:16-31\n",
		d + "hv_24x7/events/PM_CLK":         "offset=0x58,chip=?\n",
		d + "without_events/type":           "13\n",
		d + "without_format/type":           "14\n",
		d + "without_format/events/" + "x":  "event=0x1\n",
	}
}

const everything = `
# Of processors that only libpfm knows.
[hsw "other pmu"]
UOPS node

[perf]
UNC_M_CAS_COUNT:RD node
LLC_MISSES:t=1
RAPL:PACKAGE_ENERGY node
RAW:NOTHING
cycles:u node            # counted in user mode
RAW:STALLS rawcode=0xF0e cpu_rr
INSTRUCTIONS
sched:sched_switch 1

[dynamic]
cpu.mem-loads
power.energy-pkg
hv_24x7.PM_CLK chip:1
hv_24x7.PM_CLK chip:2 3
software.page-faults
software.context-switches cpu
foo.bar

[work:derived]
absent
software.page-faults
||
software.page-faults 0.5
cpu.mem-loads 1.5e1

[joules:derived]
power.energy-pkg perf_scale

[mixed:derived]
power.energy-pkg node
cycles:u

[nothing:derived]
absent
`

// A fake has counters of a test.
type fake struct {
	opened   []string
	refuse   func(a attr, cpu int) error
	counters map[string]*fakeCounter
	open     int
}

type fakeCounter struct {
	f *fake
	reading
	err error
}

func (c *fakeCounter) read() (reading, error) { return c.reading, c.err }

func (c *fakeCounter) close() error {
	c.f.open--
	return nil
}

func (f *fake) counter(a attr, cpu int) (counter, error) {
	key := fmt.Sprintf("%d:%#x:%#x@%d", a.kind, a.config, a.config1, cpu)
	if f.refuse != nil {
		if err := f.refuse(a, cpu); err != nil {
			return nil, err
		}
	}
	f.opened = append(f.opened, fmt.Sprintf("%s %t %t", key, a.noKernel, a.noGuest))
	c := &fakeCounter{f: f}
	f.counters[key] = c
	f.open++
	return c, nil
}

func newFake(t *testing.T, text string, files map[string]string, refuse func(a attr, cpu int) error) (*Agent, *fake) {
	t.Helper()
	conf, err := Parse(strings.NewReader(text), "perfevent.conf")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{refuse: refuse, counters: make(map[string]*fakeCounter)}
	a := New(Config{Conf: conf, Root: agenttest.Tree(t, files), Version: "1.2", open: f.counter})
	t.Cleanup(func() {
		if err := a.Close(); err != nil || f.open != 0 {
			t.Errorf("%d counters are open after Close, %v", f.open, err)
		}
	})
	return a, f
}

func TestAgent(t *testing.T) {
	a, f := newFake(t, everything, machineFiles(), func(a attr, cpu int) error {
		switch {
		case a.kind == kindHardware && a.config == 1:
			return syscall.ENOENT
		case a.kind == 4 && cpu == 3:
			return syscall.ENODEV
		}
		return nil
	})
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)

	want := []string{
		"2:0x13a:0x0@1 false false",
		"4:0xf0e:0x0@0 false true",
		"0:0x0:0x0@0 true false", "0:0x0:0x0@2 true false",
		"4:0xa008001cd:0x3@0 false false", "4:0xa008001cd:0x3@1 false false", "4:0xa008001cd:0x3@2 false false",
		"12:0x5800010000:0x0@0 false false", "12:0x5800010000:0x0@1 false false", "12:0x5800010000:0x0@2 false false", "12:0x5800010000:0x0@3 false false",
		"12:0x5800020000:0x0@3 false false",
		"9:0x2:0x0@0 false false", "9:0x2:0x0@2 false false",
		"1:0x3:0x0@0 false false", "1:0x3:0x0@1 false false", "1:0x3:0x0@2 false false", "1:0x3:0x0@3 false false",
		"1:0x2:0x0@0 false false", "1:0x2:0x0@1 false false", "1:0x2:0x0@2 false false", "1:0x2:0x0@3 false false",
	}
	if diff := cmp.Diff(want, f.opened); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}

	for key, r := range map[string]reading{
		"1:0x2:0x0@0": {1000, 100, 100}, "1:0x2:0x0@1": {10, 100, 100}, "1:0x2:0x0@2": {20, 100, 100},
		"4:0xa008001cd:0x3@0": {300, 100, 50}, "4:0xa008001cd:0x3@1": {2, 100, 100}, "9:0x2:0x0@2": {8, 100, 100},
	} {
		f.counters[key].reading = r
	}
	f.counters["1:0x2:0x0@2"].err = syscall.ENODEV
	v := agenttest.Read(t, a)
	is := func(name, want string) {
		t.Helper()
		if got := fmt.Sprint(v["perfevent."+name]); got != want {
			t.Errorf("perfevent.%s is %s, want %s", name, got, want)
		}
	}
	is("version", `map[:"1.2"]`)
	is("active", "map[:22]")
	is("derived.active", "map[:2]")
	is("hwcounters.software.page_faults.value", "map[cpu0:1000 cpu1:10 cpu3:0]")
	is("hwcounters.cpu.mem_loads.value", "map[cpu0:600 cpu1:2 cpu2:0]")
	is("hwcounters.cpu.mem_loads.dutycycle", "map[cpu0:0.5 cpu1:1 cpu2:0]")
	is("hwcounters.sched_sched_switch.value", "map[cpu1:0]")
	is("derived.work.value", "map[cpu0:9500 cpu1:35]")
	is("derived.joules.value", "map[cpu0:0 cpu2:2]")
	is("hwcounters.cpu.uops.value", fmt.Sprintf("map[!:%v]", pcp.ErrValue))
	refused := v["perfevent.refused"]
	for name, want := range map[string]string{
		"INSTRUCTIONS": "no such file or directory: the processor or the virtual machine does not have this event",
		"RAW:NOTHING":  "a raw event needs rawcode=0xCODE", "RAPL:PACKAGE_ENERGY": errRAPL.Error(), "UNC_M_CAS_COUNT:RD": errUnknown.Error(),
		"LLC_MISSES:t=1": "not supported: attribute \"t=1\"; :u, :k and :h are",
		"foo.bar":        errNoEvent.Error(), "nothing": "event absent is not counted", "mixed": "line 37: events are counted on different processors",
	} {
		if got := refused[name]; got != `"`+want+`"` {
			t.Errorf("the reason for %s is %s, want %q", name, got, want)
		}
		delete(refused, name)
	}
	if len(refused) > 0 {
		t.Errorf("more events are refused: %v", refused)
	}

	// In a second reading only the difference is scaled.
	f.counters["4:0xa008001cd:0x3@0"].reading = reading{400, 500, 150}
	v = agenttest.Read(t, a)
	is("hwcounters.cpu.mem_loads.value", "map[cpu0:1000 cpu1:2 cpu2:0]")
	is("hwcounters.cpu.mem_loads.dutycycle", "map[cpu0:0.3 cpu1:1 cpu2:0]")
}

// TestReasons wants the reason of each error of the kernel, and the other events to be counted.
func TestReasons(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EACCES: "kernel.perf_event_paranoid of at most 0, which is 2", syscall.EPERM: "CAP_PERFMON", syscall.ENOENT: "virtual machine",
		syscall.ENOSYS: "CONFIG_PERF_EVENTS", syscall.EINVAL: "code of this event", syscall.EMFILE: "open file", syscall.EBUSY: "another program",
		syscall.ENODEV: "offline", syscall.EIO: syscall.EIO.Error(), errors.New("other"): "other",
	} {
		a, _ := newFake(t, "[perf]\ncycles\ncs\n", machineFiles(), func(a attr, _ int) error {
			if a.kind == kindHardware {
				return err
			}
			return nil
		})
		v := agenttest.Read(t, a)
		if got := v["perfevent.refused"]; len(got) != 1 || !strings.Contains(got["cycles"], want) {
			t.Errorf("%v: the reasons are %v, want %q", err, got, want)
		}
		if got := v["perfevent.hwcounters.cs.value"]; len(got) != 4 {
			t.Errorf("%v: cs is %v", err, got)
		}
	}
}

// TestPlacement counts on single processors in turn.
func TestPlacement(t *testing.T) {
	_, f := newFake(t, "[perf]\ncs node_rr\nfaults node_rr\nmigrations cpu_rr\ncpu-clock cpu_rr\ntask-clock 2\nmajor-faults 9\n", machineFiles(), nil)
	var got []string
	for _, s := range f.opened {
		got = append(got, strings.Fields(s)[0])
	}
	if want := "[1:0x1:0x0@2 1:0x0:0x0@0 1:0x4:0x0@1 1:0x2:0x0@0 1:0x2:0x0@2 1:0x3:0x0@1 1:0x3:0x0@3]"; fmt.Sprint(got) != want {
		t.Errorf("counters %v, want %s", got, want)
	}
}

// TestSection chooses the first section that the machine has.
func TestSection(t *testing.T) {
	files := machineFiles()
	files["proc/cpuinfo"] = "processor\t: 0\nflags\t\t: fpu arch_perfmon sse\n"
	for _, c := range []struct{ text, want string }{
		{"[hsw]\ncs\n[ix86arch]\nLLC_MISSES\nFOO\n[perf]\ncycles\n", "0:0x3"},
		{"[perf]\ncycles\n[ix86arch]\nLLC_MISSES\n", "0:0x0"},
		{"[perf]\nLLC-load-misses\n", "3:0x10002"},
		{"[perf]\nr1a2\n", "4:0x1a2"},
		{"[perf]\nPERF_COUNT_SW_PAGE_FAULTS_MIN\n", "1:0x5"},
	} {
		_, f := newFake(t, c.text, files, nil)
		if len(f.opened) != 4 || !strings.HasPrefix(f.opened[0], c.want+":") {
			t.Errorf("%q counts %q, want %s", c.text, f.opened, c.want)
		}
	}
	delete(files, "proc/cpuinfo")
	if a, f := newFake(t, Default(), files, nil); len(f.opened) != 8 || a.find("cycles") == nil {
		t.Errorf("the default counts %q", f.opened)
	}
}

// TestClashes refuses names that a name space cannot have.
func TestClashes(t *testing.T) {
	a, _ := newFake(t, "[perf]\ncs\nr1\nr1.value\nr01\nr1.\nr1\n[active:derived]\ncs\n[x.1:derived]\ncs\n[y:derived]\ncs\n[y.value.z:derived]\ncs\n", machineFiles(), nil)
	v := agenttest.Read(t, a)
	for _, name := range []string{"active", "x.1", "y.value.z", "r1"} {
		if got := v["perfevent.refused"][name]; got != `"`+errName.Error()+`"` {
			t.Errorf("%s is refused for %s", name, got)
		}
	}
}

// TestNoMachine has no /sys, and wants the reasons.
func TestNoMachine(t *testing.T) {
	a, f := newFake(t, "[perf]\ncs\n[dynamic]\nsoftware.cs\nsoftware.page-faults\n", nil, nil)
	v := agenttest.Read(t, a)
	if got := v["perfevent.refused"]; len(f.opened) > 0 || len(got) != 3 || !strings.Contains(got["cs"], "lists no processor") {
		t.Errorf("counters %q, refused %v", f.opened, got)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"cycles\n":                              `f:1: "cycles" is before the first section`,
		"[perf\n":                               `f:1: a section begins with a line [NAME], not "[perf"`,
		"[]\n":                                  `f:1: a section begins with a line [NAME], not "[]"`,
		"[\"perf]\n":                            "f:1: a name has no closing quote",
		"\n[perf dynamic]\n":                    "f:2: dynamic or NAME:derived is the only name of its section",
		"[perf]\n||\n":                          "f:2: || is outside of a section [NAME:derived]",
		"[perf]\n1cycles\n":                     `f:2: "1cycles": the name of an event begins with a letter`,
		"[perf]\ncycl\x01es\n":                  `f:2: "cycl\x01es": the name of an event has printable ASCII characters only`,
		"[perf]\ncycles often\n":                `f:2: "often" is not an option of an event in this section`,
		"[perf]\ncycles 0.5\n":                  `f:2: "0.5" is not an option of an event in this section`,
		"[perf]\nRAW:x rawcode=0xzz\n":          `f:2: "rawcode=0xzz": a hexadecimal number is needed behind rawcode=`,
		"[dynamic]\nx.y domain:7\n":             `f:2: "domain:7": a number up to 6 is needed`,
		"[dynamic]\nx.y core:-1\n":              `f:2: "core:-1": a number up to 2147483647 is needed`,
		"[a:derived]\nx 5\ny 1e400.0 \n":        `f:3: "1e400.0" is not an option of an event in this section`,
		"[perf]\n" + strings.Repeat("c", 70000): "f:2: bufio.Scanner: token too long",
	} {
		if _, err := Parse(strings.NewReader(text), "f"); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse reads a configuration of any bytes, and starts its events.
func FuzzParse(f *testing.F) {
	for _, s := range []string{everything, Default(), "[a:derived]\n||\n||\n", "[\"a b\" c]\nx 65535 chip:1\n", "[dynamic]\nhv_24x7.PM_CLK chip:4294967296\n", ""} {
		f.Add(s)
	}
	dir := agenttest.Tree(f, machineFiles())
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := Parse(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		k := &fake{counters: make(map[string]*fakeCounter)}
		a := New(Config{Conf: conf, Root: dir, open: k.counter})
		for name, id := range a.NameSpace().All() {
			if !pcp.ValidName(name) {
				t.Errorf("%q is the name of %v", name, id)
			}
		}
		agenttest.Read(t, a)
	})
}

// FuzzKernel reads files of the kernel of any bytes.
func FuzzKernel(f *testing.F) {
	for _, s := range []string{"event=0x3c,umask=0x01,inv", "config:0-7,32-35", "config1:63", "0-3,8", "0-4294967295", "event=?", "=", "config2:0-63,0-63"} {
		f.Add(s, uint64(1<<63))
	}
	f.Fuzz(func(t *testing.T, text string, v uint64) {
		if list, ok := cpuList(text); ok && len(list) > maxCPUs || slices.ContainsFunc(list, func(n int) bool { return n < 0 }) {
			t.Errorf("%q is %d processors", text, len(list))
		}
		if terms, err := parseTerms(text); err == nil && len(terms) != strings.Count(text, ",")+1 {
			t.Errorf("%q is %v", text, terms)
		}
		if format, ok := parseFormat(text); ok {
			var a attr
			if format.put(&a, v); v == 0 && a != (attr{}) {
				t.Errorf("%q makes %+v of 0", text, a)
			}
		}
	})
}
