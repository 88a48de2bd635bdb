package lock

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func call(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(context.Background(), &cli.Env{
		Name: "pmlock", Args: args, Command: Command, Stdout: &o, Stderr: &e, Getenv: func(string) string { return "" },
	})
	return status, o.String(), e.String()
}

// TestOneOfMany has many take one lock, of whom one gets it.
func TestOneOfMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if status, _, _ := call(path); status == 0 {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d got the lock", got.Load())
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0 || st.Size() != 0 {
		t.Errorf("the lock is %v, %v", st, err)
	}
}

func TestMessages(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	f := func(want int, wantOut, wantErr string, args ...string) {
		t.Helper()
		status, out, errs := call(args...)
		if status != want || out != wantOut || errs != wantErr {
			t.Errorf("%q: %d %q %q, want %d %q %q", args, status, out, errs, want, wantOut, wantErr)
		}
	}
	const usage = "Usage: pmlock [-v,--verbose] file\n"
	f(1, "", usage)
	f(1, "", usage, "-?")
	f(1, "", usage, "--help")
	f(1, "", usage, "-v")
	f(1, "", usage, "-v", path, path)
	f(0, "", "", "-v", path)
	f(1, path+": File exists\n", "", "--verbose", path)
	f(1, "", "", path)
	f(1, dir+"/no/lock: No such file or directory\n", "", "-v", dir+"/no/lock")
	if os.Getuid() == 0 {
		t.Log("root may write anywhere: a directory without permission is not tried")
		return
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	f(1, dir+": Directory not writable\n", "", "-v", dir+"/other")
}
