package objects

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLaterRelease has a block of a later release in the cache: it is neither used nor replaced.
func TestLaterRelease(t *testing.T) {
	c := &cache{dir: t.TempDir(), limit: 1 << 20, memory: make(map[block]*held)}
	b := block{key("s3://bucket/a", &info{}), 1}
	c.put(b, []byte("data"))
	clear(c.memory)
	if got := c.get(b, 4); string(got) != "data" {
		t.Fatalf("%q", got)
	}
	list, err := filepath.Glob(filepath.Join(c.dir, "*", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v", list, err)
	}
	text := []byte("PCP\x02DATA")
	if err := os.WriteFile(list[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	clear(c.memory)
	if got := c.get(b, 4); got != nil {
		t.Errorf("%q", got)
	}
	c.put(b, []byte("data"))
	if now, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the block is now %q, %v", now, err)
	}
}
