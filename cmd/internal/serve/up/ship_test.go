package up

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestShip runs pcp up with --ship twice. The archive that ends with each run is stored at its end, bit for bit, and listed.
func TestShip(t *testing.T) {
	dir, to := tempDir(t), t.TempDir()
	args := []string{"--port", "0", "--dir", dir, "--no-web", "--no-processes", "--ship", to}
	vars := map[string]string{"HOME": dir, "PCP_RUN_DIR": dir}
	glob := func(pattern string) []string {
		l, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for run := 1; run <= 2; run++ {
		out, stop := start(t, vars, args...)
		await.Until(t, "a sample", func() bool {
			for _, path := range glob(filepath.Join(dir, "pmlogger/*/*.0")) {
				if fi, err := os.Stat(path); err == nil && fi.Size() > 10_000 {
					return true
				}
			}
			return false
		})
		stop()
		metas := glob(filepath.Join(dir, "pmlogger/*/*.meta*"))
		if len(metas) != run {
			t.Fatalf("run %d: archives %v\n%s", run, metas, out)
		}
		for _, meta := range metas {
			base, _, _ := archive.BaseName(meta)
			host := filepath.Base(filepath.Dir(base))
			files := glob(base + ".*")
			if len(files) != 3 {
				t.Errorf("run %d: files %v", run, files)
			}
			for _, path := range files {
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := os.ReadFile(filepath.Join(to, host, filepath.Base(path))); err != nil || string(got) != string(want) {
					t.Errorf("run %d: %s is not stored: %d bytes, not %d: %v\n%s", run, path, len(got), len(want), err, out)
				}
			}
			d, err := objects.OpenDir(filepath.Join(to, host), os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			a, err := archive.Open(base)
			if err != nil {
				t.Fatal(err)
			}
			day, _, err := archiveindex.Load(t.Context(), d, archiveindex.DayOf(a.Label().Start.Time()))
			a.Close()
			if err != nil {
				t.Fatal(err)
			}
			if e := day.Find(filepath.Base(base)); e == nil || !e.Complete || len(e.Files) != 3 {
				t.Errorf("run %d: %s is listed as %+v", run, base, e)
			}
		}
	}
}
