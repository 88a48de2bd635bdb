package alert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// TestLaterRelease reads files that a later release wrote: they are refused, and stay as they are.
func TestLaterRelease(t *testing.T) {
	id := strings.Repeat("0a", idBytes)
	for text, newer := range map[string]bool{`{"version":2,"pid":[]}`: true, `{"version":1,"pid":1}`: false} {
		if _, err := decodeState([]byte(text)); fileversion.IsNewer(err) != newer || !newer && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "spool")
	path, text := filepath.Join(dir, id+suffix), `{"version":2,"alert":7}`
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeEntry([]byte(text)); err == nil || !strings.Contains(err.Error(), "the file has version 2, and this release reads versions up to 1: install") {
		t.Errorf("%v", err)
	}
	s, list, err := openSpool(dir, DefaultQueue, discard)
	if err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	defer s.close()
	e := &entry{Version: entryVersion, Alert: Alert{ID: id}}
	if err := s.save(e); err != nil {
		t.Error(err)
	}
	if err := s.remove(e); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the file is now %s, %v", b, err)
	}
}
