package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestCompare shows a chart above the same an hour before, and above that of another host, as a link has it.
func TestCompare(t *testing.T) {
	f := newFake(t)
	f.elsewhere = map[string]bool{"other.example.com": true}
	p := open(t, f, "#/charts?chart=kernel.all.load&window=600", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 1")
	p.selects("Compare", "3600")
	p.until("document.querySelectorAll('.compared .uplot').length === 2 && document.querySelector('.against').textContent === '60 min before' && location.hash.includes('compare=3600')")
	p.button("Pause")
	p.until("location.hash.includes('end=')")
	// The values below are of that time.
	lower := "[...document.querySelectorAll('.compared .chart')][1].querySelector('tbody tr th')"
	p.until(lower)
	end := p.number("end") - 3600
	load := f.pick("kernel.all.load")[0]
	name := eval[string](p, lower+".textContent")
	for i, inst := range f.domains[load.indom] {
		if inst != name {
			continue
		}
		// The last sample is of a time up to ten seconds before.
		var want []string
		for s := range 2 {
			want = append(want, fmt.Sprintf("%.2f", load.value(i, math.Floor(end/recordedEvery)*recordedEvery-float64(s*recordedEvery)).(float64)))
		}
		p.until(fmt.Sprintf("%q.split(' ').includes(%s.parentElement.querySelector('td').textContent)", fmt.Sprint(want)[1:len(fmt.Sprint(want))-1], lower))
	}
	p.shot("before")
	// A part of the past is zoomed into together with the present.
	window := func() float64 { return p.number("window") }
	for tries := 0; window() == 600; tries++ {
		if tries == 20 {
			t.Fatal("dragging over the lower chart does nothing")
		}
		box := eval[[]float64](p, "(() => { const r = document.querySelectorAll('.u-over')[1].getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
		y := box[1] + box[3]/2
		p.run(chromedp.DragAndDropXY(box[0]+box[2]*0.5, y, box[0]+box[2]*0.75, y, 5))
		time.Sleep(100 * time.Millisecond)
	}
	if w, ago := window(), end+3600-p.number("end"); w < 120 || w > 180 || ago < 120 || ago > 180 {
		t.Errorf("the window has %v s and ends %v s before, want 150 of both", w, ago)
	}
	// Back, and forward again.
	zoomed := eval[string](p, "location.hash")
	p.key("z")
	p.until("location.hash.includes('window=600')")
	p.key("Z")
	p.until(fmt.Sprintf("location.hash === %q", zoomed))
	p.key("z")
	p.until("location.hash.includes('window=600')")
	// Another host; the link shows the same in another window.
	p.do("location.hash = location.hash.replace('compare=3600', 'compare=host%3Aother.example.com')")
	p.until("document.querySelectorAll('.compared .uplot').length === 2 && document.querySelector('.against').textContent === 'other.example.com'")
	p.shot("host")
	p.selects("Compare", "")
	p.until("document.querySelectorAll('.uplot').length === 1 && !document.querySelector('.compared')")
	// Without archives of that time there is a sentence.
	p.do("location.hash = '#/charts?chart=kernel.all.load&compare=604800'")
	p.until("[...document.querySelectorAll('.compared .why')].some((x) => x.textContent.includes('Nothing was recorded'))")
	p.run(chromedp.EmulateViewport(390, 844))
	p.until("document.documentElement.scrollWidth <= 390")
	p.shot("narrow")
	// In six hours there are means, and the largest samples above them.
	p.do("location.hash = '#/charts?chart=kernel.all.load&window=21600'")
	p.until("document.querySelector('.joint')?.textContent.includes('in pale colours the largest samples')")
	p.shot("largest")
}
