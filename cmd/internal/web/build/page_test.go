package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestBundle checks that dist is the output of the sources, byte for byte.
func TestBundle(t *testing.T) {
	want, err := bundle("..")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../dist")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(got, names) {
		t.Errorf("dist has %v, want %v", got, names)
	}
	for name, data := range want {
		if b, err := os.ReadFile(filepath.Join("../dist", name)); err != nil || !bytes.Equal(b, data) {
			t.Errorf("dist/%s is not what the sources make (%v): go -C web/build run .", name, err)
		}
	}
}

// TestBroken checks that a mistake in the sources is an error with its position.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "units.ts"), []byte("export const a = ;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle(dir); err == nil || !strings.Contains(err.Error(), "src/units.ts:1:17: ") {
		t.Errorf("a mistake: %v", err)
	}
}

// patience is the longest time that a test waits; it does not wait for immediate results.
const patience = 60 * time.Second

// A tab is a page in a browser, with the errors in it.
type tab struct {
	t     *testing.T
	ctx   context.Context
	shots string

	mu       sync.Mutex
	problems []string
}

// chrome finds the browser, or skips the test.
func chrome(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("PCP_CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("SKIPPED: there is no Chromium; scripts/chromium installs it where apt and root allow")
	return ""
}

// open shows a link of the server in a new browser. Requests of the page to other servers, console
// messages and exceptions fail the test.
func open(t *testing.T, f *fake, link string, width, height int) *tab {
	t.Helper()
	path := chrome(t)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(width, height), chromedp.Flag("js-flags", "--expose-gc"), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("lang", "en-GB"), chromedp.Env("TZ=UTC"))
	if out := os.Getenv("PCP_CHROMIUM_LOG"); out != "" {
		opts = append(opts, chromedp.CombinedOutput(os.Stderr))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(longtest.N(5, 30))*time.Minute)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	p := &tab{t: t, ctx: ctx, shots: os.Getenv("PCP_SCREENSHOTS")}
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.problem("exception: %s", describe(e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			for _, a := range e.Args {
				p.problem("console: %s %s %s", e.Type, a.Value, a.Description)
			}
		case *cdplog.EventEntryAdded:
			// The page reports a refused request; the browser logs it here too.
			if e.Entry.Source != cdplog.EntrySourceNetwork {
				p.problem("log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, f.URL+"/") && !strings.HasPrefix(u, "blob:"+f.URL+"/") {
				p.problem("a request to %s", u)
			}
		case *page.EventJavascriptDialogOpening:
			p.problem("a dialog: %s", e.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.problems {
			t.Error(s)
		}
	})
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	p.run(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(f.URL+"/"+link))
	return p
}

func describe(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Text + " " + d.Exception.Description
	}
	return d.Text
}

func (p *tab) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

func (p *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// do evaluates an expression for its effect.
func (p *tab) do(js string) {
	p.t.Helper()
	p.run(chromedp.Evaluate[chromedp.Void](js))
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, js string, opts ...chromedp.EvaluateOption) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, opts...))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits until an expression is true in the page.
func (p *tab) until(js string) {
	p.t.Helper()
	wait := fmt.Sprintf(`(async () => {
		for (const end = performance.now() + %d; performance.now() < end; await new Promise((r) => setTimeout(r, 30))) {
			try {
				if (%s) return true;
			} catch {} // an element that is not there yet
		}
		return false;
	})()`, patience.Milliseconds(), js)
	ok, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	for range 3 {
		if err == nil || !strings.Contains(err.Error(), "navigated") { // by a page that leads to another one
			break
		}
		ok, err = chromedp.Run(p.ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	}
	if err != nil || !ok {
		text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string]("location.hash + '\\n' + document.querySelector('.when')?.innerText + '\\n' + document.querySelector('#app')?.innerText.replace(/(\\n[A-Z]\\w+\\/\\S+)+/g, '').slice(0, 2000)"))
		p.shot("failed")
		p.t.Fatalf("never true: %s (%v); the page says:\n%s\n%v", js, err, text, p.problems)
	}
}

// click clicks the first element that a selector finds.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q) && !document.querySelector(%q).disabled", selector, selector))
	p.do(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// shot saves a picture of the page, if PCP_SCREENSHOTS names a directory.
func (p *tab) shot(name string) {
	p.t.Helper()
	if p.shots == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Error(err)
		return
	}
	file := strings.ReplaceAll(p.t.Name(), "/", "-") + "-" + name + ".png"
	if err := os.WriteFile(filepath.Join(p.shots, file), png, 0o644); err != nil {
		p.t.Error(err)
	}
}

// charts is the number of charts that have lines on their canvas.
const charts = "[...document.querySelectorAll('.uplot canvas')].length"

// drawn is true when the overview has all its charts and, where they are in sight at once, the processes.
const drawn = "document.querySelectorAll('.uplot canvas').length >= 6 && (innerWidth < 600 || document.querySelectorAll('[aria-label=Processes] tbody tr').length >= 4) && document.querySelector('.big').textContent.includes('%')"

// TestOverview checks that the page draws soon, updates live, and fits wide and small screens.
func TestOverview(t *testing.T) {
	f := newFake(t)
	for _, size := range [][2]int{{1440, 1000}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			began := time.Now()
			p := open(t, f, "", size[0], size[1])
			p.until(drawn)
			// The time depends on the load of the machine, and is only reported.
			paint := eval[float64](p, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
			drawnAfter := time.Since(began).Round(time.Millisecond)
			p.run(chromedp.Reload())
			p.until(drawn)
			again := eval[float64](p, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
			t.Logf("drawn %v after the browser was started, first paint after %.0f ms, when loaded again %.0f ms", drawnAfter, paint, again)
			p.shot("first")
			p.until("document.title.startsWith('fake.example.com')")
			// It is live: the time advances.
			when := eval[string](p, "document.querySelector('.when').textContent")
			p.until(fmt.Sprintf("document.querySelector('.when').textContent !== %q", when))
			// Nothing is wider than the screen.
			if w := eval[int](p, "document.documentElement.scrollWidth"); w > size[0] {
				t.Errorf("the page is %d pixels wide on a screen of %d", w, size[0])
			}
			if n := eval[int](p, "document.querySelectorAll('[aria-label=Alerts] tr.firing').length"); n != 1 {
				t.Errorf("%d rules fire, want 1", n)
			}
			p.do("scrollTo(0, 700)")
			p.shot("below")
		})
	}
}

// link returns the part of the address that reproduces the view.
func (p *tab) link() url.Values {
	p.t.Helper()
	hash := eval[string](p, "location.hash")
	_, query, _ := strings.Cut(hash, "?")
	v, err := url.ParseQuery(query)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}
