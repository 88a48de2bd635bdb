package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TestTraceMeta checks the trace of a bad instance, which names the record.
func TestTraceMeta(t *testing.T) {
	label := Label{Version: Version2, PID: 7, Vol: VolMeta, Host: "cellar", TimeZone: "UTC"}
	file := label.Append(nil)
	word := func(n ...int32) {
		for _, v := range n {
			file = binary.BigEndian.AppendUint32(file, uint32(v))
		}
	}
	const size = 8 + 16 + 8 + 4 + 4
	word(size, int32(MetaInDomV2), 100, 0, int32(pcp.NewInDom(29, 2)), 1, 5, 9)
	file = append(file, "abc\x00"...)
	word(size)
	var log bytes.Buffer
	mr, err := NewMetaReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	mr.debug = debug.New(&log, debugname.LogMeta)
	if _, err := mr.Next(); !errors.Is(err, pcp.ErrLogRec) {
		t.Errorf("the record is %v", err)
	}
	want := "__pmLogLoadMeta: record len=40, type=INDOM_V2 (2) @ offset=132\n" +
		"__pmLogLoadInDom: InDom: 29.2 instance[0]: bad string index (9) > max index based on record length (4)\n"
	if log.String() != want {
		t.Errorf("logged %q, want %q", log.String(), want)
	}
}

// TestTraceOpen checks that a log names the missing files, and prints nothing for
// options that are not set.
func TestTraceOpen(t *testing.T) {
	for name, want := range map[string]string{
		debugname.Archive: "Not found: data file \"none.0\"",
		debugname.LogMeta: "",
	} {
		var log bytes.Buffer
		_, err := Options{Debug: debug.New(&log, name)}.Open(t.TempDir() + "/none")
		if err == nil || !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 {
			t.Errorf("%s: %v, logged %q", name, err, log.String())
		}
	}
}

// TestTraceOpenSeven checks the names of functions in version 7 of the C library, and that it prints the step that failed.
func TestTraceOpenSeven(t *testing.T) {
	base := t.TempDir() + "/a"
	open := func() string {
		var log bytes.Buffer
		o := Options{Debug: debug.New(&log, debugname.Archive, debugname.Version7)}
		if a, err := o.Open(base); err == nil {
			a.Close()
			t.Error("the archive can be opened")
		}
		return strings.ReplaceAll(log.String(), base, "BASE")
	}
	want := "__pmLogFindOpen: Not found: data file \"a.0\" (or similar)\n__pmLogFindOpen: Not found: metadata file \"a.meta\"\n" +
		"__pmLogOpen(..., BASE, ...): __pmLogFindOpen: No such file or directory\n"
	if got := open(); got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
	for _, suffix := range []string{".0", ".meta"} {
		if err := os.WriteFile(base+suffix, []byte("no label"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := open()
	for _, want := range []string{"__pmLogFindOpen: inspect file \"BASE.meta\"\n", "__pmLogOpen(..., BASE, ...): __pmLogChangeVol: " + pcp.ErrLabel.Error() + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
}

// TestTraceLabel checks the trace of a label and of each kind of bad label.
func TestTraceLabel(t *testing.T) {
	label := Label{Version: Version2, PID: 7, Host: "cellar", TimeZone: "UTC"}
	names, vol := []string{debugname.Archive}, int32(0)
	f := func(want string, spoil func(b []byte) []byte) {
		t.Helper()
		label.Vol = vol
		b := label.Append(nil)
		if spoil != nil {
			b = spoil(b)
		}
		path := t.TempDir() + "/a.0"
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		var log bytes.Buffer
		d := debug.New(&log, names...)
		d.SetZone(time.UTC)
		src.TraceLabel(d, vol)
		if got := regexp.MustCompile("fd=[0-9]+").ReplaceAllString(log.String(), "fd=N"); !strings.HasPrefix(got, want) {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
	put := func(off int, text string) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[off:], text); return b }
	}
	f("__pmLogChkLabel: fd=N vol=0 [magic=0x50052602 version=2 vol=0 pid=7 start=", nil)
	f("__pmLogLoadLabel: file is empty\n", func(b []byte) []byte { return b[:0] })
	f("__pmLogLoadLabel: bad header len=825363076 (expected 132)\n", put(0, "12\n"))
	f("__pmLogChkLabel: fd=N vol=0 label magic 0x34322600 not 0x50052600 as expected\n", put(4, "42"))
	f("__pmLogLoadLabel: label version 255 not supported\n", put(7, "\xff"))
	f("__pmLogChkLabel: fd=N vol=0 label volume 808779776 not 0 as expected\n", put(20, "05"))
	f("__pmLogLoadLabel: bad label read len=34: expected 120\n", func(b []byte) []byte { return b[:42] })
	f("__pmLogLoadLabel: trailer read -> 3 (expect 4) or bad trailer len=0 (expected 132)\n", func(b []byte) []byte { return b[:131] })
	f("__pmLogLoadLabel: trailer read -> 4 (expect 4) or bad trailer len=842074756 (expected 132)\n", put(128, "21\n"))
	names = append(names, debugname.Version7)
	f("__pmLogChkLabel: fd=N vol=0 label volume 808779776 not 0 as expected version=-12372\n", put(20, "05"))
	f("__pmLogChkLabel: fd=N vol=0 [magic=0x50052602 version=2 vol=0 pid=7 start=00:00:00.000000000 host=cellar tz=UTC] version=2\n", nil)
	vol = VolMeta
	f("__pmLogChkLabel: fd=N vol=-1 [magic=0x50052602 version=2 vol=-1 (meta) pid=7 ", nil)
	vol = VolIndex
	f("__pmLogChkLabel: fd=N vol=-2 [magic=0x50052602 version=2 vol=-2 (index) pid=7 ", nil)
}

// TestTraceResult checks the dump of a record.
func TestTraceResult(t *testing.T) {
	base := t.TempDir() + "/a"
	w, err := Create(base, WriterConfig{Label: Label{Version: Version3, Host: "cellar", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	degrees := pcp.Desc{PMID: pcp.NewPMID(245, 0, 1), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := w.Desc(degrees, "cellar.degrees"); err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	res.Time = pcp.Timestamp{Sec: 1000}
	res.AddSet(degrees.PMID)
	res.Add(pcp.DoubleValue(12.5).WithInst(pcp.InNull))
	if err := w.WriteResult(&res); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	a, err := Options{Debug: debug.New(&log, debugname.PDU)}.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.debug.SetZone(time.UTC)
	for _, err := range a.Records(pcp.Timestamp{}, Forward) {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "__pmResult dump from ADDR timestamp: 1000.000000000 00:16:40.000000000 numpmid: 1\n" +
		"  245.0.1 (cellar.degrees): numval: 1 valfmt: 1 vlist[]:\n   value 12.5\n"
	if got := regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(log.String(), "ADDR"); got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
}
