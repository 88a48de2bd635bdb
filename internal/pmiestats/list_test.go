package pmiestats

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestList has a directory as processes leave it, and as others might.
func TestList(t *testing.T) {
	dir := t.TempDir()
	good := string((&Stats{Log: "/x/pmie.log", Rules: 3, Version: Version}).Append(nil))
	for name, text := range map[string]string{
		"300": good, "20": good, "7": "", "8": strings.Repeat("x", Size), "9": good + "x", "x": good, "-4": good,
		"10": string((&Stats{}).Append(nil)), // still being made
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "11"), 0o700); err != nil {
		t.Fatal(err)
	}
	list := List(dir)
	if len(list) != 2 || list[0].PID != 20 || list[1].PID != 300 || list[1].Log != "/x/pmie.log" || list[1].Rules != 3 {
		t.Errorf("list %+v", list)
	}
	if List(filepath.Join(dir, "none")) != nil {
		t.Error("no directory has processes")
	}
	if _, err := Read(filepath.Join(dir, "11")); err == nil {
		t.Error("a directory was read")
	}
}
