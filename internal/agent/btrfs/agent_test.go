package btrfs

import (
	"fmt"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
	"github.com/go-pcp/pcp/pmda/column"
)

const (
	first  = "11111111-2222-3333-4444-555555555555"
	second = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
)

// files are those of a machine with Linux 6.6 and two file systems, in part.
func files() map[string]string {
	return map[string]string{
		"features/raid1c34": "0\n",
		first + "/label":    "home\n", first + "/nodesize": "16384\n", first + "/checksum": "crc32c (crc32c-intel)\n", first + "/generation": "4711\n",
		first + "/commit_stats":                   "commits 42\nlast_commit_ms 3\nmax_commit_ms 99\ntotal_commit_ms 1234\n",
		first + "/allocation/data/total_bytes":    "1073741824\n",
		first + "/allocation/metadata/bytes_used": "65536\n",
		first + "/allocation/global_rsv_size":     "3407872\n",
		first + "/discard/discardable_bytes":      "-1\n",
		first + "/discard/kbps_limit":             "17\n",
		first + "/devinfo/1/error_stats":          "write_errs 1\nread_errs 2\nflush_errs 0\ncorruption_errs 5\ngeneration_errs 0\n",
		first + "/devinfo/2/error_stats":          "",
		second + "/allocation/data/total_bytes":   "x\n",
		second + "/label":                         "\n",
		"debug/quota_override":                    "1\n",
	}
}

func newAgent(t testing.TB, dir string) *column.Agent {
	t.Helper()
	a, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFacts(t *testing.T) {
	a := newAgent(t, t.TempDir())
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
}

func TestValues(t *testing.T) {
	a := newAgent(t, agenttest.Tree(t, files()))
	v := agenttest.Read(t, a)
	for name, want := range map[string]string{
		"fs.label": `map[` + first + `:"home" ` + second + `:""]`, "fs.nodesize": "map[" + first + ":16384]", "fs.checksum": `map[` + first + `:"crc32c (crc32c-intel)"]`,
		"commit.count": "map[" + first + ":42]", "commit.total_time": "map[" + first + ":1234]", "allocation.data.total_bytes": "map[" + first + ":1073741824]",
		"allocation.metadata.bytes_used": "map[" + first + ":65536]", "allocation.global_rsv_size": "map[" + first + ":3407872]",
		"discard.discardable_bytes": "map[]", "discard.kbps_limit": "map[" + first + ":17]",
		"device.corruption_errs": "map[" + first + "::1:5]", "device.read_errs": "map[" + first + "::1:2]",
	} {
		if got := fmt.Sprint(v["btrfs."+name]); got != want {
			t.Errorf("btrfs.%s is %s, want %s", name, got, want)
		}
	}
	labels, err := a.Labels(t.Context(), uint32(pcp.NewInDom(Domain, 1)), pcp.LabelInstances)
	if err != nil || len(labels) != 2 {
		t.Errorf("labels of devices are %v, %v", labels, err)
	}
}

// FuzzFind reads a file of any bytes.
func FuzzFind(f *testing.F) {
	for _, text := range files() {
		f.Add([]byte(text), "commits")
	}
	f.Add([]byte("commits\n commits \x00"), "")
	f.Fuzz(func(t *testing.T, b []byte, word string) {
		if got := find(b, word); len(got) > len(b) {
			t.Errorf("%q in %q: %q", word, b, got)
		}
	})
}
