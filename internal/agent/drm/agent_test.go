package drm

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
)

// write makes files below root; it removes a file whose text is "-". A text that starts with "-> " is the target of a link.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if text == "-" {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	sys = "sys/class/drm/"
	box = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// What the drivers of three makers report about a client.
const (
	amd   = "pos:\t0\nflags:\t02\nmnt_id:\t25\ndrm-driver:\tamdgpu\ndrm-client-id:\t%d\ndrm-pdev:\t0000:03:00.0\npasid:\t32771\ndrm-total-vram:\t%d KiB\ndrm-shared-vram:\t0\ndrm-memory-vram:\t%d KiB\ndrm-memory-gtt:\t2 MiB\ndrm-engine-gfx:\t%d ns\ndrm-engine-enc:\t0 ns\namd-requested-vram:\t4 KiB\n"
	intel = "drm-driver:\ti915\ndrm-client-id:\t%d\ndrm-pdev:\t0000:00:02.0\ndrm-total-system0:\t100 MiB\ndrm-resident-system0:\t50 MiB\ndrm-shared-system0:\t1 MiB\ndrm-engine-render:\t%d ns\ndrm-engine-video:\t0 ns\ndrm-engine-capacity-video:\t2\n"
	xe    = "drm-driver:\txe\ndrm-client-id:\t%d\ndrm-pdev:\t0000:04:00.0\ndrm-total-vram0:\t8 KiB\ndrm-resident-vram0:\t4 KiB\ndrm-cycles-rcs:\t%d\ndrm-total-cycles-rcs:\t%d\ndrm-engine-capacity-vcs:\t2\ndrm-cycles-vcs:\t0\ndrm-total-cycles-vcs:\t1\n"
)

// machine makes one with cards of three makers, a display without a processor, and some processes.
func machine(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, map[string]string{
		sys + "card0/device/uevent":           "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:9A49\nPCI_SLOT_NAME=0000:00:02.0\n",
		sys + "card0/gt/gt0/rc6_residency_ms": "123456\n", sys + "card0/gt_act_freq_mhz": "350\n", sys + "card0/gt/gt0/rps_max_freq_mhz": "1300\n",
		sys + "card0-eDP-1/device/uevent": "DRIVER=i915\n", sys + "renderD128/device/uevent": "DRIVER=i915\n",
		sys + "card1/device/uevent":              "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0\n",
		sys + "card1/device/mem_info_vram_total": "17163091968\n", sys + "card1/device/mem_info_vram_used": "1073741824\n", sys + "card1/device/gpu_busy_percent": "37\n",
		sys + "card1/device/hwmon/hwmon4/freq1_input": "1234567890\n", sys + "card1/device/power/runtime_status": "active\n",
		sys + "card2/device/uevent":                             "DRIVER=xe\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:04:00.0\n",
		sys + "card2/device/tile0/gt0/gtidle/idle_residency_ms": "999\n", sys + "card2/device/tile0/gt0/freq0/act_freq": "0\n", sys + "card2/device/tile0/gt0/freq0/max_freq": "2400\n",
		sys + "card2/device/tile0/physical_vram_size_bytes": "0x000000017c800000\n",
		sys + "card3/device/uevent":                         "MODALIAS=virtual\n",
		sys + "version":                                     "drm 1.1.0 20060810\n",

		"proc/1/stat": "1 (init) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 5 1\n", "proc/1/fd/0": "-> /dev/null", "proc/1/fdinfo/0": fmt.Sprintf(amd, 99, 1, 1, 1),
		"proc/70/stat": "70 (Xwayland) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 77 1\n", "proc/70/cgroup": "0::/user.slice\n",
		"proc/70/fd/3": "-> /dev/dri/card1", "proc/70/fdinfo/3": fmt.Sprintf(amd, 7, 200, 100, 1000),
		"proc/70/fd/4": "-> /dev/dri/renderD129", "proc/70/fdinfo/4": fmt.Sprintf(amd, 7, 200, 100, 1000), // the same client
		"proc/70/fd/9": "-> /dev/dri/renderD128", "proc/70/fdinfo/9": fmt.Sprintf(intel, 7, 5000),
		"proc/70/fd/10": "-> socket:[123]", "proc/70/fdinfo/10": fmt.Sprintf(intel, 8, 5000),
		"proc/71/stat": "71 (a (b) c) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 78 1\n", "proc/71/cgroup": "0::/system.slice/docker-" + box + ".scope\n",
		"proc/71/fd/3": "-> /dev/dri/card1", "proc/71/fdinfo/3": fmt.Sprintf(amd, 7, 200, 100, 1000), // inherited
		"proc/71/fd/5": "-> /dev/dri/renderD129", "proc/71/fdinfo/5": fmt.Sprintf(amd, 8, 64, 32, 40),
		"proc/71/fd/6": "-> /dev/dri/renderD130", "proc/71/fdinfo/6": fmt.Sprintf(xe, 7, 100, 1000),
		"proc/72/stat": "72 (none) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 79 1\n", "proc/72/fd/0": "-> /dev/null",
	})
	return root
}

