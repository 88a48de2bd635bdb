package openmetrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// heap returns how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // for finalizers and pools
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// hostile are texts that mean to take memory, without end.
func hostile(kind int, w io.Writer, limit int) {
	var b bytes.Buffer
	pad := strings.Repeat("x", 200)
	for n := 0; n < limit; n += b.Len() {
		b.Reset()
		for i := range 200 {
			switch id := n + i; kind % 7 {
			case 0: // series
				fmt.Fprintf(&b, "m{a=\"%s%d.%d\"} 1\n", pad, id, i)
			case 1: // metrics
				fmt.Fprintf(&b, "# HELP m%d_%d %s\nm%d_%d 1\n", id, i, strings.Repeat(pad, 10), id, i)
			case 2: // long names of labels
				fmt.Fprintf(&b, "m{%s%d_%d=\"1\"} 1\n", pad, id, i)
			case 3: // long strings
				fmt.Fprintf(&b, "# PCP5 s.m%d_%d 1.2.3 string 0xffffffff instant none\nm%d_%d %s%s\n", id, i, id, i, pad, pad)
			case 4: // many labels
				fmt.Fprintf(&b, "m{a=\"%d\",b=\"%d\",c=\"%d\",d=\"%d\",e=\"%d\",f=\"%d\"} 1\n", id, i, id, i, id, i)
			case 5: // long lines
				fmt.Fprintf(&b, "m{a=\"%d.%d%s\"} 1\n", id, i, strings.Repeat(pad, 20))
			case 6: // short ones
				fmt.Fprintf(&b, "m{a=\"%d.%d\"} 1\n", id, i)
			}
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return
		}
	}
}

// TestMemory has 21 sources with as much data as possible. All of them together stay within a limit, a well-behaved source is read, the others report
// why they are not read to the end, and the memory is freed when they are removed.
func TestMemory(t *testing.T) {
	const limit, sources = 8 << 20, 21
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			for i := range 100 {
				fmt.Fprintf(w, "good{n=\"%d\"} %d\n", i, i)
			}
			return
		}
		var kind int
		fmt.Sscan(r.URL.Path[1:], &kind)
		hostile(kind, w, 12<<20)
	}))
	defer server.Close()
	dir, state := t.TempDir(), t.TempDir()
	write := func(name, path string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".url"), []byte(server.URL+path+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	a, err := New(Config{Dirs: []string{dir}, State: state, Memory: limit, Timeout: time.Minute, Workers: 4, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for i := range sources {
		write(fmt.Sprintf("bad%d", i), fmt.Sprintf("/%d", i))
	}
	settle := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		a.wait(ctx, a.check(), 2*time.Minute)
		var ids []pcp.PMID
		for c := 1; c <= sources+1; c++ {
			ids = append(ids, pcp.NewPMID(Domain, c, 0))
		}
		a.Prepare(ctx, ids)
		if ctx.Err() != nil {
			t.Fatal("the sources are not read within two minutes")
		}
	}
	settle()
	write("good", "/good") // when others have taken all there is
	settle()
	settle()
	if used := heap() - before; used > 3*limit {
		t.Errorf("%d MB are kept, with a limit of %d", used>>20, limit>>20)
	}
	if a.budget.used > 2*limit || a.budget.used < limit/2 {
		t.Errorf("%d MB are counted, with a limit of %d", a.budget.used>>20, limit>>20)
	}
	good := a.byName["good"]
	var res pcp.Result
	for id := range good.byItem {
		good.fetch(pcp.NewPMID(Domain, good.cluster, int(id)), nil, &res)
	}
	if len(res.Sets) != 1 || len(res.Sets[0].Values) != 100 {
		t.Errorf("the source that is well-behaved has %+v", res.Sets)
	}
	res = pcp.Result{}
	a.fetchControl(pcp.NewPMID(Domain, 0, 5), &pmda.FetchRequest{Result: &res})
	told := 0
	for _, v := range res.Sets[0].Values {
		if text, _ := v.Text(); strings.Contains(text, "all sources together may take 8 MB") {
			told++
		}
	}
	if told < sources/2 {
		t.Errorf("%d sources say why they are not read to the end", told)
	}
	// They go.
	for i := range sources {
		if err := os.Remove(filepath.Join(dir, fmt.Sprintf("bad%d.url", i))); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		a.check()
		a.mu.Lock()
		left := len(a.retired)
		a.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d sources are kept after their files have gone", left)
		}
	}
	a.names()
	server.CloseClientConnections()
	if used := heap() - before; used > limit/2 {
		t.Errorf("%d KB are kept after they have gone", used>>10)
	}
	if a.budget.used > 1<<20 {
		t.Errorf("%d bytes are counted after they have gone", a.budget.used)
	}
	// A source that returns has its old numbers.
	write("bad0", "/good")
	settle()
	s := a.byName["bad0"]
	if n, ok := s.items.index["m"]; !ok || n != 0 {
		t.Errorf("the source that came again has lost its names: %v", s.items.names)
	}
}

// TestMemoryIsCounted compares the counted with the allocated memory.
func TestMemoryIsCounted(t *testing.T) {
	for kind := range 7 {
		var b bytes.Buffer
		hostile(kind, &b, 1<<20)
		before := heap()
		s := testSource(t)
		s.parseText(bytes.NewReader(b.Bytes()))
		s.items.instances()
		for _, m := range s.metrics {
			if m.insts != nil {
				m.insts.instances()
			}
		}
		used := heap() - before
		if used > s.held*3/2+1<<20 {
			t.Errorf("kind %d: only %d KB are counted of %d", kind, s.held>>10, used>>10)
		}
		t.Logf("kind %d: %d KB are counted of %d, %d series", kind, s.held>>10, used>>10, len(s.series))
		runtime.KeepAlive(s)
	}
}
