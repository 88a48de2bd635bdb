package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// key presses a key on the page itself.
func (p *tab) key(keys string, mods ...chromedp.KeyOption) {
	p.t.Helper()
	p.do("document.activeElement?.blur()")
	p.run(chromedp.KeyEvent(keys, mods...))
}

// number reads a parameter of the link.
func (p *tab) number(name string) float64 {
	p.t.Helper()
	v, err := strconv.ParseFloat(p.link().Get(name), 64)
	if err != nil {
		p.t.Fatalf("%s in the link: %v", name, err)
	}
	return v
}

// selects chooses an option of a list.
func (p *tab) selects(label, value string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector('select[aria-label=%q]')", label))
	p.do(fmt.Sprintf(`(() => {
		const s = document.querySelector('select[aria-label=%q]');
		s.value = %q;
		s.dispatchEvent(new Event('change', {bubbles: true}));
	})()`, label, value))
}

// text returns the text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
}

// says waits until an element has exactly the given text.
func (p *tab) says(selector, want string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q).textContent === %q", selector, want))
}

// button clicks the button with a label or a text.
func (p *tab) button(label string) {
	p.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('button')].find((b) => (b.getAttribute('aria-label') ?? b.textContent.trim()) === %q && !b.disabled)", label)
	p.until(find)
	p.do(find + ".click()")
}

// TestTime tries each time control, by mouse and by key, on the past of the archives.
func TestTime(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1280, 900)
	p.until(drawn)
	live := "document.querySelector('.livebutton').getAttribute('aria-pressed') === 'true'"
	p.until(live)

	p.button("Pause")
	p.until("!(" + live + ") && location.hash.includes('end=')")
	end := p.number("end")
	if now := float64(time.Now().Unix()); math.Abs(now-end) > 60 {
		t.Errorf("paused at %.0f, now is %.0f", end, now)
	}
	// Two steps back and one forward, since the last would be live again.
	at := func(want float64) {
		t.Helper()
		p.until(fmt.Sprintf("location.hash.includes('end=') && Math.abs(new URLSearchParams(location.hash.split('?')[1]).get('end') - %f) < 0.01", want))
	}
	p.button("Step back")
	at(end - 30)
	p.button("Step back")
	at(end - 60)
	p.button("Step forward")
	at(end - 30)
	p.button("Back by a window")
	at(end - 330)
	p.button("Forward by a window")
	at(end - 30)

	// The scrubber reaches an hour, then six.
	p.selects("Reach", "21600")
	scrub := func(k int) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const s = document.querySelector('#scrubber'); s.value = %d; s.dispatchEvent(new Event('input', {bubbles: true})); })()", k))
	}
	scrub(834) // an hour ago
	p.until(fmt.Sprintf("Math.abs(new URLSearchParams(location.hash.split('?')[1]).get('end') - %f) < 120", end-3600))
	p.until(drawn)
	p.until("[...document.querySelectorAll('.numbers td')].filter((x) => /\\d/.test(x.textContent)).length > 20")
	if !f.asked("/series/values?") {
		t.Error("the archives were not asked for values")
	}
	p.shot("hour-ago")
	if s := p.text(".when"); strings.Contains(s, "–") {
		t.Errorf("the time shown is %q", s)
	}

	// The same link in another window shows the same.
	hash := eval[string](p, "location.hash")
	values := "[...document.querySelectorAll('.chart .numbers tbody tr')].map((r) => r.textContent).join('; ')"
	var shown string
	p.until("document.querySelectorAll('.chart .numbers tbody tr').length >= 15")
	shown = eval[string](p, values)
	q := open(t, f, hash, 1280, 900)
	q.until(drawn)
	q.until(fmt.Sprintf("%s === %q", values, shown))

	// It plays, faster if asked.
	p.selects("Speed", "60")
	before := p.number("end")
	p.button("Play")
	p.until("document.querySelector('.play').getAttribute('aria-label') === 'Pause'")
	p.until(fmt.Sprintf("new URLSearchParams(location.hash.split('?')[1]).get('end') > %f", before+30))
	p.button("Pause")
	p.until("document.querySelector('.play').getAttribute('aria-label') === 'Play'")

	p.selects("Window", "3600")
	p.until("location.hash.includes('window=3600')")
	p.selects("Every", "10")
	p.until("location.hash.includes('step=10')")
	p.selects("Zone", "Asia/Tokyo")
	p.until("location.hash.includes('zone=Asia%2FTokyo') && document.querySelector('.when').textContent.includes('GMT+9')")
	p.until(drawn)
	p.shot("tokyo")

	p.button("Live")
	p.until(live + " && !location.hash.includes('end=')")

	// By keys.
	p.key("+")
	p.until("location.hash.includes('window=900')")
	p.key("-")
	p.until("location.hash.includes('window=3600')")
	p.key(" ")
	p.until("location.hash.includes('end=')")
	end = p.number("end")
	p.key(kb.ArrowLeft)
	p.until(fmt.Sprintf("new URLSearchParams(location.hash.split('?')[1]).get('end') < %f", end-300))
	p.key(kb.ArrowRight)
	p.key(kb.ArrowLeft, chromedp.KeyModifiers(chromedp.ModifierShift))
	p.until(fmt.Sprintf("new URLSearchParams(location.hash.split('?')[1]).get('end') < %f", end-3500))
	p.key("l")
	p.until(live)
	dark := "document.documentElement.dataset.theme === 'dark'"
	p.key("d")
	p.until(dark)
	p.until(drawn)
	p.shot("dark")
	p.key("?")
	p.until("document.querySelector('dialog[open] kbd')")
	p.shot("keys")
	p.run(chromedp.KeyEvent(kb.Escape))
	p.until("!document.querySelector('dialog')")
	p.key("m")
	p.until("location.hash.startsWith('#/metrics')")
	p.key("/")
	p.until("document.activeElement.id === 'find'")
	p.key("c")
	p.until("location.hash.startsWith('#/charts')")
	p.key("o")
	p.until("location.hash.startsWith('#/overview')")
	p.do("history.back()")
	p.until("location.hash.startsWith('#/charts')")

	// Dragging over a chart shows that part of it.
	p.key("o")
	p.until(drawn)
	p.do("scrollTo(0, 0)")
	// A chart that is redrawn during a drag ignores it; users drag again.
	for tries := 0; !eval[bool](p, "location.hash.includes('end=')"); tries++ {
		if tries == 20 {
			t.Fatal("dragging over a chart does nothing")
		}
		box := eval[[]float64](p, "(() => { const r = document.querySelector('.uplot .u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
		y := box[1] + box[3]/2
		p.run(chromedp.DragAndDropXY(box[0]+box[2]*0.3, y, box[0]+box[2]*0.6, y, 5))
		time.Sleep(100 * time.Millisecond)
	}
	p.until("location.hash.includes('end=') && new URLSearchParams(location.hash.split('?')[1]).get('window') < 1300")
}

