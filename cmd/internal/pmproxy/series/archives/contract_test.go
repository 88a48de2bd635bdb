package archives_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
)

// TestContract checks what all stores have in common.
func TestContract(t *testing.T) {
	dir := t.TempDir()
	set := seriestest.WriteArchives(t, filepath.Join(dir), time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC))
	set.Contract(t, open(t, archives.Config{Dirs: []string{dir}, Interval: -1}), true)
}
