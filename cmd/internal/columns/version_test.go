package columns_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// TestLaterRelease opens and makes columns where a later release has made them: they are refused, and stay as they are.
func TestLaterRelease(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	text := append([]byte("PCPCOL2\n"), make([]byte, 100)...)
	if err := os.WriteFile(columns.Path(base), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := columns.Open(base, ""); !fileversion.IsNewer(err) {
		t.Errorf("Open: %v", err)
	}
	if err := columns.Make(t.Context(), base, ""); !fileversion.IsNewer(err) {
		t.Errorf("Make: %v", err)
	}
	if b, err := os.ReadFile(columns.Path(base)); err != nil || !bytes.Equal(b, text) {
		t.Errorf("the file is now %q, %v", b, err)
	}
}
