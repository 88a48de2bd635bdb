package search

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// small are documents of a small host.
func small() []Document {
	return []Document{
		{Metric, "disk.all.read", "none", "total read operations", "Cumulative number of disk read operations since system boot time."},
		{Metric, "disk.dev.read", "60.1", "per-disk read operations", "Cumulative number of disk read operations since system boot time."},
		{Metric, "disk.dev.write", "60.1", "per-disk write operations", ""},
		{Metric, "kernel.all.load", "60.2", "1, 5 and 15 minute load average", "The load of the kernel, as \"uptime\" has it."},
		{Metric, "kernel.all.cpu.idle", "none", "total idle CPU time", ""},
		{Metric, "mem.vmstat.nr_free_pages", "none", "number of free pages", ""},
		{InDom, "60.1", "60.1", "set of all disks", ""},
		{InDom, "60.2", "60.2", "load averages", ""},
		{Instance, "sda", "60.1", "", ""},
		{Instance, "nvme0n1", "60.1", "", ""},
		{Instance, "1 minute", "60.2", "", ""},
		{Instance, "Grüße", "60.2", "", ""},
	}
}

func newSmall(t testing.TB) *Index {
	t.Helper()
	x := NewIndex(Limits{})
	if err := x.Replace("small", small()); err != nil {
		t.Fatal(err)
	}
	return x
}

