package pushed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/agent/pushed"
)

// TestLaterRelease loads numbers that a later release wrote: they are refused, and stay as they are.
func TestLaterRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	const text = `{"format":"pcp pushed names 2","metrics":"1"}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := pushed.New(pushed.Config{Root: "pushed", Domain: 400, File: path})
	if err == nil || !strings.HasPrefix(err.Error(), path+": line 1: the file has version 2, and this release reads versions up to 1: install") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the file is now %s, %v", b, err)
	}
}
