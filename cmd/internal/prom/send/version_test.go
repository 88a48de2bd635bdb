package send

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// TestLaterRelease starts a stream whose position a later release wrote. It sends nothing, and does not overwrite the position.
func TestLaterRelease(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".remote-write-vm")
	const text = `{"version":2,"at":"1795921200"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var events []string
	s := &stream{path: path, name: "www", n: &node{event: func(text string, err error) { events = append(events, text+": "+err.Error()) }}}
	s.dir.path = dir
	if err := s.run(t.Context()); !fileversion.IsNewer(err) {
		t.Errorf("%v", err)
	}
	want := "www: nothing is sent: " + path + ": the file has version 2, and this release reads versions up to 1: install"
	if len(events) != 1 || !strings.HasPrefix(events[0], want) {
		t.Errorf("%q, want %q", events, want)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the position is now %s, %v", b, err)
	}
	if _, err := parseState([]byte(`{"version":1,"at":{"archive":"a","started":1,"sent":2}}`)); err != nil {
		t.Error(err)
	}
}