// names returns the names of a request's results, in one line.
func names(t testing.TB, x *Index, r Request) string {
	t.Helper()
	res, err := x.Text(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return list(res)
}

func list(res Result) string {
	var l []string
	for _, h := range res.Hits {
		l = append(l, h.Name)
	}
	return strings.Join(l, " ")
}

// TestText checks the results of queries.
func TestText(t *testing.T) {
	x := newSmall(t)
	for _, c := range []struct{ query, want string }{
		{"", ""},
		{"the", ""},
		{"of the", ""},
		{"nothing", ""},
		{"sda", "sda"},
		{"SDA", "sda"},
		{"grüße", "Grüße"},
		{"disk.dev.read", "disk.dev.read"},
		{"disk read", "disk.all.read disk.dev.read"},
		{"read disk", "disk.all.read disk.dev.read"},     // the help has a disk after a read
		{"load kernel", "kernel.all.load"},               // the help has "load" and "kernel"
		{"idle kernel", "kernel.all.cpu.idle"},           // no document has this order: the order is ignored
		{"page", "mem.vmstat.nr_free_pages"},             // pages
		{"free pages", "mem.vmstat.nr_free_pages"},       // parts of a word
		{"nr_free_pages", "mem.vmstat.nr_free_pages"},    // the word
		{`"free pages"`, "mem.vmstat.nr_free_pages"},     // parts follow each other
		{`"pages free"`, ""},                             // the other way round they do not
		{`"number of free"`, "mem.vmstat.nr_free_pages"}, // words that are not indexed are ignored
		{`"number free`, "mem.vmstat.nr_free_pages"},     // missing closing quote
		{`"disk operations"`, "disk.dev.write disk.dev.read"[:0]},
		{"nvm*", "nvme0n1"},
		{"nv*", "nvme0n1"},
		{"n*", ""}, // too short, and no word
		{"disk -read", "60.1 disk.dev.write"},
		{"disk -(read|set)", "disk.dev.write"},
		{`disk -"set of all"`, "disk.all.read disk.dev.read disk.dev.write"},
		{"sda|nvme0n1", "nvme0n1 sda"},
		{"sda | nvme0n1 | ", "nvme0n1 sda"},
		{"disk write|set", "60.1 disk.dev.write"},
		{"%krenel%", "kernel.all.cpu.idle kernel.all.load"},
		{"%kernl% idle", "kernel.all.cpu.idle"},
		{"%xx", ""},
		{"-disk -kernel -set -load -minute -free", "Grüße nvme0n1 sda"},
		{"|", ""},
		{")(", ""},
		{"((sda", "sda"},
		{"sda))", "sda"},
		{"-", ""},
		{"--sda", "sda"},
		{"@NAME:{sda}", ""},
		{"60.1", "60.1"},
		{"1 minute", "1 minute kernel.all.load"},
		{"\x00\xff\xfe", ""},
		{"()", ""},
		{"(-)", ""},
		{"%%%", ""},
		{`"`, ""},
	} {
		if got := names(t, x, Request{Query: c.query}); c.want != got && !sameSet(got, c.want) {
			t.Errorf("%q finds %q, want %q", c.query, got, c.want)
		}
	}
}

// sameSet compares names, ignoring their order.
func sameSet(a, b string) bool {
	count := map[string]int{}
	for _, s := range strings.Fields(a) {
		count[s]++
	}
	for _, s := range strings.Fields(b) {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// TestRank checks that a name weighs more than help, and that the order of
// equal results is always the same.
func TestRank(t *testing.T) {
	x := NewIndex(Limits{})
	x.Replace("a", []Document{
		{Metric, "a.help", "none", "nothing here", "there may be a swap in this text"},
		{Metric, "b.line", "none", "the swap of this", "nothing else here"},
		{Metric, "swap.used", "none", "nothing to see", "nothing more to see"},
		{Instance, "swap", "1.1", "", ""},
		{Instance, "swap", "1.2", "", ""},
	})
	if got, want := names(t, x, Request{Query: "swap"}), "swap swap swap.used b.line a.help"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	res, _ := x.Text(t.Context(), Request{Query: "swap"})
	if res.Hits[0].InDom != "1.1" || res.Hits[1].InDom != "1.2" || res.Hits[0].Score != res.Hits[1].Score {
		t.Errorf("%+v", res.Hits[:2])
	}
	// Pages have the same order, whether all results are sorted or the first.
	many := make([]Document, 500)
	for i := range many {
		many[i] = Document{Metric, fmt.Sprintf("m%03d.swap", i), "none", strings.Repeat("swap ", i%7), ""}
	}
	x.Replace("many", many)
	all := strings.Fields(names(t, x, Request{Query: "swap", Limit: 1000}))
	for _, at := range []int{0, 3, 40, 400, 504, 505, 1000} {
		got := strings.Fields(names(t, x, Request{Query: "swap", Offset: at, Limit: 5}))
		want := all[min(at, len(all)):min(at+5, len(all))]
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("from %d: %q, want %q", at, got, want)
		}
	}
}

// TestFields searches some fields and some types.
func TestFields(t *testing.T) {
	x := newSmall(t)
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{Query: "disk", Fields: FieldName}, "disk.all.read disk.dev.read disk.dev.write"},
		{Request{Query: "disk", Fields: FieldHelp}, "disk.all.read disk.dev.read"},
		{Request{Query: "disks", Fields: FieldOneLine}, "60.1 disk.dev.read disk.dev.write"},
		{Request{Query: "disk", Types: []Type{InDom}}, "60.1"},
		{Request{Query: "minute", Types: []Type{InDom, Instance}}, "1 minute"},
		{Request{Query: "disk", Types: []Type{77}}, ""},
	} {
		if got := names(t, x, c.r); !sameSet(got, c.want) {
			t.Errorf("%+v finds %q, want %q", c.r, got, c.want)
		}
	}
}

