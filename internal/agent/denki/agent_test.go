package denki

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
)

// write makes files below root; it removes a file whose text is "-".
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
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	cap  = "sys/class/powercap/"
	bat  = "sys/class/power_supply/"
	dock = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// laptop makes a machine with one package and three batteries.
func laptop(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	write(t, root, map[string]string{
		cap + "intel-rapl/enabled":        "1\n",
		cap + "intel-rapl:0/name":         "package-0\n",
		cap + "intel-rapl:0/energy_uj":    "5123456\n",
		cap + "intel-rapl:0:0/name":       "core\n",
		cap + "intel-rapl:0:0/energy_uj":  "1999999\n",
		cap + "intel-rapl:0:1/name":       "uncore\n",
		cap + "intel-rapl:0:1/energy_uj":  "0\n",
		cap + "intel-rapl:0:2/name":       "dram\n",
		cap + "intel-rapl:0:2/energy_uj":  "876543\n",
		cap + "intel-rapl:1/name":         "psys\n",
		cap + "intel-rapl:1/energy_uj":    "9000000\n",
		cap + "intel-rapl-mmio:0/name":    "package-0\n",
		cap + "intel-rapl:x/name":         "package-1\n",
		cap + "intel-rapl:0:2:1/name":     "package-1\n",
		cap + "intel-rapl:0/constraint_0": "x",

		cap + "intel-rapl:0/max_energy_range_uj": "262143328850\n",

		bat + "AC/type": "Mains\n", bat + "AC/online": "0\n",
		bat + "BAT0/type": "Battery\n", bat + "BAT0/energy_now": "31250000\n", bat + "BAT0/energy_full": "50000000\n",
		bat + "BAT0/energy_full_design": "57000000\n", bat + "BAT0/power_now": "-7500000\n", bat + "BAT0/capacity": "62\n",
		bat + "BAT0/status": "Discharging\n", bat + "BAT0/voltage_now": "11400000\n", bat + "BAT0/cycle_count": "211\n",
		bat + "BAT0/model_name": "5B10W13930\n", bat + "BAT0/manufacturer": "SMP\n",
		bat + "BAT1/type": "Battery\n", bat + "BAT1/charge_now": "2000000\n", bat + "BAT1/charge_full": "4000000\n", bat + "BAT1/voltage_min_design": "7600000\n",
		bat + "BAT1/voltage_now": "8000000\n", bat + "BAT1/current_now": "500000\n", bat + "BAT1/cycle_count": "0\n", bat + "BAT1/status": "Not charging\n",
		bat + "hidpp_battery_0/type": "Battery\n", bat + "hidpp_battery_0/capacity": "80\n", bat + "hidpp_battery_0/model_name": "bad \x1b[31m\n",
		bat + "ucsi/type": "Battery\n", // nothing else
	})
	return root
}

func want() agenttest.Values {
	type m = map[string]string
	return agenttest.Values{
		"denki.rapl.sysfs":        m{"package-0": "5", "core": "1", "uncore": "0", "dram": "0", "psys": "9"},
		"denki.rapl.energy":       m{"package-0": "5.1", "core": "1.9", "uncore": "0", "dram": "0.8", "psys": "9"},
		"denki.rapl.msr":          m{},
		"denki.bat.energy_now":    m{"battery-0": "31.25", "battery-1": "15.2"},
		"denki.bat.energy_full":   m{"battery-0": "50", "battery-1": "30.4"},
		"denki.bat.energy_design": m{"battery-0": "57"},
		"denki.bat.power_now":     m{"battery-0": "7.5", "battery-1": "4"},
		"denki.bat.capacity":      m{"battery-0": "62", "battery-2": "80"},
		"denki.bat.status":        m{"battery-0": `"Discharging"`, "battery-1": `"Not charging"`},
		"denki.bat.voltage":       m{"battery-0": "11.4", "battery-1": "8"},
		"denki.bat.cycles":        m{"battery-0": "211"},
		"denki.proc.energy":       m{},
		"denki.container.energy":  m{},
	}
}

func open(t testing.TB, root string) *Agent {
	a := New(Config{Root: root, AllAccess: true})
	t.Cleanup(func() { a.Close() })
	return a
}

func TestValues(t *testing.T) {
	a := open(t, laptop(t))
	if diff := cmp.Diff(want(), agenttest.Read(t, a)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	agenttest.HelpTexts(t, a)
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 2)), pcp.LabelInstances)
	if err != nil || len(sets) != 3 || !strings.Contains(string(sets[0].JSON), `"battery":"BAT0","manufacturer":"SMP","model":"5B10W13930"`) || strings.Contains(string(sets[2].JSON), "model") {
		t.Errorf("labels %v, %v", sets, err)
	}
}

