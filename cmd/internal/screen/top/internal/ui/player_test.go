package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// A deck is a player without a sampler, at a clock that only the test moves.
type deck struct {
	*player
	t    *testing.T
	now  time.Time
	said string
}

func newDeck(t *testing.T, archive bool) *deck {
	d := &deck{t: t, now: time.Unix(1000, 0)}
	d.player = &player{
		host: &model.Host{Archive: archive, First: at(0), Last: at(100)}, loc: time.UTC, film: newFilm(),
		clock: func() time.Time { return d.now },
		say:   func(format string, args ...any) { d.said = fmt.Sprintf(format, args...) },
		req:   requests{want: OpNext}, pace: pace{interval: time.Second, speed: normalSpeed},
	}
	return d
}

// reply answers the request, which must be for an operation, with a sample of a time or an error.
func (d *deck) reply(op Op, sec int, err error) Request {
	d.t.Helper()
	if d.req.want != op {
		d.t.Fatalf("wanted is %v, not %v", d.req.want, op)
	}
	r := d.req.take(20)
	if !d.req.inflight || d.req.idle() {
		d.t.Error("the request is not on its way")
	}
	re := Reply{Op: op, Err: err}
	if err == nil && op != OpReconnect {
		re.Snapshot = taken(sec)
	}
	if got, want := d.took(re), re.Snapshot != nil; got != want {
		d.t.Errorf("took = %t, want %t", got, want)
	}
	return r
}

// wait moves the clock to the time that is due.
func (d *deck) wait(want time.Duration) {
	d.t.Helper()
	got, ok := d.delay()
	if !ok || got != want {
		d.t.Fatalf("due in %v, %t, want %v", got, ok, want)
	}
	d.now = d.now.Add(got)
	d.tick()
}

// rests tests that nothing is due.
func (d *deck) rests() {
	d.t.Helper()
	if got, ok := d.delay(); ok || !d.req.idle() {
		d.t.Errorf("due in %v, wanted is %v", got, d.req.want)
	}
}

// TestPlayerLive loses the connection, and pauses.
func TestPlayerLive(t *testing.T) {
	d := newDeck(t, false)
	if got, ok := d.delay(); ok {
		t.Errorf("due in %v while a sample is wanted", got)
	}
	d.reply(OpNext, 0, nil)
	d.wait(300 * time.Millisecond)
	d.reply(OpNext, 1, nil)
	d.wait(700 * time.Millisecond)
	d.reply(OpNext, 0, fmt.Errorf("fetch: %w", pcp.ErrIPC))
	d.wait(time.Second)
	d.reply(OpReconnect, 0, pcp.ErrTimeout)
	if since := d.now.Sub(d.lostAt); since != time.Second {
		t.Errorf("the connection is lost for %v", since)
	}
	d.wait(time.Second)
	d.reply(OpReconnect, 0, nil)
	if d.lost != nil || d.said != "connected again" {
		t.Errorf("lost: %v, said %q", d.lost, d.said)
	}
	d.reply(OpNext, 4, nil)
	d.toggle()
	d.wait(time.Second) // samples are taken for the tape
	d.reply(OpNext, 5, nil)
	shows(t, d.film, 4)
	d.step(-1)
	shows(t, d.film, 1)
	d.step(-9)
	if shows(t, d.film, 0); d.said != nothingOlder {
		t.Errorf("said %q", d.said)
	}
	d.jump(at(4))
	shows(t, d.film, 4)
	d.toggle()
	shows(t, d.film, 5)
	d.faster(1)
	d.wait(500 * time.Millisecond)
	d.reply(OpNext, 6, fmt.Errorf("no luck"))
	if d.failed != "no luck" || d.lost != nil {
		t.Errorf("failed %q, lost %v", d.failed, d.lost)
	}
}

// TestPlayerSoon pauses a live source with its second sample.
func TestPlayerSoon(t *testing.T) {
	d := newDeck(t, false)
	d.soon = true
	d.reply(OpNext, 0, nil)
	if d.paused {
		t.Error("paused before there are rates")
	}
	d.wait(300 * time.Millisecond)
	d.reply(OpNext, 1, nil)
	if !d.paused || !d.film.past() {
		t.Error("not paused")
	}
}

// TestPlayerReplay moves in an archive.
func TestPlayerReplay(t *testing.T) {
	d := newDeck(t, true)
	d.req.seek(at(10), true)
	if r := d.reply(OpSeek, 10, nil); r.At != at(10) || r.Past != 20 {
		t.Errorf("request %+v", r)
	}
	d.wait(time.Second)
	d.reply(OpNext, 11, nil)
	d.faster(1)
	d.wait(500 * time.Millisecond)
	d.reply(OpNext, 12, nil)
	d.toggle()
	d.rests()
	d.step(1)
	d.reply(OpNext, 13, nil)
	d.rests()
	d.step(-1)
	d.reply(OpBack, 12, nil)
	d.step(-30) // before the start
	if r := d.reply(OpSeek, 0, nil); r.At != at(0) {
		t.Errorf("sought is %v", r.At)
	}
	d.step(-1)
	if d.reply(OpBack, 0, model.ErrEnd); d.said != "this is the start of the archive" {
		t.Errorf("said %q", d.said)
	}
	d.longer(1)
	if r := d.reply(OpSeek, 0, nil); r.At != at(0) || d.pace.interval != 2*time.Second {
		t.Errorf("sought is %v, the step %v", r.At, d.pace.interval)
	}
	d.toggle()
	d.wait(500 * time.Millisecond)
	d.reply(OpNext, 0, model.ErrEnd)
	d.rests()
	if d.toggle(); d.paused || d.said != "the archive ends here" {
		t.Errorf("paused %t, said %q", d.paused, d.said)
	}
	d.jump(at(1000))
	if r := d.reply(OpSeek, 100, nil); r.At != at(100) || d.atEnd {
		t.Errorf("sought is %v, at the end: %t", r.At, d.atEnd)
	}
	d.again()
	if r := d.reply(OpSeek, 100, nil); r.At != at(100) || r.Past != 0 {
		t.Errorf("sought is %v with %d before it", r.At, r.Past)
	}
}

func TestParseTime(t *testing.T) {
	d := newDeck(t, true)
	d.film.replace(taken(50)) // at 03:47:30
	for text, want := range map[string]pcp.Timestamp{
		"start": at(0), "begin": at(0), "end": at(100), " now ": at(100),
		"-10": at(40), "+1min": at(110), "03:47:35": at(55), "03:48": at(80), "1970-01-02 03:46:40": at(0), "1970-01-02 03:47": at(20),
	} {
		if got, err := d.parseTime(text); got != want || err != nil {
			t.Errorf("parseTime(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"noon or so", "-x"} {
		if got, err := d.parseTime(text); err == nil {
			t.Errorf("parseTime(%q) = %v", text, got)
		}
	}
}

func TestBeside(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		n    int
		want time.Duration
	}{
		{time.Second, 1, 2 * time.Second},
		{time.Second, -1, 500 * time.Millisecond},
		{250 * time.Millisecond, -1, 250 * time.Millisecond},
		{time.Minute, 1, time.Minute},
		{3 * time.Second, 1, 5 * time.Second},
		{3 * time.Second, -1, 2 * time.Second},
	} {
		if got := beside(liveIntervals, c.d, c.n); got != c.want {
			t.Errorf("beside(%v, %d) = %v, want %v", c.d, c.n, got, c.want)
		}
	}
}