// TestHighlight checks that matching words are marked.
func TestHighlight(t *testing.T) {
	x := newSmall(t)
	for _, c := range []struct{ query, name, line string }{
		{"disk read", "<b>disk</b>.dev.<b>read</b>", "per-<b>disk</b> <b>read</b> operations"},
		{"dis*", "<b>disk</b>.dev.read", "per-<b>disk</b> read operations"},
		{"%dsik% dev", "<b>disk</b>.<b>dev</b>.read", "per-<b>disk</b> read operations"},
		{"disks dev read", "<b>disk</b>.<b>dev</b>.<b>read</b>", "per-<b>disk</b> <b>read</b> operations"},
		{"dev.read -set", "disk.<b>dev</b>.<b>read</b>", "per-disk <b>read</b> operations"},
	} {
		res, err := x.Text(t.Context(), Request{Query: c.query, Highlight: FieldsAll})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range res.Hits {
			found = found || h.Name == c.name && h.OneLine == c.line
		}
		if !found {
			t.Errorf("%q: %+v", c.query, res.Hits)
		}
	}
	if got, want := newHighlighter(&node{op: opWord, word: "free"}).text("nr_free_pages of it"), "nr_<b>free</b>_pages of it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	res, _ := x.Text(t.Context(), Request{Query: "disk read"})
	for _, h := range res.Hits {
		if strings.Contains(h.Name+h.OneLine+h.Help, "<b>") {
			t.Errorf("a mark that nobody asked for, or the index was changed: %+v", h)
		}
	}
}

// TestSuggest completes names.
func TestSuggest(t *testing.T) {
	x := newSmall(t)
	for _, c := range []struct{ query, want string }{
		{"", ""},
		{"dis", "disk.all.read disk.dev.read disk.dev.write"},
		{"disk.d", "disk.dev.write disk.dev.read disk.all.read"},
		{"disk.dev.w", "disk.dev.write disk.dev.read"},
		{"krnel", "kernel.all.cpu.idle kernel.all.load"},
		{"s", "sda"},
		{"60", ""}, // no domains
		{"uptime", ""},
	} {
		res, err := x.Suggest(t.Context(), Request{Query: c.query})
		if err != nil {
			t.Fatal(err)
		}
		got := list(res)
		first := func(s string) string { s, _, _ = strings.Cut(s, " "); return s }
		if !sameSet(got, c.want) || strings.Contains(c.query, ".") && first(got) != first(c.want) {
			t.Errorf("%q suggests %q, want %q", c.query, got, c.want)
		}
	}
}

// TestInDomains searches for instance domains.
func TestInDomains(t *testing.T) {
	x := newSmall(t)
	for _, c := range []struct {
		r     Request
		total int
		want  string
	}{
		{Request{Query: "60.1"}, 5, "60.1 nvme0n1 sda disk.dev.read disk.dev.write"},
		{Request{Query: "60.1", Offset: 1, Limit: 2}, 5, "nvme0n1 sda"},
		{Request{Query: "60.1", Offset: 9}, 5, ""},
		{Request{Query: "60.2|60.2| 60.9"}, 4, "60.2 1 minute Grüße kernel.all.load"},
		{Request{Query: "60"}, 0, ""},
	} {
		res, err := x.InDomains(c.r)
		if err != nil || res.Total != c.total || list(res) != c.want {
			t.Errorf("%+v: %d, %q, %v", c.r, res.Total, list(res), err)
		}
	}
}

