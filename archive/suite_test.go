package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// suite returns the archives of the installed QA suite, good and bad, without
// their suffixes.
func suite(t testing.TB) []string {
	t.Helper()
	root := "/var/lib/pcp/testsuite"
	if _, err := os.Stat(root); err != nil {
		t.Skip("the QA suite of PCP is not installed: ", err)
	}
	var list []string
	for _, pattern := range []string{"archives/*.meta*", "badarchives/*.meta*", "archives/*/*.meta*", "tmparch/*.meta*"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if base, _, ok := archive.BaseName(p); ok {
				list = append(list, base)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestSuite reads every archive of the QA suite from end to end, in both
// directions. That must not panic or hang, and errors must have a code of PCP. If
// an archive can be read to the end forwards, there are as many records backwards.
func TestSuite(t *testing.T) {
	opened, read := 0, 0
	list := suite(t)
	for _, path := range list {
		a, err := archive.Open(path)
		if err != nil {
			if pcp.Code(err) == 0 {
				t.Errorf("%s: %v carries no code", path, err)
			}
			continue
		}
		opened++
		end, endErr := a.End()
		forward, last, err := count(a, a.Label().Start, archive.Forward)
		if err == nil {
			read++
			if endErr != nil && !strings.HasSuffix(path, "/badlen-11") {
				t.Errorf("%s: can be read, but End: %v", path, endErr)
			} else if last != end {
				t.Logf("%s: End is %v, last record %v", path, end, last)
			}
			backward, _, err := count(a, last, archive.Backward)
			// A tail too short for a length word stops only reading backwards.
			cut := strings.HasSuffix(path, "/binning") || strings.HasSuffix(path, "/pcp-mpstat3")
			if (err != nil || backward != forward) && !cut && !strings.Contains(path, "/badarchives/") {
				t.Errorf("%s: %d records forwards, %d backwards, %v", path, forward, backward, err)
			}
		} else if !errors.Is(err, pcp.ErrLogRec) {
			t.Logf("%s: %v", path, err)
		}
		a.Close()
	}
	t.Logf("%d archives, %d open, %d are whole", len(list), opened, read)
	if opened < len(list)/2 {
		t.Errorf("only %d of %d archives open", opened, len(list))
	}
}

func count(a *archive.Archive, from pcp.Timestamp, dir archive.Direction) (n int, last pcp.Timestamp, err error) {
	for res, err := range a.Records(from, dir) {
		if err != nil {
			return n, last, err
		}
		n++
		last = res.Time
	}
	return n, last, nil
}
