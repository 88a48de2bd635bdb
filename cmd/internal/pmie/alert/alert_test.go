package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

var discard = slog.New(slog.DiscardHandler)

// hostile are texts that must stay data.
var hostile = []string{
	"plain", "it's", `say "no"`, "$(echo no)", "a\necho no", "a\r\nBcc: x@example.com\r\n\r\n.\r\nMAIL FROM:<x@y>", "\x00\x01\x1b[31m", "<b>&amp;", `back\slash\`, "é ü", "\xff\xfe",
	strings.Repeat("long ", 200), "=?utf-8?q?x?=", "\n.\n", "\u2028\u202e", "",
}

// A pipe is a net.Listener whose connections stay in the process, so that tests can run
// with synthetic time.
type pipe struct {
	conns chan net.Conn
	gone  chan struct{}
	once  sync.Once
}

func newPipe() *pipe { return &pipe{conns: make(chan net.Conn), gone: make(chan struct{})} }

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}
func (p *pipe) Close() error   { p.once.Do(func() { close(p.gone) }); return nil }
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-p.gone:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A hook is a web server that records the alerts that it gets.
type hook struct {
	*pipe
	srv *http.Server

	mu     sync.Mutex
	how    func(n int, w http.ResponseWriter, r *http.Request) bool // reports whether the request is accepted
	asked  int
	bodies [][]byte
	heads  []http.Header
	paths  []string
}

func newHook(t *testing.T) *hook {
	h := &hook{pipe: newPipe()}
	h.srv = &http.Server{Handler: h}
	var done sync.WaitGroup
	done.Go(func() { h.srv.Serve(h.pipe) })
	t.Cleanup(func() {
		h.srv.Close()
		done.Wait()
	})
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	n, how := h.asked, h.how
	h.asked++
	h.mu.Unlock()
	if how != nil && !how(n, w, r) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bodies, h.heads, h.paths = append(h.bodies, body), append(h.heads, r.Header), append(h.paths, r.URL.Path)
}

func (h *hook) alerts(t *testing.T) (list []Alert) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.bodies {
		var a Alert
		if err := json.Unmarshal(b, &a); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		list = append(list, a)
	}
	return list
}

func (h *hook) set(how func(n int, w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how = how
}

func (h *hook) count() (asked, taken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, len(h.bodies)
}

func parseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (h *hook) receiver(t *testing.T, name string, kind Kind) *Receiver {
	return &Receiver{Name: name, Kind: kind, URL: parseURL(t, "http://hook.example/base"), Dial: h.dial}
}

// action returns an action of a rule with matches for instances.
func action(rule string, kind deliver.Kind, receiver string, insts ...string) deliver.Action {
	a := deliver.Action{Kind: kind, Rule: rule, Expr: "busy > 50", Time: time.Now(), Receiver: receiver, Resolved: len(insts) == 0}
	for _, inst := range insts {
		a.Matches = append(a.Matches, deliver.Match{Host: "h", Instance: inst, Value: "80", Text: inst + " is busy", Labels: map[string]string{"site": "a"}})
	}
	return a
}

func start(t *testing.T, dir string, rs ...*Receiver) (*Manager, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	m, err := New(Config{Receivers: rs, Dir: dir, Log: slog.New(slog.NewTextHandler(&locked{w: log}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return m, log
}

// locked makes a writer safe for several goroutines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func act(t *testing.T, m *Manager, a deliver.Action) {
	t.Helper()
	if err := m.Act(t.Context(), a); err != nil {
		t.Fatal(err)
	}
}

// statuses returns the status of each instance.
func statuses(list []Alert) (said []string) {
	for _, a := range list {
		s := a.Instance + " " + string(a.Status)
		if a.Notice > 0 {
			s += fmt.Sprint(" ", a.Notice)
		}
		said = append(said, s)
	}
	return said
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestOnce checks that a hook gets one message when an alert begins and one when it is
// over.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		dir := t.TempDir()
		m, _ := start(t, dir, h.receiver(t, "pager", Webhook))
		for range 5 {
			act(t, m, action("r", deliver.Webhook, "pager", "sda"))
			time.Sleep(10 * time.Second)
		}
		act(t, m, action("r", deliver.Webhook, "pager", "sda", "sdb"))
		act(t, m, action("other", deliver.Webhook, "pager"))
		synctest.Wait()
		same(t, "two", statuses(h.alerts(t)), "sda firing", "sdb firing")
		act(t, m, action("r", deliver.Webhook, "pager", "sdb"))
		act(t, m, action("r", deliver.Webhook, "pager"))
		act(t, m, action("r", deliver.Webhook, "pager"))
		synctest.Wait()
		list := h.alerts(t)
		same(t, "all", statuses(list), "sda firing", "sdb firing", "sda resolved", "sdb resolved")
		if a, b := list[0], list[2]; a.ID != b.ID || a.Key() == b.Key() || !b.Since.Equal(a.Since) || !b.Until.After(b.Since) || a.Labels["site"] != "a" || a.Text != "sda is busy" {
			t.Errorf("%+v, then %+v", a, b)
		}
		if key := h.heads[0].Get("Idempotency-Key"); key != list[0].Key() {
			t.Errorf("Idempotency-Key %q", key)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if files, _ := filepath.Glob(dir + "/pager/*"); len(files) != 0 {
			t.Errorf("left behind: %q", files)
		}
	})
}

// TestHoldoff checks that alerts are repeated after the holdoff, and not before.
func TestHoldoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		m, _ := start(t, t.TempDir(), h.receiver(t, "pager", Webhook))
		defer m.Close()
		said := func(insts ...string) {
			a := action("r", deliver.Webhook, "pager", insts...)
			a.Holdoff = time.Minute
			act(t, m, a)
			time.Sleep(20 * time.Second)
		}
		for range 4 {
			said("sda")
		}
		synctest.Wait()
		same(t, "repeated", statuses(h.alerts(t)), "sda firing", "sda firing 1")
		said()      // 80 s: it is over
		said("sda") // 100 s: too soon
		said("sda") // 120 s
		synctest.Wait()
		same(t, "again", statuses(h.alerts(t)), "sda firing", "sda firing 1", "sda resolved", "sda firing")
	})
}

// TestRulesetEscalates checks that a change of the rule is reported.
func TestRulesetEscalates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		m, _ := start(t, t.TempDir(), h.receiver(t, "pager", Webhook))
		defer m.Close()
		a := action("r", deliver.Webhook, "pager", "sda")
		act(t, m, a)
		a.Expr, a.Matches[0].Text = "busy > 90", "worse"
		act(t, m, a)
		act(t, m, a)
		synctest.Wait()
		list := h.alerts(t)
		same(t, "said", statuses(list), "sda firing", "sda firing 1")
		if list[1].Text != "worse" || list[0].Key() == list[1].Key() {
			t.Errorf("%+v", list)
		}
	})
}

// TestFaults makes receivers fail in many ways; each alert arrives once when they recover, and
// none of them delays another.
func TestFaults(t *testing.T) {
	status := func(code int) func(int, http.ResponseWriter, *http.Request) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n < 3 {
				w.WriteHeader(code)
				io.WriteString(w, "not now\x1b[31m")
				return false
			}
			return true
		}
	}
	for name, how := range map[string]func(int, http.ResponseWriter, *http.Request) bool{
		"slow": func(int, http.ResponseWriter, *http.Request) bool { time.Sleep(9 * time.Second); return true },
		"500":  status(500), "429": status(429), "redirect": status(302), "forbidden": status(403),
		"hang": func(n int, _ http.ResponseWriter, r *http.Request) bool {
			if n < 3 {
				<-r.Context().Done()
			}
			return n >= 3
		},
		"cut": func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n < 3 {
				panic(http.ErrAbortHandler)
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad, good := newHook(t), newHook(t)
				bad.set(how)
				m, log := start(t, t.TempDir(), bad.receiver(t, "bad", Webhook), good.receiver(t, "good", Webhook))
				begun := time.Now()
				for _, inst := range []string{"a", "b", "c"} {
					act(t, m, action("r"+inst, deliver.Webhook, "bad", inst))
					act(t, m, action("r"+inst, deliver.Webhook, "good", inst))
				}
				if d := time.Since(begun); d != 0 {
					t.Errorf("rules were held up for %v", d)
				}
				synctest.Wait()
				same(t, "the good one", statuses(good.alerts(t)), "a firing", "b firing", "c firing")
				time.Sleep(10 * time.Minute)
				same(t, "the bad one", statuses(bad.alerts(t)), "a firing", "b firing", "c firing")
				if s := m.Standings(); s[0].Firing != 3 || s[0].Waiting != 0 || s[0].Error != "" {
					t.Errorf("standing %+v", s[0])
				}
				if asked, _ := bad.count(); asked > 8 {
					t.Errorf("asked %d times", asked)
				}
				m.Close()
				if strings.Contains(log.String(), "\x1b") {
					t.Errorf("log %q", log)
				}
			})
		})
	}
}

// TestLostAnswer checks that a retry is recognisable.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		keys := make(map[string]int)
		h.set(func(n int, _ http.ResponseWriter, r *http.Request) bool {
			h.mu.Lock()
			keys[r.Header.Get("Idempotency-Key")]++
			h.mu.Unlock()
			if n == 0 {
				panic(http.ErrAbortHandler)
			}
			return true
		})
		m, _ := start(t, t.TempDir(), h.receiver(t, "pager", Webhook))
		act(t, m, action("r", deliver.Webhook, "pager", "sda"))
		time.Sleep(time.Minute)
		m.Close()
		if len(keys) != 1 || keys[h.alerts(t)[0].Key()] != 2 {
			t.Errorf("keys %v", keys)
		}
	})
}

// TestBackOff checks that a receiver that is down is tried less and less often, and at
// random times.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.Close() // it refuses connections
		m, log := start(t, t.TempDir(), h.receiver(t, "pager", Webhook))
		act(t, m, action("r", deliver.Webhook, "pager", "sda"))
		time.Sleep(time.Hour)
		s := m.Standings()[0]
		if s.Waiting != 1 || !strings.Contains(s.Error, "refused") || s.Retry.Before(time.Now()) || time.Until(s.Retry) > longestWait {
			t.Errorf("standing %+v", s)
		}
		m.Close()
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines of log: %s", n, log)
		}
	})
	for n := 1; n < 100; n++ {
		for range 100 {
			if d := waits().After(n); d < firstWait/2 || d > longestWait {
				t.Fatalf("pause after %d failures is %v", n, d)
			}
		}
	}
}

// TestRefused checks that a message refused for good is dropped, and the next one
// delivered.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.set(func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 0 {
				w.WriteHeader(422)
			}
			return n > 0
		})
		m, log := start(t, t.TempDir(), h.receiver(t, "pager", Webhook))
		act(t, m, action("r", deliver.Webhook, "pager", "sda"))
		synctest.Wait()
		act(t, m, action("s", deliver.Webhook, "pager", "sdb"))
		synctest.Wait()
		same(t, "said", statuses(h.alerts(t)), "sdb firing")
		m.Close()
		if !strings.Contains(log.String(), "is dropped") || !strings.Contains(log.String(), "422") {
			t.Errorf("log %s", log)
		}
	})
}

// TestLimits checks the limits of attempts, age and number.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false })
		few, old := h.receiver(t, "few", Webhook), h.receiver(t, "old", Webhook)
		few.Retries, few.Queue, old.MaxAge = 2, 2, time.Hour
		m, log := start(t, t.TempDir(), few, old)
		act(t, m, action("r", deliver.Webhook, "few", "sda"))
		act(t, m, action("r", deliver.Webhook, "old", "sda"))
		act(t, m, action("s", deliver.Webhook, "few", "sda"))
		if err := m.Act(t.Context(), action("u", deliver.Webhook, "few", "sda")); !errors.Is(err, ErrFull) {
			t.Errorf("a third one: %v", err)
		}
		if err := m.Act(t.Context(), action("v", deliver.Webhook, "old", strings.Repeat("x", MaxText))); !errors.Is(err, ErrTooLong) {
			t.Errorf("a long one: %v", err)
		}
		time.Sleep(2 * time.Hour)
		m.Close()
		for _, want := range []string{"3 attempts", "too old", "the spool is full"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log without %q: %s", want, log)
			}
		}
		for _, s := range m.Standings() {
			if s.Waiting != 0 {
				t.Errorf("standing %+v", s)
			}
		}
	})
}

// TestNextStart checks that the next process delivers pending messages, resolves alerts that are over,
// and repeats nothing.
func TestNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		dir := t.TempDir()
		r := h.receiver(t, "pager", Webhook)
		m, _ := start(t, dir, r)
		act(t, m, action("told", deliver.Webhook, "pager", "sda", "sdb"))
		synctest.Wait()
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false })
		act(t, m, action("waits", deliver.Webhook, "pager", "sdc"))
		act(t, m, action("gone", deliver.Webhook, "pager", "sdd"))
		synctest.Wait()
		if _, err := New(Config{Receivers: []*Receiver{r}, Dir: dir}); err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("a second one: %v", err)
		}
		m.Close()
		h.set(nil)
		m, _ = start(t, dir, r)
		defer m.Close()
		if err := m.Adopt([]deliver.Delivery{{Rule: "told", Kind: deliver.Webhook, Receiver: "pager"}, {Rule: "waits", Kind: deliver.Webhook, Receiver: "pager"}}); err != nil {
			t.Fatal(err)
		}
		act(t, m, action("told", deliver.Webhook, "pager", "sda"))
		act(t, m, action("waits", deliver.Webhook, "pager", "sdc"))
		synctest.Wait()
		got := statuses(h.alerts(t))
		slices.Sort(got)
		same(t, "all", got, "sda firing", "sdb firing", "sdb resolved", "sdc firing", "sdd firing", "sdd resolved")
	})
}

// TestUnknownReceivers checks that rules that name unknown receivers are refused.
func TestUnknownReceivers(t *testing.T) {
	r := &Receiver{Name: "pager", Kind: Webhook, URL: parseURL(t, "http://127.0.0.1:1")}
	m, _ := start(t, t.TempDir(), r)
	defer m.Close()
	err := m.Adopt([]deliver.Delivery{{Rule: "r", Kind: deliver.Mail, Receiver: "pager"}, {Rule: "s", Kind: deliver.Webhook, Receiver: "pagr"}})
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "rule r: mail pager: the receiver is of kind webhook") {
		t.Errorf("%v", err)
	}
	if err := m.Act(t.Context(), action("r", deliver.Webhook, "nobody", "x")); !errors.Is(err, ErrUnknown) {
		t.Errorf("%v", err)
	}
	for _, names := range [][]string{{"a", "a"}, {"../a"}, {""}} {
		var rs []*Receiver
		for _, name := range names {
			rs = append(rs, &Receiver{Name: name, Kind: Webhook, URL: r.URL})
		}
		if _, err := New(Config{Receivers: rs, Dir: t.TempDir()}); err == nil {
			t.Errorf("%q are names", names)
		}
	}
}

// TestOrder checks that a hook that was down gets messages in their order.
func TestOrder(t *testing.T) {
	for _, kind := range []Kind{Webhook, Alertmanager} {
		synctest.Test(t, func(t *testing.T) {
			h := newHook(t)
			h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false })
			dir := t.TempDir()
			m, _ := start(t, dir, h.receiver(t, "x", kind))
			var want []string
			say := func(rule string, insts ...string) {
				a := action(rule, deliver.Webhook, "x", insts...)
				if kind == Alertmanager {
					a.Kind = deliver.Alertmanager
				}
				act(t, m, a)
				time.Sleep(time.Second)
			}
			say("r", "a")
			say("s", "b")
			say("r", "c") // a is over
			say("s")
			say("r", "c", "a")
			say("r")
			want = append(want, "r a firing", "s b firing", "r c firing", "r a resolved", "s b resolved", "r a firing", "r c resolved", "r a resolved")
			m.Close()
			h.set(nil)
			m, _ = start(t, dir, h.receiver(t, "x", kind))
			time.Sleep(time.Second)
			m.Close()
			var got []string
			if kind == Webhook {
				for _, a := range h.alerts(t) {
					got = append(got, a.Rule+" "+a.Instance+" "+string(a.Status))
				}
			} else {
				for _, b := range h.bodies {
					var list []apiAlert
					if err := json.Unmarshal(b, &list); err != nil {
						t.Fatal(err)
					}
					for _, a := range list {
						status := "firing"
						if !a.EndsAt.After(time.Now()) {
							status = "resolved"
						}
						got = append(got, a.Labels["alertname"]+" "+a.Labels["instance"]+" "+status)
					}
				}
			}
			// The two messages of one evaluation may be in either order.
			for _, list := range [][]string{got, want} {
				for _, pair := range [][2]int{{2, 3}, {6, 7}} {
					if len(list) > pair[1] {
						slices.Sort(list[pair[0] : pair[1]+1])
					}
				}
			}
			same(t, string(kind), got, want...)
		})
	}
}

// TestFullDisk checks that alerts are delivered that cannot be written to a full disk, and written
// as soon as it has space.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		dir := t.TempDir()
		m, log := start(t, dir, h.receiver(t, "pager", Webhook))
		var full atomic.Bool
		full.Store(true)
		w := m.workers["pager"]
		w.spool.fail = func() error {
			if full.Load() {
				return syscall.ENOSPC
			}
			return nil
		}
		act(t, m, action("full", deliver.Webhook, "pager", "/var", "/tmp"))
		synctest.Wait()
		same(t, "told", statuses(h.alerts(t)), "/var firing", "/tmp firing")
		act(t, m, action("full", deliver.Webhook, "pager", "/var"))
		synctest.Wait()
		same(t, "told", statuses(h.alerts(t)), "/var firing", "/tmp firing", "/tmp resolved")
		if s := m.Standings()[0]; s.Unsaved != 1 || !strings.Contains(s.SpoolError, "no space") {
			t.Errorf("standing %+v", s)
		}
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false })
		act(t, m, action("other", deliver.Webhook, "pager", "sda"))
		if files, _ := filepath.Glob(dir + "/pager/*"); len(files) > 0 {
			t.Errorf("a full disk has %q", files)
		}
		full.Store(false)
		act(t, m, action("full", deliver.Webhook, "pager", "/var"))
		if s := m.Standings()[0]; s.Unsaved != 0 || s.SpoolError != "" {
			t.Errorf("standing %+v", s)
		}
		m.Close()
		if n := strings.Count(log.String(), "cannot be written"); n != 1 || !strings.Contains(log.String(), "written again") {
			t.Errorf("log %s", log)
		}
		// The next process knows all of it.
		h.set(nil)
		m, _ = start(t, dir, h.receiver(t, "pager", Webhook))
		act(t, m, action("full", deliver.Webhook, "pager", "/var"))
		act(t, m, action("other", deliver.Webhook, "pager"))
		synctest.Wait()
		m.Close()
		same(t, "all", statuses(h.alerts(t)), "/var firing", "/tmp firing", "/tmp resolved", "sda firing", "sda resolved")
	})
}

// TestDamagedSpool damages files of a spool in all ways: the other alerts are delivered, and damaged
// files are set aside.
func TestDamagedSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(500); return false })
		dir := t.TempDir()
		m, _ := start(t, dir, h.receiver(t, "pager", Webhook))
		insts := make([]string, 16)
		for i := range insts {
			insts[i] = fmt.Sprintf("sd%02d", i)
			act(t, m, action("r", deliver.Webhook, "pager", insts[:i+1]...))
			time.Sleep(time.Second)
		}
		m.Close()
		files, err := filepath.Glob(dir + "/pager/*.json")
		if err != nil || len(files) != len(insts) {
			t.Fatal(files, err)
		}
		rnd := rand.New(rand.NewPCG(longtest.Seed(t), 3))
		var left []string
		spoilt := 0
		for n, path := range files {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			e, err := decodeEntry(b)
			if err != nil {
				t.Fatal(err)
			}
			switch n % 8 {
			case 0:
				b = b[:rnd.IntN(len(b))]
			case 1:
				b[1] = 0xff
			case 2:
				b = nil
			case 3:
				b = bytes.Repeat([]byte{0}, len(b))
			case 4:
				b = append(b, bytes.Repeat([]byte(" "), maxEntry)...)
			case 5:
				b = bytes.ReplaceAll(b, []byte(e.Alert.ID), []byte(strings.Repeat("0", 2*idBytes)))
			default:
				left = append(left, e.Alert.Instance+" firing")
				continue
			}
			spoilt++
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.set(nil)
		m, log := start(t, dir, h.receiver(t, "pager", Webhook))
		synctest.Wait()
		slices.Sort(left)
		same(t, "left", statuses(h.alerts(t)), left...)
		// An alert that still fires is reported again if its state is lost.
		act(t, m, action("r", deliver.Webhook, "pager", insts...))
		synctest.Wait()
		m.Close()
		if n := len(h.alerts(t)); n != len(insts) {
			t.Errorf("%d messages", n)
		}
		if bad, _ := filepath.Glob(dir + "/pager/*.bad"); len(bad) != spoilt || strings.Count(log.String(), "cannot be read") != spoilt {
			t.Errorf("%d of %d files were set aside; log %s", len(bad), spoilt, log)
		}
	})
}

// TestAlertmanager checks the reminders to an Alertmanager, and the message when an alert
// is over.
func TestAlertmanager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		r := h.receiver(t, "am", Alertmanager)
		r.Labels = map[string]string{"severity": "page"}
		dir := t.TempDir()
		m, _ := start(t, dir, r)
		a := action("r", deliver.Alertmanager, "am", "sda", "sdb")
		a.Matches[0].Labels = map[string]string{"host": "other", "a.b-c": "1", "1x": "2", "empty": ""}
		begun := time.Now()
		act(t, m, a)
		posts := func() [][]apiAlert {
			h.mu.Lock()
			defer h.mu.Unlock()
			var all [][]apiAlert
			for i, b := range h.bodies {
				var list []apiAlert
				if err := json.Unmarshal(b, &list); err != nil || h.paths[i] != "/base/api/v2/alerts" {
					t.Fatalf("%q: %v", b, err)
				}
				all = append(all, list)
			}
			return all
		}
		time.Sleep(10*time.Minute + time.Second)
		all := posts()
		if len(all) != 11 || len(all[0]) != 2 {
			t.Fatalf("%d posts, the first %v", len(all), all[0])
		}
		first, last := all[0][0], all[10][0]
		if !first.StartsAt.Equal(begun) || !last.StartsAt.Equal(begun) || last.EndsAt.Before(time.Now().Add(3*time.Minute)) {
			t.Errorf("%v, then %v", first, last)
		}
		want := map[string]string{"alertname": "r", "host": "h", "instance": "sda", "pcp_host": "other", "a_b_c": "1", "_1x": "2", "severity": "page"}
		if fmt.Sprint(first.Labels) != fmt.Sprint(want) || fmt.Sprint(last.Labels) != fmt.Sprint(want) {
			t.Errorf("labels %v, want %v", first.Labels, want)
		}
		if first.Annotations["summary"] != "sda is busy" {
			t.Errorf("annotations %v", first.Annotations)
		}
		// The next process continues with it.
		m.Close()
		m, _ = start(t, dir, r)
		time.Sleep(time.Minute + time.Second)
		n := len(posts())
		if n < 13 {
			t.Errorf("%d posts by now", n)
		}
		act(t, m, action("r", deliver.Alertmanager, "am", "sdb"))
		synctest.Wait()
		all = posts()
		over := all[len(all)-1][0]
		if len(all) != n+1 || over.EndsAt.After(time.Now()) || over.Labels["instance"] != "sda" || over.Labels["a_b_c"] != "1" {
			t.Errorf("%d posts, the last %+v", len(all), over)
		}
		m.Close()
	})
}

// TestOneOfABatchIsRefused checks that the other alerts of the batch arrive.
func TestOneOfABatchIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool { return true })
		m, log := start(t, t.TempDir(), h.receiver(t, "am", Alertmanager))
		h.srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"bad"`)) {
				w.WriteHeader(400)
				return
			}
			h.mu.Lock()
			h.bodies = append(h.bodies, body)
			h.mu.Unlock()
		})
		act(t, m, action("r", deliver.Alertmanager, "am", "a", "bad", "b"))
		time.Sleep(10 * time.Second)
		h.mu.Lock()
		got := string(bytes.Join(h.bodies, nil))
		h.mu.Unlock()
		m.Close()
		if strings.Count(log.String(), "\n") != 1 {
			t.Errorf("log %s", log)
		}
		if strings.Count(got, `"instance":"a"`) != 1 || strings.Count(got, `"instance":"b"`) != 1 || strings.Count(log.String(), "is dropped") != 1 {
			t.Errorf("%s, log %s", got, log)
		}
	})
}

