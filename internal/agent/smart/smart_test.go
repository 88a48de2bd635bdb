package smart

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

const ataInfo = `smartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)

=== START OF INFORMATION SECTION ===
Model Family:     Example Drives
Device Model:     EXAMPLE 512-X
Serial Number:    SN0001
Firmware Version: FW01
User Capacity:    512,110,190,592 bytes [512 GB]
Sector Sizes:     512 bytes logical, 4096 bytes physical
Rotation Rate:    7200 rpm

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED
`

const ataData = `ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  1 Raw_Read_Error_Rate     0x000f   114   099   006    Pre-fail  Always       -       4294967297
  9 Power_On_Hours          0x0032   099   099   000    Old_age   Always       -       2839h+12m
173 Unknown_Attribute       0x0033   099   099   005    Pre-fail  Always       -       1
194 Temperature_Celsius     0x0032   075   060   ---    Old_age   Always       -       25 (Min/Max 7/40)
254 Free_Fall_Sensor        0x0032   100
`

const nvmeInfo = `Model Number:                       EXAMPLE NVME 1T
Serial Number:                      SN0002
Firmware Version:                   1B
Total NVM Capacity:                 256,060,514,304 [256 GB]
SMART overall-health self-assessment test result: FAILED!
`

const nvmeData = `Critical Warning:                   0x04
Temperature:                        31 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    5%
Data Units Read:                    9,351,610 [4.78 TB]
Data Units Written:                 10,338,739 [5.29 TB]
Host Read Commands:                 77,209,705
Host Write Commands:                94,922,330
Controller Busy Time:               773
Power Cycles:                       1,163
Power On Hours:                     1,055
Unsafe Shutdowns:                   134
Media and Data Integrity Errors:    0
Error Information Log Entries:      65
Warning  Comp. Temperature Time:    3
Critical Comp. Temperature Time:    4
Temperature Sensor 1:               31 Celsius
Temperature Sensor 2:               33 Celsius
`

// newDisks writes the output of smartctl about three disks, and returns programs that list
// them and print it.
func newDisks(t testing.TB) (list, command string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sda-Hi": ataInfo, "sda-A": ataData, "nvme0n1-Hi": nvmeInfo, "nvme0n1-A": nvmeData, "sdb-Hi": "Unable to detect device type\n", "sdb-A": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "smartctl.sh")
	text := "#!/bin/sh\ncat \"" + dir + "/${2#/dev/}$1\"\nexit 4\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return "printf 'nvme0n1\\nsda\\nsdb\\n'", "sh " + script
}

// values returns all values, by metric and instance, as pminfo prints them.
func values(t testing.TB, a *column.Agent) map[string]map[string]string {
	t.Helper()
	names := make(map[pcp.InDom]map[int32]string)
	for serial := range 4 {
		indom := pcp.NewInDom(Domain, serial)
		insts, err := a.Instances(t.Context(), indom)
		if err != nil {
			t.Fatal(err)
		}
		names[indom] = make(map[int32]string)
		for _, inst := range insts {
			names[indom][inst.Inst] = inst.Name
		}
	}
	all := make(map[string]map[string]string)
	var ids []pcp.PMID
	a.Metrics(func(_ string, id pcp.PMID) { ids = append(ids, id) })
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: new(pmda.Client), PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	i := 0
	a.Metrics(func(name string, id pcp.PMID) {
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range req.Result.Sets[i].Values {
			if all[name] == nil {
				all[name] = make(map[string]string)
			}
			inst := names[desc.InDom][v.Inst]
			all[name][inst] = v.String()
			if text, ok := v.Text(); ok { // in full
				all[name][inst] = `"` + text + `"`
			}
		}
		i++
	})
	return all
}