// TestReplace adds and removes documents of two sources.
func TestReplace(t *testing.T) {
	x := NewIndex(Limits{})
	one := []Document{
		{Metric, "a.b", "none", "first line", ""},
		{Metric, "a.c", "none", "first line", ""},
		{Metric, "a.c", "none", "first line", ""},
	}
	if err := x.Replace("one", one); err != nil {
		t.Fatal(err)
	}
	x.Replace("two", []Document{{Metric, "a.b", "none", "", "help of two"}, {Metric, "a.d", "none", "first", ""}})
	if got := names(t, x, Request{Query: "first"}); !sameSet(got, "a.b a.c a.d") {
		t.Errorf("both: %q", got)
	}
	if got := names(t, x, Request{Query: "help"}); got != "a.b" {
		t.Errorf("a text that came later: %q", got)
	}
	x.Remove("one")
	if got := names(t, x, Request{Query: "first"}); !sameSet(got, "a.b a.d") {
		t.Errorf("without the first: %q", got)
	}
	x.Add("two", Document{Metric, "a.e", "none", "first", ""}, Document{Metric, "a.d", "none", "second", ""})
	if got := names(t, x, Request{Query: "first|second"}); !sameSet(got, "a.b a.d a.e") {
		t.Errorf("added: %q", got)
	}
	if got := fmt.Sprint(x.Sources()); got != "[two]" {
		t.Errorf("sources %s", got)
	}
	x.Replace("two", nil)
	if got := names(t, x, Request{Query: "a|first|second"}); got != "" || x.Info().Documents != 0 {
		t.Errorf("nothing: %q, %+v", got, x.Info())
	}
	x.Remove("two")
	x.Remove("three")

	// After many changes the index finds the same documents as a new one.
	r := rand.New(rand.NewPCG(1, 2))
	x = NewIndex(Limits{})
	var last []Document
	for range 60 {
		last = last[:0]
		for i := range 100 {
			last = append(last, Document{Metric, fmt.Sprintf("m.n%d", r.IntN(200)), "none", fmt.Sprint("word", r.IntN(5)), strings.Repeat("x ", i)})
		}
		x.Replace("it", last)
	}
	fresh := NewIndex(Limits{})
	fresh.Replace("it", last)
	for i := range 5 {
		q := Request{Query: fmt.Sprint("word", i), Limit: 200}
		if a, b := names(t, x, q), names(t, fresh, q); !sameSet(a, b) {
			t.Errorf("%s: %q, fresh %q", q.Query, a, b)
		}
	}
	if x.dead > compactAbove+len(x.byKey) || x.Info().Documents != fresh.Info().Documents {
		t.Errorf("%d gone, %+v", x.dead, x.Info())
	}
}

