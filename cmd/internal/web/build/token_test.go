package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/web"
	"github.com/go-pcp/pcp/cmd/internal/web/dashboards"
)

// private serves the fake collector through pmproxy, with processes and control groups only for clients with
// the token.
func private(t *testing.T, token string) *fake {
	t.Helper()
	f := newFake(t)
	page, err := web.New(web.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	own := http.HandlerFunc(f.pmapi)
	anybody := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/fetch") {
			own(w, r)
			return
		}
		// The metrics are known, but have no values.
		q := r.URL.Query()
		var names []string
		for _, n := range strings.Split(q.Get("names"), ",") {
			if !strings.HasPrefix(n, "proc.") && !strings.HasPrefix(n, "cgroup.") {
				names = append(names, n)
			}
		}
		q.Set("names", strings.Join(names, ","))
		r.URL.RawQuery = q.Encode()
		own(w, r)
	})
	s, err := pmproxy.New(pmproxy.Config{
		Listeners: []net.Listener{ln}, PageToken: token,
		Handlers: map[string]http.Handler{"/pmapi": anybody, "/series/": http.HandlerFunc(f.series), "/alerts": page, "/dashboards": page, "/recordings": page, "/": page},
		Private: map[string]http.Handler{"/pmapi": own, "/recordings": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.recordings == nil {
				http.NotFound(w, r)
				return
			}
			f.recordings.ServeHTTP(w, r)
		}), "/dashboards": dashboards.New(dashboards.Config{Dir: t.TempDir()}), "/alerts": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.alerts != nil {
				f.alerts.ServeHTTP(w, r)
				return
			}
			reply(w, 200, map[string]any{"success": true, "alerts": []any{map[string]any{
				"rule": "disk " + hostile, "host": "fake.example.com", "instance": "sda", "value": "97.5", "first_value": "91", "limit": "> 0.9", "since": "2026-11-24T05:00:00Z", "expression": "disk.dev.avactive > 0.9",
			}}})
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	f.Server.Close()
	f.Server = &httptest.Server{URL: "http://localhost:" + strings.Split(ln.Addr().String(), ":")[1], Listener: ln, Config: &http.Server{}}
	return f
}

// TestToken opens the page with and without its token. With it processes are shown, the address loses the token, and
// the browser is recognised from then on; without it the page explains why there are none, and how to get them.
func TestToken(t *testing.T) {
	const token = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	f := private(t, token)
	p := open(t, f, "?token="+token+"#/overview?window=900", 1280, 1400)
	p.until(drawn)
	p.until("!location.search && location.hash.includes('window=900')")
	p.until("document.querySelectorAll('.list tbody tr').length >= 7")
	p.until("document.querySelectorAll('.now tr.firing').length === 1 && document.querySelector('.now tr.firing').textContent.includes('onerror') && document.querySelector('.now tr.firing').textContent.includes('24 Nov 2026')")
	// The current value, the value when it fired, and the limit.
	p.until(`[...document.querySelectorAll('.now tr.firing td')].slice(1, 4).map((x) => x.textContent).join() === '97.5,91,> 0.9'`)
	p.says(".now tr.firing code", "disk.dev.avactive > 0.9")
	p.shot("known")
	// It leads to the activity at that time.
	p.do("document.querySelector('.now tr.firing a').click()")
	at := time.Date(2026, 11, 24, 5, 1, 0, 0, time.UTC).Unix()
	if time.Now().Unix() > at {
		p.until(fmt.Sprintf("location.hash.startsWith('#/activity') && location.hash.includes('sort=write') && location.hash.includes('end=%d')", at))
	}
	p.do("history.back()")
	p.until(drawn)
	if s := eval[string](p, "document.cookie + JSON.stringify(Object.entries(localStorage)) + location"); strings.Contains(s, token) || strings.Contains(s, "pcp-page-") {
		t.Errorf("scripts can see the token or the cookie: %s", s)
	}
	p.run(chromedp.Navigate(f.URL + "/?again"))
	p.until("location.search === '?again' && document.querySelectorAll('.list tbody tr').length >= 7")

	q := open(t, f, "", 1280, 1400)
	q.until("document.querySelectorAll('.uplot canvas').length >= 6")
	q.until("[...document.querySelectorAll('.why')].filter((x) => x.textContent.includes('pcp chart')).length === 2")
	if n := eval[int](q, "document.querySelectorAll('.now').length"); n > 0 {
		t.Error("others are told which rules are true")
	}
	q.shot("unknown")
	r := open(t, f, "?token=WRONGWRONGWRONGWRONGWRONGW", 1280, 900)
	r.until("document.querySelector('.trouble')?.textContent.includes('not the token of this page') && !location.search")
	r.until("document.querySelectorAll('.uplot canvas').length >= 6")
	r.shot("wrong")
}
