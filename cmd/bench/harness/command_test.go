//go:build linux

package harness_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/harness"
)

// This program is also the fake command of the tests: it computes for some milliseconds of processor time, or sleeps.
func TestMain(m *testing.M) {
	switch os.Getenv("HARNESS_FAKE") {
	case "busy":
		_, _ = harness.OnThread(func() error { return spin(20 * time.Millisecond) })
		os.Stdout.WriteString("done\n")
		os.Exit(0)
	case "parent": // its child computes
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "HARNESS_FAKE=busy")
		if err := cmd.Run(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "writer":
		for _, part := range []string{".0", ".meta", ".index"} {
			if err := os.WriteFile(os.Args[1]+part, []byte("x"), 0o600); err != nil {
				os.Exit(1)
			}
		}
		os.Exit(0)
	case "failing":
		os.Stderr.WriteString("no such metric\n")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// spin computes until this thread has used so much processor time.
func spin(d time.Duration) error {
	for {
		sample, err := harness.OnThread(func() error {
			n := 0
			for i := range 100_000 {
				n += i
			}
			if n < 0 {
				return os.ErrInvalid
			}
			return nil
		})
		if d -= sample.CPU; d <= 0 || err != nil {
			return err
		}
	}
}

func TestCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"busy", "parent"} { // with the children that a command waits for
		sample, err := harness.Command{Args: []string{exe}, Env: []string{"HARNESS_FAKE=" + kind}}.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if sample.CPU < 10*time.Millisecond || sample.Wall <= 0 {
			t.Errorf("%s: the sample is %+v, want about 20 ms of processor time", kind, sample)
		}
	}
	var out bytes.Buffer
	rss, err := harness.Command{Args: []string{exe}, Env: []string{"HARNESS_FAKE=busy"}}.WriteOutput(t.Context(), &out)
	if err != nil || out.String() != "done\n" {
		t.Errorf("WriteOutput wrote %q, %v", out.String(), err)
	}
	// This program has more than 1 MiB; that of a small one, started by it, is less.
	small, err := harness.Command{Args: []string{"/bin/true"}}.WriteOutput(t.Context(), io.Discard)
	if err != nil || small <= 0 || rss <= small {
		t.Errorf("this program has %d bytes resident, /bin/true %d, %v", rss, small, err)
	}
	_, err = harness.Command{Args: []string{exe, "-x"}, Env: []string{"HARNESS_FAKE=failing"}}.WriteOutput(t.Context(), io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "no such metric") {
		t.Errorf("a traced command that fails: %v", err)
	}
	// A signal reaches a traced command.
	_, err = harness.Command{Args: []string{"/bin/sh", "-c", "trap 'exit 3' TERM; kill -TERM $$; exit 4"}}.WriteOutput(t.Context(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a traced command that has a signal: %v", err)
	}
	_, err = harness.Command{Args: []string{exe, "-x"}, Env: []string{"HARNESS_FAKE=failing"}}.Sample(t.Context())
	if err == nil || !strings.Contains(err.Error(), exe+" -x") || !strings.HasSuffix(err.Error(), "no such metric") {
		t.Errorf("a command that fails: %v", err)
	}
}

// The archive that a command writes is gone after a measurement, and stays to be compared.
func TestCommandOutput(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "out")
	c := harness.Command{Args: []string{exe, base}, Env: []string{"HARNESS_FAKE=writer"}, Output: base}
	if _, err := c.Sample(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(base + "*"); len(left) > 0 {
		t.Errorf("a measurement leaves %v", left)
	}
	if _, err := c.WriteOutput(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(base + "*"); len(left) != 3 {
		t.Errorf("WriteOutput leaves %v, want three files", left)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a, b, out := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "out")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, bytes.Repeat([]byte("x"), 3<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sample, err := harness.ReadFiles([]string{a, b})(t.Context())
	if err != nil || sample.Wall <= 0 {
		t.Errorf("ReadFiles = %+v, %v", sample, err)
	}
	sample, err = harness.CopyFiles([]string{a, b}, out)(t.Context())
	if err != nil || sample.Wall <= 0 {
		t.Errorf("CopyFiles = %+v, %v", sample, err)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the copy: %v, want that it is gone", err)
	}
	if _, err := harness.ReadFiles([]string{a, filepath.Join(dir, "none")})(t.Context()); err == nil {
		t.Error("a missing file is not noticed")
	}
}
