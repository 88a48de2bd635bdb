package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// first is the first row of a table of the busiest.
const first = "[...document.querySelectorAll('.activity')].find((x) => x.getClientRects().length)?.querySelector('tbody tr')"

// clicks counts the clicks of a user.
type clicks struct {
	*tab
	n int
}

func (c *clicks) on(js string) {
	c.t.Helper()
	c.until(js)
	c.n++
	c.do(js + ".click()")
}

// tile is the link of a tile.
func tile(title string) string {
	return fmt.Sprintf("[...document.querySelectorAll('.tile a')].find((a) => a.textContent.trim() === %q)", title)
}

// TestCulprits finds the culprits on a host with fifty processes, three of them called python3, in at most three
// clicks from the first view: the process that spins, the one writing to the disk, the one using the memory.
func TestCulprits(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct {
		name, tile string
		args, file string
		chart      string
		sizes      [][2]int
	}{
		{"loop", "CPU", "python3 /srv/jobs/spin.py", "spin.toml", "CPU", [][2]int{{1440, 1000}}},
		{"writer", "Disks", "python3 /srv/jobs/copy.py", "copy.toml", "Disk I/O", [][2]int{{1440, 1000}, {390, 844}}},
		{"memory", "Memory", "python3 /srv/jobs/cache.py", "cache.toml", "Memory", [][2]int{{1440, 1000}}},
	} {
		for _, size := range c.sizes {
			t.Run(fmt.Sprint(c.name, size[0]), func(t *testing.T) {
				p := &clicks{tab: open(t, f, "", size[0], size[1])}
				p.until(drawn)
				p.on(tile(c.tile))
				p.until(fmt.Sprintf("location.hash.startsWith('#/activity') && %s.querySelector('th').title.startsWith(%q)", first, c.args))
				p.shot("table")
				// The whole command is in the page, even if it does not fit.
				if s := eval[string](p.tab, first+".querySelector('th').title"); !strings.HasSuffix(s, c.file) {
					t.Errorf("the command is %q", s)
				}
				p.on(first + ".querySelector('th a')")
				p.until(fmt.Sprintf("location.hash.includes('pid=') && document.querySelector('.command')?.textContent.endsWith(%q)", c.file))
				if p.n > 3 {
					t.Errorf("found by %d clicks", p.n)
				}
				// Its history is drawn: the values recorded before the page was opened.
				chart := fmt.Sprintf("[...document.querySelectorAll('.process .card')].find((c) => c.querySelector('h2')?.textContent === %q)", c.chart)
				p.until(chart + ".querySelector('.uplot canvas') && /[1-9]/.test(" + chart + ".querySelector('tbody td').textContent)")
				p.until("document.querySelectorAll('.process .uplot').length >= 4")
				if !f.asked("/series/values?") || !f.asked("/pmapi/profile?") {
					t.Error("the process was not asked for alone, or not from the archives")
				}
				p.shot("process")
				if w := eval[int](p.tab, "document.documentElement.scrollWidth"); w > size[0] {
					t.Errorf("the page is %d pixels wide on a screen of %d", w, size[0])
				}
				p.do("history.back()")
				p.until(first + " && !location.hash.includes('pid=')")
			})
		}
	}
}

// TestActivity sorts and filters, and shows hostile names.
func TestActivity(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1440, 1000)
	p.until(drawn)
	// It is above the fold of the first view, and sorted by processor time.
	if y := eval[float64](p, "document.querySelector('[aria-label=Processes] tbody tr').getBoundingClientRect().bottom"); y > 700 {
		t.Errorf("the busiest process is %v pixels down", y)
	}
	p.until(first + ".querySelector('th').title.startsWith('python3 /srv/jobs/spin.py')")
	p.until("document.querySelector('[aria-label=Processes] thead [aria-sort]').textContent.startsWith('CPU') && " + first + ".querySelector('td').textContent === '5002' && " + first + ".querySelector('.user').textContent === 'bob'")
	sort := func(column string) {
		t.Helper()
		find := fmt.Sprintf("[...document.querySelectorAll('[aria-label=Processes] .sort')].find((b) => b.textContent.startsWith(%q))", column)
		p.until(find)
		p.do(find + ".click()")
	}
	for _, c := range []struct{ column, pid string }{{"Written", "5003"}, {"Memory", "5004"}, {"PID", "1"}, {"PID", "5004"}, {"User", "900"}, {"CPU", "5002"}} {
		sort(c.column)
		p.until(fmt.Sprintf("%s.querySelector('td').textContent === %q", first, c.pid))
	}
	cell := func(n int) string {
		return eval[string](p, fmt.Sprintf("%s.querySelectorAll('td')[%d].textContent", first, n))
	}
	if s := cell(2); !strings.HasPrefix(s, "17") || !strings.HasSuffix(s, "%") {
		t.Errorf("the processor time is %q, want about 175 %%", s)
	}
	p.until(first + ".querySelectorAll('td')[7].textContent === '5 h' && " + first + ".querySelectorAll('td')[8].textContent.startsWith('3')")
	filter := func(s string) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const i = document.querySelector('[aria-label=\"Filter processes\"]'); i.value = %q; i.dispatchEvent(new Event('input', {bubbles: true})); })()", s))
	}
	filter("postgres")
	p.until("document.querySelectorAll('[aria-label=Processes] tbody tr').length === 1 && location.hash.includes('filter=postgres')")
	filter("bob spin")
	p.until("document.querySelectorAll('[aria-label=Processes] tbody tr').length === 1 && " + first + ".textContent.includes('5002')")
	filter("nobody has this")
	p.until("document.querySelector('[aria-label=Processes] .why').textContent.includes('nobody has this')")
	filter("eve")
	p.until(fmt.Sprintf("%s.querySelector('th').title.includes(%q)", first, hostile))
	p.do(first + ".querySelector('th a').click()")
	p.until(fmt.Sprintf("document.querySelector('.command')?.textContent.includes(%q)", hostile))
	p.until("document.querySelectorAll('.process .uplot').length >= 3")
	if n := eval[int](p, "document.querySelectorAll('img, script:not([src])').length"); n != 0 {
		t.Errorf("%d elements were made of text", n)
	}
	// It does not change how the rest reads, either.
	if s := p.text(".command"); strings.ContainsAny(s, "\x1b\x07\u202e") || !strings.Contains(s, "\u241b]0;PWNED") || !strings.Contains(s, "⟨202E⟩") {
		t.Errorf("the command is shown as %q", s)
	}
	p.shot("hostile")
	if s := eval[string](p, "document.title"); strings.Contains(s, "PWNED") {
		t.Errorf("the title is %q", s)
	}
	// Other tables, each reached by a tab, and interfaces by their tile.
	p.do("location.hash = '#/activity'")
	for _, c := range []struct{ tab, of, row string }{{"Disks", "disk", "sda"}, {"Network interfaces", "interface", "eth0"}, {"Control groups", "cgroup", "/system.slice"}} {
		p.do(fmt.Sprintf("[...document.querySelectorAll('.tabs a')].find((a) => a.textContent === %q).click()", c.tab))
		p.until(fmt.Sprintf("location.hash.includes('of=%s') && [...document.querySelectorAll('.activity tbody th')].some((x) => x.textContent.includes(%q))", c.of, c.row))
	}
	// Unknown values have a reason.
	p.until("document.querySelector('.activity .note').textContent.includes('Read: this collector has no cgroup.io.stat.rbytes')")
	p.until(first + ".querySelectorAll('td')[2].textContent === '–' && " + first + ".querySelectorAll('td')[2].title.includes('this collector has no')")
	p.key("o")
	p.until(drawn)
	p.do(tile("Network in") + ".click()")
	p.until("location.hash.includes('of=interface') && " + first)
}

