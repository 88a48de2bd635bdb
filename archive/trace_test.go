package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
)

// TestTraceMeta checks what is traced of a bad instance, whose record is named.
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
	mr.debug = debug.New(&log, debug.LogMeta)
	if _, err := mr.Next(); !errors.Is(err, pcp.ErrLogRec) {
		t.Errorf("the record is %v", err)
	}
	want := "__pmLogLoadMeta: record len=40, type=INDOM_V2 (2) @ offset=132\n" +
		"__pmLogLoadInDom: InDom: 29.2 instance[0]: bad string index (9) > max index based on record length (4)\n"
	if log.String() != want {
		t.Errorf("logged %q, want %q", log.String(), want)
	}
}

// TestTraceOpen checks that a log says which files are missing, and prints nothing for
// options that it has not.
func TestTraceOpen(t *testing.T) {
	for name, want := range map[string]string{
		debug.Archive: "Not found: data file \"none.0\"",
		debug.LogMeta: "",
	} {
		var log bytes.Buffer
		_, err := Options{Debug: debug.New(&log, name)}.Open(t.TempDir() + "/none")
		if err == nil || !strings.Contains(log.String(), want) || want == "" && log.Len() > 0 {
			t.Errorf("%s: %v, logged %q", name, err, log.String())
		}
	}
}