type m = map[string]string

func want() agenttest.Values {
	return agenttest.Values{
		"drm.ncards": m{"": "3"}, "drm.card.driver": m{"card0": `"i915"`, "card1": `"amdgpu"`, "card2": `"xe"`},
		"drm.card.address": m{"card0": `"0000:00:02.0"`, "card1": `"0000:03:00.0"`, "card2": `"0000:04:00.0"`},
		"drm.card.id":      m{"card0": `"8086:9a49"`, "card1": `"1002:73bf"`, "card2": `"8086:56a0"`},
		"drm.card.busy":    m{"card1": "37"}, "drm.card.idle": m{"card0": "123456", "card2": "999"},
		"drm.card.clock": m{"card0": "350", "card1": "1234", "card2": "0"}, "drm.card.clock_max": m{"card0": "1300", "card2": "2400"},
		"drm.card.memory.used": m{"card1": "1073741824"}, "drm.card.memory.total": m{"card1": "17163091968", "card2": "6383730688"},
		"drm.card.clients":    m{"card0": "1", "card1": "2", "card2": "1"},
		"drm.engine.time":     m{"card0:render": "0", "card0:video": "0", "card1:gfx": "0", "card1:enc": "0", "card2:rcs": "0", "card2:vcs": "0"},
		"drm.engine.capacity": m{"card0:render": "1", "card0:video": "2", "card1:gfx": "1", "card1:enc": "1", "card2:rcs": "1", "card2:vcs": "2"},
		"drm.memory.resident": m{"card0:system0": "52428800", "card1:vram": "135168", "card1:gtt": "4194304", "card2:vram0": "4096"},
		"drm.memory.total":    m{"card0:system0": "104857600", "card1:vram": "270336", "card2:vram0": "8192"},
		"drm.memory.shared":   m{"card0:system0": "1048576", "card1:vram": "0", "card2:vram0": "0"},
		"drm.container.time":  m{box: "0"}, "drm.container.memory": m{box: "2134016"}, "drm.container.vram": m{box: "36864"},
		"drm.container.engine.time": m{box + ":card1:gfx": "0", box + ":card1:enc": "0", box + ":card2:rcs": "0", box + ":card2:vcs": "0"},
		"drm.proc.time":             m{"000070 Xwayland": "0", "000071 a (b) c": "0"},
		"drm.proc.memory":           m{"000070 Xwayland": "54628352", "000071 a (b) c": "2134016"},
		"drm.proc.vram":             m{"000070 Xwayland": "102400", "000071 a (b) c": "36864"},
		"drm.proc.engine.time": m{
			"000070:card0:render Xwayland": "0", "000070:card0:video Xwayland": "0", "000070:card1:gfx Xwayland": "0", "000070:card1:enc Xwayland": "0",
			"000071:card1:gfx a (b) c": "0", "000071:card1:enc a (b) c": "0", "000071:card2:rcs a (b) c": "0", "000071:card2:vcs a (b) c": "0",
		},
	}
}

// open returns an agent whose clock advances by the time that later adds to.
func open(t testing.TB, root string) (a *Agent, later func(time.Duration)) {
	a = New(Config{Root: root, AllAccess: true})
	now := time.Unix(1e9, 0)
	a.r.now = func() time.Time { return now }
	t.Cleanup(func() { a.Close() })
	return a, func(d time.Duration) { now = now.Add(d) }
}

func TestValues(t *testing.T) {
	a, _ := open(t, machine(t))
	if diff := cmp.Diff(want(), agenttest.Read(t, a)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	agenttest.HelpTexts(t, a)
	for serial, text := range []string{`"driver":"i915","pci":"0000:00:02.0"`, `"engine":"gfx","gpu":"card1"`, `"gpu":"card1","region":"vram"`, "{}", "{}", `"pid":70`, `"pid":70`} {
		sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, serial)), pcp.LabelInstances)
		if err != nil || text != "{}" && (len(sets) == 0 || !strings.Contains(string(sets[0].JSON), text)) {
			t.Errorf("labels of domain %d: %v, %v", serial, sets, err)
		}
	}
}

