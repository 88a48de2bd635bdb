package lmsensors

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
)

// A chip is one of a fixture: its device below sys/devices, the bus of it or of a directory above, and its files.
type chip struct {
	device, onBus, bus string
	files              map[string]string
}

// put makes the directory hwmonN of a chip, with the links of the kernel.
func put(t testing.TB, root string, n string, c chip) {
	t.Helper()
	device := filepath.Join(root, "sys/devices", c.device)
	dir := filepath.Join(device, "hwmon", "hwmon"+n)
	for name, text := range c.files {
		write(t, filepath.Join(dir, name), text)
	}
	link := func(target, path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	if c.bus != "" {
		link("../..", filepath.Join(dir, "device"))
		link("../../bus/"+c.bus, filepath.Join(root, "sys/devices", c.onBus, "subsystem"))
	}
	link("../../devices/"+c.device+"/hwmon/hwmon"+n, filepath.Join(root, "sys/class/hwmon/hwmon"+n))
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

type files = map[string]string

// server makes a machine with chips on several buses.
func server(t testing.TB) (root string) {
	t.Helper()
	root = t.TempDir()
	put(t, root, "0", chip{"platform/coretemp.0", "platform/coretemp.0", "platform", files{
		"name": "coretemp\n", "temp1_label": "Package id 0\n", "temp1_input": "54000\n", "temp1_max": "80000\n", "temp1_crit": "100000\n",
		"temp2_label": "Core 0\n", "temp2_input": "52500\n", "temp2_crit_alarm": "0\n", "temp10_label": "Core 8\n", "temp10_input": "-3000\n", "temp11_input": "x\n",
	}})
	put(t, root, "1", chip{"pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0", "pci0000:00/0000:00:01.1/0000:01:00.0", "pci", files{
		"name": "nvme\n", "temp1_label": "Composite\n", "temp1_input": "38850\n", "temp1_max": "81850\n",
	}})
	put(t, root, "2", chip{"platform/nct6775.656", "platform/nct6775.656", "platform", files{
		"name": "nct6775\n", "in0_input": "1016\n", "in0_min": "0\n", "in0_max": "1744\n", "in1_input": "3376\n", "in1_label": "+3.3V\n", "fan1_input": "1208\n", "fan1_min": "500\n", "fan2_input": "-1\n",
		"temp1_input": "-128000\n", "temp1_label": "SYSTIN\n", "temp2_input": "31000\n", "temp2_label": "SYSTIN\n", "intrusion0_alarm": "1\n", "pwm1": "120\n",
	}})
	put(t, root, "3", chip{"pci0000:00/0000:0a:00.0", "pci0000:00/0000:0a:00.0", "pci", files{
		"name": "amdgpu\n", "power1_average": "31000000\n", "power1_label": "PPT\n", "temp1_input": "45000\n", "temp1_label": "edge\n", "freq1_input": "500000000\n",
	}})
	put(t, root, "4", chip{"virtual/thermal", "", "", files{"name": "acpitz\n", "temp1_input": "27800\n"}})
	put(t, root, "5", chip{"pci0000:00/i2c-1/1-0040", "pci0000:00/i2c-1/1-0040", "i2c", files{
		"name": "ina219\n", "curr1_input": "-250\n", "power1_input": "3000000\n", "energy1_input": "123456789\n", "humidity1_input": "45100\n",
	}})
	put(t, root, "6", chip{"virtual/other", "", "", files{"name": "acpitz\n", "temp1_input": "16800\n"}})
	put(t, root, "7", chip{"virtual/none", "", "", files{"name": "nothing\n", "temp1_label": "x\n"}})
	put(t, root, "8", chip{"virtual/bad", "", "", files{"name": "bad name\n", "temp1_input": "1\n"}})
	write(t, filepath.Join(root, "sys/class/hwmon/other/name"), "no\n")
	return root
}

func want() agenttest.Values {
	type m = map[string]string
	return agenttest.Values{
		"lmsensors.nchips": m{"": "7"},
		"lmsensors.temperature.input": m{
			"coretemp-isa-0000:Package_id_0": "54", "coretemp-isa-0000:Core_0": "52.5", "coretemp-isa-0000:Core_8": "-3", "nvme-pci-0100:Composite": "38.85",
			"nct6775-isa-0290:SYSTIN:temp2": "31", "amdgpu-pci-0a00:edge": "45", "acpitz-virtual-0:temp1": "27.8", "acpitz-virtual-0-hwmon6:temp1": "16.8",
		},
		"lmsensors.temperature.max":  m{"coretemp-isa-0000:Package_id_0": "80", "nvme-pci-0100:Composite": "81.85"},
		"lmsensors.temperature.crit": m{"coretemp-isa-0000:Package_id_0": "100"},
		"lmsensors.fan.input":        m{"nct6775-isa-0290:fan1": "1208"},
		"lmsensors.fan.min":          m{"nct6775-isa-0290:fan1": "500"},
		"lmsensors.voltage.input":    m{"nct6775-isa-0290:in0": "1.016", "nct6775-isa-0290:+3.3V": "3.376"},
		"lmsensors.voltage.min":      m{"nct6775-isa-0290:in0": "0"},
		"lmsensors.voltage.max":      m{"nct6775-isa-0290:in0": "1.744"},
		"lmsensors.current.input":    m{"ina219-i2c-1-40:curr1": "-0.25"},
		"lmsensors.current.max":      m{},
		"lmsensors.power.input":      m{"ina219-i2c-1-40:power1": "3"},
		"lmsensors.power.average":    m{"amdgpu-pci-0a00:PPT": "31"},
		"lmsensors.power.max":        m{},
		"lmsensors.energy.input":     m{"ina219-i2c-1-40:energy1": "123.456789"},
		"lmsensors.humidity.input":   m{"ina219-i2c-1-40:humidity1": "45.1"},
	}
}

func open(t testing.TB, root string) *Agent {
	t.Helper()
	a, err := New(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// read returns the values of the metrics of kinds.
func read(t testing.TB, a *Agent) agenttest.Values {
	t.Helper()
	names := make(agenttest.Values)
	for _, m := range a.fixed {
		id, err := a.LookupName(t.Context(), m.Name)
		if err != nil {
			t.Fatal(err)
		}
		names[m.Name] = fetch(t, a, id)
	}
	return names
}

// fetch returns the values of a metric by instance, with all digits.
func fetch(t testing.TB, a *Agent, id pcp.PMID) map[string]string {
	t.Helper()
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	insts := map[int32]string{pcp.InNull: ""}
	if desc.InDom != pcp.InDomNull {
		list, err := a.Instances(t.Context(), desc.InDom)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range list {
			insts[i.Inst] = i.Name
		}
	}
	values := make(map[string]string)
	for _, v := range agenttest.Fetch(t, a, nil, id).Sets[0].Values {
		name, ok := insts[v.Inst]
		if !ok {
			t.Errorf("%v: instance %d is not known", id, v.Inst)
		}
		switch v = v.As(desc.Type); desc.Type {
		case pcp.TypeDouble:
			values[name] = strconv.FormatFloat(v.Double(), 'g', -1, 64)
		case pcp.TypeFloat:
			values[name] = strconv.FormatFloat(float64(v.Float()), 'g', 6, 32)
		default:
			values[name] = v.String()
		}
	}
	return values
}

func TestValues(t *testing.T) {
	a := open(t, server(t))
	if diff := cmp.Diff(want(), read(t, a)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	sets, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, own)), pcp.LabelInstances)
	if err != nil || len(sets) != 10 || !strings.Contains(string(sets[1].JSON), `"chip":"coretemp-isa-0000","file":"temp2","sensor":"Core 0"`) {
		t.Errorf("labels %v, %v", sets, err)
	}
}

// TestNames checks the metrics that the C agent makes of the output of sensors -j.
func TestNames(t *testing.T) {
	a := open(t, server(t))
	children, err := a.Children(t.Context(), "lmsensors", true)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, c := range children {
		id, err := a.LookupName(t.Context(), c.Name)
		if err != nil {
			t.Fatal(err)
		}
		if id.Cluster() != clusterSingle {
			continue
		}
		desc, err := a.Desc(t.Context(), id)
		if err != nil || desc.Type != pcp.TypeFloat || desc.Sem != pcp.SemInstant || desc.Units != (pcp.Units{}) || desc.InDom != pcp.InDomNull {
			t.Errorf("%s: %+v, %v", c.Name, desc, err)
		}
		for _, kind := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
			if text, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|kind); err != nil || text == "" {
				t.Errorf("%s: %q, %v", c.Name, text, err)
			}
		}
		got[strings.TrimPrefix(c.Name, "lmsensors.")] = id.String() + " " + fetch(t, a, id)[""]
	}
	want := map[string]string{
		"coretemp_isa_0000.package_id_0": "74.0.0 54", "coretemp_isa_0000.core_0": "74.0.1 52.5", "coretemp_isa_0000.core_8": "74.0.2 -3", "coretemp_isa_0000.temp11": "74.0.3 ",
		"nvme_pci_0100.composite": "74.0.4 38.85", "nct6775_isa_0290.systin": "74.0.5 ", "nct6775_isa_0290.fan1": "74.0.6 1208", "nct6775_isa_0290.fan2": "74.0.7 ",
		"nct6775_isa_0290.in0": "74.0.8 1.016", "nct6775_isa_0290.in1__3_3v": "74.0.9 3.376", "amdgpu_pci_0a00.edge": "74.0.10 45", "amdgpu_pci_0a00.ppt": "74.0.11 ",
		"acpitz_virtual_0.temp1": "74.0.12 27.8", "ina219_i2c_1_40.curr1": "74.0.13 -0.25", "ina219_i2c_1_40.power1": "74.0.14 3", "ina219_i2c_1_40.energy1": "74.0.15 123.457", "ina219_i2c_1_40.humidity1": "74.0.16 45.1",
		"acpitz_virtual_0_hwmon6.temp1": "74.0.17 16.8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestChanges has chips go, come back under another number, and sleep.
func TestChanges(t *testing.T) {
	root := server(t)
	a := open(t, root)
	id, err := a.LookupName(t.Context(), "lmsensors.temperature.input")
	if err != nil {
		t.Fatal(err)
	}
	single, err := a.LookupName(t.Context(), "lmsensors.nvme_pci_0100.composite")
	if err != nil {
		t.Fatal(err)
	}
	f := func(nvme string) {
		t.Helper()
		if got := fetch(t, a, id)["nvme-pci-0100:Composite"]; got != nvme {
			t.Errorf("nvme has %q, want %q", got, nvme)
		}
		if got := fetch(t, a, single)[""]; got != nvme {
			t.Errorf("nvme has %q in its own metric, want %q", got, nvme)
		}
	}
	f("38.85")
	const device = "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0"
	write(t, filepath.Join(root, "sys/devices", device, "power/runtime_status"), "suspended\n")
	f("")
	write(t, filepath.Join(root, "sys/devices", device, "power/runtime_status"), "active\n")
	f("38.85")
	for _, path := range []string{"sys/class/hwmon/hwmon1", "sys/devices/" + device + "/hwmon"} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	f("")
	put(t, root, "9", chip{device, device[:len(device)-len("/nvme/nvme0")], "pci", files{"name": "nvme\n", "temp1_label": "Composite\n", "temp1_input": "20000\n"}})
	f("20")
	put(t, root, "10", chip{"virtual/new", "", "", files{"name": "new\n", "temp1_input": "1000\n"}})
	fetch(t, a, id)
	if names, _ := a.Changes(); !names {
		t.Error("no notice of new names")
	}
	if _, err := a.LookupName(t.Context(), "lmsensors.new_virtual_0.temp1"); err != nil {
		t.Error(err)
	}
}

// TestNone checks a machine without sensors.
func TestNone(t *testing.T) {
	for name, values := range read(t, open(t, t.TempDir())) {
		if len(values) > 0 && name != "lmsensors.nchips" {
			t.Errorf("%s: %v", name, values)
		}
	}
}

func TestAddress(t *testing.T) {
	f := func(bus, device, want string) {
		t.Helper()
		if got := address(bus, device); got != want {
			t.Errorf("address(%q, %q) = %q, want %q", bus, device, got, want)
		}
	}
	f("pci", "0000:00:18.3", "pci-00c3")
	f("pci", "0001:00:18.3", "pci-100c3")
	f("pci", "nvme0", "")
	f("i2c", "1-004c", "i2c-1-4c")
	f("i2c", "i2c-1", "")
	f("spi", "spi0.1", "spi-0-1")
	f("hid", "0003:046D:C52B.0004", "hid-3-4")
	f("scsi", "2:0:1:0", "scsi-2-10")
	f("mdio_bus", "stmmac-0:07", "mdio-7")
	f("acpi", "PNP0C0A:00", "acpi-0")
	f("platform", "coretemp.1", "isa-0001")
	f("platform", "nct6775.2592", "isa-0a20")
	f("platform", "thinkpad_hwmon", "isa-0000")
	f("usb", "1-1", "")
}

// FuzzFiles has any bytes in all files, and any names.
func FuzzFiles(f *testing.F) {
	f.Add("coretemp\n", "Core 0\n", "52000\n", "temp1_input")
	f.Add("a_1b", "+3.3V", "-1", "in0_input")
	f.Add("\x00", "\xff", "99999999999999999999", "fan99999999999999999999_input")
	f.Add("9", "9_", "-9223372036854775808", "power1_average")
	f.Fuzz(func(t *testing.T, name, label, value, file string) {
		if file == "" || len(file) > 100 || strings.ContainsAny(file, "/\x00") || file == "." || file == ".." || file == "name" || file == "device" {
			file = "temp2_input"
		}
		root := t.TempDir()
		write(t, filepath.Join(root, "sys/class/hwmon/hwmon0", file), value)
		write(t, filepath.Join(root, "sys/class/hwmon/hwmon0/name"), name)
		write(t, filepath.Join(root, "sys/class/hwmon/hwmon0/temp1_input"), value)
		write(t, filepath.Join(root, "sys/class/hwmon/hwmon0/temp1_label"), label)
		a := open(t, root)
		read(t, a)
		if a.logged {
			t.Errorf("%q, %q: the table of metrics is wrong", name, label)
		}
		for _, bus := range []string{"pci", "i2c", "spi", "hid", "scsi", "mdio_bus", "platform"} {
			address(bus, label)
		}
	})
}

var (
	_ pmda.DynamicNamer = (*Agent)(nil)
	_ pmda.Originator   = (*Agent)(nil)
)
