package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/fleet"
)

// A cluster is the source of the values of many made-up hosts. The last host has a hostile name, the first one the highest load.
type cluster struct {
	names []string
	began time.Time
}

func newCluster(n int) *cluster {
	c := &cluster{began: time.Now()}
	for i := range n {
		c.names = append(c.names, fmt.Sprintf("node-%05d.example.com", i))
	}
	c.names[n-1] = hostile
	return c
}

// Range implements fleet.Source.
func (c *cluster) Range(_ context.Context, expr string, start, end time.Time, step time.Duration, each func(labels.Labels, []promql.FPoint) error) error {
	f := fnv.New32a()
	f.Write([]byte(expr))
	seed := f.Sum32()
	var points []promql.FPoint
	for i, name := range c.names {
		points = points[:0]
		for t := start; !t.After(end); t = t.Add(step) {
			x := float64(seed%97) + float64(i%1000)
			v := 0.5 + 0.45*math.Sin(x+float64(t.Unix())/600)
			switch {
			case strings.Contains(expr, "ncpu"):
				v = 4
			case strings.Contains(expr, "physmem"):
				v = 1000
			case strings.Contains(expr, "available"):
				v = 400 + 100*v
			case strings.HasPrefix(expr, "kernel_all_load"):
				v *= 4
				if i == 0 {
					v = 4 * 37
				}
			case strings.Contains(expr, "pressure"):
				v *= 1e4
			case strings.Contains(expr, "avactive"):
				v *= 100
			case strings.Contains(expr, "network"):
				v *= 1e7
			case strings.Contains(expr, "swap_used"):
				v = float64(i)
			}
			points = append(points, promql.FPoint{T: t.UnixMilli(), F: v})
		}
		set := labels.FromStrings("hostname", name, "place", fmt.Sprintf("site%d", i%7), "evil", hostile)
		if err := each(set, points); err != nil {
			return err
		}
	}
	return nil
}

// serveFleet adds hosts to a fake.
func (f *fake) serveFleet(t *testing.T, n int, recording ...fleet.Recording) *cluster {
	t.Helper()
	c := newCluster(n)
	cfg := fleet.Config{Source: c, Hosts: func(context.Context) ([]string, error) { return c.names, nil }}
	if recording != nil {
		cfg.Recording = func(context.Context) ([]fleet.Recording, error) { return recording, nil }
	}
	hosts := fleet.New(cfg)
	t.Cleanup(func() { hosts.Close() })
	f.fleet = hosts.Handler(fleet.View{Recording: true})
	return c
}

const (
	firstRow = "document.querySelector('.fleet tr[data-row=\"0\"]')"
	// pixels returns the pixels of a canvas, from a copy: Chromium complains of pictures that are read again and again.
	pixels   = "((c, y, h) => { const o = document.createElement('canvas'); o.width = c.width; o.height = c.height; const g = o.getContext('2d', {willReadFrequently: true}); g.drawImage(c, 0, 0); return g.getImageData(0, y, c.width, h).data; })"
	pictures = "[...document.querySelectorAll('.fleet tr[data-row] canvas')].filter((c) => " + pixels + "(c, 0, c.height).some((x) => x)).length"
)

