package mmvdump

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/tool/cli"
)

func TestUsage(t *testing.T) {
	f := func(exit int, stderr string, args ...string) {
		t.Helper()
		if got := ours(args...); got.Exit != exit || !strings.Contains(got.Stderr, stderr) {
			t.Errorf("mmvdump %q: %+v, want exit status %d and %q", args, got, exit, stderr)
		}
	}
	f(1, "Usage: mmvdump <filename>\n", "a", "b")
	f(1, "mmv/test: No such file or directory\n")
	f(1, "/nowhere: No such file or directory\n", "--json", "/nowhere")
	f(1, "pmParseInterval", "--watch=often", "/nowhere")
	f(1, "above 0", "--watch=0", "/nowhere")
	f(1, "/nowhere: No such file or directory\n", "--watch", "/nowhere")
	f(1, "/nowhere: No such file or directory\n", "--watch=2sec", "--json", "/nowhere")
}

func TestJSON(t *testing.T) {
	for name, b := range samples(t) {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		out := ours("--json", path)
		var doc document
		if err := json.Unmarshal([]byte(out.Stdout), &doc); err != nil || out.Exit != 0 {
			t.Fatalf("%s: %v: %+v", name, err, out)
		}
		if len(doc.Metrics) != 5 || len(doc.InDoms) != 1 || len(doc.Problems) != 0 || doc.Cluster == 0 {
			t.Errorf("%s: %s", name, out.Stdout)
		}
		for _, part := range []string{`"value": "some text"`, `"units": "Mbyte / sec"`, `"value": 3`, `"semantics": "counter"`} {
			if !strings.Contains(out.Stdout, part) {
				t.Errorf("%s: no %s in %s", name, part, out.Stdout)
			}
		}
		if strings.HasPrefix(name, "v3") != strings.Contains(out.Stdout, `"x": "y"`) {
			t.Errorf("%s: labels in %s", name, out.Stdout)
		}
	}
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	reg, err := mmv.New("w", mmv.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	count := reg.Counter(mmv.Metric{Name: "count"})
	reg.Gauge(mmv.Metric{Name: "still"}).Set(1.5)

	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		env := &cli.Env{Name: "mmvdump", Args: []string{"--watch=5msec", filepath.Join(dir, "w")}, Stdout: w, Stderr: io.Discard, Getenv: os.Getenv, Command: Command}
		status := Command.Run(ctx, env)
		w.Close()
		done <- status
	}()
	var got strings.Builder
	buf := make([]byte, 4096)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(got.String(), "count = 1\n"); {
		n, err := r.Read(buf)
		got.Write(buf[:n])
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v: %s", err, got.String())
		}
		if strings.Contains(got.String(), "still = 1.500000\n") && count.Value() == 0 {
			count.Inc()
		}
	}
	cancel()
	go io.Copy(io.Discard, r)
	if status := <-done; status != 0 {
		t.Errorf("status %d", status)
	}
	if n := strings.Count(got.String(), "still"); n != 1 {
		t.Errorf("a value that does not change is printed %d times:\n%s", n, got.String())
	}
}

// FuzzDump must not panic.
func FuzzDump(f *testing.F) {
	for _, b := range samples(f) {
		f.Add(b[:min(len(b), 2048)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<11 { // sections that list the same again and again
			return
		}
		d := dumper{w: io.Discard, file: b, size: uint64(len(b)), now: time.Now}
		d.dump("file")
	})
}
