package pmda_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// TestGuideDropbox runs the second agent of docs/agents.md under the C
// collector.
func TestGuideDropbox(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: builds programs")
	}
	oracle.Require(t)
	path := buildProgram(t, blocks(t, "go", 3)[2], "pmdadropbox")
	dir, err := os.MkdirTemp("", "dropbox") // PCP's user must be able to read it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	vardir, box := filepath.Join(dir, "var"), filepath.Join(dir, "box")
	pmdadir := filepath.Join(vardir, "config", "pmda")
	put := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(box, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.MkdirAll(pmdadir, 0o755), os.Mkdir(box, 0o755),
		os.Chmod(pmdadir, 0o777), os.WriteFile(filepath.Join(pmdadir, "401.0"), []byte("2 0 2147483647\n7 1000 old\n"), 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	put("old")
	d := oracle.StartPMCD(t, oracle.Config{
		Agents: []string{"pmcd"},
		Lines:  []string{fmt.Sprintf("dropbox 401 pipe binary env DROPBOX=%s PCP_VAR_DIR=%s %s -d 401", box, vardir, path)},
		PMNS:   "root {\n\tdropbox\t401:*:*\n}\n",
	})
	dial := func() *pmapi.Context {
		t.Helper()
		c, err := pmapi.Dial(t.Context(), d.Unix)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c, other := dial(), dial()
	ids, err := c.LookupName(t.Context(), "dropbox.size", "dropbox.news")
	if err != nil {
		t.Fatal(err)
	}
	want := func(c *pmapi.Context, want string) {
		t.Helper()
		res, err := c.Fetch(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, v := range res.Sets[0].Values {
			words = append(words, fmt.Sprintf("%d=%d", v.Inst, v.As(pcp.Type64).Int64()))
		}
		for _, v := range res.Sets[1].Values {
			records, err := v.EventRecords()
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				words = append(words, string(r.Params[0].Value.Bytes()))
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("fetch gives %q, want %q", got, want)
		}
	}
	want(c, "7=3") // the file was there before the first fetch
	want(other, "7=3")
	put("newer")
	want(c, "7=3 8=5 newer")
	want(c, "7=3 8=5")
	if err := os.Remove(filepath.Join(box, "old")); err != nil {
		t.Fatal(err)
	}
	want(c, "8=5")
	put("old")
	want(other, "7=3 8=5 newer old") // each client gets each event, once
	want(c, "7=3 8=5 old")
	want(other, "7=3 8=5")
	text, err := os.ReadFile(filepath.Join(pmdadir, "401.0"))
	if err != nil || !strings.HasSuffix(string(text), " newer\n") || !strings.HasPrefix(string(text), "2 0 2147483647\n7 ") {
		t.Errorf("the file is %q, %v", text, err)
	}
}
