package main

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// withGroups adds containers, their control groups with disks, and the control groups of processes, to a fake collector.
func (f *fake) withGroups() {
	const container = "/system.slice/docker-0123abcd.scope"
	f.domains["3.16"] = append(f.domains["3.16"], container)
	f.domains["3.17"] = []string{container + "::sda", "/" + hostile + "::sda"}
	f.domains["14.0"] = []string{"0123abcd", "ffff"}
	add := func(name, indom, kind, sem, units string, value func(int, float64) any) {
		f.metrics = append(f.metrics, fakeMetric{name: name, pmid: fmt.Sprintf("62.%d.0", len(f.metrics)), indom: indom, kind: kind, sem: sem, units: units, oneline: name, value: value})
	}
	pick := func(list ...any) func(int, float64) any { return func(i int, _ float64) any { return list[i] } }
	add("containers.name", "14.0", "string", "instant", "none", pick(hostile, "idle"))
	add("containers.cgroup", "14.0", "string", "discrete", "none", pick(container, "/system.slice/docker-ffff.scope"))
	add("containers.engine", "14.0", "string", "discrete", "none", pick("docker", "docker"))
	rate := func(a, b float64) func(int, float64) any {
		return func(i int, t float64) any { return math.Floor([]float64{a, b}[i] * math.Mod(t, 1e8)) }
	}
	add("cgroup.io.stat.rbytes", "3.17", "u64", "counter", "byte", rate(3<<20, 100))
	add("cgroup.io.stat.wbytes", "3.17", "u64", "counter", "byte", rate(5<<20, 100))
	add("proc.psinfo.cgroups", "3.9", "string", "instant", "none", func(i int, _ float64) any {
		if processes[i].user == "postgres" {
			return "cpu:/other;:" + container + "/inner"
		}
		return ":/system.slice"
	})
	add("disk.dev.read_bytes", "60.1", "u64", "counter", "Kbyte", rate(900, 20))
	add("disk.dev.write_bytes", "60.1", "u64", "counter", "Kbyte", rate(700, 10))
}

