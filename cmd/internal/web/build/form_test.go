package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestDashboards keeps several dashboards in the browser: a change of one leaves the others unchanged.
func TestDashboards(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts", 1280, 900)
	p.until("document.querySelector('.welcome')")
	add := func(name string) {
		t.Helper()
		p.do("document.querySelector('#add').focus()")
		p.run(chromedp.KeyEvent(name), chromedp.KeyEvent("\r"))
	}
	title := func(s string) {
		t.Helper()
		p.do(fmt.Sprintf("(() => { const i = document.querySelector('.title'); i.value = %q; i.dispatchEvent(new Event('input', {bubbles: true})); })()", s))
	}
	mine := "[...document.querySelectorAll('optgroup[label=Mine] option')].map((o) => o.textContent.replace('✓ ', '')).join()"
	choose := func(name string) {
		t.Helper()
		p.do(fmt.Sprintf(`(() => {
			const s = document.querySelector('select[aria-label="Open a dashboard"]');
			s.value = [...s.options].find((o) => o.textContent.replace('✓ ', '') === %q).value;
			s.dispatchEvent(new Event('change', {bubbles: true}));
		})()`, name))
	}
	add("kernel.all.load")
	p.until("document.querySelectorAll('.card').length === 1")
	title("Mine <b>first</b>")
	p.until(mine + " === 'Mine <b>first</b>'")
	p.button("New")
	p.until("document.querySelector('.welcome') && document.querySelector('.title').value === 'Charts 2'")
	add("swap.used")
	add("disk.dev.read")
	p.until("document.querySelectorAll('.card').length === 2")
	p.until(mine + " === 'Mine <b>first</b>,Charts 2'")
	choose("Mine <b>first</b>")
	p.until("document.querySelectorAll('.card').length === 1 && document.querySelector('.card h2').textContent === 'kernel.all.load'")
	// A built-in dashboard is a copy, which is changed in place.
	choose("Disks")
	p.until("document.querySelectorAll('.card').length === 6")
	p.button("Remove Disks busy")
	p.until("document.querySelectorAll('.card').length === 5")
	p.shot("three")
	// A link shows its own charts, and the saved ones remain.
	p.do("location.hash = '#/charts?chart=hinv.ncpu'")
	p.until("document.querySelectorAll('.card').length === 1")
	title("From a link")
	p.until(mine + " === 'Mine <b>first</b>,Charts 2,Disks,From a link'")
	p.run(chromedp.Navigate(f.URL + "/?again#/charts"))
	p.until("document.querySelector('.title')?.value === 'From a link' && " + mine + " === 'Mine <b>first</b>,Charts 2,Disks,From a link'")
	choose("Charts 2")
	p.until("document.querySelectorAll('.card').length === 2")
	p.button("Delete")
	p.until(mine + " === 'Mine <b>first</b>,Disks,From a link'")
	choose("Disks")
	p.until("document.querySelectorAll('.card').length === 5")

	// A dashboard saved by an earlier version is imported.
	p.do(`localStorage.clear(); localStorage.setItem('pcp.dashboard', JSON.stringify({title: 'Old', panels: [{kind: 'chart', title: 'x', style: 'line', plots: [{metric: 'swap.used'}]}]}))`)
	p.run(chromedp.Navigate(f.URL + "/?old#/charts"))
	p.until("document.querySelector('.title')?.value === 'Old' && document.querySelectorAll('.card').length === 1")
}

// TestNumbers checks that numbers have the format of the user's language.
func TestNumbers(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "about:blank", 1280, 900)
	if _, err := chromedp.Call(p.ctx, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "de-DE"}); err != nil {
		t.Fatal(err)
	}
	p.run(chromedp.Navigate(f.URL + "/?german"))
	p.until(drawn)
	p.until("/^\\d+,\\d\\d$/.test(document.querySelectorAll('.big')[1].textContent)")
	p.until("[...document.querySelectorAll('.chart tbody td')].some((x) => /^\\d+,\\d+ /.test(x.textContent))")
	if eval[bool](p, "[...document.querySelectorAll('.chart tbody td, .list td:not(.pid, .user), .big')].some((x) => /\\d\\.\\d/.test(x.textContent))") {
		t.Error("some numbers have a point")
	}
	p.shot("german")
}

// TestHeadings checks that each page has one heading of the first order that names it, and that controls are labelled
// also on a narrow screen.
func TestHeadings(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "", 390, 844)
	p.until(drawn)
	for key, want := range map[string]string{"o": "Overview", "a": "Activity", "m": "Metrics", "c": "Charts"} {
		p.key(key)
		p.until(fmt.Sprintf("document.querySelectorAll('h1').length === 1 && document.querySelector('h1').textContent.trim() === %q", want))
	}
	p.key("o")
	p.until(drawn)
	hidden := eval[[]string](p, `[...document.querySelectorAll('.time .select')].filter((l) => {
		const r = l.querySelector('span').getBoundingClientRect();
		return r.width < 10 || r.height < 8 || r.right > innerWidth;
	}).map((l) => l.textContent.slice(0, 20))`)
	if len(hidden) > 0 {
		t.Errorf("labels that are not seen: %q", hidden)
	}
	if w := eval[int](p, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("the page is %d pixels wide", w)
	}
	p.shot("labels")
}