// TestHostileJSON checks that any text arrives as data.
func TestHostileJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		m, _ := start(t, t.TempDir(), h.receiver(t, "pager", Webhook), h.receiver(t, "am", Alertmanager))
		defer m.Close()
		for i, text := range hostile {
			a := action(fmt.Sprint("r", i), deliver.Webhook, "pager", text)
			a.Matches[0].Text, a.Matches[0].Value = text, text
			a.Matches[0].Labels = map[string]string{"l": text, text: "x"}
			h.mu.Lock()
			h.bodies = nil
			h.mu.Unlock()
			act(t, m, a)
			synctest.Wait()
			valid := strings.ToValidUTF8(text, "\uFFFD")
			// encoding/json has a mark for each byte.
			if strings.Contains(valid, "\uFFFD") {
				valid = "\uFFFD\uFFFD"
			}
			list := h.alerts(t)
			if len(list) != 1 || list[0].Instance != valid || list[0].Text != valid || list[0].Value != valid || list[0].Labels["l"] != valid {
				t.Errorf("%q: %+v", text, list)
			}
			a.Kind, a.Receiver = deliver.Alertmanager, "am"
			h.mu.Lock()
			h.bodies = nil
			h.mu.Unlock()
			act(t, m, a)
			synctest.Wait()
			h.mu.Lock()
			var posted []apiAlert
			if err := json.Unmarshal(h.bodies[0], &posted); err != nil || len(posted) != 1 || posted[0].Labels["instance"] != strings.ToValidUTF8(text, "\uFFFD") {
				t.Errorf("%q: %v %+v", text, err, posted)
			}
			for name := range posted[0].Labels {
				if labelName(name) != name {
					t.Errorf("label %q", name)
				}
			}
			h.mu.Unlock()
			a.Matches, a.Resolved = nil, true
			act(t, m, a)
			synctest.Wait()
		}
	})
}

