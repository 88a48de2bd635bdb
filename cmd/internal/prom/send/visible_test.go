package send

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestLate sends to a server that shows samples long after it has accepted them, twice as long as it may lose them. None may be sent twice.
func TestLate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.late = 2 * time.Second
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	d := Dir{Path: g.dir, Name: "www"}
	g.begin()
	g.add(35, "a.b")
	r := leaver(t, f, d, 500*time.Millisecond, func(text string, err error) {
		if strings.Contains(text, "lost") {
			t.Error(text, err)
		}
	})
	probed := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, l := range f.labels {
			if nameOf(l) == probeMarker {
				return true
			}
		}
		return false
	}
	await.Until(t, "the server is asked by a probe", probed)
	g.add(5, "a.b")
	want := g.want()
	r.Leave([]Dir{d})
	await.Until(t, "all is settled", func() bool { return r.Done(d) })
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
}

// TestForgets sends to a server that loses accepted samples, without an end of the connection that would show it.
func TestForgets(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	d := Dir{Path: g.dir, Name: "www"}
	g.begin()
	g.add(3, "a.b")
	var mu sync.Mutex
	events := ""
	r := leaver(t, f, d, 500*time.Millisecond, func(text string, err error) {
		mu.Lock()
		defer mu.Unlock()
		events += fmt.Sprintln(text, err)
	})
	all := func(n int) func() bool { return func() bool { return size(f.contents()) == n } }
	await.Until(t, "samples arrive", all(9))
	f.mu.Lock()
	f.forget(100)
	f.mu.Unlock()
	await.Until(t, "samples are sent again", all(9))
	g.add(5, "a.b")
	want := g.want()
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
	if !strings.Contains(events, "the server has lost samples") {
		t.Errorf("events: %s", events)
	}
}

// TestLateAgain ends a recorder before the server shows the samples that it has accepted. The next recorder must not send them again.
func TestLateAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.late = 2 * time.Second
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	d := Dir{Path: g.dir, Name: "www"}
	g.begin()
	g.add(35, "a.b")
	event := func(string, error) {}
	r := leaver(t, f, d, 10*time.Second, event)
	await.Until(t, "samples are accepted", func() bool {
		st, ok, err := readState(filepath.Join(d.Path, stateName(r.nodes[0], d)))
		return ok && err == nil && st.At.Base != ""
	})
	r.Drain(0)
	if size(f.contents()) > 0 {
		t.Log("this machine is too busy: the samples are visible already")
	}
	r = leaver(t, f, d, 500*time.Millisecond, event)
	r.Leave([]Dir{d})
	want := g.want()
	await.Until(t, "all is settled", func() bool { return r.Done(d) })
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
}

// TestRestart has a server lose samples shortly after it has accepted them, and close its connections, as if it was killed. The recorder has nothing to
// send then for longer than the time in which a server may lose samples.
func TestRestart(t *testing.T) {
	t.Parallel()
	const unsettled = 500 * time.Millisecond
	f := newFake(t)
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	d := Dir{Path: g.dir, Name: "www"}
	g.begin()
	g.add(3, "a.b")
	r := leaver(t, f, d, unsettled, func(string, error) {})
	all := func(n int) func() bool { return func() bool { return size(f.contents()) == n } }
	await.Until(t, "samples arrive", all(9))
	time.Sleep(3 * unsettled / 2)
	g.add(1, "a.b")
	await.Until(t, "a sample arrives later", all(12))
	f.mu.Lock()
	f.forget(1)
	f.mu.Unlock()
	f.srv.CloseClientConnections()
	time.Sleep(3 * unsettled / 2)
	g.add(1, "a.b") // the recorder finds the loss by its new connection, unless it asks for the marker just then
	await.Until(t, "samples are sent again", all(15))
	want := g.want()
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
}

// TestIdle sends to a server that closes idle connections between samples, as VictoriaMetrics does after a minute. Nothing is lost, so samples are not asked for.
func TestIdle(t *testing.T) {
	t.Parallel()
	const unsettled = 100 * time.Millisecond
	f := newFake(t)
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	g.begin()
	g.add(3, "a.b")
	r := leaver(t, f, Dir{Path: g.dir, Name: "www"}, unsettled, func(string, error) {})
	all := func(n int) func() bool { return func() bool { return size(f.contents()) == n } }
	await.Until(t, "samples arrive", all(9))
	asked := f.count()
	for i := range 3 {
		time.Sleep(5 * unsettled)
		f.srv.CloseClientConnections()
		time.Sleep(unsettled)
		g.add(1, "a.b")
		await.Until(t, "a sample arrives", all(12+3*i))
	}
	if n := f.count() - asked; n > 0 {
		t.Errorf("it asked for samples %d times", n)
	}
	want := g.want()
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
}
