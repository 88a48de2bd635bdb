package importcmd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
)

// FuzzCSV imports whatever bytes: there is an archive that can be read, or a
// message that names the file.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"time,a\n1,2\n", "time;a[x];a[y]\n2026-01-01T00:00:00Z;1;\n2026-01-01T00:00:01Z;;1.5\n",
		"a,b (counter KB u64),when\n1,2,3\n", "\xef\xbb\xbftime\ta\n1\t\"x\ny\"\n", "time,a-b,a.b-c\n1,2,3\n", "time\n", "", "\n\n", ",,\n,,\n",
		"time,a\n1,\x00\n", "time,a\n99999999999999999999,1\n", "time,a[],[a],a[b\n1,2,3,4\n", "t,a\n1e9,1\n-1,1\n", "time,a\n\"1,1\n",
		"Time,\"x.y-1 minute\"\n2013-07-06 00:17:01,0.9\n", "time,é.9,_,a..b,a.\n1,1,1,1,1\n",
	} {
		f.Add(s, "")
		f.Add(s, "%Y-%m-%d")
	}
	f.Fuzz(func(t *testing.T, s, format string) {
		base := filepath.Join(t.TempDir(), "x")
		args := []string{"csv", "-h", "h", "--archive-version", "3", "-Z", "UTC", "-", base}
		if format != "" {
			args = append(args, "-f", format)
		}
		out, status := run(s, nil, args...)
		if status != 0 {
			if !strings.HasPrefix(out, "pcp import: ") && !strings.Contains(out, "\npcp import: ") {
				t.Errorf("exit %d: %q", status, out)
			}
			if list, _ := filepath.Glob(base + ".*"); list != nil {
				t.Errorf("exit %d: %q, but there is %v", status, out, list)
			}
			return
		}
		a, err := archive.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		n := 0
		for _, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n == 0 {
			t.Error("no records")
		}
	})
}