// single returns a message about one alert.
func single(a Alert) *parcel {
	return &parcel{entries: []*entry{{Alert: a}}, notices: []*notice{{}}, alerts: []Alert{a}}
}

// checkMessage returns an error if a text appears in another part of a mail than it
// should.
func checkMessage(r *Receiver, text string) error {
	a := Alert{Status: Firing, Rule: text, Host: text, Instance: text, Text: text, Value: text, Labels: map[string]string{text: text}, Since: time.Unix(1, 0)}
	a.ID = a.newID()
	b, err := r.message(single(a), time.Unix(2, 0))
	if err != nil {
		return err
	}
	msg, err := mail.ReadMessage(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("%q: %w", b, err)
	}
	names := slices.Sorted(maps.Keys(msg.Header))
	if want := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To"}; !slices.Equal(names, want) {
		return fmt.Errorf("headers %q", names)
	}
	if id := msg.Header.Get("Message-Id"); id != "<"+a.Key()+"@example.com>" {
		return fmt.Errorf("Message-ID %q", id)
	}
	if to, err := msg.Header.AddressList("To"); err != nil || len(to) != len(r.To) {
		return fmt.Errorf("To %v, %w", to, err)
	}
	for line := range bytes.Lines(b) {
		body, ended := bytes.CutSuffix(line, []byte("\r\n"))
		if !ended || len(line) > 998 || bytes.ContainsFunc(body, func(c rune) bool { return c < ' ' && c != '\t' || c >= 0x7f }) {
			return fmt.Errorf("line %q", line)
		}
	}
	body, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil {
		return err
	}
	if bytes.ContainsFunc(body, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\r' && c != '\t' }) {
		return fmt.Errorf("body %q", body)
	}
	if !strings.Contains(string(body), "\r\ninstance: "+plain(text)+"\r\n") && text != "" {
		return fmt.Errorf("it is not in %q", body)
	}
	return nil
}

