package agentadmin

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWriteWholeReplacesLinks checks that a link in place of an agent's file is not
// written through.
func TestWriteWholeReplacesLinks(t *testing.T) {
	dir := t.TempDir()
	precious, path := filepath.Join(dir, "precious"), filepath.Join(dir, "help")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, path); err != nil {
		t.Skip("SKIPPED: no symbolic links here: ", err)
	}
	if err := writeWhole(path, []byte("text"), false); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
		t.Errorf("the file behind the link is %q, %v", b, err)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode() != 0o644 {
		t.Errorf("the new file is %v, %v", st.Mode(), err)
	}
}
