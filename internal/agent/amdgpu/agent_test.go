package amdgpu

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
)

var _ pmda.Storer = (*Agent)(nil)

const (
	sclk = "0: 500Mhz\n1: 800Mhz *\n2: 2105Mhz\n"
	mclk = "S: 10Mhz *\n0: 96Mhz\n1: 1000Mhz \n"
	ids  = "# AMDGPU\n\n1.0.0\n73BF,\tC0,\tAMD Radeon RX 6900 XT\n73bf,\tC1,\tAMD Radeon RX 6800 XT\nzz, 1, x\n"
)

// write makes files below a directory; it removes a file whose text is "-".
func write(t testing.TB, root, below string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, below, name)
		if text == "-" {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const drm = "sys/class/drm"

// newCards makes a machine with four cards: one by Intel, one by AMD with all files, one
// by AMD without sensors, and one run by the driver radeon.
func newCards(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "usr/share/libdrm", map[string]string{"amdgpu.ids": ids})
	write(t, root, drm, map[string]string{
		"card0/device/vendor": "0x8086\n", "card0/device/uevent": "DRIVER=i915\n", "card0/device/gpu_busy_percent": "1\n",
		"card1/device/vendor": "0x1002\n", "card1/device/uevent": "DRIVER=amdgpu\nPCI_CLASS=30000\n",
		"card1-DP-1/device/vendor": "0x1002\n", "card1-DP-1/device/uevent": "DRIVER=amdgpu\n", "card1-DP-1/status": "connected\n",
		"card3/device/vendor": "0x1002\n", "card3/device/uevent": "DRIVER=radeon\n",
		"card01/device/vendor": "0x1002\n", "card01/device/uevent": "DRIVER=amdgpu\n",
		"renderD128/device/vendor": "0x1002\n", "renderD128/device/uevent": "DRIVER=amdgpu\n",
		"card10/device/vendor": "0x1002\n", "card10/device/uevent": "DRIVER=amdgpu\n",
		"version": "drm 1.1.0 20060810\n",
	})
	write(t, root, drm+"/card1/device", map[string]string{
		"device": "0x73bf\n", "revision": "0xc1\n", "product_name": "not this\n", "power/runtime_status": "active\n",
		"mem_info_vram_total": "17163091968\n", "mem_info_vram_used": "1073741824\n", "gpu_busy_percent": "37\n",
		"pp_dpm_sclk": sclk, "pp_dpm_mclk": mclk,
		"hwmon/hwmon4/temp1_input": "45500\n", "hwmon/hwmon4/power1_average": "31999999\n", "hwmon/hwmon4/power1_input": "1000000\n",
		"hwmon/hwmon4/freq1_input": "1234567890\n", "hwmon/hwmon4/freq2_input": "96000000\n",
	})
	write(t, root, drm+"/card10/device", map[string]string{
		"device": "0x15bf\n", "revision": "0x0\n", "product_name": "Board 7\n",
		"mem_info_vram_total": "512\n", "mem_info_vram_used": "500\n", "gpu_busy_percent": "100\n", "pp_dpm_sclk": sclk, "pp_dpm_mclk": mclk,
	})
	return root
}

// want returns the values of newCards.
func want() agenttest.Values {
	type m = map[string]string
	return agenttest.Values{
		"amdgpu.numcards": m{"": "2"}, "amdgpu.control.debug": m{"": `""`},
		"amdgpu.cardname": m{"gpu0": `"AMD Radeon RX 6800 XT"`, "gpu1": `"Board 7"`}, "amdgpu.cardid": m{"gpu0": "0", "gpu1": "1"},
		"amdgpu.memory.used": m{"gpu0": "1073741824", "gpu1": "500"}, "amdgpu.memory.total": m{"gpu0": "17163091968", "gpu1": "512"},
		"amdgpu.memory.free": m{"gpu0": "16089350144", "gpu1": "12"}, "amdgpu.memory.usedaccum": m{"gpu0": "1073741824", "gpu1": "500"},
		"amdgpu.memory.clock": m{"gpu0": "96", "gpu1": "10"}, "amdgpu.memory.clock_max": m{"gpu0": "1000", "gpu1": "1000"},
		"amdgpu.gpu.temperature": m{"gpu0": "45.5"}, "amdgpu.gpu.old_temperature": m{"gpu0": "45500"},
		"amdgpu.gpu.load": m{"gpu0": "37", "gpu1": "100"}, "amdgpu.gpu.average_power": m{"gpu0": "31"},
		"amdgpu.gpu.clock": m{"gpu0": "1234", "gpu1": "800"}, "amdgpu.gpu.clock_max": m{"gpu0": "2105", "gpu1": "2105"},
	}
}