// over returns the box of the plot of a chart, which it scrolls into view.
func (p *tab) over(title string) []float64 {
	p.t.Helper()
	p.until(card(title) + ".querySelector('.u-over')")
	return eval[[]float64](p, "(() => { const e = "+card(title)+".querySelector('.u-over'); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
}

// press clicks into a chart, until it has the time that was clicked. A chart that is drawn again meanwhile ignores it.
func (p *tab) press(title string, part float64) {
	p.t.Helper()
	pinned := card(title) + ".querySelector('.pinned')"
	for tries := 0; !eval[bool](p, "!!"+pinned); tries++ {
		if tries == 20 {
			p.t.Fatalf("a click on %s does nothing", title)
		}
		box := p.over(title)
		x, y := box[0]+box[2]*part, box[1]+box[3]/2
		p.run(chromedp.MouseEvent("mouseMoved", x-1, y), chromedp.MouseEvent("mouseMoved", x, y), chromedp.MouseClickXY(x, y))
		time.Sleep(100 * time.Millisecond)
	}
}

// brush drags over a chart until the page shows that part.
func (p *tab) brush(title string, from, to float64) {
	p.t.Helper()
	hash := eval[string](p, "location.hash")
	for tries := 0; eval[string](p, "location.hash") == hash; tries++ {
		if tries == 20 {
			p.t.Fatalf("dragging over %s does nothing", title)
		}
		box := p.over(title)
		y := box[1] + box[3]/2
		p.run(chromedp.DragAndDropXY(box[0]+box[2]*from, y, box[0]+box[2]*to, y, 5))
		time.Sleep(100 * time.Millisecond)
	}
}

// TestSpikes goes from a click on a chart, and from a brush over a part of it, to the activity at that time, and to the process, in at
// most three clicks.
func TestSpikes(t *testing.T) {
	f := newFake(t)
	var failing atomic.Bool
	f.serveDiagnoses(&failing)
	shared := open(t, f, "#/overview?window=3600", 1440, 1000)
	for _, c := range []struct{ chart, column, file string }{{"Disk throughput", "(Read|Written)", "copy.toml"}, {"Processors", "CPU", "spin.toml"}, {"Memory", "Memory", "cache.toml"}} {
		t.Run(c.chart, func(t *testing.T) {
			p := &clicks{tab: &tab{t: t, ctx: shared.ctx, shots: shared.shots}}
			p.do("location.hash = '#/overview?window=3600'")
			p.until(drawn)
			p.press(c.chart, 0.5)
			p.n++
			// The numbers beside the chart are of that time.
			at := eval[string](p.tab, card(c.chart)+".querySelector('.pinned span').textContent")
			p.run(chromedp.MouseEvent("mouseMoved", 5, 5))
			p.until(fmt.Sprintf("%s.querySelector('.pin') && %s.querySelector('thead [aria-sort]')?.textContent === %q || %s.querySelectorAll('thead th')[1].textContent === %q", card(c.chart), card(c.chart), at, card(c.chart), at))
			p.shot("pinned")
			p.on(card(c.chart) + ".querySelector('.pinned a')")
			p.until(fmt.Sprintf("location.hash.startsWith('#/activity') && /%s/.test(document.querySelector('.activity [aria-sort]').textContent) && %s.querySelector('th').title.endsWith(%q)", c.column, first, c.file))
			if ago := float64(time.Now().Unix()) - p.number("end"); ago < 1500 || ago > 2100 {
				t.Errorf("what is shown was %v seconds ago, want half an hour", ago)
			}
			p.shot("table")
			p.on(first + ".querySelector('th a')")
			p.until(fmt.Sprintf("document.querySelector('.command')?.textContent.endsWith(%q) && document.querySelectorAll('.process .uplot').length >= 4", c.file))
			if p.n > 3 {
				t.Errorf("found by %d clicks", p.n)
			}
		})
	}
	// A brush: means over that part of time, on the overview too, and in the table that suits the chart.
	p := shared
	p.do("location.hash = '#/overview?window=3600'")
	p.until(drawn)
	p.brush("Disk throughput", 0.4, 0.5)
	p.until("location.hash.includes('over=window') && /sort=(read|write)/.test(location.hash)")
	p.do("scrollTo(0, 0)") // panels outside of the window are not requested
	p.until("document.querySelector('[aria-label=\"Numbers of processes\"]').selectedOptions[0].textContent === 'mean of 6 min' && " + first + ".querySelector('th').title.endsWith('copy.toml')")
	// 48 MB a second, or 1 MB read.
	p.until("/^(45[.]8 MiB|977 KiB)/.test(" + first + ".children[[...document.querySelector('.activity thead tr').children].findIndex((x) => x.hasAttribute('aria-sort'))].textContent)")
	p.shot("brushed")
	// What changed there is asked of the server, for the part that was brushed.
	p.do("document.querySelector('a.changed').click()")
	p.until("location.hash.startsWith('#/diagnose') && document.querySelectorAll('.changes tbody tr').length === 1")
	if w := p.number("window"); w < 300 || w > 420 || !f.asked(fmt.Sprintf("/diagnose?host=fake.example.com&start=%d", int(p.number("end")-w))) {
		t.Errorf("the window is of %v s, and it was not asked for", w)
	}
	p.do("history.back()")
	p.until(drawn + " && location.hash.includes('over=window')")
	p.do("document.querySelector('a.busy').click()")
	p.until("location.hash.startsWith('#/activity') && location.hash.includes('over=window') && " + first + ".querySelector('th').title.endsWith('copy.toml')")
	p.selects("Numbers of processes", "end")
	p.until("!location.hash.includes('over=') && " + first + ".querySelector('th').title.endsWith('copy.toml')")
	p.do("history.back()")
	p.until(drawn + " && location.hash.includes('over=window')")
	p.key("z")
	p.until("location.hash.includes('window=3600') && !location.hash.includes('over=')")
}

// TestSpikeByKeys does it without a mouse.
func TestSpikeByKeys(t *testing.T) {
	p := open(t, newFake(t), "#/overview?window=3600", 1280, 900)
	p.until(drawn)
	p.do(card("Memory") + ".querySelector('.choose').focus()")
	p.run(chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.PageUp))
	p.until(card("Memory") + ".querySelector('.pin') && location.hash === '#/overview?window=3600'")
	p.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	p.until("location.hash.startsWith('#/activity') && location.hash.includes('sort=memory') && " + first + ".querySelector('th').title.endsWith('cache.toml')")
	if ago := float64(time.Now().Unix()) - p.number("end"); ago < 300 || ago > 900 {
		t.Errorf("what is shown was %v seconds ago, want seven minutes", ago)
	}
	p.do(first + ".querySelector('th a').focus()")
	p.run(chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelector('.command')?.textContent.endsWith('cache.toml')")
}

// TestItems opens one of each table: it has a page with its past, and with its processes.
func TestItems(t *testing.T) {
	f := newFake(t)
	f.withGroups()
	script := axeScript(t)
	p := open(t, f, "#/activity", 1440, 1000)
	row := func(name string) string {
		return fmt.Sprintf("[...document.querySelectorAll('.activity tbody th a')].find((a) => a.textContent === %q)", name)
	}
	for _, c := range []struct {
		tab, of, row, want string
		charts             int
		process            string // the first of the processes below
	}{
		{"Disks", "disk", "sda", "900 KiB/s", 2, "copy.toml"},
		{"Network interfaces", "interface", "eth0", "in", 1, ""},
		{"Users", "user", "bob", "5002 python3", 5, "spin.toml"},
		{"Control groups", "cgroup", "/" + hostile, "read", 3, ""},
		{"Containers", "container", hostile, "5.00 MiB/s", 3, "writer"},
	} {
		p.do("location.hash = '#/activity'")
		p.until(fmt.Sprintf("[...document.querySelectorAll('.tabs a')].some((a) => a.textContent === %q)", c.tab))
		p.do(fmt.Sprintf("[...document.querySelectorAll('.tabs a')].find((a) => a.textContent === %q).click()", c.tab))
		p.until(row(c.row))
		p.do(row(c.row) + ".click()")
		p.until(fmt.Sprintf("location.hash.includes('item=') && document.querySelector('h1').textContent === %q", c.row))
		p.until(fmt.Sprintf("document.querySelectorAll('.process .uplot canvas').length >= %d && document.querySelector('.process .grid').textContent.includes(%q)", c.charts, c.want))
		if c.process != "" {
			p.until(fmt.Sprintf("%s?.querySelector('th').title.endsWith(%q)", first, c.process))
		}
		p.shot(c.of)
		if longtest.Enabled() || c.of == "disk" { // the others have the same parts
			for range 2 {
				p.key("d")
				p.accessible(script, c.of)
			}
		}
		if n := eval[int](p, "document.querySelectorAll('img, script:not([src])').length"); n != 0 {
			t.Errorf("%d elements were made of text", n)
		}
		// The same link shows the same, in the past too.
		p.button("Back by a window")
		p.until(fmt.Sprintf("location.hash.includes('end=') && location.hash.includes('item=') && document.querySelectorAll('.process .uplot canvas').length >= %d", c.charts))
	}
	// Only the processes of the container are there, and a process leads to its user and control group.
	if n := eval[int](p, "document.querySelectorAll('.activity tbody tr').length"); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
	p.do(first + ".querySelector('th a').click()")
	p.until("[...document.querySelectorAll('.facts a')].some((a) => a.textContent === 'postgres')")
	p.do("[...document.querySelectorAll('.facts a')].find((a) => a.textContent.endsWith('/inner')).click()")
	p.until("document.querySelector('h1').textContent.endsWith('/inner') && location.hash.includes('of=cgroup')")
	// On a small screen too.
	p.run(chromedp.EmulateViewport(390, 844))
	for _, link := range []string{"#/activity?of=user&item=bob", "#/activity?of=container&item=0123abcd", "#/activity?of=container"} {
		p.do(fmt.Sprintf("location.hash = %q", link))
		// A table below the charts is fetched only once it is on the screen.
		p.until("document.querySelector('.activity')?.scrollIntoView() || document.querySelector('.activity tbody tr')")
		if w := eval[int](p, "document.documentElement.scrollWidth"); w > 390 {
			t.Errorf("%s is %d pixels wide", link, w)
		}
		p.shot("narrow" + strings.NewReplacer("#/", "", "?", "-", "&", "-", "=", "-").Replace(link))
	}
}

// TestRemembered checks that tables keep their order and filter.
func TestRemembered(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/activity", 1280, 900)
	tab := func(name string) {
		t.Helper()
		find := fmt.Sprintf("[...document.querySelectorAll('.tabs a')].find((a) => a.textContent === %q)", name)
		p.until(find)
		p.do(find + ".click()")
	}
	sorted := func(column string) {
		t.Helper()
		p.until(fmt.Sprintf("document.querySelector('.activity [aria-sort]')?.textContent.startsWith(%q)", column))
	}
	sort := func(column string) {
		t.Helper()
		find := fmt.Sprintf("[...document.querySelectorAll('.activity .sort')].find((b) => b.textContent.startsWith(%q))", column)
		p.until(find)
		p.do(find + ".click()")
		sorted(column)
	}
	sort("Memory")
	p.do(`(() => { const i = document.querySelector('[aria-label="Filter processes"]'); i.value = 'bob'; i.dispatchEvent(new Event('input', {bubbles: true})); })()`)
	p.until("document.querySelectorAll('.activity tbody tr').length === 4")
	tab("Users")
	sorted("CPU")
	sort("Processes")
	p.until("document.querySelectorAll('.activity tbody tr').length >= 5 && " + first + ".querySelector('th').textContent === 'root' && " + first + ".querySelectorAll('td')[5].textContent === '41'")
	tab("Processes")
	sorted("Memory")
	p.until("document.querySelectorAll('.activity tbody tr').length === 4 && location.hash.includes('filter=bob')")
	// A link ignores the remembered order.
	p.do("location.hash = '#/activity?sort=cpu'")
	sorted("CPU")
	p.until("document.querySelectorAll('.activity tbody tr').length > 30")
	// A page that is opened afresh has the order, and a new window no filter.
	p.run(chromedp.Navigate(f.URL + "/"))
	p.until(drawn)
	sorted("Memory")
	tab2 := "[...document.querySelectorAll('.card a')].find((a) => a.getAttribute('aria-label') === 'All processes')"
	p.do(tab2 + ".click()")
	tab("Users")
	sorted("Processes")
}
