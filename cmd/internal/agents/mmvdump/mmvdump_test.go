package mmvdump

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) {
	// A default; -fuzzminimizetime overrides it. Go's own, a minute for each input that reaches new code,
	// leaves no time for anything else: inputs of a few kilobytes have millions of parts to leave out.
	flag.Set("test.fuzzminimizetime", "100x")
	os.Exit(m.Run())
}

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
		if len(b) > 1<<11 { // sections that list the same items repeatedly
			return
		}
		d := dumper{w: io.Discard, file: b, size: uint64(len(b)), now: time.Now}
		d.dump("file")
	})
}

// TestSparse dumps a sparse file of a terabyte. It must not take that much memory.
func TestSparse(t *testing.T) {
	var b []byte
	for name, sample := range samples(t) {
		if name == "v2.true" {
			b = sample
		}
	}
	path := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	small, smallJSON := ours(path), ours("--json", path)
	if small.Exit != 0 {
		t.Fatalf("%+v", small)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("SKIPPED: no sparse files here: %v", err)
	}
	if big := ours(path); big.Exit != 0 || withoutSize(big.Stdout) != withoutSize(small.Stdout) {
		t.Errorf("sparse: %+v\nwant %+v", big, small)
	}
	if big := ours("--json", path); big.Stdout != smallJSON.Stdout {
		t.Errorf("sparse: %+v\nwant %+v", big, smallJSON)
	}
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("SKIPPED: no /proc")
	}
	_, peak, _ := strings.Cut(string(data), "VmHWM:")
	var kb int
	if fmt.Sscan(peak, &kb); kb == 0 || kb > 400<<10 {
		t.Errorf("the largest this process was is %d kB", kb)
	}
}

// withoutSize removes the line with the size of the file.
func withoutSize(out string) string {
	var keep []string
	for _, line := range strings.Split(out, "\n") {
		if !strings.Contains(line, "ile size") && !strings.Contains(line, "Elapsed") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "\n")
}

// TestCutShort truncates a file while it is dumped.
func TestCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for name, b := range samples(t) {
		if name == "v2.true" {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Truncate(path, maxRead+4096); err != nil {
		t.Fatal(err)
	}
	b, done, err := readFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	d := dumper{w: io.Discard, file: b, size: uint64(len(b)), now: time.Now}
	if _, err := d.whole(path); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("error %v", err)
	}
}