// TestFleet shows 10,000 hosts: sorted, filtered, scrolled, and opened, by mouse and keys.
func TestFleet(t *testing.T) {
	f := newFake(t)
	f.serveFleet(t, 10_000, fleet.Recording{Host: "node-00003.example.com", Owner: "recorder-1 " + hostile, Lag: 12 * time.Second, Error: "no route " + hostile})
	p := open(t, f, "", 1440, 900)
	p.until("[...document.querySelectorAll('.head nav a')].some((a) => a.textContent === 'Fleet')")
	p.key("f")
	p.until(firstRow + ".textContent.startsWith('node-00000.example.com')")
	p.until("document.querySelector('.fleet .count').textContent === '10000 hosts'")
	p.until(pictures + " > 100")
	p.shot("table")
	if n := eval[int](p, "document.querySelectorAll('.fleet tr[data-row]').length"); n > 80 {
		t.Errorf("%d rows are in the document", n)
	}
	if got := eval[string](p, firstRow+".children[2].textContent"); got != "37.00" {
		t.Errorf("the load of the first host is %q", got)
	}

	// Scrolling, each frame by some rows.
	spent := p.spent()
	frames := eval[map[string]float64](p, fmt.Sprintf(`(async () => {
		const box = document.querySelector('.fleet .rows');
		const long = [];
		const o = new PerformanceObserver((l) => long.push(...l.getEntries().map((e) => e.duration)));
		o.observe({entryTypes: ['longtask']});
		const gaps = [];
		let last = performance.now();
		for (let k = 0; k < %d; k++) {
			box.scrollTop += k %% 40 === 39 ? 50000 : 97;
			await new Promise((r) => requestAnimationFrame(r));
			const now = performance.now();
			gaps.push(now - last);
			last = now;
		}
		await new Promise((r) => setTimeout(r, 100));
		o.disconnect();
		gaps.sort((a, b) => a - b);
		return {frames: gaps.length, median: gaps[gaps.length >> 1], p95: gaps[Math.floor(gaps.length * 0.95)], longest: gaps[gaps.length - 1], long: long.length, task: Math.max(0, ...long), top: box.scrollTop};
	})()`, 240), chromedp.EvalAwaitPromise)
	t.Logf("scrolling 10,000 rows: %v", frames)
	for name, v := range p.spent() {
		t.Logf("%s: %.1f ms a frame", name, 1000*(v-spent[name])/frames["frames"])
	}
	// The times depend on the load of the machine, and are only reported.
	if frames["top"] < 20000 {
		t.Errorf("scrolling: %v", frames)
	}
	p.until(pictures + " > 100") // of the rows where it rests
	p.shot("scrolled")
	if n := eval[int](p, "document.querySelectorAll('.fleet tr[data-row]').length"); n > 80 {
		t.Errorf("%d rows are in the document after scrolling", n)
	}

	// By a column, both ways; rows begin at the top again.
	p.do("[...document.querySelectorAll('.fleet .sort')].find((b) => b.textContent.startsWith('Network')).click()")
	p.until("document.querySelector('.fleet [aria-sort=descending]').textContent.startsWith('Network') && document.querySelector('.fleet .rows').scrollTop === 0 && " + firstRow)
	high := eval[string](p, firstRow+".children[8].textContent")
	p.do("[...document.querySelectorAll('.fleet .sort')].find((b) => b.textContent.startsWith('Network')).click()")
	p.until(fmt.Sprintf("document.querySelector('.fleet [aria-sort=ascending]') && %s.children[8].textContent !== %q", firstRow, high))
	p.until("location.hash === '#/fleet?sort=-network'")
	p.do("[...document.querySelectorAll('.fleet .sort')].find((b) => b.textContent.startsWith('Recording')).click()")
	p.until(firstRow + ".textContent.includes('recorder-1') && " + firstRow + ".textContent.includes('no route')")

	// By words and labels.
	filter := func(text string) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const i = document.querySelector('.fleet input'); i.value = %q; i.dispatchEvent(new Event('input', {bubbles: true})); })()", text))
	}
	filter("node-0001 place=site3")
	p.until("document.querySelector('.fleet .count').textContent === '1 of 10000 hosts' || document.querySelector('.fleet .count').textContent === '2 of 10000 hosts'")
	filter("place=site3")
	p.until("document.querySelector('.fleet .count').textContent === '1429 of 10000 hosts'")
	filter("place!=site3 node-0000")
	p.until("document.querySelector('.fleet .count').textContent === '9 of 10000 hosts'")
	filter("nosuchhost")
	p.until("document.querySelector('.fleet .why').textContent.includes('nosuchhost')")
	filter("onerror")
	p.until(firstRow + fmt.Sprintf(".querySelector('a').textContent === %q", hostile))
	filter("")

	// A key that comes right after a new order, before the page is drawn, is not undone by the order's beginning.
	p.until(firstRow)
	p.do(`(async () => {
		const s = document.querySelector('.fleet select[aria-label="Sort by"]');
		s.value = 'load';
		s.dispatchEvent(new Event('change', {bubbles: true}));
		for (let k = 0; k < 100 && !document.querySelector('.fleet [aria-sort=descending]')?.textContent.startsWith('Load'); k++) await null;
		document.querySelector('.fleet .rows').dispatchEvent(new KeyboardEvent('keydown', {key: 'End', bubbles: true}));
	})()`)
	p.until("document.activeElement.closest('tr')?.dataset.row === '9999'")

	// With keys: to the last host and back to the second, which is opened. Its collector is not reached: its archives are shown.
	p.do("document.querySelector('.fleet select[aria-label=\"Sort by\"]').value = 'host'; document.querySelector('.fleet select[aria-label=\"Sort by\"]').dispatchEvent(new Event('change', {bubbles: true}))")
	p.until("document.querySelector('.fleet [aria-sort=ascending]').textContent.startsWith('Host')")
	p.do("document.querySelector('.fleet .rows').focus()")
	p.run(chromedp.KeyEvent(kb.End))
	p.until("document.activeElement.closest('tr')?.dataset.row === '9999'")
	p.run(chromedp.KeyEvent(kb.Home))
	p.until("document.activeElement.closest('tr')?.dataset.row === '0'")
	p.run(chromedp.KeyEvent(kb.ArrowDown))
	p.until("document.activeElement.textContent === 'node-00000.example.com'")
	p.run(chromedp.KeyEvent("\r"))
	p.until("location.hash.startsWith('#/overview?host=node-00000.example.com&from=any')")
	p.do("history.back()")
	p.until(firstRow + " && location.hash.includes('sort=host')")
}