// TestWork has engines work for clients that come and go.
func TestWork(t *testing.T) {
	root := machine(t)
	a, later := open(t, root)
	agenttest.Read(t, a)
	f := func(metric string, want m) {
		t.Helper()
		if diff := cmp.Diff(want, agenttest.Read(t, a)[metric]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metric, diff)
		}
	}
	later(2 * time.Second)
	write(t, root, map[string]string{
		"proc/70/fdinfo/3": fmt.Sprintf(amd, 7, 200, 100, 1500), "proc/70/fdinfo/4": fmt.Sprintf(amd, 7, 200, 100, 1500), "proc/71/fdinfo/3": fmt.Sprintf(amd, 7, 200, 100, 1500),
		"proc/71/fdinfo/5": fmt.Sprintf(amd, 8, 64, 32, 140), "proc/71/fdinfo/6": fmt.Sprintf(xe, 7, 600, 2000), // half of the cycles
		"proc/72/fd/5": "-> /dev/dri/renderD129", "proc/72/fdinfo/5": fmt.Sprintf(amd, 20, 0, 0, 7), // not looked at yet
	})
	got := agenttest.Read(t, a)
	for name, want := range map[string]m{
		"drm.engine.time":    {"card0:render": "0", "card0:video": "0", "card1:gfx": "600", "card1:enc": "0", "card2:rcs": "1000000000", "card2:vcs": "0"},
		"drm.proc.time":      {"000070 Xwayland": "500", "000071 a (b) c": "1000000100"},
		"drm.container.time": {box: "1000000100"},
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	later(again - 2*time.Second)
	f("drm.proc.time", m{"000070 Xwayland": "500", "000071 a (b) c": "1000000100", "000072 none": "7"})
	f("drm.card.clients", m{"card0": "1", "card1": "3", "card2": "1"})
	write(t, root, map[string]string{"proc/71": "-", "proc/72/fd/5": "-", "proc/70/fdinfo/3": fmt.Sprintf(amd, 7, 200, 100, 1400)}) // less: it is not believed
	f("drm.engine.time", m{"card0:render": "0", "card0:video": "0", "card1:gfx": "607", "card1:enc": "0", "card2:rcs": "1000000000", "card2:vcs": "0"})
	f("drm.proc.time", m{"000070 Xwayland": "500"})
	f("drm.container.time", m{})
	f("drm.memory.resident", m{"card0:system0": "52428800", "card1:vram": "102400", "card1:gtt": "2097152", "card2:vram0": "0"})
	write(t, root, map[string]string{"proc/70/stat": "70 (next) S 0 1 1 0 -1 4 1 1 1 1 1 1 1 1 20 0 1 0 9999 1\n"})
	f("drm.proc.time", m{"000070 next": "0"})
	write(t, root, map[string]string{sys + "card1/device/power/runtime_status": "suspended\n"})
	f("drm.card.busy", m{})
}

// TestNone checks a machine without cards, where no process is looked at.
func TestNone(t *testing.T) {
	root := machine(t)
	write(t, root, map[string]string{sys: "-"})
	a, _ := open(t, root)
	for name, values := range agenttest.Read(t, a) {
		if len(values) > 0 && name != "drm.ncards" {
			t.Errorf("%s: %v", name, values)
		}
	}
	if len(a.r.usage.processes) > 0 {
		t.Error("processes were looked at")
	}
}

