package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// fetched returns the number of fetches from the collector.
func (f *fake) fetched() int { return f.askedOf("") }

// TestStream has the server send samples: the page then fetches nothing, a hidden page has no stream, and the page comes back to polling and
// to a stream when a stream ends.
func TestStream(t *testing.T) {
	f := newFake(t)
	f.streams, f.cut = true, make(chan struct{})
	p := open(t, f, "#/charts?chart=kernel.all.load&chart=disk.dev.read", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 2")
	more := func(n int64) {
		t.Helper()
		from := f.sent.Load()
		await.Until(t, "samples are sent", func() bool { return f.sent.Load() >= from+n })
	}
	more(2)
	polled := f.fetched()
	more(3)
	if n := f.fetched(); n > polled+1 { // one may be under way
		t.Errorf("%d fetches beside a stream", n-polled)
	}
	moves := func() {
		t.Helper()
		when := p.text(".when")
		p.until("document.querySelector('.when').textContent !== " + quote(when))
	}
	moves()
	p.until("[...document.querySelectorAll('.chart tbody th')].some((e) => e.textContent.includes('sda'))")

	streams := func(what string) {
		t.Helper()
		await.Until(t, "there is a stream with "+what, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.ContainsFunc(f.log, func(s string) bool { return strings.HasPrefix(s, "/stream?") && strings.Contains(s, what) })
		})
	}
	// One process has a stream with its instance alone.
	p.do("location.hash = '#/activity?pid=5002'")
	streams("instance=5002")
	p.until("document.querySelectorAll('.process .uplot').length >= 3")
	more(4)
	polled = f.fetched()
	more(6)
	if n := f.fetched(); n > polled+1 {
		t.Errorf("%d fetches of a process beside its stream", n-polled)
	}
	p.until("[...document.querySelectorAll('.process .chart tbody td')].some((e) => e.textContent.startsWith('140'))") // percent of a processor, in the program

	// Another chart has another stream.
	p.do("location.hash = '#/charts?chart=swap.used'")
	streams("swap.used")
	p.until("document.querySelectorAll('.uplot').length === 1 && document.querySelector('.joint')") // the archives were read
	more(2)

	// A hidden page asks for nothing.
	hide := func(hidden string) {
		t.Helper()
		p.do("Object.defineProperty(document, 'hidden', {configurable: true, get: () => " + hidden + "}); document.dispatchEvent(new Event('visibilitychange'))")
	}
	hide("true")
	await.Until(t, "no stream is open", func() bool { return f.receivers.Load() == 0 })
	requests := f.requests.Load()
	p.until(fmt.Sprintf("performance.now() > %f", eval[float64](p, "performance.now()")+2500))
	if n := f.requests.Load() - requests; n > 1 { // one may have been under way
		t.Errorf("the hidden page made %d requests", n)
	}
	hide("false")
	more(2)
	moves()

	// Without streams, as after one ended, the page polls.
	f.mu.Lock()
	f.streams = false
	close(f.cut)
	f.mu.Unlock()
	await.Until(t, "the streams end", func() bool { return f.receivers.Load() == 0 })
	p.wait(f, "swap.used", 3)
	moves()
}

// TestStreamBack opens a stream again when the collector is back.
func TestStreamBack(t *testing.T) {
	f := newFake(t)
	f.streams, f.cut = true, make(chan struct{})
	p := open(t, f, "#/charts?chart=kernel.all.load", 1280, 900)
	p.until("document.querySelectorAll('.uplot').length === 1")
	await.Until(t, "there is a stream", func() bool { return f.receivers.Load() == 1 })
	f.mu.Lock()
	f.down = true
	close(f.cut)
	f.mu.Unlock()
	p.until("document.querySelector('.trouble')?.textContent.includes('does not answer')")
	f.mu.Lock()
	f.down, f.cut = false, make(chan struct{})
	f.mu.Unlock()
	p.button("Try now")
	await.Until(t, "there is a stream again", func() bool { return f.receivers.Load() == 1 })
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "\\'") + "'" }