var ops = &Receiver{Name: "ops", Kind: Mail, From: &mail.Address{Name: "Ünal", Address: "pmie@example.com"}, To: []*mail.Address{{Address: "a@example.com"}, {Address: "b@example.com"}}}

// TestMessage checks that no text breaks the headers of mails.
func TestMessage(t *testing.T) {
	for _, text := range hostile {
		if err := checkMessage(ops, text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzText checks that any text of a rule, an instance or a label is data in all
// messages.
func FuzzText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxName/2 {
			return
		}
		if err := checkMessage(ops, text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		a := Alert{Status: Firing, Rule: text, Host: text, Instance: text, Text: text, Value: text, Labels: map[string]string{text: text}, Since: time.Unix(1, 0)}
		a.ID = a.newID()
		if err := a.check(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		b, err := json.Marshal(&a)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeAlert(b)
		if err != nil || back.ID != a.ID || utf8.ValidString(text) && !back.Equal(&a) {
			t.Fatalf("%s: %+v, %v", b, back, err)
		}
		labels := ops.apiLabels(&a)
		for name, value := range labels {
			if labelName(name) != name || !utf8.ValidString(value) || value == "" {
				t.Fatalf("%q: labels %q", text, labels)
			}
		}
		if want := strings.ToValidUTF8(text, "\uFFFD"); labels["alertname"] != want || labels["host"] != want || labels["instance"] != want {
			t.Fatalf("%q: labels %q", text, labels)
		}
		// A decoded entry equals the encoded one.
		e := &entry{Alert: a, Said: a.Since, Notices: []*notice{{Status: Firing, At: a.Since, Text: text, Value: text}}}
		if b, err = e.encode(); err != nil {
			t.Fatal(err)
		}
		kept, err := decodeEntry(b)
		if err != nil || kept.Alert.ID != a.ID || kept.said(kept.Notices[0]).ID != a.ID {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

// TestSecrets checks that secrets that others may read, or that are invalid, are refused.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	f := func(text string, mode os.FileMode, want, wantErr string) {
		t.Helper()
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		r := &Receiver{SecretFile: path}
		got, err := r.secret()
		if got != want || wantErr == "" && err != nil || wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)) {
			t.Errorf("%q: %q, %v; want %q, %q", text, got, err, want, wantErr)
		}
	}
	f("s3cret\n", 0o600, "s3cret", "")
	f("s3cret\r\nmore", 0o640, "s3cret", "")
	f("s3cret", 0o644, "", "chmod")
	f("\nx", 0o600, "", "no secret")
	f("a\x01b", 0o600, "", "control")
	f(strings.Repeat("x", maxSecret+1), 0o600, "", "more than")
	r := &Receiver{SecretFile: dir}
	if _, err := r.secret(); err == nil {
		t.Error("a directory is a secret")
	}
	r = &Receiver{SecretFile: path + "no"}
	if _, err := r.secret(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestSecretHeader checks that the secret is in the requested header, and is not sent over a plain
// connection.
func TestSecretHeader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		r := h.receiver(t, "pager", Webhook)
		r.URL, r.SecretFile = parseURL(t, "http://localhost/x"), path
		a := Alert{Status: Firing, Rule: "r", Since: time.Now()}
		a.ID = a.newID()
		send := func(header, want string) {
			t.Helper()
			if err := r.Send(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if got := h.heads[len(h.heads)-1].Get(header); got != want {
				t.Errorf("%s: %q, want %q", header, got, want)
			}
		}
		send("Authorization", "Bearer s3cret")
		r.Header = "X-Token"
		send("X-Token", "s3cret")
		r.User = "u"
		send("Authorization", "Basic dTpzM2NyZXQ=")
		r.URL = parseURL(t, "http://hook.example/x")
		if err := r.Send(t.Context(), a); err == nil || !strings.Contains(err.Error(), "https") {
			t.Errorf("over a plain connection: %v", err)
		}
		if err := r.Send(t.Context(), a, a); err == nil {
			t.Error("two at a time")
		}
		a.ID = "x"
		if err := r.Send(t.Context(), a); !errors.Is(err, ErrRefused) {
			t.Errorf("without an ID: %v", err)
		}
	})
}

// TestClockSet sets the time of day by a year: forward, while a receiver is down, whose messages are not too
// old for it; and back, after which an alert is reported again at once, and not after a year.
func TestClockSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	synctest.Test(t, func(t *testing.T) {
		h := newHook(t)
		h.set(func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return false
		})
		dir := t.TempDir()
		m, log := start(t, dir, h.receiver(t, "pager", Webhook))
		early := action("r", deliver.Webhook, "pager", "sda")
		early.Time = early.Time.Add(-year) // the reading of the clock at the time
		act(t, m, early)
		time.Sleep(time.Minute)
		h.set(nil)
		time.Sleep(time.Minute)
		same(t, "after a step forward", statuses(h.alerts(t)), "sda firing")
		if text := log.String(); strings.Contains(text, "dropped") {
			t.Error(text)
		}

		at := time.Now().Add(year) // the clock is ahead
		said := func(d time.Duration, insts ...string) {
			a := action("r", deliver.Webhook, "pager", insts...)
			a.Holdoff, a.Time = time.Hour, at.Add(d)
			act(t, m, a)
			time.Sleep(time.Second)
		}
		said(0, "sdb")
		said(time.Minute)
		said(-year, "sdb")
		said(time.Minute-year, "sdb")
		same(t, "after a step back", statuses(h.alerts(t)), "sda firing", "sda resolved", "sdb firing", "sdb resolved", "sdb firing")
		m.Close()
	})
}

