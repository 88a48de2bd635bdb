package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnnounceLaterRelease announces a collector beside files of ended ones: that of a later release stays.
func TestAnnounceLaterRelease(t *testing.T) {
	state := t.TempDir()
	e := &Env{Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }}
	dir := filepath.Join(state, "pcp", "collectors")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	newer, old := filepath.Join(dir, "1.json"), filepath.Join(dir, "2.json")
	const text = `{"version":2,"pid":"1"}`
	for path, text := range map[string]string{newer: text, old: `{"pid":2,"socket":"/no/such"}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove, err := e.Announce(&Running{PID: 3, Socket: "/no/such"})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if b, err := os.ReadFile(filepath.Join(dir, "3.json")); err != nil || !strings.HasPrefix(string(b), `{"version":1,"pid":3,`) {
		t.Errorf("%s, %v", b, err)
	}
	if b, err := os.ReadFile(newer); err != nil || string(b) != text {
		t.Errorf("the file of a later release is now %s, %v", b, err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of an ended collector is left")
	}
	if list := e.Running(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}
