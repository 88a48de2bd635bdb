package smart

import (
	"bytes"
	"encoding/binary"
	"errors"
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

	"github.com/go-pcp/pcp/pmda/column"
)

// A fakeSCSI answers commands from a table, as a disk would.
type fakeSCSI struct {
	answers map[string][]byte // by command
	senses  map[string][]byte // of commands that have data in their sense
	err     error             // of all commands, or those of a kind
	only    byte              // the kind, 0 for all
	asked   []string
	open    int
}

func (f *fakeSCSI) command(cdb, buf []byte) (int, []byte, error) {
	f.asked = append(f.asked, string(cdb))
	if f.err != nil && (f.only == 0 || f.only == cdb[0]) {
		return 0, nil, f.err
	}
	if sense, ok := f.senses[string(cdb)]; ok {
		return 0, sense, checkSense(statusCheck, sense)
	}
	answer, ok := f.answers[string(cdb)]
	if !ok {
		const illegalRequest, invalidCode = 5, 0x20
		return 0, nil, checkSense(statusCheck, []byte{descriptorSense, illegalRequest, invalidCode, 0, 0, 0, 0, 0})
	}
	return copy(buf, answer), nil, nil
}

func (f *fakeSCSI) Close() error { f.open--; return nil }

// The answers of disks, made by hand from the standards.

func inquiryAnswer(vendor, product, revision string) []byte {
	b := make([]byte, inquirySize)
	b[2] = spc3
	copy(b[8:16], vendor+"        ")
	copy(b[16:32], product+"                ")
	copy(b[32:36], revision+"    ")
	return b
}

func vpdAnswer(page byte, contents ...byte) []byte {
	return append([]byte{0, page, byte(len(contents) >> 8), byte(len(contents))}, contents...)
}

func logAnswer(page byte, contents ...byte) []byte {
	return append([]byte{page, 0, byte(len(contents) >> 8), byte(len(contents))}, contents...)
}

func inquiryCommand() string      { return string([]byte{scsiInquiry, 0, 0, 0, inquirySize, 0}) }
func vpdCommand(page byte) string { return string([]byte{scsiInquiry, 1, page, 0, 252, 0}) }
func logCommand(page byte) string {
	return string([]byte{scsiLogSense, 0, 0x40 | page, 0, 0, 0, 0, 2, 0, 0})
}

// sum sets the last byte so that the sum of all is 0.
func sum(b []byte) []byte {
	s := byte(0)
	for _, c := range b[:511] {
		s += c
	}
	b[511] = -s
	return b
}

func identifyAnswer() []byte {
	b := make([]byte, ataSize)
	set := func(word int, v uint16) { binary.LittleEndian.PutUint16(b[2*word:], v) }
	text := func(first, words int, s string) {
		s += strings.Repeat(" ", 2*words-len(s))
		for i := range words {
			set(first+i, uint16(s[2*i])<<8|uint16(s[2*i+1]))
		}
	}
	text(10, 10, "        SN0001")
	text(23, 4, "FW01")
	text(27, 20, "EXAMPLE 512-X")
	set(82, 1)
	set(83, 0x4000)
	set(85, 1)
	set(217, 7200)
	b[510] = 0xa5
	return sum(b)
}