// TestActivityFocus sorts the table while a row has the focus of the keyboard: it keeps it at its new place.
func TestActivityFocus(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/activity", 1280, 900)
	p.until(first + ".querySelector('td').textContent === '5002'")
	p.do(first + ".querySelector('a').focus()")
	for _, c := range []struct{ column, first string }{{"Memory", "5004"}, {"CPU", "5002"}, {"User", "900"}, {"Memory", "5004"}} {
		p.do(fmt.Sprintf("[...document.querySelectorAll('.activity .sort')].find((b) => b.textContent.startsWith(%q)).click()", c.column))
		p.until(fmt.Sprintf("%s.querySelector('td').textContent === %q", first, c.first))
		if s := eval[string](p, "document.activeElement.closest('tr')?.querySelector('td').textContent ?? document.activeElement.tagName"); s != "5002" {
			t.Fatalf("by %s, the focus is at %s", c.column, s)
		}
	}
	p.run(chromedp.KeyEvent(kb.Enter))
	p.until("document.querySelector('.command')?.textContent.endsWith('spin.toml')")
}

// TestActivityThen shows past activity, which is read from archives.
func TestActivityThen(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 1440, 1000)
	p.until(drawn)
	p.button("Back by a window")
	p.button("Back by a window")
	p.until("location.hash.includes('end=')")
	p.do(tile("Disks") + ".click()")
	p.until(first + ".querySelector('th').title.startsWith('python3 /srv/jobs/copy.py') && location.hash.includes('end=')")
	p.until(first + ".querySelectorAll('td')[5].textContent.includes('MiB/s')")
	p.shot("then")
	p.do(first + ".querySelector('th a').click()")
	p.until("document.querySelectorAll('.process .uplot').length >= 4 && document.querySelector('.command').textContent.endsWith('copy.toml')")
}

// TestActivityCheap checks that processes are requested only while they are visible, and slowly changing data
// rarely.
func TestActivityCheap(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=kernel.all.load", 1280, 500)
	p.until("document.querySelectorAll('.uplot').length === 1")
	p.key("m")
	p.until("document.querySelectorAll('[role=treeitem]').length >= 5")
	if f.asked("/pmapi/fetch?names=proc.") || f.askedOf("proc.psinfo.utime") > 0 {
		t.Error("processes are asked for, which are not seen")
	}
	p.key("o")
	p.until(drawn)
	p.wait(f, "proc.psinfo.utime", 4)
	if n, m := f.askedOf("proc.psinfo.psargs"), f.askedOf("proc.psinfo.utime"); n > m/2+1 {
		t.Errorf("commands were asked for %d times, times %d times", n, m)
	}
	p.do("scrollTo(0, 5000)")
	p.until("document.querySelector('[aria-label=Processes]').getBoundingClientRect().bottom < -100")
	still := func() {
		t.Helper()
		p.wait(f, "kernel.all.load", 2)
		n := f.askedOf("proc.psinfo.utime")
		p.wait(f, "kernel.all.load", 4)
		if m := f.askedOf("proc.psinfo.utime"); m > n {
			t.Errorf("processes were asked for %d times while they are not seen", m-n)
		}
	}
	still()
	p.do("scrollTo(0, 0)")
	p.wait(f, "proc.psinfo.utime", 2)
	p.key("m")
	p.key("o")
	p.until(drawn)
	p.key(" ") // the past has no live data of the collector
	p.until("location.hash.includes('end=')")
	still()
}
