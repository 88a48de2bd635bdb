package cli

import (
	"strings"
	"testing"
)

func TestUnknown(t *testing.T) {
	commands := []*Command{{Name: "info", Link: "pminfo"}, {Name: "val", Link: "pmval"}, {Name: "pmcd"}, {Name: "completion"}}
	f := func(name, want string) {
		t.Helper()
		if got := strings.Join(nearest(commands, name), " "); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
	f("inof", "info")
	f("pmifno", "pminfo")
	f("vla", "val")
	f("compl", "completion")
	f("pcmd", "pmcd")
	f("xyzzy", "")
	f("", "")
}

func TestDebugNames(t *testing.T) {
	f := func(spec, want string, ok bool) {
		t.Helper()
		names, gotOK := ParseDebug(spec)
		if got := strings.Join(names, " "); got != want || gotOK != ok {
			t.Errorf("ParseDebug(%q) = %q, %t, want %q, %t", spec, got, gotOK, want, ok)
		}
	}
	f("pdu,fetch", "pdu fetch", true)
	f("PDU", "pdu", true)
	f("pdu,", "pdu", true)
	f("", "", true)
	f("0", "", true)
	f("3", "pdu fetch", true)
	f("0x10", "", false) // only decimal, as strtol(3) with base 10
	f("1,pdu,+4", "pdu pdu profile", true)
	f(" 010", "fetch value", true)
	f("268435456,4294967297", "pdu", true)
	f("1x", "", false)
	f("1,,2", "", false)
	if names, ok := ParseDebug("-1"); !ok || len(names) != 29 || names[28] != "desperate" {
		t.Errorf("ParseDebug(-1) = %q, %t", names, ok)
	}
	if names, ok := ParseDebug("all"); !ok || len(names) != 53 || names[0] != "pdu" || names[52] != "tls" {
		t.Errorf("ParseDebug(all) = %q, %t", names, ok)
	}
	f("pdu,nosuch", "", false)
	f("-pdu", "", false)
	f(",pdu", "", false)
}

// TestForeign checks that names from elsewhere lead to commands that exist, and
// are not names of ours.
func TestForeign(t *testing.T) {
	for name, f := range foreignNames() {
		if f.use == "" {
			t.Errorf("%s: %+v says too little", name, f)
		}
		text := Unknown(nil, name)
		if n := strings.Count(text, "\n"); n != 3 {
			t.Errorf("%s: %d lines:\n%s", name, n, text)
		}
	}
}

// TestColours checks that colours appear only on a terminal that wants them, and
// never under a classic name.
func TestColours(t *testing.T) {
	f := func(name string, terminal bool, noColor, term, want string) {
		t.Helper()
		e := &Env{Name: name, OutTerminal: func() bool { return terminal }, Getenv: func(v string) string {
			return map[string]string{"NO_COLOR": noColor, "TERM": term}[v]
		}}
		if got := e.Bold("x"); got != want {
			t.Errorf("%s, terminal %t, NO_COLOR %q, TERM %q: %q, want %q", name, terminal, noColor, term, got, want)
		}
	}
	f("pcp help", true, "", "xterm", "\x1b[1mx\x1b[0m")
	f("pcp help", false, "", "xterm", "x")
	f("pcp help", true, "1", "xterm", "x")
	f("pcp help", true, "", "dumb", "x")
	f("pminfo", true, "", "xterm", "x")
}
