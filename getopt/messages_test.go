package getopt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
)

// TestFlush has PCP_STDERR select where messages go.
func TestFlush(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := func(want string, env ...string) {
		t.Helper()
		var stderr bytes.Buffer
		m := &getopt.Messages{Name: "tool", Stderr: &stderr, Config: config.NewLookup(func(name string) (string, bool) {
			for _, v := range append(env, "PCP_CONF="+os.DevNull) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		})}
		m.Flush() // nothing
		m.Errorf("it is %d", 7)
		m.Printf("so there\n")
		if string(m.Kept()) != "tool: it is 7\nso there\n" {
			t.Errorf("kept are %q", m.Kept())
		}
		m.Flush()
		m.Flush()
		if got := stderr.String(); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
	const text = "tool: it is 7\nso there\n"
	f(text)
	f(text, "PCP_STDERR=")
	log := file("log", "before\n")
	f("", "PCP_STDERR="+log)
	if got, err := os.ReadFile(log); err != nil || string(got) != "before\n"+text {
		t.Errorf("the file has %q, %v", got, err)
	}
	f("pmflush: cannot append to file '"+dir+"' (from $PCP_STDERR): Is a directory\n"+text, "PCP_STDERR="+dir)
	f("tool: using stderr - no PCP_XCONFIRM_PROG\n"+text, "PCP_STDERR=DISPLAY")
	f("tool: using stderr - cannot access : No such file or directory\n"+text, "PCP_STDERR=display", "PCP_XCONFIRM_PROG=")
	f("tool: using stderr - cannot access /no/such: No such file or directory\n"+text, "PCP_STDERR=DISPLAY", "PCP_XCONFIRM_PROG=/no/such")
	f("tool: cannot run "+dir+": Permission denied\n"+text, "PCP_STDERR=DISPLAY", "PCP_XCONFIRM_PROG="+dir)
	if runtime.GOOS == "windows" {
		return
	}
	shown := filepath.Join(dir, "shown")
	show := file("show", "#!/bin/sh\nfor arg; do echo \"[$arg]\"; done >"+shown+"\nexit 3\n")
	f("", "PCP_STDERR=DISPLAY", "PCP_XCONFIRM_PROG="+show)
	want := "[-t]\n[" + text + "]\n[-c]\n[-B]\n[OK]\n[-icon]\n[info]\n[-header]\n[PCP Information]\n"
	if got, err := os.ReadFile(shown); err != nil || string(got) != want {
		t.Errorf("the program got %q, %v", got, err)
	}
}

func TestNotify(t *testing.T) {
	var stderr bytes.Buffer
	o := getopt.NewOptions(&getopt.Program{Stderr: &stderr}, []string{"/usr/bin/tool"})
	o.Program().Notify("Warning", "it is so")
	if !regexp.MustCompile(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\] tool\(\d+\) Warning: it is so\n$`).MatchString(stderr.String()) {
		t.Errorf("it prints %q", &stderr)
	}
}