func TestValues(t *testing.T) {
	list, command := newDisks(t)
	got := values(t, New(Config{List: list, Command: command}))
	for name, want := range map[string]map[string]string{
		"smart.health":                                             {"sda": `"PASSED"`, "nvme0n1": `"FAILED!"`},
		"smart.info.model_family":                                  {"sda": `"Example Drives"`},
		"smart.info.device_model":                                  {"sda": `"EXAMPLE 512-X"`, "nvme0n1": `"EXAMPLE NVME 1T"`},
		"smart.info.capacity_bytes":                                {"sda": "512110190592", "nvme0n1": "256060514304"},
		"smart.info.sector_size":                                   {"sda": `"512 bytes logical, 4096 bytes physical"`},
		"smart.attributes.raw_read_error_rate.raw":                 {"sda": "4294967297"},
		"smart.attributes.power_on_hours.raw":                      {"sda": "2839"},
		"smart.attributes.power_on_hours.id":                       {"sda": "9"},
		"smart.attributes.temperature_celsius.worst":               {"sda": "60"},
		"smart.attributes.temperature_celsius.thresh":              nil,
		"smart.attributes.temperature_celsius.raw":                 {"sda": "25"},
		"smart.attributes.free_fall_sensor.value":                  {"sda": "100"},
		"smart.attributes.free_fall_sensor.raw":                    nil,
		"smart.attributes.spin_up_time.id":                         nil,
		"smart.nvme_attributes.critical_warning":                   {"nvme0n1": `"0x04"`},
		"smart.nvme_attributes.data_units_written":                 {"nvme0n1": "10338739"},
		"smart.nvme_attributes.warning_composite_temperature_time": {"nvme0n1": "3"},
		"smart.nvme_attributes.temperature_sensor_two":             {"nvme0n1": "33"},
		"smart.nvme_attributes.temperature_sensor_three":           nil,
	} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestKernel reads the values that need no smartctl.
func TestKernel(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"sda/size": "1000", "sda/device/model": "TRUNCATED NAME O", "sda/queue/logical_block_size": "512", "sda/queue/physical_block_size": "4096",
		"nvme0n1/size": "2000", "nvme0n1/device/model": "Fast 1T  ", "nvme0n1/device/serial": "S1", "nvme0n1/device/firmware_rev": "F1",
		"nvme0n1/device/hwmon3/temp1_input": "31850", "nvme0n1/device/hwmon3/temp1_label": "Composite",
		"nvme0n1/device/hwmon3/temp3_input": "40100", "nvme0n1/device/hwmon3/temp3_label": "Sensor 2",
		"nvme0n1/device/hwmon3/temp9_input": "1", "nvme0n1/device/hwmon3/temp9_label": "Sensor 99",
		"loop0/size": "8", "zram0/size": "8", "sr0/device/model": "CD", "dm-0/size": "7", "cciss!c0d0/device/x": "", "cciss!c0d0/size": "bad",
	} {
		path := filepath.Join(root, "sys/block", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]map[string]string{
		"smart.info.device":         {"sda": `"sda"`, "nvme0n1": `"nvme0n1"`, "cciss/c0d0": `"cciss/c0d0"`},
		"smart.info.capacity_bytes": {"sda": "512000", "nvme0n1": "1024000"},
		"smart.info.sector_size":    {"sda": `"512 bytes logical, 4096 bytes physical"`},
		"smart.info.device_model":   {"nvme0n1": `"Fast 1T"`}, "smart.info.serial_number": {"nvme0n1": `"S1"`}, "smart.info.firmware_version": {"nvme0n1": `"F1"`},
		"smart.nvme_attributes.composite_temperature": {"nvme0n1": "32"}, "smart.nvme_attributes.temperature_sensor_two": {"nvme0n1": "40"},
	}
	a := New(Config{Root: root})
	if diff := cmp.Diff(want, values(t, a)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil || len(insts) != 3 || insts[0].Name != "cciss/c0d0" {
		t.Errorf("instances %v, %v", insts, err)
	}
}

// TestAsleep checks a program that cannot be run, and a program that is not run again for a
// disk that did not answer.
func TestAsleep(t *testing.T) {
	r := &reader{cfg: Config{Command: "true"}, asleep: map[string]time.Time{"sda": time.Now().Add(time.Hour)}}
	dir := t.TempDir()
	r.cfg.Command = "touch " + dir + "/ran;:"
	if b := r.smartctl("-A", "sda"); b != nil {
		t.Errorf("printed %q", b)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("a disk that is left alone is asked")
	}
	if _, err := r.run(dir + "/nothing"); err == nil {
		t.Error("no error of a program that is not there")
	}
	if b, err := r.run("sh", "-c", "head -c 3000000 /dev/zero"); err != nil || len(b) != maxOutput {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// TestOracle compares names, descriptors and values with the real agent.
func TestOracle(t *testing.T) {
	const dir = "/var/lib/pcp/pmdas/smart/"
	pmns, err := os.ReadFile(dir + "pmns")
	pminfo := oracle.Path("pminfo")
	if err != nil || pminfo == "" {
		oracle.Missing(t, "no agent smart")
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.WriteFile(root, append([]byte("#define SMART 150\nroot { smart }\n"), pmns...), 0o644); err != nil {
		t.Fatal(err)
	}
	list, command := newDisks(t)
	ask := func(flag string) string {
		cmd := exec.Command(pminfo, "-L", "-K", "clear", "-K", "add,150,"+dir+"pmda_smart.so,smart_init", "-n", root, flag, "smart")
		cmd.Env = append(oracle.Env(), "SMART_SETUP="+command, "SMART_SETUP_LSBLK="+list)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	a := New(Config{List: list, Command: command})
	types := map[pcp.Type]string{pcp.TypeU32: "32-bit unsigned int", pcp.TypeU64: "64-bit unsigned int", pcp.TypeString: "string"}
	want := make(map[string]string)
	for _, block := range strings.Split(strings.TrimSpace(ask("-md")), "\n\n") {
		name, desc, _ := strings.Cut(block, " ")
		want[name] = strings.Join(strings.Fields(desc), " ")
	}
	got := make(map[string]string)
	a.Metrics(func(name string, id pcp.PMID) {
		if newer(name) {
			return
		}
		d, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		units := d.Units.String()
		if units == "" {
			units = "none"
		}
		got[name] = fmt.Sprintf("PMID: %v Data Type: %s InDom: %v %#x Semantics: %v Units: %s", id, types[d.Type], d.InDom, uint32(d.InDom), d.Sem, units)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("descriptors (-want +got):\n%s", diff)
	}

	real := make(map[string]map[string]string)
	var metric string
	for line := range strings.Lines(ask("-f")) {
		line = strings.TrimRight(line, "\n")
		if inst, val, ok := strings.Cut(line, "] value "); ok {
			_, inst, _ = strings.Cut(inst, ` or "`)
			if val != `""` && val != "0" { // there for values that smartctl does not report
				if real[metric] == nil {
					real[metric] = make(map[string]string)
				}
				real[metric][strings.TrimSuffix(inst, `"`)] = val
			}
		} else if line != "" && line[0] != ' ' {
			metric = line
		}
	}
	ours := values(t, a)
	maps.DeleteFunc(ours, func(name string, _ map[string]string) bool { return newer(name) })
	for name, m := range ours {
		maps.DeleteFunc(m, func(_, v string) bool { return v == "0" })
		if len(m) == 0 {
			delete(ours, name)
		}
	}
	for name, why := range map[string]string{
		"smart.attributes.raw_read_error_rate.raw":                 "the real agent keeps 32 bits",
		"smart.info.sector_size":                                   "the real agent knows the singular of the line only",
		"smart.nvme_attributes.warning_composite_temperature_time": "the real agent wants one blank where smartctl prints two",
		"smart.attributes.temperature_celsius.raw":                 "the real agent takes the last number before for what is none",
		"smart.attributes.temperature_celsius.thresh":              "the real agent takes the last number before for what is none",
		"smart.attributes.free_fall_sensor.raw":                    "the real agent takes the last number before for what is missing",
		"smart.attributes.free_fall_sensor.thresh":                 "the real agent takes the last number before for what is missing",
		"smart.attributes.free_fall_sensor.worst":                  "the real agent takes the last number before for what is missing",
	} {
		if cmp.Equal(real[name], ours[name]) {
			t.Errorf("%s no longer differs: %s", name, why)
		}
		delete(real, name)
		delete(ours, name)
	}
	if diff := cmp.Diff(real, ours); diff != "" || len(real) < 30 {
		t.Errorf("%d metrics have values (-want +got):\n%s", len(real), diff)
	}
}

// newer reports whether PCP 6.0.3 lacks a metric.
func newer(name string) bool {
	for _, prefix := range []string{"nvme_info.", "nvme_power_states.", "nvme_error_log.", "wwid.", "info.uuid", "info.device"} {
		if strings.HasPrefix(name, "smart."+prefix) && name != "smart.info.device_model" {
			return true
		}
	}
	return false
}

func Fuzz(f *testing.F) {
	for _, s := range []string{ataInfo, ataData, nvmeInfo, nvmeData, "254 x 0x1 256 -1\n", "User Capacity: 99999999999999999999999\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &reader{}
		r.family()
		r.blocks[blockDisks].AddNamed(0, "sda")
		for _, out := range r.blocks[blockInfo:blockTotals] {
			out.Add(0)
		}
		parseInfo(b, r.blocks[blockInfo], 0)
		parseNVMe(b, r.blocks[blockData], 0)
		parseATA(b, r.blocks[blockData].Row(0))
		for i, a := range attributes() {
			if c := r.blocks[blockData].Row(0)[5*i]; c.OK && c.Bits != uint64(a.id) {
				t.Errorf("attribute %d has number %d", a.id, c.Bits)
			}
		}
	})
}
