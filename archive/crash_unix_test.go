//go:build unix

package archive

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// killRounds starts this test as another process, which writes an archive, and
// kills it when it has made some volumes: at another moment each time.
func killRounds(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		base := filepath.Join(t.TempDir(), "x")
		cmd := exec.Command(exe, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), "PCP_TEST_KILL="+base)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(fmt.Sprint(base, ".", 1+round)); err == nil || time.Now().After(deadline) {
				break
			}
		}
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process came to an end")
		}
		size, err := FileSize(base + ".meta")
		if err != nil {
			t.Fatal(err)
		}
		if size%4096 == 0 {
			// A write ends early only where a page ends: see Writer.
			t.Logf("round %d: the metadata end with a page", round)
			continue
		}
		if n := checkChurn(t, base); n < 1000*(1+round) {
			t.Errorf("round %d: %d records", round, n)
		}
	}
}
