package statsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLaterRelease loads numbers that a later release wrote: they are refused, and stay as they are.
func TestLaterRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	const text = `{"format":"pcp statsd names 2","next":1}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(Config{Names: path, Listen: []string{"127.0.0.1:0"}})
	if err == nil || !strings.HasPrefix(err.Error(), path+": line 1: the file has version 2, and this release reads versions up to 1: install") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the file is now %s, %v", b, err)
	}
}
