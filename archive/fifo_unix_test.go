//go:build unix

package archive_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp/archive"
)

// TestWrittenFIFO calls Written for an archive whose metadata are a FIFO: it does not wait for a
// writer.
func TestWrittenFIFO(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	if err := syscall.Mkfifo(base+".meta", 0o600); err != nil {
		t.Fatal(err)
	}
	if written, err := archive.Written(base); written || err != nil {
		t.Errorf("Written: %t, %v", written, err)
	}
	if _, err := archive.Open(base); err == nil {
		t.Error("it is opened")
	}
}
