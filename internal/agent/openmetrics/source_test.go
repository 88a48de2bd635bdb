package openmetrics

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// testSource returns a source that is read by hand.
func testSource(t testing.TB) *source {
	t.Helper()
	a, err := New(Config{Dirs: []string{t.TempDir()}, State: "-"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	items, _ := openNumbering("")
	return &source{a: a, name: "s", cluster: 1, metrics: make(map[string]*metric), byItem: make(map[int32]*metric), items: items}
}

// parseText reads a text, and makes its values those of the source.
func (s *source) parseText(r *bytes.Reader) (outcome, error) {
	var out outcome
	s.resetBack()
	err := s.parse(r, &out)
	s.front, s.back = s.back, s.front
	return out, err
}

// all returns all values as text, by metric and name of the instance.
func (s *source) all() (list []string) {
	for name, m := range s.metrics {
		var res pcp.Result
		s.fetch(m.desc.PMID, nil, &res)
		set := &res.Sets[0]
		if set.Err != 0 {
			list = append(list, fmt.Sprintf("%s %v", name, set.Err))
		}
		for _, v := range set.Values {
			inst := ""
			if m.insts != nil {
				inst = m.insts.names[v.Inst]
			}
			list = append(list, fmt.Sprintf("%s %q %v", name, inst, v))
		}
	}
	slices.Sort(list)
	return list
}

// exposition is the text of a thousand series, as an exporter has them.
func exposition(series int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for i := range series {
		if i%20 == 0 {
			fmt.Fprintf(&b, "# HELP app_http_requests%d_total Requests that were served, by method and status.\n# TYPE app_http_requests%d_total counter\n", i/20, i/20)
		}
		fmt.Fprintf(&b, "app_http_requests%d_total{method=\"post\",handler=\"/api/v1/things/%d\",code=\"200\"} %d", i/20, i%20, r.IntN(1e9))
		if i%3 == 0 {
			fmt.Fprintf(&b, ".%d", r.IntN(1000))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func TestSteadyState(t *testing.T) {
	s := testSource(t)
	texts := [][]byte{exposition(1000, 1), exposition(1000, 2)}
	r := bytes.NewReader(nil)
	read := func(i int) outcome {
		r.Reset(texts[i])
		out, err := s.parseText(r)
		if err != nil || out.bad != nil || out.samples != 1000 {
			t.Fatal(out, err)
		}
		return out
	}
	read(0)
	read(1)
	if s.strayed {
		t.Error("the second text has the same series, but not all were where they were expected")
	}
	i := 0
	if n := testing.AllocsPerRun(20, func() { i ^= 1; read(i) }); n > 2 {
		t.Errorf("%v allocations for 1000 series, want 2 at most", n)
	}
	read(1)
	fresh := testSource(t)
	fresh.parseText(bytes.NewReader(texts[1]))
	if !slices.Equal(s.all(), fresh.all()) {
		t.Error("values differ from those of a source that reads the text for the first time")
	}
}

// TestChurn has series whose names are new each time: the memory for them is limited.
func TestChurn(t *testing.T) {
	s := testSource(t)
	for i := range 200 {
		var b bytes.Buffer
		for j := range 100 {
			fmt.Fprintf(&b, "m{pod=\"%d-%d\"} 1\n", i, j)
		}
		if out, err := s.parseText(bytes.NewReader(b.Bytes())); err != nil || out.bad != nil {
			t.Fatal(out, err)
		}
	}
	if len(s.series) > 5000 {
		t.Errorf("%d series are kept of 100 at a time", len(s.series))
	}
	if got := len(s.all()); got != 100 {
		t.Errorf("%d values, want 100", got)
	}
}

// FuzzTexts checks that a source reads a text the same, whether it has read another before or not.
func FuzzTexts(f *testing.F) {
	for _, pair := range [][2]string{
		{"a 1\nb 2\n", "b 3\na 4\n"},
		{"a{x=\"1\"} 1\na{x=\"2\"} 2\n", "a{x=\"2\"} 1\na{x=\"1\"}2\na{x=\"1\"} 3"},
		{"a 1\n", "a {x=\"1\"} 2\na\t3"},
		{"# TYPE a counter\na 1 5 # {x=\"y\"} 1\n# EOF", "a NaN\na +Inf\na x\na\n"},
		{"# PCP5 x.y 1.2.3 string PM_INDOM_NULL instant none\na b\n", "# PCP x counter byte\na 7\n# PCP5\nb 1"},
		{"{\n}", "a{\"} 1"},
		{"é 1\na\xff 2", "a{b=\"\xff\"} 1"},
		{"a{x=\"1\"} 1\na 2\n", "a 2\na{} 3\na{x=\"1\",} 5\n"},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}
	a, err := New(Config{Dirs: []string{f.TempDir()}, State: "-"})
	if err != nil {
		f.Fatal(err)
	}
	make1 := func() *source {
		items, _ := openNumbering("")
		return &source{a: a, name: "s", cluster: 1, metrics: make(map[string]*metric), byItem: make(map[int32]*metric), items: items}
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		twice, again := make1(), make1()
		for _, s := range []*source{twice, again} {
			s.parseText(bytes.NewReader(one))
		}
		twice.parseText(bytes.NewReader(two))
		again.series, again.index = nil, nil // knows no series by their bytes
		again.parseText(bytes.NewReader(two))
		if got, want := twice.all(), again.all(); !slices.Equal(got, want) {
			t.Fatalf("%q, then %q: values %q, want %q", one, two, got, want)
		}
		a.newMu.Lock()
		a.fresh = nil
		a.newMu.Unlock()
	})
}

func TestNumbering(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "144.0.py")
	n, err := openNumbering(path)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"control", "", "a b", "back\\slash \\u0041", "line\nbreak\r", "é ÿ", "日本", "😀", "nul\x00\x1a"}
	for i, name := range names {
		if got, ok := n.add(name, 100); got != int32(i) || !ok {
			t.Fatalf("add(%q) = %d, %v", name, got, ok)
		}
	}
	n.prefixed = true
	r, ok := n.record()
	if err := r.write(); err != nil || !ok {
		t.Fatal(err, ok)
	}
	again, err := openNumbering(path)
	if err != nil || !slices.Equal(again.names, names) || !again.prefixed {
		t.Errorf("read again: %q, %v, %v", again.names, again.prefixed, err)
	}
	if _, ok := again.add("one more", len(names)); ok {
		t.Error("add goes beyond its limit")
	}
	for _, text := range []string{"", "(lp0\n", "(lp0\nVa\n.", "x", "(lp0\ncos\nsystem\np1\n(S'true'\ntR.I00\n.", "(lp0\nVa\np1\naVa\np2\na.I00\n.", "(lp0\nV\\uzzzz\np1\na.I00\n."} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if n, err := openNumbering(path); err == nil && text != "(lp0\nVa\n." || n == nil {
			t.Errorf("%q is accepted as %q", text, n.names)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add([]byte("(lp0\nVcontrol\np1\naVa\\u005cb\np2\na.I01\n."))
	f.Add([]byte("(lp0\nS'a'\np1\na."))
	f.Add([]byte("(lp0\n.I00\n."))
	f.Fuzz(func(t *testing.T, b []byte) {
		names, flag, err := unpickle(b)
		if err != nil {
			return
		}
		got, gotFlag, err := unpickle(pickle(names, flag))
		if err != nil || !slices.Equal(got, names) || flag != gotFlag {
			t.Fatalf("%q, %v written and read again are %q, %v, %v", names, flag, got, gotFlag, err)
		}
	})
}

func FuzzURLFile(f *testing.F) {
	f.Add("http://localhost:9090/metrics\nHEADER: a: b\nFILTER: EXCLUDE METRIC x.*\nFILTER: OPTIONAL LABEL (a|b)\nMETADATA: x u32 y counter Kbyte / sec\n")
	f.Add("file:///x\n#\n\nHEADER:\nFILTER: INCLUDE METRIC [\n")
	f.Add("https://u:p@h/\nHEADER: a\x00: b")
	f.Fuzz(func(t *testing.T, text string) {
		u, problems, err := parseURLFile(text)
		if err != nil {
			return
		}
		for _, p := range problems {
			if strings.Contains(p, "s3cret") {
				t.Fatal(p)
			}
		}
		decide(u.metrics, "x")
		decide(u.labels, "x")
	})
}

// BenchmarkSource measures what a reading of a thousand series costs once they are known.
func BenchmarkSource(b *testing.B) {
	s := testSource(b)
	text := exposition(1000, 1)
	r := bytes.NewReader(text)
	s.parseText(r)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(text)
		if out, err := s.parseText(r); err != nil || out.samples != 1000 {
			b.Fatal(out, err)
		}
	}
}

// BenchmarkFile measures a fetch of a source that is a file.
func BenchmarkFile(b *testing.B) {
	dir, state := b.TempDir(), b.TempDir()
	path := filepath.Join(state, "text")
	if err := os.WriteFile(path, exposition(1000, 1), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.url"), []byte("file://"+path), 0o644); err != nil {
		b.Fatal(err)
	}
	a, err := New(Config{Dirs: []string{dir}, State: "-", Wait: true})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	ids := []pcp.PMID{pcp.NewPMID(Domain, 1, 0)}
	b.ReportAllocs()
	for b.Loop() {
		a.Prepare(context.Background(), ids)
	}
}
