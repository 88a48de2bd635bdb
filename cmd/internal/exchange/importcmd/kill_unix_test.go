//go:build unix

package importcmd_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/importrun"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestKill kills imports that continue an archive: all earlier records stay, and the next import continues it. While an
// import runs it is listed, and afterwards it is not.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	base, run := filepath.Join(dir, "a"), filepath.Join(dir, "run")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sample := func(w io.Writer) {
		t.Helper()
		now = now.Add(time.Second)
		_, err := fmt.Fprintf(w, `<timestamp date="%s" time="%s"><queue ldavg-1="1" ldavg-5="2" ldavg-15="3"/></timestamp>`+"\n", now.Format(time.DateOnly), now.Format(time.TimeOnly))
		if err != nil {
			t.Fatal(err)
		}
	}
	start := func() (*exec.Cmd, io.WriteCloser) {
		t.Helper()
		cmd := exec.Command("import", "sar", "--append", "-", base)
		cmd.Env = append(os.Environ(), importrun.Setting+"="+run)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, sarHead)
		return cmd, in
	}
	listed := func() (names string) {
		t.Helper()
		list, err := importrun.List(run, func(pid int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list {
			names += fmt.Sprint(tool.Name, " ", tool.PID > 0, " ", tool.Version, " ", tool.Args, " ", tool.Archive == base, "\n")
		}
		return names
	}
	for round := range 3 {
		cmd, in := start()
		for range 100 {
			sample(in)
		}
		io.WriteString(in, sarTail)
		in.Close()
		if err := await.Exit(t, cmd); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if names := listed(); names != "" {
			t.Errorf("listed after its end: %s", names)
		}
		before, size := times(t, base), length(base)
		cmd, in = start()
		await.Until(t, "the archive to grow", func() bool {
			for range 100 {
				sample(in)
			}
			return length(base) > size
		})
		if names := listed(); names != "pcp-import-sar true 6.0.3 - true\n" {
			t.Errorf("listed: %s", names)
		}
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
		cmd, in = start()
		sample(in)
		io.WriteString(in, sarTail)
		in.Close()
		if err := await.Exit(t, cmd); err != nil {
			t.Fatalf("round %d: after the kill: %v", round, err)
		}
		after := times(t, base)
		if len(after) <= len(before) || fmt.Sprint(after[:len(before)]) != fmt.Sprint(before) || after[len(after)-1] != now.Unix() {
			t.Errorf("round %d: %d records before, %d after, or others", round, len(before), len(after))
		}
	}
}

// length returns the length of the first volume, 0 if there is none.
func length(base string) int64 {
	st, err := os.Stat(base + ".0")
	if err != nil {
		return 0
	}
	return st.Size()
}

// times returns the times of all records, in seconds.
func times(t *testing.T, base string) (all []int64) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Time.Sec)
	}
	return all
}