// TestLimits exceeds each limit.
func TestLimits(t *testing.T) {
	x := NewIndex(Limits{Documents: 3})
	docs := small()
	if err := x.Replace("a", docs[:3]); err != nil {
		t.Error(err)
	}
	if err := x.Replace("b", docs[:4]); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	if got := names(t, x, Request{Query: "kernel"}); got != "" {
		t.Errorf("a document that does not fit was taken: %q", got)
	}
	long := strings.Repeat("é", MaxText)
	if err := x.Replace("a", []Document{{Metric, "a " + strings.Repeat("x", MaxWord+1), "none", "a b1 " + long, long}}); err != nil {
		t.Fatal(err)
	}
	res, _ := x.Text(t.Context(), Request{Query: "b1"})
	if len(res.Hits) != 1 || len(res.Hits[0].Help) > MaxText || strings.Contains(res.Hits[0].Help, "\ufffd") {
		t.Errorf("%d hits", len(res.Hits))
	}
	for name, q := range map[string]string{
		"long":  strings.Repeat("x", MaxQuery+1),
		"words": strings.Repeat("x ", MaxQueryWords+1),
		"deep":  strings.Repeat("(", MaxDepth+2) + "x",
	} {
		if _, err := x.Text(t.Context(), Request{Query: q}); !errors.Is(err, ErrQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, q := range []string{strings.Repeat("x", MaxQuery+1), strings.Repeat("xy ", MaxQueryWords+1)} {
		if _, err := x.Suggest(t.Context(), Request{Query: q}); !errors.Is(err, ErrQuery) {
			t.Errorf("suggest: %v", err)
		}
	}
	if _, err := x.InDomains(Request{Query: strings.Repeat("x", MaxQuery+1)}); !errors.Is(err, ErrQuery) {
		t.Errorf("indom: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Text(ctx, Request{Query: "x b1 a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
}

// TestID compares with an identifier from PCP's own tests.
func TestID(t *testing.T) {
	d := Document{Type: InDom, Name: "29.3", InDom: "29.3"}
	if got, want := fmt.Sprintf("%x", d.ID()), "6697a5ee42032f3e914b3475c07a16605d3c8b7a"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTogether searches while documents are added and removed.
func TestTogether(t *testing.T) {
	x := newSmall(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 200 {
				switch i {
				case 0:
					x.Replace("more", []Document{{Metric, fmt.Sprintf("more.n%d", n%50), "none", "load of more", ""}})
				case 1:
					x.Info()
					x.Suggest(context.Background(), Request{Query: "mor"})
				default:
					res, err := x.Text(context.Background(), Request{Query: "loa* -minute", Highlight: FieldsAll})
					if err != nil || res.Total < 1 || len(res.Hits) != res.Total {
						t.Errorf("%d of %d, %v", len(res.Hits), res.Total, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"", "a", true},
		{"", "ab", false},
		{"abc", "abc", true},
		{"abc", "abd", true},
		{"abc", "acb", true},
		{"abc", "ab", true},
		{"abc", "bc", true},
		{"abc", "xabc", true},
		{"abc", "cba", false},
		{"abcd", "abdc", true},
		{"abcd", "badc", false},
		{"abcd", "ab", false},
	} {
		if got := within(c.a, c.b); got != c.want || within(c.b, c.a) != got {
			t.Errorf("%q %q: %v", c.a, c.b, got)
		}
	}
}

// FuzzQuery searches for any text. Removing the marks from a highlighted text
// must restore it.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"disk read*", `"a b" -c|(d e`, "%kernl%", "((((", "-|-", "Ä\xff_x__y", "ſ K"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, query, text string) {
		x := NewIndex(Limits{})
		x.Replace("small", small())
		x.Add("fuzz", Document{Metric, "fuzz", "none", text, text})
		res, err := x.Text(t.Context(), Request{Query: query, Highlight: FieldsAll})
		if err != nil {
			if !errors.Is(err, ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		if len(res.Hits) != min(res.Total, DefaultLimit) {
			t.Errorf("%d hits of %d", len(res.Hits), res.Total)
		}
		if strings.Contains(text, "b>") {
			return
		}
		for _, h := range res.Hits {
			strip := strings.NewReplacer("<b>", "", "</b>", "")
			if h.Type == Metric && strip.Replace(h.Name) == "fuzz" && strip.Replace(h.OneLine) != cut(text) {
				t.Errorf("%q highlighted: %q", text, h.OneLine)
			}
		}
		if _, err := x.Suggest(t.Context(), Request{Query: query}); err != nil && !errors.Is(err, ErrQuery) {
			t.Error(err)
		}
		x.InDomains(Request{Query: query})
	})
}

// large returns documents like those of a host with 5,000 metrics.
func large(n int) []Document {
	r := rand.New(rand.NewPCG(3, 4))
	words := make([]string, 4000)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", r.IntN(1<<20))
	}
	some := func(n int) string {
		l := make([]string, n)
		for i := range l {
			// Some words are common.
			l[i] = words[int(float64(len(words))*r.Float64()*r.Float64()*r.Float64())]
		}
		return strings.Join(l, " ")
	}
	docs := make([]Document, n)
	for i := range docs {
		docs[i] = Document{Metric, fmt.Sprintf("%s.m%d", strings.ReplaceAll(some(3), " ", "."), i), "none", some(8), some(40)}
	}
	return docs
}

func BenchmarkReplace5000(b *testing.B) {
	docs := large(5000)
	b.ReportAllocs()
	for b.Loop() {
		NewIndex(Limits{}).Replace("x", docs)
	}
}

func BenchmarkText5000(b *testing.B) {
	docs := large(5000)
	x := NewIndex(Limits{})
	x.Replace("x", docs)
	word := strings.Fields(docs[0].OneLine)[0]
	for _, q := range []string{word, docs[7].Name, "w1*", "%" + word + "%", strings.Join(strings.Fields(docs[0].OneLine)[:3], "|")} {
		b.Run(q, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Text(context.Background(), Request{Query: q, Highlight: FieldsAll})
			}
		})
	}
	b.Run("suggest", func(b *testing.B) {
		for b.Loop() {
			x.Suggest(context.Background(), Request{Query: word[:3]})
		}
	})
}
