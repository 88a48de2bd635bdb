package debug

import (
	"bytes"
	"testing"

	"github.com/go-pcp/pcp/internal/debugname"
)

// TestNil checks that a nil log can be used everywhere.
func TestNil(t *testing.T) {
	l := New(nil)
	if l != nil || l.On(debugname.PDU) || l.Any(debugname.PDU, debugname.Fetch) {
		t.Error("a log without options has some")
	}
	l.Printf("%d", 1)
	if n, err := l.Write([]byte("ab")); n != 2 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
}

func TestLog(t *testing.T) {
	var b bytes.Buffer
	l := New(&b, debugname.PDU, debugname.Derive)
	if !l.On(debugname.PDU) || !l.On(debugname.Derive) || l.On(debugname.Fetch) || l.Any(debugname.Fetch, debugname.Labels) || !l.Any(debugname.Fetch, debugname.PDU) {
		t.Error("options are not those of New")
	}
	l.Printf("%s %d\n", "x", 1)
	l.Write([]byte("y\n"))
	if b.String() != "x 1\ny\n" {
		t.Errorf("printed %q", b.String())
	}
}

// TestConstants checks that each constant is the name of an option.
func TestConstants(t *testing.T) {
	for _, name := range []string{
		debugname.PDU, debugname.Fetch, debugname.Profile, debugname.Value, debugname.Context, debugname.InDom, debugname.Archive, debugname.LogMeta, debugname.OptFetch, debugname.AF, debugname.Appl0, debugname.Appl1, debugname.Appl2, debugname.PMNS,
		debugname.LibPMDA, debugname.TimeControl, debugname.Derive, debugname.Interp, debugname.Config, debugname.PMAPI, debugname.Auth, debugname.Attr, debugname.Desperate, debugname.Labels, debugname.TLS,
	} {
		if got, ok := Parse(name); !ok || len(got) != 1 || got[0] != name {
			t.Errorf("Parse(%q) = %q, %t", name, got, ok)
		}
	}
}
