package send

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// growers begins archives of some hosts.
func growers(t *testing.T, n int, at time.Time) (list []*grower, dirs []Dir) {
	for i := range n {
		g := &grower{t: t, dir: t.TempDir(), host: fmt.Sprintf("h%02d", i), at: at}
		g.begin()
		g.add(1, "a.b")
		list, dirs = append(list, g), append(dirs, Dir{Path: g.dir, Name: g.host})
	}
	return list, dirs
}

// TestManyWait has more streams than there are windows wait for a server. None of them has a window of its own, and all are sent later.
func TestManyWait(t *testing.T) {
	f := newFake(t)
	target, err := NewTarget(f.url)
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	away.Store(true)
	f.before = func(_ int, w http.ResponseWriter) bool {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return away.Load()
	}
	r := NewRecorder(Config{
		Targets: []*Target{target}, Settle: 10 * time.Millisecond, Poll: 5 * time.Millisecond, Event: func(string, error) {},
		delays: pacing.Backoff{First: 10 * time.Millisecond, Longest: 20 * time.Millisecond},
	})
	list, dirs := growers(t, 2*places+5, sendtest.Start())
	r.Set(dirs)
	waiting := func() (n int) {
		for _, streams := range r.streams {
			s := streams[0]
			s.mu.Lock()
			if !s.lag.IsZero() {
				n++
			}
			s.mu.Unlock()
		}
		return n
	}
	await.Until(t, "all streams wait", func() bool { return waiting() == len(list) })
	if n := len(r.nodes[0].pool.places); n > places { // a stream that waits for a probe has no window
		t.Errorf("%d windows, want at most %d", n, places)
	}
	for _, g := range list {
		g.add(40, "a.b")
	}
	away.Store(false)
	want := make(sendtest.Contents)
	for _, g := range list {
		for k, samples := range g.want() {
			want[k] = samples
		}
	}
	await.Until(t, "all samples arrive", func() bool { return size(f.contents()) == size(want) })
	r.Drain(time.Minute)
	sendtest.Compare(t, f.contents(), want)
	if n, free := len(r.nodes[0].pool.places), len(r.nodes[0].pool.free); n != 0 || free == 0 || free > places {
		t.Errorf("afterwards %d windows, memory of %d", n, free)
	}
}

// TestManyAhead has more hosts than there are windows with clocks that are ahead. They do not delay another host.
func TestManyAhead(t *testing.T) {
	f := newFake(t)
	target, err := NewTarget(f.url)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(Config{
		Targets: []*Target{target}, Settle: 10 * time.Millisecond, Poll: 5 * time.Millisecond, Event: func(string, error) {},
	})
	_, dirs := growers(t, places+5, time.Now().Add(24*time.Hour).Truncate(time.Millisecond))
	// Windows of these begin now, and end ahead.
	for i := range places + 5 {
		g := &grower{t: t, dir: t.TempDir(), host: fmt.Sprintf("w%02d", i), at: time.Now().Truncate(time.Millisecond)}
		g.begin()
		g.add(1, "a.b")
		g.at = g.at.Add(20 * time.Minute)
		g.add(1, "a.b")
		dirs = append(dirs, Dir{Path: g.dir, Name: g.host})
	}
	r.Set(dirs)
	time.Sleep(100 * time.Millisecond) // so that most of them wait
	g := &grower{t: t, dir: t.TempDir(), host: "right", at: time.Now().Truncate(time.Millisecond)}
	g.begin()
	g.add(1, "a.b")
	r.Set(append(dirs, Dir{Path: g.dir, Name: "right"}))
	await.Until(t, "the samples of the other host arrive", func() bool {
		n := 0
		for k, samples := range f.contents() {
			if strings.Contains(k, "__name__=a_b hostname=right") {
				n += len(samples)
			}
		}
		return n == 3
	})
	r.Drain(time.Minute)
}

// TestShared checks that two archives have names, texts, and descriptions of metrics in common, and series of an instance their labels.
func TestShared(t *testing.T) {
	common := new(shared)
	var all [2]*reader
	for i := range all {
		base, _ := sendtest.Generate(t, 100, 5)
		a, err := archive.Options{Text: common.text, ReadAhead: readAhead}.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		end, err := a.End()
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(a, a.Label().Start, end, false, nowhere(), func(w *window) (*window, error) { return w, nil })
		r.shared = common
		if err := r.read(t.Context(), new(window)); err != nil {
			t.Fatal(err)
		}
		all[i] = r
	}
	families := make(map[*remote.Family]int)
	for i, r := range all {
		bases := make(map[*base]bool)
		for _, s := range r.live {
			families[s.family] |= 1 << i
			bases[s.base] = true
		}
		if len(bases) >= len(r.live) {
			t.Errorf("%d series have %d sets of labels", len(r.live), len(bases))
		}
	}
	for f, in := range families {
		if in != 3 {
			t.Errorf("family %+v is that of one archive", *f)
		}
	}
	if len(families) == 0 || len(common.texts) == 0 {
		t.Error("nothing is shared")
	}
	common.bytes = maxTextBytes
	if got := common.text([]byte("new")); got != "new" || len(common.texts) != 1 {
		t.Errorf("beyond the limit: %q, %d texts", got, len(common.texts))
	}
}
