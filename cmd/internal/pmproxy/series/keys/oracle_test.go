package keys_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const suite = "/var/lib/pcp/testsuite/archives"

// largest is the size of the largest archive that is compared: the real pmseries takes minutes for others.
const largest = 1 << 20

// cutStrings are keys that differ, by archive: the archive has a string without its closing NUL, of which the real one loses the last byte.
var cutStrings = map[string][]string{
	"value-test": {"pcp:values:series:f1110e331f623f1090dc464b37c45f3538870b11"},
}

// config writes a pmseries.conf that excludes nothing.
func config(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pmseries.conf")
	if err := os.WriteFile(path, []byte("[pmseries]\nenabled = true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// names returns the archives of the suite to compare: all of them in the long form.
func names(t *testing.T, short ...string) []string {
	t.Helper()
	if !longtest.Enabled() {
		return short
	}
	metas, err := filepath.Glob(suite + "/*.meta*")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range metas {
		base, _, ok := archive.BaseName(m)
		if !ok {
			continue
		}
		files, err := filepath.Glob(base + ".*")
		if err != nil {
			t.Fatal(err)
		}
		size := int64(0)
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				size += info.Size()
			}
		}
		if size <= largest {
			list = append(list, filepath.Base(base))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestLoadOracle compares all keys with those that the real pmseries --load writes.
func TestLoadOracle(t *testing.T) {
	oracle.Require(t)
	theirs, ours := keystest.Start(t), keystest.Start(t)
	conf := config(t)
	ctx := t.Context()
	same, compared := 0, 0
	for _, name := range names(t, "sample-labels", "dupname-a", "pcp-mpstat", "dyninsts", "procpid-encode", "changeinst", "arch_a", "rewrite", "log-derived", "spotinstance", "value-test") {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(suite, name)
			for _, s := range []*keystest.Server{theirs, ours} {
				if err := s.Do(t, "FLUSHALL").Error(); err != nil {
					t.Fatal(err)
				}
			}
			out := theirs.LoadC(t, conf, path)
			if !strings.Contains(out, "processed ") {
				t.Skip("not compared, as the real one does not load it")
			}
			store, err := keys.Open(ctx, keys.Config{Servers: []string{ours.Address}})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if _, err := store.Load(ctx, path, keys.LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			want, got := theirs.Dump(t), ours.Dump(t)
			for _, key := range cutStrings[name] {
				if want[key] == "" || want[key] == got[key] {
					t.Errorf("%s is no difference any more", key)
				}
				delete(want, key)
				delete(got, key)
			}
			same += keystest.Compare(t, want, got)
			compared++
		})
	}
	t.Logf("%d archives compared, %d keys the same", compared, same)
	if compared == 0 {
		t.Error("no archive was compared")
	}
}
