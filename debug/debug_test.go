package debug

import (
	"bytes"
	"testing"
)

// TestNil checks that a nil log can be used everywhere.
func TestNil(t *testing.T) {
	l := New(nil)
	if l != nil || l.On(PDU) || l.Any(PDU, Fetch) {
		t.Error("a log without options has some")
	}
	l.Printf("%d", 1)
	if n, err := l.Write([]byte("ab")); n != 2 || err != nil {
		t.Errorf("Write returned %d, %v", n, err)
	}
}

func TestLog(t *testing.T) {
	var b bytes.Buffer
	l := New(&b, PDU, Derive)
	if !l.On(PDU) || !l.On(Derive) || l.On(Fetch) || l.Any(Fetch, Labels) || !l.Any(Fetch, PDU) {
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
		PDU, Fetch, Profile, Value, Context, InDom, Archive, LogMeta, OptFetch, AF, Appl0, Appl1, Appl2, PMNS,
		LibPMDA, TimeControl, Derive, Interp, Config, PMAPI, Auth, Attr, Desperate, Labels, TLS,
	} {
		if got, ok := Parse(name); !ok || len(got) != 1 || got[0] != name {
			t.Errorf("Parse(%q) = %q, %t", name, got, ok)
		}
	}
}
