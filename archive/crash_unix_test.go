//go:build unix

package archive

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestKill kills a process that writes, and checks the files that it left.
func TestKill(t *testing.T) {
	if base := os.Getenv("PCP_TEST_KILL"); base != "" {
		tell := func(path string) (io.WriteCloser, error) {
			fmt.Println(path)
			return createFile(path)
		}
		w, err := Create(base, WriterConfig{Label: Label{Host: "h"}, VolumeBytes: 100_000, BufferBytes: 1000, create: tell})
		if err != nil {
			t.Fatal(err)
		}
		if err := churn(w, 0, 1<<30); err != nil {
			t.Fatal(err)
		}
		return
	}
	killRounds(t)
}

// killRounds starts this test as another process, which writes an archive, and
// kills it after some volumes, at a different moment each time.
func killRounds(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		base := filepath.Join(t.TempDir(), "x")
		cmd := exec.Command(exe, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "PCP_TEST_KILL="+base)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It prints the files that it makes.
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != fmt.Sprint(base, ".", 1+round) {
		}
		cmd.Process.Kill()
		if err := await.Exit(t, cmd); err == nil {
			t.Fatal("the process came to an end")
		}
		size, err := FileSize(base + ".meta")
		if err != nil {
			t.Fatal(err)
		}
		if size%4096 == 0 {
			// A write ends early only at the end of a page: see Writer.
			t.Logf("round %d: the metadata end with a page", round)
			continue
		}
		if n := checkChurn(t, base); n < 1000*(1+round) {
			t.Errorf("round %d: %d records", round, n)
		}
	}
}
