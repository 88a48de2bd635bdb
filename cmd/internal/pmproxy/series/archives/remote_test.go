package archives_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/internal/storage"
)

// A laggyStore serves a directory. A metadata file opens when others wait too, or after a second.
type laggyStore struct {
	dir string

	mu      sync.Mutex
	waiting int
	most    int // that waited at once
	once    sync.Once
	enough  chan struct{}
}

const laggyScheme = "laggy"

func (s *laggyStore) path(address string) string {
	return filepath.Join(s.dir, strings.TrimPrefix(address, laggyScheme+"://"))
}

func (s *laggyStore) Open(address string) (storage.File, error) {
	if strings.HasSuffix(address, ".meta") {
		s.mu.Lock()
		s.waiting++
		s.most = max(s.most, s.waiting)
		if s.waiting == 4 {
			s.once.Do(func() { close(s.enough) })
		}
		s.mu.Unlock()
		select {
		case <-s.enough:
		case <-time.After(time.Second):
		}
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}
	return os.Open(s.path(address))
}

func (s *laggyStore) Stat(address string) (fs.FileInfo, error) { return os.Stat(s.path(address)) }

func (s *laggyStore) ReadDir(address string) ([]fs.DirEntry, error) {
	return os.ReadDir(s.path(address))
}

// TestRemote reads the metadata of archives in a store side by side, with the series of the same archives on a disk.
func TestRemote(t *testing.T) {
	laggy := &laggyStore{dir: t.TempDir(), enough: make(chan struct{})}
	for i := range 6 {
		host := fmt.Sprint("host", i)
		record(t, filepath.Join(laggy.dir, "bucket", host, "1"), host, 1000).add(3).close()
	}
	storage.Register(laggyScheme, func() storage.Store { return laggy })
	names := series.Matcher{Field: series.MetricName, Value: "kernel.all.load"}
	local := sel(t, open(t, archives.Config{Dirs: []string{laggy.dir}}), names)
	remote := sel(t, open(t, archives.Config{Dirs: []string{laggyScheme + "://bucket"}}), names)
	if len(local) != 6 || !slices.Equal(local, remote) {
		t.Errorf("%d series on the disk, %d in the store", len(local), len(remote))
	}
	if laggy.most < 4 {
		t.Errorf("at most %d metadata files were read at once, want 4", laggy.most)
	}
}