// TestThemes checks that the page follows the system, and the user's choice.
func TestThemes(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1280, 900)
	p.until("document.documentElement.dataset.theme === 'light'")
	media := func(v string) {
		t.Helper()
		_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	media("dark")
	p.until("document.documentElement.dataset.theme === 'dark'")
	p.button("Light theme")
	p.until("document.documentElement.dataset.theme === 'light'")
	p.run(chromedp.Reload())
	p.until("document.documentElement.dataset.theme === 'light' && document.querySelector('.tile')")
}

// TestMetrics walks through all metrics and checks that no text becomes markup.
func TestMetrics(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/metrics", 1280, 900)
	p.until("document.querySelectorAll('[role=treeitem]').length >= 5")
	p.do("[...document.querySelectorAll('[role=treeitem]')].find((b) => b.textContent.startsWith('▸hostile')).click()")
	p.do("0")
	p.until("[...document.querySelectorAll('.leaf')].some((b) => b.textContent === 'values')")
	p.do("[...document.querySelectorAll('.leaf')].find((b) => b.textContent === 'values').click()")
	p.until("document.querySelector('#about').textContent === 'hostile.values'")
	p.until("document.querySelectorAll('.values tbody tr').length === 3 && document.querySelectorAll('.chart tbody tr').length === 3")
	for _, selector := range []string{".oneline", ".help", ".labels", ".values", ".chart table"} {
		p.until(fmt.Sprintf("document.querySelector(%q).textContent.includes(%q)", selector, hostile))
	}
	if n := eval[int](p, "document.querySelectorAll('img, script:not([src])').length"); n != 0 {
		t.Errorf("%d elements were made of text", n)
	}
	p.shot("metric")

	// Ticking an instance draws it alone.
	p.do("document.querySelectorAll('.values input[type=checkbox]')[1].click()")
	p.until("document.querySelectorAll('.chart tbody tr').length === 1 && document.querySelector('.chart tbody tr').textContent.includes('ordinary')")
	p.button("Add to charts")
	p.until("location.hash.startsWith('#/charts') && document.querySelectorAll('.chart tbody tr').length === 1")
	p.until(`new URLSearchParams(location.hash.split('?')[1]).get('d').includes('"instances":["ordinary"]')`)

	// Strings are shown, not drawn.
	p.do("location.hash = '#/metrics?metric=hostile.text'")
	p.until("document.querySelector('#about')?.textContent === 'hostile.text' && document.querySelectorAll('.values td.text').length === 3")
	p.says(".values td.text", hostile)

	// The search matches names first, then help.
	p.do("location.hash = '#/metrics?metric='")
	p.until("document.querySelector('#find')")
	p.do("document.querySelector('#find').focus()")
	p.run(chromedp.KeyEvent("all cpu sys"))
	p.until("document.querySelectorAll('.found .leaf').length === 1 && document.querySelector('.found .name').textContent === 'kernel.all.cpu.sys'")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelector('#about').textContent === 'kernel.all.cpu.sys' && document.querySelector('.facts').textContent.includes('counter')")
	p.until("document.querySelector('.values tbody td').textContent.endsWith('%')")
	p.shot("search")
	p.do("[...document.querySelectorAll('.about .check input')][0].click()") // the counter itself
	p.until("/ [smhd]$/.test(document.querySelector('.chart tbody td').textContent)")
	p.do("(() => { const s = document.querySelector('#find'); s.value = 'nothing has this'; s.dispatchEvent(new Event('input', {bubbles: true})); })()")
	p.until("document.querySelector('.count').textContent.startsWith('0 of')")
}