// spent returns the seconds that the page has taken so far, by kinds of work.
func (p *tab) spent() map[string]float64 {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, performance.Enable, performance.EnableParams{}); err != nil {
		p.t.Fatal(err)
	}
	r, err := chromedp.Call(p.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, m := range r.Metrics {
		switch m.Name {
		case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration":
			out[m.Name] = m.Value
		}
	}
	return out
}

// TestFleetHost opens the page of a host whose collector cannot be reached, with its archives, and returns to the server's own.
func TestFleetHost(t *testing.T) {
	f := newFake(t)
	f.serveFleet(t, 3)
	f.elsewhere = map[string]bool{"node-00001.example.com": true}
	p := open(t, f, "#/fleet", 1280, 900)
	p.until("document.querySelectorAll('.fleet tr[data-row]').length === 3")
	p.click("a[title='node-00001.example.com']")
	p.until("document.querySelector('.livebutton').textContent.trim() === 'End' && document.querySelector('.head .name').textContent === 'node-00001.example.com'")
	p.until("document.querySelectorAll('.uplot canvas').length >= 6")
	p.shot("archives")
	p.key("f")
	p.until("document.querySelectorAll('.fleet tr[data-row]').length === 3")
	p.button("Own host")
	p.until("document.querySelector('.head .name').textContent === 'fake.example.com' && !location.hash.includes('from=')")
	// A host of which nothing is recorded, and whose name is not that of a host.
	p.do(fmt.Sprintf("[...document.querySelectorAll('.fleet a')].find((a) => a.textContent === %q).click()", hostile))
	p.until(fmt.Sprintf("document.querySelector('.trouble').textContent.includes('nothing is recorded of ' + %q)", hostile))
	// A collector that the server reaches is shown live.
	p.key("f")
	p.click("a[title='node-00000.example.com']")
	p.until("document.querySelector('.livebutton').textContent.trim() === 'Live' && document.querySelector('.host.ok')")
	if !f.asked("/pmapi/context?hostspec=node-00000.example.com") {
		t.Error("the collector of the host was not asked for")
	}
}

// TestNoFleet checks that a server of one host has no entry for several.
func TestNoFleet(t *testing.T) {
	for _, n := range []int{0, 1} {
		f := newFake(t)
		if n > 0 {
			f.serveFleet(t, n)
		}
		p := open(t, f, "", 1280, 900)
		p.until(drawn)
		p.key("f")
		if !f.asked("/fleet/hosts?count=") || eval[bool](p, "[...document.querySelectorAll('.head nav a')].some((a) => a.textContent === 'Fleet') || location.hash.includes('fleet')") {
			t.Errorf("with %d hosts there is a fleet", n)
		}
	}
}

