package send

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// leaver makes recorders of a directory for TestLeave.
func leaver(t *testing.T, f *fake, dir Dir, unsettled time.Duration, event func(string, error)) *Recorder {
	t.Helper()
	target, err := NewTarget(f.url)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(Config{
		Targets: []*Target{target}, Agent: "test", Settle: 10 * time.Millisecond, Poll: 5 * time.Millisecond, Unsettled: unsettled,
		Event: event, delays: pacing.Backoff{First: 10 * time.Millisecond, Longest: 30 * time.Millisecond},
	})
	r.Set([]Dir{dir})
	return r
}

// TestLeave ends the recording to a directory while its server is sound, away, or loses accepted samples. Done must wait until the server has
// each sample once, also in the next recorder, and nothing is left to do then.
func TestLeave(t *testing.T) {
	for _, test := range []struct {
		name  string
		again bool // in another recorder
		away  bool // from the first request until the host has moved
		loses bool // the last samples, with the last request
		empty bool // nothing was recorded
	}{
		{name: "sound"},
		{name: "again", again: true},
		{name: "away", away: true},
		{name: "away, again", away: true, again: true},
		{name: "loses", away: true, loses: true},
		{name: "empty", empty: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			away := func(yes bool) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.before = func(_ int, w http.ResponseWriter) bool {
					if yes {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
					return yes
				}
			}
			away(test.away)
			unsettled := 300 * time.Millisecond
			if test.loses {
				unsettled = 1500 * time.Millisecond
			}
			var mu sync.Mutex
			var events []string
			event := func(text string, err error) {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, fmt.Sprint(text, ": ", err))
			}
			g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
			d := Dir{Path: g.dir, Name: "www"}
			if test.empty {
				d.Path = filepath.Join(g.dir, "none")
			}
			r := leaver(t, f, d, unsettled, event)
			await.Until(t, "a position is kept", func() bool {
				_, ok, err := readState(filepath.Join(d.Path, stateName(r.nodes[0], d)))
				return ok && err == nil || test.empty
			})
			g.begin()
			g.add(3, "a.b")
			g.begin()
			g.add(40, "a.b", "a.c")
			if r.Done(d) {
				t.Error("a directory that was not left is done")
			}
			if test.again {
				r.Drain(0)
				r = leaver(t, f, d, unsettled, event)
			}
			r.Leave([]Dir{d})
			if test.away {
				if test.loses {
					n := size(g.want())
					f.mu.Lock()
					f.after = func(int) {
						have := 0
						for k, list := range f.data {
							if !strings.HasPrefix(nameOf(f.labels[k]), sentMarker) {
								have += len(list)
							}
						}
						if have >= n {
							f.forgetSince(time.Now().Add(-unsettled / 2))
							f.after = nil
						}
					}
					f.mu.Unlock()
				}
				time.Sleep(500 * time.Millisecond)
				if r.Done(d) {
					t.Error("it is done while the server is away")
				}
				away(false)
			}
			time.Sleep(100 * time.Millisecond)
			if r.Done(d) && !test.empty && !test.loses {
				t.Error("it is done although a recorder writes to it")
			}
			want := g.want()
			if test.empty {
				want = sendtest.Contents{}
			}
			await.Until(t, "all is settled", func() bool { return r.Done(d) })
			sendtest.Exact(t, f.contents(), want)
			if !test.empty {
				st, ok, err := readState(filepath.Join(g.dir, stateName(r.nodes[0], d)))
				if err != nil || !ok || !st.At.Whole || st.At != st.Safe || st.At.Base != filepath.Base(g.base) {
					t.Errorf("the position is %+v, %v", st, err)
				}
			}
			r.Drain(0)
			f.mu.Lock()
			n := f.requests
			f.mu.Unlock()
			r = leaver(t, f, d, unsettled, event)
			r.Leave([]Dir{d})
			await.Until(t, "the next recorder has nothing to do", func() bool { return r.Done(d) })
			r.Leave(nil)
			if r.Done(d) {
				t.Error("a directory to which a host came back is done")
			}
			r.Drain(time.Minute)
			if f.requests != n {
				t.Errorf("%d requests, and %d before", f.requests, n)
			}
			if lost := slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, "the server has lost samples") }); lost != test.loses {
				t.Errorf("events: %q", events)
			}
		})
	}
}
