package smart

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// A fakeNVMe answers commands from a table of their first bytes, as a disk would.
type fakeNVMe struct {
	answers map[nvmeCommand][]byte
	results map[nvmeCommand]uint32
	err     error // of all commands
	asked   int
	closed  int
}

func (f *fakeNVMe) admin(c nvmeCommand, buf []byte) (uint32, error) {
	f.asked++
	if f.err != nil {
		return 0, f.err
	}
	answer, ok := f.answers[c]
	result, ok2 := f.results[c]
	if !ok && !ok2 {
		return 0, nvmeStatus(0x2) // invalid field in command
	}
	copy(buf, answer)
	return result, nil
}

func (f *fakeNVMe) Close() error { f.closed++; return nil }

// The answers of a disk, made by hand from the specification.
func controllerAnswer() []byte {
	le, b := binary.LittleEndian, make([]byte, identifySize)
	le.PutUint16(b, 0x144d)
	le.PutUint16(b[2:], 0x1028)
	copy(b[4:24], "S4EVNF0M            ")
	copy(b[24:64], "EXAMPLE SSD 970 1TB                     ")
	copy(b[64:72], "2B2QEXM7")
	copy(b[73:76], []byte{0x38, 0x25, 0x00})
	b[77] = 9
	le.PutUint16(b[78:], 4)
	le.PutUint32(b[80:], 0x10300)
	b[260] = 0x16
	b[262] = 2 // three entries in the log of errors
	b[263] = 2 // three power states
	le.PutUint16(b[266:], 358)
	le.PutUint16(b[268:], 0)
	le.PutUint64(b[280:], 1000204886016)
	le.PutUint32(b[516:], 1)
	state := func(n int, power uint16, flags byte, entry, exit uint32, idle, active uint16) {
		d := b[2048+32*n:]
		le.PutUint16(d, power)
		d[3] = flags
		le.PutUint32(d[4:], entry)
		le.PutUint32(d[8:], exit)
		d[12], d[13], d[14], d[15] = 1+byte(n), 2+byte(n), 3+byte(n), 4+byte(n)
		le.PutUint16(d[16:], idle)
		le.PutUint16(d[20:], active)
	}
	state(0, 620, 0, 0, 0, 0, 0)
	state(1, 430, 0, 10, 20, 700, 350)
	b[2048+32+18], b[2048+32+22] = 1<<6, 2<<6
	state(2, 500, 3, 210, 1200, 0, 0)
	return b
}

func namespaceAnswer() []byte {
	le, b := binary.LittleEndian, make([]byte, identifySize)
	le.PutUint64(b, 1953525168)
	le.PutUint64(b[8:], 1953525168)
	le.PutUint64(b[16:], 1000)
	b[25], b[26] = 1, 1
	copy(b[120:], []byte{0, 0x25, 0x38, 0x5b, 0x71, 0xb0, 0x0e, 0xe2})
	b[128+2], b[132+2] = 12, 9
	return b
}

func healthAnswer() []byte {
	le, b := binary.LittleEndian, make([]byte, healthLogSize)
	b[0] = 4
	le.PutUint16(b[1:], 304)
	b[3], b[4], b[5] = 100, 10, 255
	for i := range 10 {
		le.PutUint64(b[32+16*i:], uint64(1000+i))
	}
	le.PutUint64(b[32:], 1<<40)
	le.PutUint64(b[48+8:], 1)    // more than 64 bits
	le.PutUint64(b[144:], 1<<33) // more than the 32 bits of the metric
	le.PutUint32(b[192:], 3)
	le.PutUint32(b[196:], 4)
	le.PutUint16(b[200:], 306)
	le.PutUint16(b[214:], 200) // below 0 degrees Celsius
	return b
}

// errorAnswer has two errors, and an entry that is not in use.
func errorAnswer() []byte {
	le, b := binary.LittleEndian, make([]byte, 3*errorEntrySize)
	le.PutUint64(b, 700)
	le.PutUint16(b[8:], 3)
	le.PutUint16(b[10:], 0x12)
	le.PutUint16(b[12:], 0x2<<1|1) // invalid field, with the phase bit
	le.PutUint16(b[14:], 0x0028)
	le.PutUint64(b[16:], 1<<40)
	le.PutUint32(b[24:], 1)
	second := b[2*errorEntrySize:]
	le.PutUint64(second, 699)
	le.PutUint16(second[8:], 0xffff)
	le.PutUint16(second[12:], 0x281<<1)
	le.PutUint32(second[24:], allNamespaces)
	return b
}