// TestCharts makes, changes, saves and opens dashboards.
func TestCharts(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts", 1280, 900)
	p.until("document.querySelector('.welcome')")
	p.shot("empty")
	p.key("/")
	p.until("document.activeElement.id === 'add'")
	p.do("document.querySelector('#add').select()") // chromedp types the slash too
	p.run(chromedp.KeyEvent("disk.dev"))
	p.until("document.querySelectorAll('#add-list [role=option]').length >= 1")
	p.shot("typing")
	p.run(chromedp.KeyEvent(".read[sda]"), chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelectorAll('.chart tbody tr').length === 1 && /\\d.*\\/s/.test(document.querySelector('.chart tbody td').textContent)")
	p.do("document.querySelector('#add').focus()")
	p.run(chromedp.KeyEvent("no.such.metric"), chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelector('.typeahead .bad')?.textContent.includes('no.such.metric')")
	p.do("document.querySelector('#add').focus()")
	p.run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("kernel.all.load"), chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelectorAll('.card').length === 2 && document.querySelectorAll('.chart tbody tr').length === 4")

	// A line is hidden by its name and comes back.
	p.do("document.querySelectorAll('.card')[1].querySelector('.line').click()")
	p.until("document.querySelectorAll('tr.off').length === 1")
	p.do("document.querySelector('tr.off .line').click()") // not by its place: lines are ordered by value
	p.until("document.querySelectorAll('tr.off').length === 0")

	// The pointer shows the values at its time next to all charts.
	p.do("scrollTo(0, 0)")
	box := eval[[]float64](p, "(() => { const r = document.querySelector('.uplot .u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
	// The pointer moves, since a pointer at rest while a chart is redrawn would not be noticed.
	for x := 0.6; ; x += 0.01 {
		p.run(chromedp.MouseEvent("mouseMoved", box[0]+box[2]*x, box[1]+box[3]/2))
		if eval[bool](p, "[...document.querySelectorAll('.chart thead')].every((h) => /\\d\\d:\\d\\d:\\d\\d/.test(h.textContent))") {
			break
		}
		if x > 0.95 {
			t.Fatal("the pointer shows no values")
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.run(chromedp.MouseEvent("mouseMoved", 5, 5))
	p.until("[...document.querySelectorAll('.chart thead')].every((h) => h.textContent.includes('now'))")

	// Edit: style, title, instances, another metric.
	p.button("Edit kernel.all.load")
	p.until("document.querySelectorAll('dialog .insts input').length === 3")
	p.do("document.querySelectorAll('dialog .insts input')[2].click()")
	p.do(`(() => {
		const s = document.querySelector('dialog select'); s.value = 'stack'; s.dispatchEvent(new Event('change', {bubbles: true}));
		const i = document.querySelector('dialog input'); i.value = 'My <b>load</b>'; i.dispatchEvent(new Event('input', {bubbles: true}));
	})()`)
	p.do("document.querySelector('dialog [role=combobox]').focus()")
	p.run(chromedp.KeyEvent("hinv.ncpu"), chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelectorAll('dialog .plots li').length === 2")
	p.shot("edit")
	p.button("Done")
	p.until("!document.querySelector('dialog') && document.querySelectorAll('.card')[1].querySelectorAll('tbody tr').length === 3")
	p.says(".card:nth-child(2) h2", "My <b>load</b>")
	p.button("Make My <b>load</b> large")
	p.until("document.querySelector('.card.large .plot.tall')")
	p.shot("large")
	p.button("Make My <b>load</b> small")

	// The saved file can be opened again.
	dir := t.TempDir()
	_, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir})
	if err != nil {
		t.Fatal(err)
	}
	p.do("(() => { const i = document.querySelector('.title'); i.value = 'Mine/../x'; i.dispatchEvent(new Event('input', {bubbles: true})); })()")
	p.until("location.hash.includes('Mine')")
	p.button("Save to a file")
	saved := waitFile(t, filepath.Join(dir, "Mine-..-x.json"))
	var d struct {
		Format string
		Panels []struct {
			Title, Style string
			Plots        []struct{ Metric string }
		}
	}
	if err := json.Unmarshal(saved, &d); err != nil || d.Format != "go-pcp dashboard 1" || len(d.Panels) != 2 || d.Panels[1].Style != "stack" || len(d.Panels[1].Plots) != 2 {
		t.Fatalf("saved: %v\n%s", err, saved)
	}
	p.button("Remove disk.dev.read")
	p.until("document.querySelectorAll('.card').length === 1")
	p.button("Clear")
	p.until("document.querySelector('.welcome')")
	upload := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p.run(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	}
	upload("again.json", string(saved))
	p.until("document.querySelectorAll('.card').length === 2 && document.querySelectorAll('.chart tbody tr').length === 4")

	// The browser remembers them.
	p.run(chromedp.Navigate(f.URL + "/?again#/charts"))
	p.until("document.querySelectorAll('.card').length === 2")

	// A view of pmchart.
	upload("Overview", view)
	p.until("document.querySelector('.title').value === 'Overview' && document.querySelectorAll('.card').length === 3")
	p.until("document.querySelectorAll('.uplot').length === 3")
	p.says(".card h2", "CPU of fake.example.com")
	p.shot("pmchart")

	// Other files are refused, with the place, and nothing is lost.
	for _, x := range []struct{ name, text, says string }{
		{"junk", "\x00\x01", "junk is neither a dashboard nor a view of pmchart"},
		{"list.json", "[]", "title is not a text"},
		{"style.json", `{"title":"x","panels":[{"kind":"chart","title":"x","style":"pie","plots":[]}]}`, "panels[0].style is not one of"},
		{"bad.json", `{"title":"x","panels":[{"kind":"chart","title":"x","style":"line","plots":[{"metric":"a","match":"("}]}]}`, "is not a regular expression"},
		{"future.json", `{"format":"go-pcp dashboard 9","title":"x","panels":[]}`, "the format is"},
		{"view1", "#kmchart\nversion 1\nchart style pie\n", "view1, line 3: "},
		{"view2", "#kmchart\nversion 1\nplot metric a\n", "view2, line 3: a plot before the first chart"},
		{"view3", "#kmchart\nversion 1\nchart style plot\nplot metric a matching (\n", "view3, line 4: "},
	} {
		upload(x.name, x.text)
		p.until(fmt.Sprintf("document.querySelector('.trouble')?.textContent.includes(%q)", x.says))
		if n := eval[int](p, "document.querySelectorAll('.card').length"); n != 3 {
			t.Fatalf("%s: %d charts are left, want 3", x.name, n)
		}
	}
	for _, title := range []string{"Processors", "Memory", "Disks", "Network", "Collector"} {
		p.selects("Open a dashboard", title)
		p.until(fmt.Sprintf("document.querySelector('.title').value === %q && document.querySelectorAll('.card').length >= 3 && document.querySelectorAll('.uplot').length >= 1", title))
	}
	p.shot("dashboard")
}

// view has all features of a pmchart view.
const view = `#kmchart
version 1

# a comment
global width 800
Chart Title "CPU of %H" Style utilization
	plot legend "User" color #2d2de2 metric kernel.all.cpu.user
	plot legend "Sys" color rgbi:1.0/0.1/0.1 metric kernel.all.cpu.sys
	optional-plot legend "Guest" color #c2f3c2 metric kernel.all.cpu.guest
chart style plot antialiasing off scale from 0 to 10 legend on
	plot legend "1 min" metric kernel.all.load instance "1 minute"
	plot legend "# cpus" color #-cycle host * metric hinv.ncpu
chart title "Network" style stacking
	plot legend "in %i" color yellow metric network.interface.in.bytes not-matching "^lo|^sl"
	plot legend "out %i" color violet metric network.interface.out.bytes matching ^eth[0-9]
`

// waitFile reads a file as soon as it exists.
func waitFile(t *testing.T, path string) []byte {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			return b
		}
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	t.Fatalf("%s was not written; there are %v", path, entries)
	return nil
}

// TestLost checks the messages of the page while the collector is away, and that it comes back.
func TestLost(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1280, 900)
	p.until(drawn)
	f.set(true)
	p.until("document.querySelector('.trouble')?.textContent.includes('does not answer') && document.querySelector('.trouble').textContent.includes('onerror')")
	p.until("document.querySelector('.host.lost')")
	p.shot("lost")
	f.set(false)
	p.button("Try now")
	p.until("!document.querySelector('.trouble') && document.querySelector('.host.ok')")

	// A page opened while it is away shows the archives.
	f.set(true)
	q := open(t, f, "", 1280, 900)
	q.until("document.querySelector('.trouble')")
	q.shot("never")
	q.button("Pause")
	q.until("document.querySelectorAll('.uplot').length >= 5")
	q.shot("never-past")
}

// TestChanged changes the host while the page is open: a metric ends, the clock is set, the archives are removed. The page reports each, and recovers when the host is as before.
func TestChanged(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=swap.used&chart=kernel.all.load", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 2 && /\\d/.test(" + card("swap.used") + ".querySelector('tbody td').textContent)")
	lacks := func(names ...string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.gone = map[string]bool{}
		for _, n := range names {
			f.gone[n] = true
		}
	}
	if longtest.Enabled() { // it takes half a minute until a metric counts as ended
		lacks("swap.used")
		p.until(card("swap.used") + ".textContent.includes('The collector has no more values of swap.used.') && " + card("swap.used") + ".querySelector('tbody td').textContent === '–'")
		lacks()
		p.until("!" + card("swap.used") + ".textContent.includes('no more values') && /\\d/.test(" + card("swap.used") + ".querySelector('tbody td').textContent)")
	}

	when := func(ago time.Duration) {
		t.Helper()
		p.until(fmt.Sprintf("Math.abs(Date.now() - new Date(document.querySelector('.when').dateTime) - %d) < 30000", ago.Milliseconds()))
	}
	when(0)
	f.clock.Store(-3600)
	p.until("document.querySelector('.trouble')?.textContent.includes('The clock of fake.example.com was set back by 60 min. What was seen before is not drawn.')")
	when(time.Hour)
	p.until("/\\d/.test(" + card("swap.used") + ".querySelector('tbody td').textContent)")
	f.clock.Store(0)
	p.until("document.querySelector('.trouble')?.textContent.includes('was set forward by 60 min')")
	when(0)

	p.button("Back by a window")
	p.until("!document.querySelector('.trouble') && document.querySelectorAll('.uplot').length === 2")
	archives := func(none bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.noSeries = none
	}
	archives(true)
	p.selects("Window", "21600")
	p.until("document.querySelector('.trouble')?.textContent.startsWith('The archives cannot be read.')")
	archives(false)
	p.until("!document.querySelector('.trouble') && document.querySelectorAll('.uplot').length === 2")
}

// TestNoArchives checks that a server without series is not an error, and that the past shows a message.
func TestNoArchives(t *testing.T) {
	f := newFake(t)
	f.noSeries = true
	p := open(t, f, "", 1280, 900)
	p.until(drawn)
	p.button("Back by a window")
	p.button("Back by a window")
	p.until("document.querySelector('.plot .why')?.textContent.startsWith('No archives are served here')")
	p.shot("past")
	p.button("Live")
	p.until(drawn)
}

// TestSpoken checks names and roles for screen readers.
func TestSpoken(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1280, 900)
	p.until(drawn)
	for _, page := range []string{"overview", "metrics", "charts"} {
		p.key(page[:1])
		p.until(fmt.Sprintf("location.hash.startsWith('#/%s')", page))
		unnamed := eval[[]string](p, `[...document.querySelectorAll('button, input, select, a, [role=img], dialog, section')]
			.filter((e) => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim() || e.labels?.length || e.title))
			.map((e) => e.outerHTML.slice(0, 120))`)
		if len(unnamed) > 0 {
			t.Errorf("%s: without a name: %q", page, unnamed)
		}
	}
	p.key("o")
	p.until(drawn)
	p.until("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('table caption')?.textContent && /: .*\\d/.test(c.querySelector('[role=img]').getAttribute('aria-label')))")
	if s := eval[string](p, "document.documentElement.lang + document.querySelectorAll('main, header, nav').length + document.querySelectorAll('h1').length"); s != "en" && !strings.HasSuffix(s, "1") {
		t.Errorf("landmarks: %s", s)
	}
}

