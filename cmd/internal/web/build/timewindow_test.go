package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/live/timectl"
	"github.com/go-pcp/pcp/cmd/internal/live/val"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A sink can be read while it is written to.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for a text that matches re, and returns its groups.
func (s *sink) until(t *testing.T, re string) []string {
	t.Helper()
	want := regexp.MustCompile(re)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if m := want.FindStringSubmatch(s.String()); m != nil {
			return m
		}
	}
	t.Fatalf("no %s in\n%s", re, s)
	return nil
}

// TestTimeWindow has pmtime open its window in a browser, and moves pmval over an archive by its buttons and keys.
func TestTimeWindow(t *testing.T) {
	path := chrome(t)
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("test.a", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 61 {
		m.PutUint(uint64(i))
		if err := im.Write(time.Unix(1_700_000_000+10*int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}

	// The browser of pmtime writes down the path that it must show.
	dir := t.TempDir()
	door := filepath.Join(dir, "door")
	script := "#!/bin/sh\necho \"$1\" >" + door + ".new && mv " + door + ".new " + door + "\n"
	if err := os.WriteFile(filepath.Join(dir, "browse"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{"HOME": dir, "TZ": "UTC", "PATH": os.Getenv("PATH"), "BROWSER": filepath.Join(dir, "browse")}
	start := func(c *cli.Command, args ...string) (out, errs *sink, done chan int) {
		out, errs, done = new(sink), new(sink), make(chan int, 1)
		env := &cli.Env{
			Name: c.Link, Args: args, Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Command: c,
			Getenv: func(name string) string { return vars[name] },
		}
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() { done <- c.Run(ctx, env) }()
		return out, errs, done
	}
	end := func(name string, done chan int, want int, errs *sink) {
		t.Helper()
		select {
		case status := <-done:
			if status != want {
				t.Errorf("%s: status %d: %s", name, status, errs)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end", name)
		}
	}
	out, errs, timeDone := start(timectl.Command, "-a")
	port := out.until(t, `port=(\d+)`)[1]

	var shows []byte
	for deadline := time.Now().Add(time.Minute); len(shows) == 0; time.Sleep(10 * time.Millisecond) {
		shows, _ = os.ReadFile(door)
		if time.Now().After(deadline) {
			t.Fatalf("no window is opened: %s", errs)
		}
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(720, 330), chromedp.Flag("disable-dev-shm-usage", true))...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(ctx)
	t.Cleanup(closeBrowser)
	// The first page keeps the browser when the window is closed.
	if _, err := chromedp.Targets(ctx); err != nil {
		t.Fatal(err)
	}
	window, closeWindow := chromedp.NewContext(ctx)
	t.Cleanup(closeWindow)
	p := &tab{t: t, ctx: window}
	p.run(chromedp.Navigate("file://" + strings.TrimSpace(string(shows))))
	p.says("#clock", "no tool has come yet")
	shown, valErrs, valDone := start(val.Command, "-p", port, "-a", base, "-t", "10", "test.a")
	p.says("#tools", "1 tool")
	p.says("#clock", "Tue Nov 14 22:13:20 2023")
	if got := p.text("#sources [aria-selected=true]"); got != "Archives" {
		t.Errorf("selected: %q", got)
	}
	p.button("Step forward")
	shown.until(t, `\n22:13:30.000 +1\n`)
	p.do("document.querySelector('#goto').value = '@22:20:00'")
	p.do("document.querySelector('#goto').dispatchEvent(new Event('change'))")
	p.says("#clock", "Tue Nov 14 22:20:00 2023")
	p.key("n")
	shown.until(t, `\n22:20:10.000 +41\n`)
	p.key("p")
	p.says("#clock", "Tue Nov 14 22:20:00 2023")
	// In one step: a new state writes the speed into the field.
	p.do("{ const e = document.querySelector('#speed'); e.value = 'none'; e.dispatchEvent(new Event('change')) }")
	p.says("#message", `speed: not a number above 0, up to 10000: "none"`+"\n")
	p.do("document.querySelector('#fast').click()")
	p.button("Play")
	p.says("#clock", "Tue Nov 14 22:23:20 2023")
	shown.until(t, `\n22:23:20.000 +60\n`)
	p.until("document.querySelector('[data-line=stop]').getAttribute('aria-pressed') === 'true'")
	if dir := os.Getenv("PCP_SCREENSHOTS"); dir != "" {
		png, err := chromedp.Run(window, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "timewindow.png"), png, 0o666)
		}
		if err != nil {
			t.Error(err)
		}
	}
	// A reload keeps the control, and closing the window ends it, and the tool.
	p.do("window.old = true; location.reload()")
	p.until("!window.old && document.querySelector('#clock')?.textContent === 'Tue Nov 14 22:23:20 2023'")
	if err := chromedp.Cancel(window); err != nil {
		t.Error(err)
	}
	end("pmtime", timeDone, 0, errs)
	end("pmval", valDone, 1, valErrs)
	if errs.String() != "" || valErrs.String() != "\npmval: Time Control dialog exited, goodbye.\n" {
		t.Errorf("messages: %q, %q", errs, valErrs)
	}
}