// TestDescriptors checks the descriptors that archives of the C agent rely on.
func TestDescriptors(t *testing.T) {
	a := open(t, t.TempDir())
	got := make(map[string]string)
	a.Metrics(func(name string, id pcp.PMID) {
		d, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		if id.Cluster() < 1000 {
			got[strings.TrimPrefix(name, "denki.")] = strings.TrimSpace(strings.Join([]string{id.String(), d.InDom.String(), d.Type.String(), d.Sem.String(), d.Units.String()}, " "))
		}
	})
	want := map[string]string{
		"rapl.sysfs":     "156.0.0 156.0 U64 counter",
		"rapl.msr":       "156.0.1 156.1 U64 counter",
		"bat.energy_now": "156.1.0 156.2 DOUBLE instant power (W) hour",
		"bat.power_now":  "156.1.1 156.3 DOUBLE instant power (W)",
		"bat.capacity":   "156.1.2 156.4 32 instant",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}
}

// TestPackages checks names on a machine with two packages, one of which goes.
func TestPackages(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		cap + "intel-rapl:0/name": "package-0\n", cap + "intel-rapl:0/energy_uj": "1000000\n",
		cap + "intel-rapl:0:0/name": "dram\n", cap + "intel-rapl:0:0/energy_uj": "2000000\n",
		cap + "intel-rapl:1/name": "package-1\n", cap + "intel-rapl:1/energy_uj": "3000000\n",
		cap + "intel-rapl:1:0/name": "dram\n", cap + "intel-rapl:1:0/energy_uj": "4000000\n",
	})
	a := open(t, root)
	f := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, agenttest.Read(t, a)["denki.rapl.sysfs"]); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	}
	f(map[string]string{"0-package-0": "1", "0-dram": "2", "1-package-1": "3", "1-dram": "4"})
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil || len(insts) != 4 || insts[3].Inst != 3 || insts[3].Name != "1-dram" {
		t.Errorf("instances %v, %v", insts, err)
	}
	write(t, root, map[string]string{cap + "intel-rapl:1": "-", cap + "intel-rapl:1:0": "-"})
	f(map[string]string{"package-0": "1", "dram": "2"})
}

// TestWrap has counters start again.
func TestWrap(t *testing.T) {
	root := laptop(t)
	a := open(t, root)
	f := func(uj, want string) {
		t.Helper()
		write(t, root, map[string]string{cap + "intel-rapl:0/energy_uj": uj})
		if got := agenttest.Read(t, a)["denki.rapl.energy"]["package-0"]; got != want {
			t.Errorf("%s: %s joules, want %s", uj, got, want)
		}
	}
	f("262143000000", "262143")
	f("671150", "262144") // 0.32885 J to the end
	f("1671150", "262145")
	f("-1", "")
	f("x", "")
	f("", "")
	f("99999999999999999999999", "")
	f("2671150", "262146")
	for _, c := range []struct{ last, v, most, want uint64 }{{5, 7, 10, 7}, {5, 3, 10, 13}, {5, 3, 4, 8}, {5, 3, 0, 8}, {5, 5, 0, 5}} {
		n := counter{last: c.last, sum: c.last, known: true}
		if got := n.add(c.v, c.most); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestMSR reads registers, whose files are sparse here.
func TestMSR(t *testing.T) {
	root := t.TempDir()
	const topology = "topology/physical_package_id"
	info := "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n\nprocessor\t: 1\nmodel\t\t: 1\n"
	write(t, root, map[string]string{
		"proc/cpuinfo": info, "dev/cpu/0/msr": "", "dev/cpu/2/msr": "",
		"sys/devices/system/cpu/cpu0/" + topology: "0\n", "sys/devices/system/cpu/cpu1/" + topology: "0\n",
		"sys/devices/system/cpu/cpu2/" + topology: "1\n", "sys/devices/system/cpu/cpu3/" + topology: "junk\n",
	})
	set := func(cpu string, reg int64, v uint64) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(root, "dev/cpu", cpu, "msr"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, v), reg); err != nil {
			t.Fatal(err)
		}
	}
	for _, cpu := range []string{"0", "2"} {
		set(cpu, regUnit, 0xa0e03) // 2^-14 J
		set(cpu, regDRAM, 5<<16)   // its unit is 2^-16 J
		set(cpu, regCores, 3<<14)
		set(cpu, regPackage, 0xffffffff) // 262143.99 J
		set(cpu, regPsys, 0)
	}
	set("2", regPackage, 7<<14)
	a := open(t, root)
	f := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, agenttest.Read(t, a)["denki.rapl.msr"]); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
	}
	f(map[string]string{
		"0-package_energy": "262143", "0-cores_energy": "3", "0-uncore_energy": "0", "0-dram_energy": "5", "0-psys_energy": "0",
		"1-package_energy": "7", "1-cores_energy": "3", "1-uncore_energy": "0", "1-dram_energy": "5", "1-psys_energy": "0",
	})
	set("0", regPackage, 2<<14)
	if got := agenttest.Read(t, a)["denki.rapl.msr"]["0-package_energy"]; got != "262145" {
		t.Errorf("after the end %s", got)
	}
	write(t, root, map[string]string{"proc/cpuinfo": strings.Replace(info, "GenuineIntel", "AuthenticAMD", 1)})
	a = open(t, root)
	f(map[string]string{})
}

