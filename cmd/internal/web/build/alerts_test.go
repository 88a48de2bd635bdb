package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// desk answers requests about two alerts, as "pcp up" does, and remembers the requests.
type desk struct {
	mu       sync.Mutex
	acked    bool
	silenced map[string]any
	done     []string
	full     bool // nothing can be saved
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := func(before time.Duration) string { return time.Now().Add(-before).UTC().Format(time.RFC3339Nano) }
	if r.Method != http.MethodGet {
		b, _ := io.ReadAll(r.Body)
		d.done = append(d.done, fmt.Sprintf("%s %s %s", r.Method, strings.TrimPrefix(r.URL.Path, "/alerts/"), b))
		if d.full {
			reply(w, 500, map[string]any{"success": false, "message": "no space left " + hostile})
			return
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /alerts":
		one := map[string]any{
			"id": "01", "own": true, "rule": "disk " + hostile, "host": "fake.example.com", "instance": "sda", "value": "97.5", "first_value": "91", "limit": "> 0.9", "since": at(time.Hour), "expression": "disk.dev.avactive > 0.9",
			"periods": []any{map[string]any{"from": at(5 * time.Hour), "until": at(4 * time.Hour)}, map[string]any{"from": at(time.Hour)}},
		}
		if d.acked {
			one["acknowledgement"] = map[string]any{"rule": "x", "at": at(0)}
		}
		answer := map[string]any{"success": true, "past": []any{map[string]any{"rule": "earlier " + hostile, "host": "h", "periods": []any{map[string]any{"from": at(3 * time.Hour), "until": at(2 * time.Hour)}}}}}
		if d.silenced != nil {
			one["silence"] = d.silenced
			answer["silences"] = []any{d.silenced}
		}
		answer["alerts"] = []any{one, map[string]any{"id": "02", "rule": "of another process", "value": "1", "since": at(time.Minute), "periods": "no list", "silence": 7}}
		reply(w, 200, answer)
	case "PUT /alerts/acknowledgements/01", "DELETE /alerts/acknowledgements/01":
		d.acked = r.Method == http.MethodPut
		reply(w, 200, map[string]any{"success": true})
	case "POST /alerts/silences":
		d.silenced = map[string]any{"id": "s1", "rule": "disk " + hostile, "until": at(-time.Hour), "comment": hostile}
		reply(w, 200, map[string]any{"success": true})
	case "DELETE /alerts/silences/s1":
		d.silenced = nil
		reply(w, 200, map[string]any{"success": true})
	default:
		reply(w, 404, map[string]any{"success": false, "message": "no such alert"})
	}
}

// TestAlerts acknowledges and silences an alert by its buttons, and checks its history.
func TestAlerts(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f := private(t, token)
	d := &desk{}
	f.alerts = d
	p := open(t, f, "?token="+token, 390, 844)
	name := "disk " + hostile + " of sda"
	p.until("document.querySelectorAll('.now tr.firing').length === 2 && document.querySelector('.past')?.getAttribute('aria-label').startsWith('It fired 2 times in the last day, for 2 h; last from ')")
	p.until("document.querySelectorAll('.now tr.firing')[0].querySelectorAll('.past .fired').length === 2")
	if n := eval[int](p, "document.querySelectorAll('.now tr.firing')[1].querySelectorAll('.acts, .past').length"); n != 0 {
		t.Error("an alert of another process can be silenced here")
	}
	p.button("Acknowledge " + name)
	p.until("document.querySelector('.now tr.quiet')")
	p.button("Take back the acknowledgement of " + name)
	p.until("!document.querySelector('.now tr.quiet')")
	p.selects("Silence "+name, "3600")
	p.until("document.querySelector('.now tr.quiet') && document.querySelector('.earlier summary').textContent === '1 alert fired earlier in the last day, 1 silence'")
	p.do("document.querySelector('.earlier').open = true")
	p.until("document.querySelector('.earlier').textContent.includes('earlier <img') && document.querySelector('.earlier').textContent.includes(': <img')")
	if w := eval[int](p, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("the page is %d pixels wide", w)
	}
	p.do("document.querySelector('.alerts').scrollIntoView()")
	p.shot("silenced")
	p.do("[...document.querySelectorAll('.acts button')].find((b) => b.getAttribute('aria-label').includes('end the silence of disk')).click()")
	p.until("!document.querySelector('.now tr.quiet')")
	d.mu.Lock()
	d.full = true
	d.mu.Unlock()
	p.button("Acknowledge " + name)
	p.until("document.querySelector('.said').textContent.includes('no space left')")
	d.mu.Lock()
	done := d.done
	d.mu.Unlock()
	silence, err := json.Marshal(map[string]any{"rule": "disk " + hostile, "host": "fake.example.com", "instance": "sda", "series": "", "seconds": 3600})
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	_ = json.Unmarshal(silence, &want)
	if len(done) != 5 || done[0] != "PUT acknowledgements/01 {}" || done[1] != "DELETE acknowledgements/01 " || done[3] != "DELETE silences/s1 " {
		t.Fatalf("done: %q", done)
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(done[2], "POST silences ")), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("silenced: %v, want %v (%v)", got, want, err)
	}
	p.do("document.querySelector('.busy').click()")
	p.until("location.hash.startsWith('#/activity') && location.hash.includes('sort=write')")
}

// TestAlertsAccessible has axe check alerts, light and dark.
func TestAlertsAccessible(t *testing.T) {
	script := axeScript(t)
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f := private(t, token)
	f.alerts = &desk{silenced: map[string]any{"id": "s1", "until": "2036-01-01T00:00:00Z"}}
	p := open(t, f, "?token="+token, 1280, 900)
	p.until(drawn)
	p.until("document.querySelector('.now .acts')")
	p.do("document.querySelector('.earlier').open = true")
	for range 2 {
		p.key("d")
		p.run(chromedp.Evaluate[chromedp.Void](script + ";0"))
		list := eval[[]string](p, `axe.run(document.querySelector('.alerts'), {resultTypes: ['violations']}).then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')))`, chromedp.EvalAwaitPromise)
		for _, v := range list {
			t.Errorf("%s: %s", eval[string](p, "document.documentElement.dataset.theme"), v)
		}
	}
}
