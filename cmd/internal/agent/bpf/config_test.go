package bpf

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestSettings(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	f := func(text string) (Settings, error) {
		var s Settings
		err := s.read(strings.NewReader(text), "bpf.conf", log)
		return s, err
	}
	s, err := f("# the agent\n[runqlat.so]\nenabled = false\n\n; another\n[ opensnoop.so ]\nenabled=true\nprocess_count = 7\n[vfsstat]\nenabled = false\n[runqlat]\nuid = 3\n")
	if err != nil || len(s.Enabled) != 1 || s.Enabled["runqlat"] || s.processes("opensnoop") != 7 || s.processes("x") != defaultProcesses {
		t.Errorf("settings %+v, %v", s, err)
	}
	for _, want := range []string{"line=7", "module=opensnoop", "line=12", "name=uid"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log has no %s: %s", want, logged.String())
		}
	}
	if strings.Contains(logged.String(), "vfsstat") {
		t.Errorf("a module that is off is logged: %s", logged.String())
	}
	if m := (&module{name: "x", on: true}); !s.enabled(m) {
		t.Error("a module that is on by default is off")
	}
	for text, want := range map[string]string{
		"enabled = true":                   "bpf.conf:1: NAME = VALUE below a line [MODULE]",
		"[runqlat.so":                      "bpf.conf:1: a section is [MODULE]",
		"\n[nonesuch]":                     `bpf.conf:2: there is no module "nonesuch"`,
		"[runqlat]\nenabled = perhaps":     "bpf.conf:2: enabled is true or false",
		"[runqlat]\nenabled":               "bpf.conf:2: NAME = VALUE",
		"[opensnoop]\nprocess_count = 0":   "bpf.conf:2: process_count: a number from 1 to 1000",
		"[opensnoop]\nprocess_count = all": "process_count",
		strings.Repeat("x", maxLine+1):     "bpf.conf: ",
	} {
		if _, err := f(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func FuzzSettings(f *testing.F) {
	f.Add("[runqlat.so]\nenabled = true\n[opensnoop.so]\nprocess_count = 20\n")
	f.Add("[\n")
	f.Add("=")
	f.Fuzz(func(t *testing.T, text string) {
		var s Settings
		if err := s.read(strings.NewReader(text), "bpf.conf", slog.New(slog.DiscardHandler)); err == nil {
			for name, n := range s.Processes {
				if n < 1 || n > maxProcesses {
					t.Errorf("%s: %d", name, n)
				}
			}
		}
	})
}
