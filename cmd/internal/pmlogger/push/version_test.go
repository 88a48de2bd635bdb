package push

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// TestLaterRelease loads lists of pushed archives: that of a later release is refused, and not overwritten.
func TestLaterRelease(t *testing.T) {
	for text, newer := range map[string]bool{`{"version":2,"archives":{}}`: true, `{"version":1,"archives":[]}`: false} {
		dir := t.TempDir()
		path := filepath.Join(dir, doneName)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Sender{cfg: SenderConfig{Dir: dir}, done: map[string]finished{"a": {Archive: "a", Started: 1, Receiver: "http://r"}}}
		err := s.load()
		if fileversion.IsNewer(err) != newer || !newer && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if err := s.save(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(path); err != nil || (string(b) == text) != newer {
			t.Errorf("%s is now %s, %v", text, b, err)
		}
	}
}
