package main

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// downloads makes the browser save files, in the returned directory.
func (p *tab) downloads() string {
	p.t.Helper()
	dir := p.t.TempDir()
	if _, err := chromedp.CallBrowser(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir}); err != nil {
		p.t.Fatal(err)
	}
	return dir
}

// file waits for the only file with an extension in a directory.
func file(t *testing.T, dir, ext string) []byte {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if list, _ := filepath.Glob(filepath.Join(dir, "*."+ext)); len(list) == 1 {
			if b, err := os.ReadFile(list[0]); err == nil && len(b) > 0 {
				return b
			}
		}
	}
	entries, _ := os.ReadDir(dir)
	t.Fatalf("no file *.%s comes; there are %v", ext, entries)
	return nil
}

// exports clicks an entry of the menu of the first chart.
func (p *tab) exports(as string) {
	p.t.Helper()
	p.click(".card .menu summary")
	find := fmt.Sprintf("[...document.querySelectorAll('.menu[open] button')].find((b) => b.textContent === %q)", as)
	p.until(find)
	p.do(find + ".click()")
}

// pointAt moves the pointer over the first chart, at a part of its width, until the table has a time.
func (p *tab) pointAt(part float64) {
	p.t.Helper()
	box := eval[[]float64](p, "(() => { const r = document.querySelector('.uplot .u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
	for i := 0; ; i++ {
		p.run(chromedp.MouseEvent("mouseMoved", box[0]+box[2]*part+float64(i%3), box[1]+box[3]/2))
		if eval[bool](p, "/\\d\\d:\\d\\d:\\d\\d/.test(document.querySelector('.chart thead').textContent)") {
			return
		}
		if i > 40 {
			p.t.Fatal("the pointer shows no values")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestLargest draws a metric of fifty processes: the process that writes most is first and is named in the
// chart, and a few can be drawn alone.
func TestLargest(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=proc.io.write_bytes", 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 24")
	// The number has the format in which one types it, and no cell is below the edge of the box.
	p.until("document.querySelector('.chart tbody th').textContent === '5003 python3'")
	if !eval[bool](p, "(() => { const a = document.querySelector('.chart tbody tr').getBoundingClientRect(), b = document.querySelector('.chart .numbers').getBoundingClientRect(); return a.bottom <= b.bottom && document.querySelector('.chart .numbers').scrollTop === 0; })()") {
		t.Error("the largest is out of sight")
	}
	p.until("[...document.querySelectorAll('.mark')].some((m) => m.textContent === '5003 python3')")
	order := func() {
		t.Helper()
		p.until(`(() => {
			const unit = {B: 1, KiB: 1024, MiB: 1048576};
			const v = [...document.querySelectorAll('.chart tbody tr')].map((r) => r.querySelector('td:last-child').textContent.split(/[\s/]/)).map((x) => Number(x[0]) * unit[x[1]]);
			return v.length > 3 && v.every((x, i) => i === 0 || x <= v[i - 1]);
		})()`)
	}
	order()
	// At the pointer too.
	p.pointAt(0.5)
	p.until("document.querySelector('.chart tbody th').textContent === '5003 python3' && document.querySelector('.chart thead [aria-sort]').textContent.includes(':')")
	p.run(chromedp.MouseEvent("mouseMoved", 5, 5))
	p.until("[...document.querySelectorAll('.chart .note')].some((n) => n.textContent.endsWith('of 49 lines'))")
	color := eval[string](p, "document.querySelector('.chart tbody rect').getAttribute('fill')")
	p.selects("Lines of proc.io.write_bytes", "5")
	p.until("document.querySelectorAll('.chart tbody tr').length === 5 && document.querySelector('.chart').textContent.includes('44 more lines are not drawn')")
	if c := eval[string](p, "document.querySelector('.chart tbody rect').getAttribute('fill')"); c != color {
		t.Errorf("the line changed its colour from %s to %s", color, c)
	}
	order()
	p.shot("five")
	p.selects("Lines of proc.io.write_bytes", "100")
	p.until("document.querySelectorAll('.chart tbody tr').length === 49")
	// It is part of a dashboard too.
	p.button("Edit proc.io.write_bytes")
	p.do("(() => { const i = [...document.querySelectorAll('dialog label')].find((l) => l.textContent.includes('Largest lines')).querySelector('input'); i.value = '7'; i.dispatchEvent(new Event('change', {bubbles: true})); })()")
	p.button("Done")
	p.until(`location.hash.includes('%22top%22%3A7')`)
}

// TestExtraUnits shows degrees, volts, and the power of a counter of energy.
func TestExtraUnits(t *testing.T) {
	p := open(t, newFake(t), "#/charts?chart=sensors.temperature", 1280, 900)
	for _, c := range [][2]string{{"temperature", "41.5 °C"}, {"rail", "12.0 V"}, {"leak", "250 byte/A"}, {"energy", "4.50 kW"}} {
		p.do(fmt.Sprintf("location.hash = '#/charts?chart=sensors.%s'", c[0]))
		p.until(fmt.Sprintf("document.querySelector('.chart')?.textContent.includes('sensors.%s') && document.querySelector('.chart tbody td')?.textContent === %q", c[0], c[1]))
	}
}

// TestJoint checks a chart where samples of ten seconds and of one second meet: the mean is weighted by time, and the
// page names the length of samples.
func TestJoint(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=joint.calls", 1280, 900)
	p.until("/Samples every 10 s until \\d\\d:\\d\\d:\\d\\d, then every 1 s/.test(document.querySelector('.joint')?.textContent)")
	p.until("document.querySelectorAll('.chart tbody td').length === 3 && document.querySelectorAll('.chart tbody td')[0].textContent.startsWith('10') && document.querySelectorAll('.chart tbody td')[0].textContent.length > 6")
	p.wait(f, "joint.calls", 6)
	cell := func(n int) float64 {
		t.Helper()
		text := strings.TrimSuffix(eval[string](p, fmt.Sprintf("document.querySelectorAll('.chart tbody td')[%d].textContent", n)), " /s")
		scale := 1.0
		if s, ok := strings.CutSuffix(text, " k/s"); ok {
			text, scale = s, 1000
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return v * scale
	}
	mean, since := cell(1), float64(time.Now().UnixMilli())/1000-f.began
	// Since the change the rate is 1010, before it 10; the window is of five minutes.
	want := func(fast float64) float64 { return 10 + 1000*min(300, max(0, fast))/300 }
	if mean < want(since-5) || mean > want(since+1) {
		t.Errorf("the mean is %v, want %.1f to %.1f", mean, want(since-5), want(since+1))
	}
	if m := cell(2); m < 950 || m > 1100 {
		t.Errorf("the largest is %v, want about 1010", m)
	}
	if s := eval[string](p, "[...document.querySelectorAll('.chart thead .sort')].find((b) => b.textContent === 'max').title"); !strings.Contains(s, "of 10 s each until") || !strings.Contains(s, "of 1 s each after it") {
		t.Errorf("the heading of the largest says %q", s)
	}
	p.shot("steps")

	// In an hour, samples of a tenth of a second are closer than pixels: means over the interval of the
	// recorded ones are drawn.
	p.do("location.hash = '#/charts?chart=joint.calls&window=3600&step=0.1'")
	p.until("document.querySelector('.joint')?.textContent.includes('Means of 10 s are drawn')")
	p.wait(f, "joint.calls", 80)
	dir := p.downloads()
	p.exports("SVG")
	picture := string(file(t, dir, "svg"))
	path := regexp.MustCompile(`<path d="([^"]+)" fill="none"`).FindAllStringSubmatch(picture, -1)
	if len(path) != 1 {
		t.Fatalf("%d lines in\n%.2000s", len(path), picture)
	}
	// A value has a corner at either end. An hour has 360 recorded values and one or two live ones.
	if n := strings.Count(path[0][1], "L"); n < 650 || n > 740 {
		t.Errorf("the line has %d corners, want about 720", n)
	}
	p.shot("hour")
}

// TestZoom zooms in repeatedly, and goes back by button, key and history.
func TestZoom(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=kernel.all.load&window=3600", 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 3")
	p.button("Pause")
	p.until("location.hash.includes('end=')")
	back := "[...document.querySelectorAll('button')].some((b) => b.textContent.includes('Zoom out'))"
	if eval[bool](p, back) {
		t.Error("there is a way back from nothing")
	}
	window := func() float64 {
		return eval[float64](p, "Number(new URLSearchParams(location.hash.split('?')[1]).get('window') ?? 300)")
	}
	zoom := func() float64 {
		t.Helper()
		from := window()
		for tries := 0; window() == from; tries++ {
			if tries == 20 {
				t.Fatal("dragging over a chart does nothing")
			}
			box := eval[[]float64](p, "(() => { const r = document.querySelector('.uplot .u-over').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()")
			y := box[1] + box[3]/2
			p.run(chromedp.DragAndDropXY(box[0]+box[2]*0.3, y, box[0]+box[2]*0.6, y, 5))
			time.Sleep(100 * time.Millisecond)
		}
		return window()
	}
	is := func(w float64) {
		t.Helper()
		p.until(fmt.Sprintf("Math.abs(Number(new URLSearchParams(location.hash.split('?')[1]).get('window') ?? 300) - %f) < 1", w))
	}
	hash := eval[string](p, "location.hash")
	one := zoom()
	p.until(back)
	two := zoom()
	if one > 1300 || two > 450 {
		t.Errorf("the windows are of %v and %v s", one, two)
	}
	p.shot("zoomed")
	p.button("⤺ Zoom out")
	is(one)
	p.key("z")
	is(3600)
	p.until(fmt.Sprintf("location.hash === %q && !(%s)", hash, back))
	if w := zoom(); w > 1300 {
		t.Errorf("the window is of %v s", w)
	}
	p.do("history.back()")
	is(3600)
}

// TestExport saves the visible data as numbers and as pictures, and prints it.
func TestExport(t *testing.T) {
	f := newFake(t)
	p := open(t, f, "#/charts?chart=hostile.values", 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 3")
	p.until("document.querySelectorAll('.chart .mark').length > 0 && document.querySelector('.joint')")
	var dir string
	var rows [][]string
	for range 10 { // on a busy machine the recorded samples may be requested again at this time
		var err error
		dir = p.downloads()
		p.exports("CSV")
		if rows, err = csv.NewReader(bytes.NewReader(file(t, dir, "csv"))).ReadAll(); err != nil {
			t.Fatal(err)
		}
		if len(rows) >= 20 {
			break
		}
	}
	if len(rows) < 20 || len(rows[0]) != 4 || rows[0][0] != "time" || rows[0][1] != hostile {
		t.Errorf("%d rows, the first is %q", len(rows), rows[0])
	}
	for _, r := range rows[1:] {
		at, err := time.Parse("2006-01-02T15:04:05.999Z", r[0])
		if err != nil || time.Since(at) > 10*time.Minute {
			t.Fatalf("the time is %q (%v)", r[0], err)
		}
		if v, err := strconv.ParseFloat(r[1], 64); r[1] != "" && (err != nil || v < 0 || v > 6) {
			t.Fatalf("the value is %q (%v)", r[1], err)
		}
	}
	p.exports("SVG")
	text := file(t, dir, "svg")
	named := 0
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the SVG: %v\n%.1500s", err, text)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local == "script" || e.Name.Local == "img" || e.Name.Local == "foreignObject" {
				t.Errorf("the SVG has an element %s", e.Name.Local)
			}
		case xml.CharData:
			if strings.Contains(string(e), "onerror") {
				named++
			}
		}
	}
	if named == 0 || bytes.Count(text, []byte(`fill="none"`)) < 3 {
		t.Errorf("the SVG has not all lines and names:\n%.1500s", text)
	}
	p.exports("PNG")
	picture, err := png.Decode(bytes.NewReader(file(t, dir, "png")))
	if err != nil {
		t.Fatal(err)
	}
	if b := picture.Bounds(); b.Dx() < 300 || b.Dy() < 250 {
		t.Errorf("the picture has %v", b)
	}
	if p.shots != "" {
		list, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, name := range list {
			b, _ := os.ReadFile(name)
			_ = os.WriteFile(filepath.Join(p.shots, "export"+filepath.Ext(name)), b, 0o644)
		}
	}

	// Processes, without text that a spreadsheet would execute.
	dir = p.downloads()
	p.do("location.hash = '#/activity?sort=write'")
	p.until(first + ".querySelector('th').title.startsWith('python3 /srv/jobs/copy.py')")
	p.button("CSV")
	rows, err = csv.NewReader(bytes.NewReader(file(t, dir, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(processes)+1 || !strings.HasPrefix(strings.Join(rows[0], ","), "PID,user,command,CPU (share of 1),Memory (B),Read (B/s),") || rows[1][0] != "5003" || !strings.HasSuffix(rows[1][2], "copy.toml") {
		t.Errorf("%d rows: %q", len(rows), rows[:2])
	}
	seen := false
	for _, r := range rows[1:] {
		for _, c := range r {
			seen = seen || c == "'"+formula
			if strings.HasPrefix(c, "=") {
				t.Errorf("a spreadsheet would carry out %q", c)
			}
		}
	}
	if !seen {
		t.Error("a command is missing")
	}

	// On paper there are no controls, and a dark page is light.
	p.key("o")
	p.until(drawn)
	p.key("d")
	p.until("document.documentElement.dataset.theme === 'dark'")
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	p.until("document.querySelector('.head nav').getClientRects().length === 0 && document.querySelector('.time .group').getClientRects().length === 0 && document.querySelector('.tile').getClientRects().length > 0")
	p.until("getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)' && document.querySelector('.when').getClientRects().length === 1")
	p.shot("print")
}