func TestValues(t *testing.T) {
	a := New(Config{Root: newCards(t)})
	if diff := cmp.Diff(want(), agenttest.Read(t, a)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	again := want()
	again["amdgpu.memory.usedaccum"] = map[string]string{"gpu0": "2147483648", "gpu1": "1000"}
	if diff := cmp.Diff(again, agenttest.Read(t, a)); diff != "" {
		t.Errorf("values of the second reading (-want +got):\n%s", diff)
	}
	agenttest.HelpTexts(t, a)
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 0)), pcp.LabelInstances)
	if err != nil || len(sets) != 2 || !strings.Contains(string(sets[0].JSON), `"gpu":"AMD Radeon RX 6800 XT"`) {
		t.Errorf("labels %v, %v", sets, err)
	}
}

// TestDescriptors checks the descriptors that archives of the C agent rely on.
func TestDescriptors(t *testing.T) {
	a := New(Config{Root: t.TempDir()})
	got := make(map[string]string)
	a.Metrics(func(name string, id pcp.PMID) {
		d, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		got[strings.TrimPrefix(name, "amdgpu.")] = strings.TrimSpace(strings.Join([]string{id.String(), d.InDom.String(), d.Type.String(), d.Sem.String(), d.Units.String()}, " "))
	})
	want := map[string]string{
		"numcards":            "162.0.0 PM_INDOM_NULL U32 discrete",
		"cardname":            "162.0.1 162.0 STRING discrete",
		"cardid":              "162.0.2 162.0 U32 instant",
		"control.debug":       "162.0.3 PM_INDOM_NULL STRING instant",
		"memory.used":         "162.1.0 162.0 U64 instant byte",
		"memory.total":        "162.1.1 162.0 U64 discrete byte",
		"memory.free":         "162.1.2 162.0 U64 instant byte",
		"memory.usedaccum":    "162.1.3 162.0 U64 counter byte",
		"memory.clock":        "162.1.4 162.0 U32 instant count / microsec",
		"memory.clock_max":    "162.1.5 162.0 U32 discrete count / microsec",
		"gpu.temperature":     "162.3.0 162.0 FLOAT instant temperature (C)",
		"gpu.load":            "162.3.1 162.0 U32 instant",
		"gpu.average_power":   "162.3.2 162.0 U32 instant power (W)",
		"gpu.clock":           "162.3.3 162.0 U32 instant count / microsec",
		"gpu.clock_max":       "162.3.4 162.0 U32 discrete count / microsec",
		"gpu.old_temperature": "162.3.5 162.0 U32 instant",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
}

// TestNone checks a machine without such cards, or without graphics.
func TestNone(t *testing.T) {
	for _, root := range []string{t.TempDir(), newCards(t)} {
		write(t, root, drm, map[string]string{"card1": "-", "card10": "-"})
		got := agenttest.Read(t, New(Config{Root: root}))
		for name, values := range got {
			if len(values) > 0 && name != "amdgpu.numcards" && name != "amdgpu.control.debug" {
				t.Errorf("%s: %v", name, values)
			}
		}
		if n := got["amdgpu.numcards"][""]; n != "0" {
			t.Errorf("%s cards", n)
		}
	}
}

// TestChanges changes, damages and removes files.
func TestChanges(t *testing.T) {
	root := newCards(t)
	f := func(what string, files map[string]string, changed agenttest.Values) {
		t.Helper()
		write(t, root, drm+"/card1/device", files)
		w := want()
		for name, v := range changed {
			for inst, text := range v {
				w[name][inst] = text
				if text == "" {
					delete(w[name], inst)
				}
			}
		}
		a := New(Config{Root: root}) // a removed file stays open, unlike one of the kernel
		if diff := cmp.Diff(w.Without("amdgpu.memory.usedaccum"), agenttest.Read(t, a).Without("amdgpu.memory.usedaccum")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	gpu0 := func(text string, names ...string) agenttest.Values {
		v := make(agenttest.Values)
		for _, name := range names {
			v["amdgpu."+name] = map[string]string{"gpu0": text}
		}
		return v
	}
	f("as it is", nil, nil)
	sensors := []string{"gpu.temperature", "gpu.old_temperature", "gpu.load", "gpu.average_power", "gpu.clock", "gpu.clock_max", "memory.clock", "memory.clock_max"}
	f("asleep", map[string]string{"power/runtime_status": "suspended\n"}, gpu0("", sensors...))
	f("awake", map[string]string{"power/runtime_status": "active\n"}, nil)
	f("frost", map[string]string{"hwmon/hwmon4/temp1_input": "-2500\n"}, agenttest.Values{"amdgpu.gpu.temperature": {"gpu0": "-2.5"}, "amdgpu.gpu.old_temperature": {"gpu0": ""}})
	f("no average", map[string]string{"hwmon/hwmon4/temp1_input": "45500\n", "hwmon/hwmon4/power1_average": "-"}, gpu0("1", "gpu.average_power"))
	f("no frequency", map[string]string{"hwmon/hwmon4/power1_average": "31999999\n", "hwmon/hwmon4/freq1_input": "-"}, gpu0("800", "gpu.clock"))
	f("more in use than there is", map[string]string{"hwmon/hwmon4/freq1_input": "1234567890\n", "mem_info_vram_total": "5\n"}, agenttest.Values{"amdgpu.memory.total": {"gpu0": "5"}, "amdgpu.memory.free": {"gpu0": ""}})
	f("too much", map[string]string{"mem_info_vram_total": "99999999999999999999999\n", "gpu_busy_percent": "101\n", "pp_dpm_sclk": "0: 99999999999Mhz *\n", "hwmon/hwmon4/power1_average": "99999999999999999\n", "hwmon/hwmon4/power1_input": "-"},
		gpu0("", "memory.total", "memory.free", "gpu.load", "gpu.clock_max", "gpu.average_power"))
	f("odd bytes", map[string]string{"mem_info_vram_total": "\xff\x00", "gpu_busy_percent": "", "pp_dpm_sclk": strings.Repeat("x", maxFile+1), "hwmon/hwmon4/power1_average": "12 x\n", "hwmon/hwmon4/temp1_input": "--1\n", "hwmon/hwmon4/freq1_input": "N/A\n", "hwmon/hwmon4/freq2_input": "\n", "pp_dpm_mclk": "\n\n:\n"},
		gpu0("", "memory.total", "memory.free", "gpu.load", "gpu.clock_max", "gpu.average_power", "gpu.temperature", "gpu.old_temperature", "gpu.clock", "memory.clock", "memory.clock_max"))
}

// TestNumbers adds a card before the others, and removes a card and adds it again: cards
// keep their numbers.
func TestNumbers(t *testing.T) {
	root := newCards(t)
	a := New(Config{Root: root})
	f := func(files, want map[string]string) {
		t.Helper()
		write(t, root, drm, files)
		if diff := cmp.Diff(want, agenttest.Read(t, a)["amdgpu.cardid"]); diff != "" {
			t.Errorf("cards (-want +got):\n%s", diff)
		}
	}
	f(nil, map[string]string{"gpu0": "0", "gpu1": "1"})
	f(map[string]string{"card1/device/vendor": "0x10de\n", "card0/device/vendor": "0x1002\n", "card0/device/uevent": "DRIVER=amdgpu\n"}, map[string]string{"gpu1": "1", "gpu2": "2"})
	f(map[string]string{"card1/device/vendor": "0x1002\n", "card0": "-"}, map[string]string{"gpu0": "0", "gpu1": "1"})
	f(map[string]string{"card1/device/uevent": "DRIVER=\n\x00"}, map[string]string{"gpu1": "1"})
	f(map[string]string{"card10/device/vendor": "0x1002 2\n"}, map[string]string{})
}

// TestNewSensors moves the sensors to another number, as when the driver is loaded again.
func TestNewSensors(t *testing.T) {
	root := newCards(t)
	a := New(Config{Root: root})
	id := agenttest.Lookup(t, a.NameSpace(), "amdgpu.gpu.temperature")
	read := func() (v float32) {
		for _, v := range agenttest.Fetch(t, a, nil, id...).Sets[0].Values {
			return v.Float()
		}
		return -1
	}
	if v := read(); v != 45.5 {
		t.Errorf("%v", v)
	}
	for _, c := range a.r.cards {
		c.close() // as the kernel does, with ENODEV
		c.there = false
	}
	write(t, root, drm+"/card1/device", map[string]string{"hwmon/hwmon4": "-", "hwmon/hwmon9/temp1_input": "7000\n"})
	if v := read(); v != 7 {
		t.Errorf("%v", v)
	}
}

func TestStore(t *testing.T) {
	var log strings.Builder
	a := New(Config{Root: newCards(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	ids := agenttest.Lookup(t, a.NameSpace(), "amdgpu.control.debug", "amdgpu.gpu.load")
	store := func(id pcp.PMID, v pcp.Value, want error) {
		t.Helper()
		res := &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{v}}}}
		if err := a.Store(t.Context(), nil, res); !errors.Is(err, want) {
			t.Errorf("Store(%v) = %v, want %v", v, err, want)
		}
	}
	values := func() string { return agenttest.Read(t, a)["amdgpu.control.debug"][""] }
	store(ids[0], pcp.StringValue("nosuch"), pcp.ErrBadStore)
	store(ids[0], pcp.Uint32Value(1), pcp.ErrBadStore)
	store(ids[1], pcp.StringValue("pdu"), pcp.ErrPermission)
	store(pcp.NewPMID(Domain, 9, 9), pcp.StringValue("pdu"), pcp.ErrPMID)
	if got := values(); got != `""` || log.Len() > 0 {
		t.Errorf("debug %s, log %q", got, &log)
	}
	store(ids[0], pcp.StringValue("pdu,appl1,pdu"), nil)
	if got := values(); got != `"appl1,pdu"` || !strings.Contains(log.String(), `gpu_busy_percent contents="37\n"`) {
		t.Errorf("debug %s, log %q", got, &log)
	}
	store(ids[0], pcp.StringValue(""), nil)
	log.Reset()
	if got := values(); got != `""` || log.Len() > 0 {
		t.Errorf("debug %s, log %q", got, &log)
	}
}

// TestOnly checks that a fetch reads only the files that it needs.
func TestOnly(t *testing.T) {
	var log strings.Builder
	a := New(Config{Root: newCards(t), Log: slog.New(slog.NewTextHandler(&log, nil))})
	a.r.verbose = true
	for metric, want := range map[string]int{"numcards": 0, "memory.total": 2, "memory.used": 2, "memory.free": 4, "gpu.load": 3, "gpu.clock": 3, "gpu.clock_max": 3, "gpu.temperature": 2} {
		log.Reset()
		agenttest.Fetch(t, a, nil, agenttest.Lookup(t, a.NameSpace(), "amdgpu."+metric)...)
		n := 0
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "/vendor") && !strings.Contains(line, "/uevent") {
				n++
			}
		}
		if n != want {
			t.Errorf("%s reads %d files, want %d:\n%s", metric, n, want, &log)
		}
	}
}

// TestAllocs limits the allocations of a refresh and a fetch to those of the list of cards,
// which reads a directory.
func TestAllocs(t *testing.T) {
	a := New(Config{Root: newCards(t)})
	for _, name := range []string{"numcards", "memory.free", "memory.usedaccum", "gpu.load", "gpu.clock_max"} {
		once := agenttest.Refresh(t, a, agenttest.Lookup(t, a.NameSpace(), "amdgpu."+name))
		once()
		if n := testing.AllocsPerRun(20, once); n > 20 {
			t.Errorf("%s: %v allocations, want 20 at most", name, n)
		}
	}
	list := testing.AllocsPerRun(20, func() {
		if err := a.r.list(); err != nil {
			t.Error(err)
		}
	})
	once := agenttest.Refresh(t, a, agenttest.Lookup(t, a.NameSpace(), "amdgpu.memory.used", "amdgpu.memory.free", "amdgpu.gpu.load", "amdgpu.gpu.clock_max"))
	once()
	const missing = 1 // power/runtime_status of a card: the name for the system call that opens it
	if n := testing.AllocsPerRun(20, once); n > list+missing {
		t.Errorf("%v allocations, want %v, %v of them for the list", n, list+missing, list)
	}
}

func TestLevels(t *testing.T) {
	f := func(in string, want levels) {
		t.Helper()
		if got := parseLevels([]byte(in)); got != want {
			t.Errorf("parseLevels(%q) = %+v, want %+v", in, got, want)
		}
	}
	f(sclk, levels{800, 2105, true, true})
	f(mclk, levels{10, 1000, true, true})
	f("0: 0Mhz *", levels{0, 0, true, true})
	f("0: 300Mhz *\n1: 400Mhz *\n", levels{300, 400, true, true})
	f("0: 300MHz\n", levels{0, 300, false, true})
	f("0: 300\n1: 2GHz *\n2: 5Mhz +\n3 6Mhz\nT: 7Mhz\n4: 8Mhz * *\n", levels{})
	f("", levels{})
}

func FuzzLevels(f *testing.F) {
	for _, s := range []string{sclk, mclk, "", "0: 4294967296Mhz *\n", "0:\x00Mhz\n", "S: 19Mhz *", "99999999999999999999: 1Mhz *\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l := parseLevels(b)
		if l.hasNow && (!l.hasMost || l.now > l.most) || l.most > 1<<32-1 || !l.hasMost && l.most != 0 {
			t.Errorf("%+v", l)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add([]byte(ids), uint64(0x73bf), uint64(0xc1))
	f.Add([]byte("0,0,\n0,0,\x00\n0,0,a,b"), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, device, revision uint64) {
		name, ok := findName(b, device, revision)
		if ok && !printable(name) {
			t.Errorf("%q", name)
		}
	})
}
