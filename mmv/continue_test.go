package mmv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestContinue starts a program again.
func TestContinue(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("fixed=%v", fixed), func(t *testing.T) {
			dir := t.TempDir()
			run := func(more ...string) *Registry {
				reg := newRegistry(t, Options{Dir: dir, Fixed: fixed, Continue: true, Persist: true})
				d := reg.InDom(InDomDef{Instances: append(more, "a", "b")})
				reg.Counter(Metric{Name: "c"}).Add(3)
				reg.Value(Metric{Name: "i", Sem: pcp.SemCounter}, TypeI32).AddInt(-1)
				reg.Value(Metric{Name: "f", Sem: pcp.SemCounter}, TypeFloat).Add(1.5)
				reg.CounterVec(Metric{Name: "v", InDom: d}).With("b").Add(5)
				reg.Gauge(Metric{Name: "g"})
				reg.String(Metric{Name: "s"})
				reg.StringVec(Metric{Name: "sv", InDom: d})
				reg.Elapsed(Metric{Name: "e"})
				h := reg.Histogram(Metric{Name: "h"})
				if err := reg.Start(); err != nil {
					t.Fatal(err)
				}
				h.Observe(10)
				reg.Flush()
				return reg
			}
			reg := run()
			reg.Lookup("g").Set(2.5)
			reg.Lookup("s").SetString("one")
			reg.Lookup("sv", "b").SetString("two")
			reg.Lookup("e").SetInt(77)
			reg.Lookup("e").Start() // and is killed
			reg.Close()
			reg = run("new")
			for metric, want := range map[string]string{"c": "6", "i": "-2", "f": "3", "g": "2.5", "s": "one", "e": "77", "h.count": "2", "h.sum": "20"} {
				if got := reg.Lookup(metric).String(); got != want {
					t.Errorf("%s is %s, want %s", metric, got, want)
				}
			}
			for inst, want := range map[string]string{"a": "0", "b": "10", "new": "0"} {
				if got := reg.Lookup("v", inst).String(); got != want {
					t.Errorf("v[%s] is %s, want %s", inst, got, want)
				}
			}
			if got := reg.Lookup("sv", "b").String(); got != "two" {
				t.Errorf("sv[b] is %q", got)
			}
			if got := reg.Lookup("h.stats", "mean").String(); got != "10" {
				t.Errorf("mean is %s", got)
			}
		})
	}
	t.Run("in flux", func(t *testing.T) {
		dir := t.TempDir()
		reg := newRegistry(t, Options{Dir: dir, Persist: true})
		reg.Counter(Metric{Name: "c"}).Add(5)
		b, err := os.ReadFile(reg.Path())
		if err != nil {
			t.Fatal(err)
		}
		b[hdrG1]++
		reg.Close()
		if err := os.WriteFile(reg.Path(), b, 0o644); err != nil {
			t.Fatal(err)
		}
		reg = newRegistry(t, Options{Dir: dir, Continue: true})
		reg.Counter(Metric{Name: "c"}).Inc()
		wantDump(t, reg, "c 6")
	})
	t.Run("damaged", func(t *testing.T) {
		dir := t.TempDir()
		os.WriteFile(dir+"/test", []byte("MMV"), 0o644)
		reg := newRegistry(t, Options{Dir: dir, Continue: true})
		reg.Counter(Metric{Name: "c"}).Inc()
		wantDump(t, reg, "c 1")
	})
}

// child adds and counts until it is killed, and prints its counts.
func child(path string) {
	reg, err := New(path, Options{Continue: true, MaxValues: 1 << 16})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c := reg.Counter(Metric{Name: "c"})
	v := reg.CounterVec(Metric{Name: "v"})
	s := reg.String(Metric{Name: "s"})
	for i := 0; ; i++ {
		v.With(fmt.Sprintf("instance %d", i)).Inc()
		if i%100 == 50 && i < 50000 {
			reg.Counter(Metric{Name: fmt.Sprintf("m%d", i), OneLine: "more"}).Inc()
		}
		s.Set(strings.Repeat(string(rune('a'+i%26)), i%256))
		c.Inc()
		fmt.Println(c.Value())
	}
}

// TestKilled kills a program repeatedly at random moments: each time the file is
// complete or in flux, and the next run loses nothing.
func TestKilled(t *testing.T) {
	path := t.TempDir() + "/killed"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var last uint64
	flux := 0
	for i := range 15 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "MMV_TEST_CHILD="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		first, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(i)*1500*time.Microsecond, func() { cmd.Process.Kill() })
		rest, _ := io.ReadAll(r)
		await.Exit(t, cmd)
		var start, told uint64
		fmt.Sscan(first, &start)
		if start != last+1 {
			t.Fatalf("run %d began with %d, after %d", i, start, last)
		}
		told = start
		// The last line may be cut short.
		if lines := bytes.Split(rest, []byte("\n")); len(lines) > 1 {
			fmt.Sscan(string(lines[len(lines)-2]), &told)
		}
		f, err := Open(path)
		if errors.Is(err, ErrInFlux) {
			flux++
			fd, _ := os.Open(path)
			st, _ := fd.Stat()
			f, err = decodeFile(fd, st.Size(), true)
			fd.Close()
		}
		if err != nil || len(f.Problems) > 0 {
			t.Fatalf("run %d: %v, %v", i, err, f.Problems)
		}
		p := readPast(path)
		last = p["c"].single.Bits
		if last < told || last > told+1 {
			t.Errorf("run %d told %d, the file has %d", i, told, last)
		}
		if s := p["s"].text[""]; s != "" && strings.Trim(s, s[:1]) != "" {
			t.Errorf("run %d: torn string %q", i, s)
		}
		for name, m := range p {
			if slices.Contains([]string{"c", "v", "s"}, name) {
				continue
			}
			if m.single.Bits == 0 {
				t.Logf("run %d: %s was defined and not counted in", i, name)
			}
		}
	}
	t.Logf("%d counted, %d files in flux", last, flux)
}