func stat(comm string, ticks, start string) string {
	return "7 (" + comm + ") S 1 7 7 0 -1 4194560 1 0 0 0 " + ticks + " 10 0 0 20 0 1 0 " + start + " 1 1 1\n"
}

// TestShare divides energy among processes.
func TestShare(t *testing.T) {
	root := laptop(t)
	write(t, root, map[string]string{
		"proc/stat":   "cpu  1000 0 200 99999 55 0 0 0 0 0\ncpu0 1 2 3\n",
		"proc/7/stat": stat("a) b(\x01", "500", "100"), "proc/7/cgroup": "0::/user.slice\n",
		"proc/80/stat": stat("web", "100", "101"), "proc/80/cgroup": "0::/system.slice/docker-" + dock + ".scope\n",
		"proc/81/stat": stat("web", "100", "101"), "proc/81/cgroup": "0::/system.slice/docker-" + dock + ".scope\n",
		"proc/9/stat": "9 (x", "proc/1x/stat": stat("no", "1", "1"), "proc/meminfo": "",
	})
	a := open(t, root)
	f := func(procs, groups map[string]string) {
		t.Helper()
		got := agenttest.Read(t, a)
		if diff := cmp.Diff(procs, got["denki.proc.energy"]); diff != "" {
			t.Errorf("processes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(groups, got["denki.container.energy"]); diff != "" {
			t.Errorf("containers (-want +got):\n%s", diff)
		}
	}
	f(map[string]string{"000007 a) b(?": "0", "000080 web": "0", "000081 web": "0"}, map[string]string{dock: "0"})
	write(t, root, map[string]string{
		"proc/stat":                      "cpu  1300 0 300 199999 55 0 0 0 0 0\n", // 400 ticks
		cap + "intel-rapl:0/energy_uj":   "84123456\n",                            // 79 J
		cap + "intel-rapl:0:2/energy_uj": "1876543\n",                             // 1 J
		"proc/7/stat":                    stat("a", "600", "100"),                 // 100 ticks: 20 J
		"proc/80/stat":                   stat("web", "150", "101"),               // 50 ticks: 10 J
		"proc/81":                        "-",
		"proc/82/stat":                   stat("new", "90", "300"), "proc/82/cgroup": "0::/system.slice/docker-" + dock + ".scope\n", // 100 ticks: 20 J
	})
	f(map[string]string{"000007 a) b(?": "20", "000080 web": "10", "000082 new": "20"}, map[string]string{dock: "30"})
	write(t, root, map[string]string{"proc/80": "-", "proc/82": "-", "proc/7/stat": stat("other", "0", "999")}) // the same time, and another process
	f(map[string]string{"000007 other": "0"}, map[string]string{})

	closed := New(Config{Root: root})
	defer closed.Close()
	id := agenttest.Lookup(t, closed.NameSpace(), "denki.proc.energy")
	if v := agenttest.Fetch(t, closed, nil, id...).Sets[0]; len(v.Values) > 0 {
		t.Errorf("a client without a user gets %v", v)
	}
}

// TestNone checks a machine without energy.
func TestNone(t *testing.T) {
	for name, values := range agenttest.Read(t, open(t, t.TempDir())) {
		if len(values) > 0 {
			t.Errorf("%s: %v", name, values)
		}
	}
}

// FuzzFiles has any bytes in all files.
func FuzzFiles(f *testing.F) {
	for _, s := range []string{"", "0\n", "-1", "18446744073709551615", "9223372036854775808", "package-0\n", "cpu  1 2 3 4 5 6 7 8", "1 (a) R 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "Battery", "vendor_id\t: GenuineIntel\ncpu family : 6\nmodel : 85\n\n", "a (b) c"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseStat(b); ok && len(s.comm) > len(b) {
			t.Errorf("%+v", s)
		}
		parseBusy(b)
		parseCPUInfo(b)
		if v, ok := parseNumber(b); ok && len(b) == 0 {
			t.Error(v)
		}
		if pkg, part, ok := zoneNumbers(string(b)); ok && (pkg < 0 || pkg >= maxZones || part < -1 || part >= maxZones) {
			t.Errorf("%q: %d, %d", b, pkg, part)
		}
		root := t.TempDir()
		text := string(b)
		if text == "-" {
			return
		}
		write(t, root, map[string]string{
			cap + "intel-rapl:0/name": text, cap + "intel-rapl:0/energy_uj": text, cap + "intel-rapl:0/max_energy_range_uj": text,
			bat + "b/type": "Battery", bat + "b/energy_now": text, bat + "b/power_now": text, bat + "b/status": text, bat + "b/capacity": text,
			"proc/stat": text, "proc/1/stat": text, "proc/1/cgroup": text, "proc/cpuinfo": text,
		})
		a := New(Config{Root: root, AllAccess: true})
		defer a.Close()
		for range 2 {
			agenttest.Read(t, a)
		}
	})
}