// TestSeries has alerts of Prometheus' rules that differ only in their labels.
func TestSeries(t *testing.T) {
	h := newHook(t)
	r := &Receiver{Name: "hook", Kind: Webhook, URL: parseURL(t, "http://hook/"), Dial: h.dial}
	m, err := New(Config{Receivers: []*Receiver{r}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	match := func(severity string) deliver.Match {
		return deliver.Match{
			Host: "www", Instance: "sda", Labels: map[string]string{"alertname": "Full", "severity": severity},
			Series: `{alertname="Full", severity="` + severity + `"}`, Annotations: map[string]string{"summary": severity},
		}
	}
	act := func(sec int64, list ...deliver.Match) {
		t.Helper()
		a := deliver.Action{Kind: deliver.Webhook, Receiver: "hook", Rule: "Full (g, rule 1)", Time: time.Now().Add(time.Duration(sec) * time.Second), Matches: list, Resolved: len(list) == 0}
		if err := m.Act(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	act(0, match("info"), match("page"))
	act(1, match("page"))
	m.Drain(t.Context())
	var got []string
	for _, a := range h.alerts(t) {
		got = append(got, string(a.Status)+" "+a.Labels["severity"]+" "+a.Annotations["summary"])
		if a.Prometheus(a.Labels)["alertname"] != "Full" || len(a.Prometheus(a.Labels)) != 2 {
			t.Errorf("labels %v", a.Prometheus(a.Labels))
		}
	}
	slices.Sort(got)
	if want := []string{"firing info info", "firing page page", "resolved info info"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
