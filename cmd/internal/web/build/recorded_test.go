package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/web"
)

var types = map[string]pcp.Type{"u32": pcp.TypeU32, "u64": pcp.TypeU64, "float": pcp.TypeFloat, "double": pcp.TypeDouble, "string": pcp.TypeString}

// record writes an archive of the fake collector, a sample every ten seconds from one time to another.
func (f *fake) record(t *testing.T, base, host string, from, to time.Time) {
	t.Helper()
	im, err := importer.Start(base, importer.Options{Host: host, TimeZone: "UTC"})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	indoms := map[string]pcp.InDom{}
	handles := map[string][]importer.Handle{}
	for _, m := range f.metrics {
		desc := pcp.Desc{PMID: pcp.PMIDNull, Type: types[m.kind], InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		switch m.sem {
		case "counter":
			desc.Sem = pcp.SemCounter
		case "discrete":
			desc.Sem = pcp.SemDiscrete
		}
		if m.units != "none" {
			desc.Units, _, err = pcp.ParseUnits(m.units)
			check(err)
		}
		if m.indom != "" {
			if _, ok := indoms[m.indom]; !ok {
				indoms[m.indom] = im.NewInDom()
				for i, name := range f.domains[m.indom] {
					check(im.AddInstance(indoms[m.indom], name, int32(i)))
				}
			}
			desc.InDom = indoms[m.indom]
		}
		_, err := im.AddMetric(m.name, desc)
		check(err)
		for _, i := range f.instances(m) {
			name := ""
			if i >= 0 {
				name = f.domains[m.indom][i]
			}
			h, err := im.Handle(m.name, name)
			check(err)
			handles[m.name] = append(handles[m.name], h)
		}
	}
	for at := from.Truncate(recordedEvery * time.Second); !at.After(to); at = at.Add(recordedEvery * time.Second) {
		for _, m := range f.metrics {
			for i, h := range handles[m.name] {
				switch v := m.value(i, float64(at.Unix())).(type) {
				case string:
					check(h.PutString(v))
				case int:
					check(h.PutInt(int64(v)))
				case float64:
					check(h.PutDouble(v))
				}
			}
		}
		check(im.Write(at))
	}
	check(im.End())
}

// seriesOf serves archives as pmproxy does.
func seriesOf(t *testing.T, dir string) http.Handler {
	t.Helper()
	store, err := archives.Open(t.Context(), archives.Config{Dirs: []string{dir}, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if err := store.GC(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := seriesapi.New(seriesapi.Config{Store: store, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestRecorded goes back through real archives with a live collector: two files, the first of which
// ends an hour ago, with a gap between them.
func TestRecorded(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	now := time.Now()
	f.record(t, filepath.Join(dir, "first"), "fake.example.com", now.Add(-2*time.Hour), now.Add(-50*time.Minute))
	f.record(t, filepath.Join(dir, "second"), "fake.example.com", now.Add(-40*time.Minute), now)
	f.record(t, filepath.Join(dir, "other"), "other.example.com", now.Add(-time.Hour), now.Add(-30*time.Minute))
	f.real = seriesOf(t, dir)
	p := open(t, f, fmt.Sprintf("#/overview?end=%d", now.Add(-time.Hour).Unix()), 1280, 1400)
	p.until(drawn)
	p.until("[...document.querySelectorAll('.numbers td')].filter((x) => /\\d/.test(x.textContent)).length > 30")
	p.until("document.querySelectorAll('.list tbody tr').length >= 8") // past processes and groups
	p.shot("hour-ago")
	p.says("[aria-label=Alerts] td", "fake.example.com")
	// The numbers are from that time.
	at := now.Add(-time.Hour).Truncate(recordedEvery * time.Second)
	want := f.pick("kernel.all.load")[0].value(0, float64(at.Unix())).(float64)
	var got float64
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if got = p.cell("Load", "1 minute"); math.Abs(got-want) <= 0.06 || time.Now().After(deadline) {
			break
		}
	}
	if math.Abs(got-want) > 0.06 {
		t.Errorf("the load an hour ago was %v, the page says %v", want, got)
	}
	if !f.asked("/series/values?") || !f.asked("/series/query?") {
		t.Error("the archives were not asked")
	}
	// There is no data between the two archives, and the page reports that.
	p.do(fmt.Sprintf("location.hash = '#/overview?window=60&end=%d'", now.Add(-43*time.Minute).Unix()))
	p.until("[...document.querySelectorAll('.plot .why')].filter((x) => x.textContent.includes('Nothing was recorded')).length >= 5")
	p.shot("gap")
	// An hour and a half of it, over the gap and both archives.
	p.do(fmt.Sprintf("location.hash = '#/overview?window=5400&end=%d'", now.Add(-5*time.Minute).Unix()))
	p.until(drawn)
	p.until("[...document.querySelectorAll('.numbers td')].filter((x) => /\\d/.test(x.textContent)).length > 30")
	p.shot("both")
	p.button("Live")
	p.until("document.querySelector('.livebutton').getAttribute('aria-pressed') === 'true'")
	p.until(drawn)
}

// cell reads the last value of a line of the chart with a title.
func (p *tab) cell(title, line string) float64 {
	p.t.Helper()
	js := fmt.Sprintf("[...document.querySelectorAll('.card')].find((c) => c.querySelector('h2')?.textContent === %q)?.querySelectorAll('tbody tr') ?? []", title)
	text := eval[string](p, fmt.Sprintf("[...%s].find((r) => r.querySelector('th').textContent.includes(%q))?.querySelector('td').textContent ?? ''", js, line))
	v, err := strconv.ParseFloat(strings.Fields(text + " x")[0], 64)
	if err != nil {
		p.t.Fatalf("%s, %s: %q", title, line, text)
	}
	return v
}

// TestPast shows archives without any collector, as "pcp chart -a" serves them.
func TestPast(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	end := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	f.record(t, filepath.Join(dir, "a"), "fake.example.com", end.Add(-time.Hour), end)
	f.record(t, filepath.Join(dir, "b"), "other.example.com", end.Add(-20*time.Minute), end.Add(-10*time.Minute))
	page, err := web.New(web.Config{Past: true})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/series/", seriesOf(t, dir))
	f.Server.Close()
	var asked []string
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		mux.ServeHTTP(w, r)
	}))
	p := open(t, f, "", 1280, 1400)
	p.until(drawn)
	p.until(fmt.Sprintf("location.hash.includes('end=%d') && document.querySelector('.when').textContent.startsWith('29 Feb 2024, 12:00:00')", end.Unix()))
	p.until("document.querySelectorAll('.list tbody tr').length >= 7")
	p.shot("end")
	if n := eval[int](p, "document.querySelectorAll('.trouble').length"); n > 0 {
		t.Errorf("trouble: %s", p.text(".trouble"))
	}
	p.button("Back by a window")
	p.until(fmt.Sprintf("location.hash.includes('end=%d')", end.Unix()-300))
	p.key("l")
	p.until(fmt.Sprintf("location.hash.includes('end=%d')", end.Unix()))
	p.key(" ")
	p.until("document.querySelector('.play').getAttribute('aria-label') === 'Play'") // there is nothing to come
	p.key("m")
	p.until("document.querySelectorAll('[role=treeitem]').length > 3")
	p.shot("metrics")
	p.key("o")
	p.selects("Host", "other.example.com")
	p.until("location.hash.includes('host=other.example.com') && document.title.startsWith('other.example.com')")
	p.do(fmt.Sprintf("location.hash = '#/overview?host=other.example.com&end=%d'", end.Add(-10*time.Minute).Unix()))
	p.until(drawn)
	p.shot("other-host")
	if slices.Contains(asked, "/pmapi/context") {
		t.Error("a collector was asked for")
	}
}

// TestViews opens all pmchart views of this machine, with links as created by "pcp chart -c".
func TestViews(t *testing.T) {
	var list []string
	for _, dir := range []string{"/etc/pcp/pmchart", "/var/lib/pcp/config/pmchart"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		list = append(list, files...)
	}
	if len(list) == 0 {
		t.Skip("SKIPPED: no views of pmchart are installed")
	}
	f := newFake(t)
	p := open(t, f, "#/charts", 1280, 900)
	for i, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		charts := len(regexp.MustCompile(`(?mi)^\s*chart\b`).FindAll(text, -1))
		if charts == 0 || !strings.HasPrefix(strings.ToLower(string(text)), "#kmchart") {
			continue
		}
		q := url.Values{"view": {string(text)}, "name": {fmt.Sprintf("%d %s", i, filepath.Base(path))}}
		p.do(fmt.Sprintf("location.hash = %q", "#/charts?"+q.Encode()))
		p.until(fmt.Sprintf("document.querySelector('.title').value.startsWith('%d ') && document.querySelectorAll('.card').length === %d", i, charts))
	}
	p.shot("last")
}