// TestLeak shows ten live charts for a while, with accelerated time, and compares the heap.
func TestLeak(t *testing.T) {
	f := newFake(t)
	var link strings.Builder
	for i, m := range []string{"kernel.all.load", "kernel.all.cpu.user", "kernel.all.cpu.sys", "mem.util.free", "disk.all.read_bytes", "disk.dev.read", "network.interface.in.bytes", "kernel.all.pressure.cpu.some.avg", "swap.used", "hostile.values"} {
		if i > 0 {
			link.WriteByte('&')
		}
		link.WriteString("chart=" + m)
	}
	// A window of ten seconds, sampled ten times a second: all that is kept is soon replaced.
	p := open(t, f, "#/charts?"+link.String()+"&window=10&step=0.1", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 10")
	heap := func() float64 {
		t.Helper()
		if _, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		u, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		return float64(u.UsedSize)
	}
	// after waits until the collector has received n more requests.
	after := func(n int64) {
		t.Helper()
		end := time.Now().Add(patience)
		for from := f.requests.Load(); f.requests.Load() < from+n; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d requests in %v", f.requests.Load()-from, patience)
			}
		}
	}
	after(80)
	first := heap()
	nodes := eval[int](p, "document.querySelectorAll('*').length")
	// The other pages release everything, as do charts that are redrawn.
	for range 3 {
		p.key("m")
		p.until("document.querySelector('.browse')")
		p.key("o")
		p.until(drawn)
		p.key("c")
		p.until("document.querySelectorAll('.uplot').length === 10")
		p.key("d")
	}
	// As many samples as in an hour of one a second, or similar.
	for range longtest.N(1, 18) {
		after(200)
	}
	last := heap()
	t.Logf("heap %.1f MB, later %.1f MB", first/1e6, last/1e6)
	// Data read once, all metrics, stays; samples of the ring grow by some hundred kilobytes.
	if last > first+4e6 {
		t.Errorf("the heap grew from %.1f to %.1f MB", first/1e6, last/1e6)
	}
	if n := eval[int](p, "document.querySelectorAll('*').length"); n > nodes+50 {
		t.Errorf("the page grew from %d to %d elements", nodes, n)
	}
}