func newFake() *fakeNVMe {
	return &fakeNVMe{
		answers: map[nvmeCommand][]byte{
			{opcode: nvmeIdentify, word10: identifyController}:              controllerAnswer(),
			{opcode: nvmeIdentify, namespace: 1, word10: identifyNamespace}: namespaceAnswer(),
			healthCommand(): healthAnswer(),
			errorCommand(3): errorAnswer(),
		},
		results: map[nvmeCommand]uint32{
			{opcode: nvmeGetFeatures, word10: featurePower}:      0xffffffe1,
			{opcode: nvmeGetFeatures, word10: featureQueues}:     127<<16 | 126,
			{opcode: nvmeGetFeatures, word10: featureAutonomous}: 1,
		},
	}
}

// fakeAgent returns an agent for one NVMe disk below a directory, and a disk of another kind.
func fakeAgent(t *testing.T, open func(string) (nvmeDisk, error), log *bytes.Buffer) (*column.Agent, *reader) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"sys/block/nvme0n1/device", "sys/block/sda/device"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "sys/block/nvme0n1/wwid"), []byte("eui.0025385b71b00ee2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &reader{
		cfg: Config{Root: root, Domain: Domain, Log: slog.New(slog.NewTextHandler(log, nil))}, asleep: make(map[string]time.Time),
		open: func(path string) (nvmeDisk, error) {
			if path != filepath.Join(root, "dev/nvme0n1") {
				t.Errorf("%s is opened", path)
			}
			return open(path)
		},
	}
	return newAgent(r), r
}