// TestHeatMap shows one metric on all hosts.
func TestHeatMap(t *testing.T) {
	f := newFake(t)
	f.serveFleet(t, 10_000)
	p := open(t, f, "#/fleet?heat=load", 1440, 900)
	coloured := "(() => { const c = document.querySelector('.map canvas'); const d = " + pixels + "(c, 40, c.height - 60); let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (d.length / 4); })()"
	p.until(coloured + " > 0.8")
	p.shot("load")
	hover := func(x, y int) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const m = document.querySelector('.map'); const r = m.getBoundingClientRect(); m.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: r.left + %d, clientY: r.top + %d})); })()", x, y))
	}
	hover(500, 21)
	p.until("document.querySelector('.tip').innerText.split('\\n').length === 3 && document.querySelector('.tip').textContent.startsWith('node-00000.example.com37.00')")
	// By keys, aloud.
	p.do("document.querySelector('.map').focus()")
	p.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowLeft))
	p.until("/.+, [0-9.]+, \\d+ \\w+ \\d{4}/.test(document.querySelector('.heat [role=status].vh').textContent)")
	// Of a metric, with the largest numbers last in the order of names.
	p.do("document.querySelector('.heat .typeahead input').focus()")
	p.run(chromedp.KeyEvent("swap.used"), chromedp.KeyEvent("\r"))
	p.until("document.querySelector('.heat').getAttribute('aria-label') === 'swap.used on all hosts'")
	p.do("location.hash = '#/fleet?heat=swap.used&sort=-host'")
	p.until(coloured + " > 0.8")
	hover(500, 21)
	p.until("document.querySelector('.tip').textContent.startsWith('node-09998.example.com9.76 KiB')")
	p.shot("metric")
	p.do("document.querySelector('.map').scrollTop = 1e6")
	p.until(coloured + " > 0.5")
	p.do("document.querySelector('.map').focus()")
	p.run(chromedp.KeyEvent(kb.Home), chromedp.KeyEvent("\r"))
	p.until("location.hash.startsWith('#/overview?host=node-09998.example.com')")
	if !f.asked("/fleet/heat?metric=swap.used") {
		t.Error("the metric was not asked for")
	}
}

// TestFleetNarrow checks that the table and the heat map fit a small screen, light and dark.
func TestFleetNarrow(t *testing.T) {
	f := newFake(t)
	f.serveFleet(t, 50, fleet.Recording{Host: "node-00003.example.com", Owner: "r", Lag: -1})
	p := open(t, f, "#/fleet", 390, 844)
	for _, view := range []string{"#/fleet", "#/fleet?sort=memory", "#/fleet?sort=recording", "#/fleet?heat=load"} {
		p.do(fmt.Sprintf("location.hash = %q", view))
		p.until("document.querySelector('.fleet .count').textContent === '50 hosts' && (document.querySelector('.map canvas') || document.querySelector('.fleet tr[data-row]'))")
		for range 2 {
			p.key("d")
			if w := eval[int](p, "document.documentElement.scrollWidth"); w > 390 {
				t.Errorf("%s is %d pixels wide", view, w)
			}
			if w := eval[int](p, "(document.querySelector('.fleet .rows') ?? document.querySelector('.map')).scrollWidth"); w > 390 {
				t.Errorf("the rows of %s are %d pixels wide", view, w)
			}
			p.shot(strings.Trim(strings.ReplaceAll(view, "/", "-"), "#") + eval[string](p, "document.documentElement.dataset.theme"))
		}
	}
}

// axe is the package of npm that checks pages for people without a mouse or good sight.
const axe = "axe-core@4.14.1"

// axeScript returns the script of axe, or skips the test.
func axeScript(t *testing.T) string {
	t.Helper()
	chrome(t)
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("SKIPPED: npm is not installed (Debian's package npm has it)")
	}
	dir := t.TempDir()
	cmd := exec.Command(npm, "install", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", "--prefix", dir, axe)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: npm does not get %s: %v\n%.1000s", axe, err, out)
	}
	script, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// accessible has axe check the page.
func (p *tab) accessible(script, what string) {
	p.t.Helper()
	p.do(script + ";0")
	list := eval[[]string](p, `axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')))`, chromedp.EvalAwaitPromise)
	for _, v := range list {
		p.t.Errorf("%s, %s: %s", what, eval[string](p, "document.documentElement.dataset.theme"), v)
	}
}

// TestFleetAccessible has axe check the table and the heat map, light and dark.
func TestFleetAccessible(t *testing.T) {
	script := axeScript(t)
	f := newFake(t)
	f.serveFleet(t, 300, fleet.Recording{Host: "node-00003.example.com", Owner: "r", Lag: time.Second, Error: "e"})
	p := open(t, f, "#/fleet", 1280, 900)
	for _, view := range []string{"#/fleet", "#/fleet?heat=load"} {
		p.do(fmt.Sprintf("location.hash = %q", view))
		p.until("document.querySelector('.fleet .count').textContent === '300 hosts' && (document.querySelector('.map canvas') || document.querySelector('.fleet tr[data-row]'))")
		for range 2 {
			p.key("d")
			p.accessible(script, view)
		}
	}
}