// TestPlatform has clients without a PCI address, as on boards with ARM processors.
func TestPlatform(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		sys + "card0/device/uevent": "DRIVER=panfrost\nOF_NAME=gpu\n",
		"proc/5/stat":               "5 (x) S", "proc/5/fd/1": "-> /dev/dri/renderD128", "proc/5/fdinfo/1": "drm-driver:\tpanfrost\ndrm-client-id:\t3\ndrm-engine-fragment:\t10 ns\ndrm-cycles-fragment:\t5\ndrm-maxfreq-fragment:\t799999987 Hz\n",
		"proc/6/fd/1": "-> /dev/accel/accel0", "proc/6/fdinfo/1": "drm-driver:\tintel_vpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:00:0b.0\ndrm-total-memory:\t1 KiB\n",
	})
	a, _ := open(t, root)
	got := agenttest.Read(t, a)
	if diff := cmp.Diff(m{"card0:fragment": "0"}, got["drm.engine.time"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m{"0000:00:0b.0:memory": "1024"}, got["drm.memory.total"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrust(t *testing.T) {
	a := New(Config{Root: machine(t)})
	defer a.Close()
	ids := agenttest.Lookup(t, a.NameSpace(), "drm.proc.vram", "drm.memory.resident")
	sets := agenttest.Fetch(t, a, nil, ids...).Sets
	if len(sets[0].Values) > 0 || len(sets[1].Values) == 0 {
		t.Errorf("a client without a user gets %v", sets)
	}
}

// TestCost bounds what 1,000 processes cost: descriptors of those without a device are read once in five seconds.
func TestCost(t *testing.T) {
	root := machine(t)
	files := make(map[string]string)
	for pid := 1000; pid < 2000; pid++ {
		files[fmt.Sprintf("proc/%d/fd/3", pid)] = "-> /dev/null"
	}
	write(t, root, files)
	a, later := open(t, root)
	id := agenttest.Lookup(t, a.NameSpace(), "drm.engine.time")
	once := agenttest.Refresh(t, a, id)
	f := func(d time.Duration, want int) {
		t.Helper()
		later(d)
		before := a.r.usage.looked
		once()
		if got := a.r.usage.looked - before; got != want {
			t.Errorf("descriptors of %d processes were read, want %d", got, want)
		}
	}
	f(0, 1004)
	f(time.Second, 2)
	f(time.Second, 2)
	f(again, 1004)
}

func TestWorked(t *testing.T) {
	f := func(before, now engineInfo, known bool, elapsed time.Duration, want uint64) {
		t.Helper()
		if got := worked(before, now, known, elapsed); got != want {
			t.Errorf("worked(%+v, %+v) = %d, want %d", before, now, got, want)
		}
	}
	f(engineInfo{}, engineInfo{ns: 5, hasNS: true}, false, 0, 5)
	f(engineInfo{cycles: 10, total: 100}, engineInfo{cycles: 20, total: 120, capacity: 1}, true, 100, 50)
	f(engineInfo{cycles: 10, total: 100}, engineInfo{cycles: 50, total: 120, capacity: 1}, true, 100, 100)
	f(engineInfo{cycles: 10, total: 100}, engineInfo{cycles: 50, total: 120, capacity: 2}, true, 100, 200)
	f(engineInfo{cycles: 10, total: 100}, engineInfo{cycles: 50, total: 100, capacity: 2}, true, 100, 0)
	f(engineInfo{cycles: 10, total: 100}, engineInfo{cycles: 50, total: 120, capacity: 2}, true, -1, 0)
	f(engineInfo{}, engineInfo{cycles: 50, total: 120, capacity: 2}, false, 100, 0)
}

func FuzzInfo(f *testing.F) {
	for _, s := range []string{
		fmt.Sprintf(amd, 1, 2, 3, 4), fmt.Sprintf(intel, 1, 2), fmt.Sprintf(xe, 1, 2, 3), "", "drm-driver:\nDRM", "drm-engine-:\t1 ns\ndrm-driver: x\ndrm-client-id: 18446744073709551615\ndrm-total-cycles-:\t1\ndrm-memory-a:\t9223372036854775807 MiB\n",
		"drm-engine-capacity-x: 99999999999999999999\n", "drm-driver: \xff\x00", strings.Repeat("drm-total-a", 40) + ": 1\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var i info
		n := make(names)
		i.parse(b, n)
		if len(i.engines) > maxEntries || len(i.regions) > maxEntries {
			t.Errorf("%d engines, %d regions", len(i.engines), len(i.regions))
		}
		for _, r := range i.regions {
			if r.name == "" || max(r.resident, r.total, r.shared) > math.MaxInt64 {
				t.Errorf("%+v", r)
			}
		}
		var again info
		if ok := again.parse(b, n); ok && (again.driver == "" || !again.hasID) {
			t.Errorf("%+v", again)
		}
		parseNumber(b)
		if driver, _, _ := parseUevent(b); len(driver) > len(b) {
			t.Error(driver)
		}
		if n, ok := cardNumber(string(b)); ok && "card"+strconv.Itoa(n) != string(b) {
			t.Errorf("%q is %d", b, n)
		}
	})
}