func TestNVMe(t *testing.T) {
	fake := newFake()
	var log bytes.Buffer
	a, _ := fakeAgent(t, func(string) (nvmeDisk, error) { return fake, nil }, &log)
	got, byWWID := make(map[string]string), make(map[string]string)
	for name, values := range values(t, a) {
		into, disk := got, "nvme0n1"
		name, ok := strings.CutPrefix(name, "smart.wwid.")
		if ok {
			into, disk = byWWID, "0025385b71b00ee2"
		} else {
			name = strings.TrimPrefix(name, "smart.")
			delete(values, "sda") // which has a name only
		}
		for inst, value := range values {
			rest, ok := strings.CutPrefix(inst, disk)
			if !ok {
				t.Errorf("%s has a value for %s", name, inst)
			}
			into[name+rest] = value
		}
	}
	want := map[string]string{
		"info.device": `"nvme0n1"`,
		"info.uuid":   `"0025385b71b00ee2"`,

		"nvme_error_log.total":                    "2",
		"nvme_error_log.error_count::entry_0":     "700",
		"nvme_error_log.sqid::entry_0":            "3",
		"nvme_error_log.cmdid::entry_0":           "18",
		"nvme_error_log.status_field::entry_0":    "5",
		"nvme_error_log.status_type::entry_0":     `"Generic Command Status"`,
		"nvme_error_log.status_code::entry_0":     `"Invalid Field in Command"`,
		"nvme_error_log.param_error_loc::entry_0": "40",
		"nvme_error_log.lba::entry_0":             "1099511627776",
		"nvme_error_log.nsid::entry_0":            "1",
		"nvme_error_log.error_count::entry_1":     "699",
		"nvme_error_log.sqid::entry_1":            "65535",
		"nvme_error_log.cmdid::entry_1":           "0",
		"nvme_error_log.status_field::entry_1":    "1282",
		"nvme_error_log.status_type::entry_1":     `"Media and Data Integrity Error"`,
		"nvme_error_log.status_code::entry_1":     `"Unrecovered Read Error"`,
		"nvme_error_log.param_error_loc::entry_1": "0",
		"nvme_error_log.lba::entry_1":             "0",
		"nvme_error_log.nsid::entry_1":            "4294967295",

		"health":                                       `"FAILED!"`,
		"nvme_info.model_number":                       `"EXAMPLE SSD 970 1TB"`,
		"nvme_info.serial_number":                      `"S4EVNF0M"`,
		"nvme_info.firmware_version":                   `"2B2QEXM7"`,
		"nvme_info.pci_vendor_subsystem_id":            `"0x144d/0x1028"`,
		"nvme_info.ieee_oui_identifier":                `"0x002538"`,
		"nvme_info.total_nvm_capacity":                 "1000204886016",
		"nvme_info.unallocated_nvm_capacity":           "0",
		"nvme_info.controller_id":                      "4",
		"nvme_info.nvme_version":                       `"1.3"`,
		"nvme_info.namespaces":                         "1",
		"nvme_info.firware_updates":                    `"3 Slots, no Reset required"`,
		"nvme_info.maximum_data_transfer_size":         "512",
		"nvme_info.warning_temp_threshold":             "85",
		"nvme_info.active_power_state":                 "1",
		"nvme_info.apst_state":                         `"Enabled"`,
		"nvme_info.completion_queue_length_completion": "128",
		"nvme_info.completion_queue_length_submission": "127",
		"nvme_info.namespace_1_capacity":               "1000204886016",
		"nvme_info.namespace_1_utilization":            "512000",
		"nvme_info.namespace_1_formatted_lba_size":     "512",
		"nvme_info.namespace_1_ieee_eui_64":            `"002538 5b71b00ee2"`,

		"nvme_attributes.critical_warning":                        `"0x04"`,
		"nvme_attributes.composite_temperature":                   "31",
		"nvme_attributes.available_spare":                         "100",
		"nvme_attributes.available_spare_threshold":               "10",
		"nvme_attributes.percentage_used":                         "255",
		"nvme_attributes.data_units_read":                         "1099511627776",
		"nvme_attributes.data_units_written":                      "18446744073709551615",
		"nvme_attributes.host_read_commands":                      "1002",
		"nvme_attributes.host_write_commands":                     "1003",
		"nvme_attributes.controller_busy_time":                    "1004",
		"nvme_attributes.power_cycles":                            "1005",
		"nvme_attributes.power_on_hours":                          "1006",
		"nvme_attributes.unsafe_shutdowns":                        "4294967295",
		"nvme_attributes.media_and_data_integrity_errors":         "1008",
		"nvme_attributes.number_of_error_information_log_entries": "1009",
		"nvme_attributes.warning_composite_temperature_time":      "3",
		"nvme_attributes.critical_composite_temperature_time":     "4",
		"nvme_attributes.temperature_sensor_one":                  "33",
		"nvme_attributes.temperature_sensor_eight":                "0",
	}
	for i, state := range []string{
		"state 0 max_power 6.200000e+00 non_operational_state 0 relative_read_throughput 1 relative_read_latency 2 relative_write_throughput 3 relative_write_latency 4 entry_latency 0 exit_latency 0",
		"state 1 max_power 4.300000e+00 non_operational_state 0 active_power 3.500000e+00 idle_power 7.000000e-02 relative_read_throughput 2 relative_read_latency 3 relative_write_throughput 4 relative_write_latency 5 entry_latency 10 exit_latency 20",
		"state 2 max_power 5.000000e-02 non_operational_state 1 relative_read_throughput 3 relative_read_latency 4 relative_write_throughput 5 relative_write_latency 6 entry_latency 210 exit_latency 1200",
	} {
		for words := strings.Fields(state); len(words) > 0; words = words[2:] {
			want[fmt.Sprintf("nvme_power_states.power_state_%d.%s", i, words[0])] = words[1]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	delete(want, "health") // has no metric there
	if diff := cmp.Diff(want, byWWID); diff != "" {
		t.Errorf("values by WWID (-want +got):\n%s", diff)
	}
	// Three kinds for each view, and three times the log: for the instances of two domains and the fetch.
	if fake.closed != 9 || log.Len() > 0 {
		t.Errorf("closed %d times, log %s", fake.closed, log.String())
	}
	// All metrics have texts.
	for _, m := range metrics() {
		for line := range strings.Lines(m.Long) {
			if len(strings.TrimSuffix(line, "\n")) > 79 {
				t.Errorf("%s: %q is too long", m.Name, line)
			}
		}
		if m.Help == "" || m.Long == "" {
			t.Errorf("%s has no text", m.Name)
		}
	}
}

// TestNVMeFails has a disk refuse all commands or the rare ones, and the kernel refuse the device: there are no wrong values, the log has a line,
// and the disk is left alone for a while.
func TestNVMeFails(t *testing.T) {
	fake := newFake()
	clear(fake.results)
	delete(fake.answers, nvmeCommand{opcode: nvmeIdentify, namespace: 1, word10: identifyNamespace})
	var log bytes.Buffer
	a, _ := fakeAgent(t, func(string) (nvmeDisk, error) { return fake, nil }, &log)
	got := values(t, a)
	if got["smart.nvme_info.controller_id"]["nvme0n1"] != "4" || got["smart.nvme_info.apst_state"] != nil || got["smart.nvme_info.namespace_1_capacity"] != nil || log.Len() > 0 {
		t.Errorf("values %v, log %s", got, log.String())
	}
	for _, test := range []struct {
		open, admin error
		log         string
	}{
		{nil, nvmeStatus(0x2001), "status 0x2001"},
		{nil, &fs.PathError{Op: "ioctl", Path: "/dev/nvme0n1", Err: fs.ErrPermission}, "SYS_ADMIN"},
		{fs.ErrPermission, nil, "SYS_ADMIN"},
		{fs.ErrNotExist, nil, ""},
	} {
		log.Reset()
		fake := newFake()
		fake.err = test.admin
		a, r := fakeAgent(t, func(string) (nvmeDisk, error) { return fake, test.open }, &log)
		for range 2 {
			got := values(t, a)
			for name := range got {
				if !strings.Contains(name, "info.device") && !strings.Contains(name, "info.uuid") {
					t.Errorf("%v: values %v", test, got)
				}
			}
		}
		lines := strings.Count(log.String(), "\n")
		if want := min(1, len(test.log)); lines != want || !strings.Contains(log.String(), test.log) || fake.asked > 1 {
			t.Errorf("%v: asked %d times, log %q", test, fake.asked, log.String())
		}
		if test.log == "" {
			continue
		}
		// A minute later it fails again, without another line, and then answers.
		clear(r.asleep)
		values(t, a)
		if strings.Count(log.String(), "\n") != lines {
			t.Errorf("%v: log %q", test, log.String())
		}
		clear(r.asleep)
		fake.err, test.open = nil, nil
		if got := values(t, a); got["smart.nvme_info.controller_id"]["nvme0n1"] != "4" {
			t.Errorf("%v: once it answers, values are %v", test, got)
		}
	}
	if _, err := openNVMe(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a device that is not there: %v", err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := openNVMe(path); err == nil {
		d.Close()
		t.Error("a file is taken for a device")
	}
	if d, err := openNVMe(os.DevNull); err == nil { // on Linux
		if _, err := d.admin(healthCommand(), make([]byte, healthLogSize)); !errors.Is(err, syscall.ENOTTY) {
			t.Errorf("a command to a device that is no disk: %v", err)
		}
		d.Close()
	}
}

// FuzzNVMe gives the answers of a disk any contents.
func FuzzNVMe(f *testing.F) {
	f.Add(controllerAnswer())
	f.Add(namespaceAnswer())
	f.Add(healthAnswer())
	f.Add(errorAnswer())
	f.Add(bytes.Repeat([]byte{0xff}, identifySize))
	f.Add([]byte{1})
	r := &reader{}
	r.family()
	r.blocks[blockDisks].AddNamed(0, "nvme0n1")
	data, nvme := r.byName.data, r.byName.nvme
	table := nvmeMetrics()
	f.Fuzz(func(t *testing.T, b []byte) {
		data.Clear()
		nvme.Clear()
		r.byName.errors.Clear()
		r.byName.totals.Clear()
		data.Add(0)
		nvme.Add(0)
		parseController(b, nvme, 0)
		parseNamespace(b, nvme, 0)
		parseHealth(b, data, 0)
		r.byName.entries.Begin()
		addErrors(b, 0, "nvme0n1", &r.byName)
		if n := r.byName.errors.Rows(); n > len(b)/errorEntrySize {
			t.Errorf("%d errors in %d bytes", n, len(b))
		}
		full := make([]byte, identifySize)
		copy(full, b)
		parseController(full, nvme, 0)
		parseNamespace(full, nvme, 0)
		parseHealth(full[:healthLogSize], data, 0)
		for _, m := range table {
			v, ok := nvme.Get(0, m.Col)
			switch {
			case ok && m.Type == pcp.TypeDouble:
				if w := math.Float64frombits(v); !(w >= 0 && w <= 656) {
					t.Errorf("%s is %v", m.Name, w)
				}
			case ok && m.Type == pcp.TypeU32 && v > math.MaxUint32:
				t.Errorf("%s is %d", m.Name, v)
			case ok && m.Type == pcp.TypeString && len(nvme.String(0, m.Col)) > 120:
				t.Errorf("%s is %q", m.Name, nvme.String(0, m.Col))
			}
		}
	})
}