func attributeAnswer() []byte {
	b := make([]byte, ataSize)
	for i, e := range [][12]byte{
		{1, 0x0f, 0, 114, 99, 1, 0, 0, 0, 1, 0},
		{9, 0x32, 0, 99, 98, 0x17, 0x0b, 0, 0x0c, 0x12, 0},
		{173, 0x33, 0, 99, 99, 1}, // without metrics
		{194, 0x22, 0, 75, 60, 25, 0, 7, 0, 40, 0},
		{},
		{190, 0x22, 0, 75, 60, 0xfb}, // below 0 degrees Celsius
		{241, 0x32, 0, 253, 253, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	} {
		copy(b[2+12*i:], e[:])
	}
	return sum(b)
}

func thresholdAnswer() []byte {
	b := make([]byte, ataSize)
	for i, e := range [][2]byte{{1, 6}, {194, 0}, {9, 1}, {4, 20}} {
		copy(b[2+12*i:], e[:])
	}
	return sum(b)
}

// statusSense is the sense of SMART RETURN STATUS, with a descriptor before that of the registers.
func statusSense(mid, high byte) []byte {
	b := []byte{descriptorSense, senseRecovered, 0, 0x1d, 0, 0, 0, 18, 3, 2, 0, 0}
	registers := make([]byte, 14)
	registers[0], registers[1], registers[9], registers[11], registers[13] = 9, 12, mid, high, 0x50
	return append(b, registers...)
}

func newATA() *fakeSCSI {
	return &fakeSCSI{
		answers: map[string][]byte{
			inquiryCommand():                               inquiryAnswer("ATA", "EXAMPLE 512-X", "FW01"),
			string(ataRead(ataIdentify, 0)):                identifyAnswer(),
			string(ataRead(ataSMART, smartReadData)):       attributeAnswer(),
			string(ataRead(ataSMART, smartReadThresholds)): thresholdAnswer(),
		},
		senses: map[string][]byte{string(ataStatus()): statusSense(0x4f, 0xc2)},
	}
}

func newSAS() *fakeSCSI {
	return &fakeSCSI{answers: map[string][]byte{
		inquiryCommand():            inquiryAnswer("MAKER", "FAST 1T", "0003"),
		vpdCommand(vpdPages):        vpdAnswer(vpdPages, vpdPages, vpdSerial, vpdRotation),
		vpdCommand(vpdSerial):       vpdAnswer(vpdSerial, []byte("  S2X9  ")...),
		vpdCommand(vpdRotation):     vpdAnswer(vpdRotation, 0, 1, 0, 0),
		logCommand(logPages):        logAnswer(logPages, logPages, logWriteErrors, logReadErrors, logTemperature, logStarts, logBackground, logExceptions),
		logCommand(logExceptions):   logAnswer(logExceptions, 0, 0, 3, 4, 0x5d, 0x10, 30, 0),
		logCommand(logTemperature):  logAnswer(logTemperature, 0, 0, 3, 2, 0, 31, 0, 1, 3, 2, 0, 60),
		logCommand(logStarts):       logAnswer(logStarts, 0, 3, 3, 4, 0, 0, 0, 9, 0, 4, 3, 4, 0, 0, 1, 0, 0, 6, 3, 4, 0xff, 0xff, 0xff, 0xff),
		logCommand(logBackground):   logAnswer(logBackground, 0, 0, 3, 12, 0, 0, 0x0e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0),
		logCommand(logReadErrors):   logAnswer(logReadErrors, 0, 3, 3, 1, 5, 0, 6, 3, 2, 1, 0),
		logCommand(logWriteErrors):  logAnswer(logWriteErrors, 0, 6, 3, 8, 0, 0, 0, 0, 0, 0, 0, 2),
		logCommand(logVerifyErrors): logAnswer(logVerifyErrors, 0, 6, 3, 1, 7), // not in the list
	}}
}

// scsiAgent returns an agent for disks below a directory.
func scsiAgent(t *testing.T, disks map[string]*fakeSCSI, log *bytes.Buffer) (*column.Agent, *reader) {
	t.Helper()
	root := t.TempDir()
	for name := range disks {
		if err := os.MkdirAll(filepath.Join(root, "sys/block", name, "device"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &reader{
		cfg: Config{Root: root, Domain: Domain, Log: slog.New(slog.NewTextHandler(log, nil))}, asleep: make(map[string]time.Time),
		openSCSI: func(path string) (scsiDisk, error) {
			disk, ok := disks[strings.TrimPrefix(path, root+"/dev/")]
			if !ok {
				t.Errorf("%s is opened", path)
			}
			disk.open++
			return disk, nil
		},
	}
	return newAgent(r), r
}

// ofDisk returns the values of a disk.
func ofDisk(t *testing.T, a *column.Agent, disk string) map[string]string {
	t.Helper()
	got := make(map[string]string)
	for name, values := range values(t, a) {
		if v, ok := values[disk]; ok && name != "smart.info.device" {
			got[strings.TrimPrefix(strings.TrimPrefix(name, "smart."), "attributes.")] = v
		}
	}
	return got
}

func TestATA(t *testing.T) {
	var log bytes.Buffer
	disks := map[string]*fakeSCSI{"sda": newATA()}
	a, _ := scsiAgent(t, disks, &log)
	want := map[string]string{
		"health":                     `"PASSED"`,
		"info.device_model":          `"EXAMPLE 512-X"`,
		"info.serial_number":         `"SN0001"`,
		"info.firmware_version":      `"FW01"`,
		"info.rotation_rate":         `"7200 rpm"`,
		"raw_read_error_rate.id":     "1",
		"raw_read_error_rate.value":  "114",
		"raw_read_error_rate.worst":  "99",
		"raw_read_error_rate.thresh": "6",
		"raw_read_error_rate.raw":    "4294967297",
		"power_on_hours.id":          "9",
		"power_on_hours.value":       "99",
		"power_on_hours.worst":       "98",
		"power_on_hours.thresh":      "1",
		"power_on_hours.raw":         "2839",
		"temperature_celsius.id":     "194",
		"temperature_celsius.value":  "75",
		"temperature_celsius.worst":  "60",
		"temperature_celsius.thresh": "0",
		"temperature_celsius.raw":    "25",
		"airflow_temp_celsius.id":    "190",
		"airflow_temp_celsius.value": "75",
		"airflow_temp_celsius.worst": "60",
		"total_lbas_written.id":      "241",
		"total_lbas_written.value":   "253",
		"total_lbas_written.worst":   "253",
		"total_lbas_written.raw":     "281474976710655",
	}
	if diff := cmp.Diff(want, ofDisk(t, a, "sda")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if disks["sda"].open != 0 || log.Len() > 0 {
		t.Errorf("open %d times, log %s", disks["sda"].open, log.String())
	}
	// The commands, byte by byte.
	for name, bytes := range map[string]string{
		"identify":        "\x85\x08\x0e\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\xec\x00",
		"read data":       "\x85\x08\x0e\x00\xd0\x00\x01\x00\x00\x00\x4f\x00\xc2\x00\xb0\x00",
		"read thresholds": "\x85\x08\x0e\x00\xd1\x00\x01\x00\x00\x00\x4f\x00\xc2\x00\xb0\x00",
		"return status":   "\x85\x06\x20\x00\xda\x00\x00\x00\x00\x00\x4f\x00\xc2\x00\xb0\x00",
	} {
		found := false
		for _, asked := range disks["sda"].asked {
			found = found || asked == bytes
		}
		if !found {
			t.Errorf("the command %s was not sent", name)
		}
	}

	// The forms of the answers, and disks that lack some.
	f := func(change func(*fakeSCSI), want ...string) {
		t.Helper()
		log.Reset()
		disk := newATA()
		change(disk)
		a, _ := scsiAgent(t, map[string]*fakeSCSI{"sda": disk}, &log)
		got := ofDisk(t, a, "sda")
		for ; len(want) > 1; want = want[2:] {
			if got[want[0]] != want[1] {
				t.Errorf("%s is %s, want %s", want[0], got[want[0]], want[1])
			}
		}
		if log.Len() > 0 && !strings.Contains(log.String(), "checksum") {
			t.Errorf("log %s", log.String())
		}
	}
	status := string(ataStatus())
	f(func(d *fakeSCSI) { d.senses[status] = statusSense(0xf4, 0x2c) }, "health", `"FAILED!"`)
	f(func(d *fakeSCSI) { d.senses[status] = statusSense(1, 2) }, "health", "", "power_on_hours.raw", "2839")
	f(func(d *fakeSCSI) {
		d.senses[status] = []byte{fixedSense, 0, senseRecovered, 0, 0x50, 0, 0, 10, 0, 0, 0xf4, 0x2c, 0, 0x1d, 0, 0, 0, 0}
	}, "health", `"FAILED!"`)
	f(func(d *fakeSCSI) { delete(d.senses, status) }, "health", "", "info.serial_number", `"SN0001"`)
	f(func(d *fakeSCSI) { delete(d.answers, string(ataRead(ataSMART, smartReadThresholds))) }, "power_on_hours.raw", "2839", "power_on_hours.thresh", "")
	f(func(d *fakeSCSI) { d.answers[string(ataRead(ataSMART, smartReadData))][20]++ }, "power_on_hours.raw", "", "health", `"PASSED"`)
	f(func(d *fakeSCSI) { d.answers[string(ataRead(ataIdentify, 0))][30]++ }, "info.serial_number", "", "health", "")
	f(func(d *fakeSCSI) {
		b := identifyAnswer()
		b[2*85] = 0 // SMART is off
		d.answers[string(ataRead(ataIdentify, 0))] = sum(b)
	}, "info.serial_number", `"SN0001"`, "health", "")
	// A bridge lists a page about the ATA disk behind it.
	f(func(d *fakeSCSI) {
		d.answers[inquiryCommand()] = inquiryAnswer("BRIDGE", "USB", "1")
		d.answers[vpdCommand(vpdPages)] = vpdAnswer(vpdPages, vpdPages, vpdATA)
	}, "info.serial_number", `"SN0001"`, "health", `"PASSED"`)
	f(func(d *fakeSCSI) { d.answers[inquiryCommand()] = inquiryAnswer("BRIDGE", "USB", "1") }, "info.device_model", `"BRIDGE USB"`, "health", "")
}

func TestSCSI(t *testing.T) {
	var log bytes.Buffer
	disks := map[string]*fakeSCSI{"sdb": newSAS()}
	a, _ := scsiAgent(t, disks, &log)
	want := map[string]string{
		"health":                  `"FAILED!"`,
		"info.device_model":       `"MAKER FAST 1T"`,
		"info.serial_number":      `"S2X9"`,
		"info.firmware_version":   `"0003"`,
		"info.rotation_rate":      `"Solid State Device"`,
		"temperature_celsius.raw": "31",
		"start_stop_count.raw":    "256",
		"power_on_hours.raw":      "60",
		"reported_uncorrect.raw":  "258",
	}
	if diff := cmp.Diff(want, ofDisk(t, a, "sdb")); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if disks["sdb"].open != 0 || log.Len() > 0 {
		t.Errorf("open %d times, log %s", disks["sdb"].open, log.String())
	}
	for _, asked := range disks["sdb"].asked {
		if asked[0] != scsiInquiry && asked[0] != scsiLogSense {
			t.Errorf("a SCSI disk is sent % x", asked)
		}
	}
	// Names of disks of other kinds, and devices of other types.
	tape := newSAS()
	tape.answers[inquiryCommand()][0] = 1
	disks = map[string]*fakeSCSI{"vda": newSAS(), "xvda": newSAS(), "sdc": tape}
	a, _ = scsiAgent(t, disks, &log)
	for disk := range disks {
		if got := ofDisk(t, a, disk); len(got) > 0 {
			t.Errorf("%s has values %v", disk, got)
		}
	}
	if len(disks["vda"].asked)+len(disks["xvda"].asked) > 0 || log.Len() > 0 {
		t.Errorf("disks of other kinds are asked, log %s", log.String())
	}
}

// TestSCSIFails has the kernel refuse commands, and a disk that does not answer: the log has one line, and the disk is left alone for a while.
func TestSCSIFails(t *testing.T) {
	for _, test := range []struct {
		err error
		log string
	}{
		{&fs.PathError{Op: "ioctl", Path: "/dev/sda", Err: fs.ErrPermission}, "SYS_RAWIO"},
		{errors.New("host status 0x3"), "host status"},
	} {
		var log bytes.Buffer
		disk := newATA()
		disk.err = test.err
		a, r := scsiAgent(t, map[string]*fakeSCSI{"sda": disk}, &log)
		for range 2 {
			if got := ofDisk(t, a, "sda"); len(got) > 0 {
				t.Errorf("values %v", got)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), test.log) || len(disk.asked) != 1 {
			t.Errorf("asked %d times, log %q", len(disk.asked), log.String())
		}
		clear(r.asleep)
		disk.err = nil
		if got := ofDisk(t, a, "sda"); got["health"] != `"PASSED"` {
			t.Errorf("once it answers, values are %v", got)
		}
	}
	// A disk that hangs is sent one command more.
	var log bytes.Buffer
	disk := newSAS()
	disk.err, disk.only = errors.New("no answer"), scsiLogSense
	a, _ := scsiAgent(t, map[string]*fakeSCSI{"sda": disk}, &log)
	for range 2 {
		ofDisk(t, a, "sda")
	}
	logs := 0
	for _, asked := range disk.asked {
		if asked[0] == scsiLogSense {
			logs++
		}
	}
	if logs != 1 || disk.open != 0 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%d requests for logs, open %d times, log %q", logs, disk.open, log.String())
	}
	if _, err := openSCSI(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a device that is not there: %v", err)
	}
	if d, err := openSCSI(os.DevNull); err == nil { // on Linux
		if _, _, err := inquiry(d); !errors.Is(err, syscall.ENOTTY) {
			t.Errorf("a command to a device that is no disk: %v", err)
		}
		d.Close()
	}
}

func TestWWID(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := parseWWID([]byte(in)); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	f("naa.5000c500a1b2c3d4\n", "5000c500a1b2c3d4")
	f("eui.0025385b71b00ee2", "0025385b71b00ee2")
	f("t10.ATA     EXAMPLE 512-X                   SN0001 \n", "ATA_EXAMPLE_512-X_SN0001")
	f("uuid.1234-5\n", "uuid.1234-5")
	f("nvme.144d-53-45\x00\n", "nvme.144d-53-45")
	f("", "")
	f("naa.\n", "")
	f("naa.\x1b[2J", "")
	f("naa."+strings.Repeat("f", 300), "")
}

// FuzzSCSI gives the answers of a disk any contents.
func FuzzSCSI(f *testing.F) {
	for _, b := range [][]byte{identifyAnswer(), attributeAnswer(), thresholdAnswer(), statusSense(0x4f, 0xc2), {fixedSense}, {descriptorSense, 1, 0, 0, 0, 0, 0, 2, 9, 0xff}} {
		f.Add(b)
	}
	for _, b := range newSAS().answers {
		f.Add(b)
	}
	r := &reader{}
	r.family()
	r.byName.list.AddNamed(0, "sda")
	info, data := r.byName.info, r.byName.data
	f.Fuzz(func(t *testing.T, b []byte) {
		info.Clear()
		data.Clear()
		info.Add(0)
		data.Add(0)
		cells := data.Row(0)
		parseIdentify(b, info, 0)
		parseAttributes(b, b, cells)
		parseStatus(b, info, 0)
		checkSense(statusCheck, b)
		parseInquiry(b, info, 0)
		parseWWID(b)
		for page := range 64 {
			pageOf(b, byte(page))
			page := logPage(b, byte(page))
			parseExceptions(page, info, 0)
			parseLogs(func(byte) []byte { return page }, cells)
		}
		for i, a := range attributes() {
			for item, c := range cells[5*i:][:5] {
				if c.OK && item != attrRaw && c.Bits > math.MaxUint8 || c.OK && item == attrID && c.Bits != uint64(a.id) {
					t.Errorf("item %d of attribute %d is %d", item, a.id, c.Bits)
				}
			}
		}
		for col := range numInfo {
			if s := info.String(0, col); len(s) > 80 {
				t.Errorf("column %d is %q", col, s)
			}
		}
	})
}
