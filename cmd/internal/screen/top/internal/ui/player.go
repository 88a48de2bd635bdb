package ui

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/pcptime"
)

// A requests has the next request to the sampler. There is one at a time.
type requests struct {
	want     Op
	at       pcp.Timestamp // of OpSeek
	past     bool          // the history must be fetched too
	refresh  bool
	inflight bool
}

// idle reports whether there is no request, and none on its way.
func (q *requests) idle() bool { return !q.inflight && q.want == OpNone }

// seek requests the sample of a time.
func (q *requests) seek(at pcp.Timestamp, past bool) { q.want, q.at, q.past = OpSeek, at, past }

// take returns the request, which is then on its way. A history has n samples.
func (q *requests) take(n int) Request {
	r := Request{Op: q.want, At: q.at, Refresh: q.refresh}
	if q.past && q.want == OpSeek {
		r.Past = n
	}
	q.want, q.past, q.refresh, q.inflight = OpNone, false, false, true
	return r
}

// A pace has the time of the next sample.
type pace struct {
	interval time.Duration
	speed    int       // steps of a replay a second, as an index of speeds
	samples  int       // so far
	started  time.Time // when a live source was first sampled
	due      time.Time // zero for never
}

// speeds are the steps of a replay a second.
var speeds = []float64{0.25, 0.5, 1, 2, 4, 8, 16, 32}

const normalSpeed = 2

// liveIntervals are the live intervals that + and - select.
var liveIntervals = []time.Duration{
	250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, time.Minute,
}

// replayIntervals are the intervals that { and } select in a replay.
var replayIntervals = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

// stop makes no sample due.
func (c *pace) stop() { c.due = time.Time{} }

// replay makes the next step of a replay due.
func (c *pace) replay(now time.Time) {
	c.due = now.Add(time.Duration(float64(time.Second) / speeds[c.speed]))
}

// live makes the next sample of a live source due.
func (c *pace) live(now time.Time) {
	if c.samples == 1 {
		// The first rates come soon.
		c.started = now
		c.due = now.Add(min(c.interval, 300*time.Millisecond))
		return
	}
	// At multiples of the interval since the start; missed samples are left out.
	passed := now.Sub(c.started)
	c.due = c.started.Add((passed/c.interval + 1) * c.interval)
}

// A player decides which sample is taken when, and which one is shown: it plays a live source or an archive.
type player struct {
	host  *model.Host
	loc   *time.Location
	clock func() time.Time
	say   func(format string, args ...any)
	film  *film

	req    requests
	pace   pace
	paused bool
	atEnd  bool // of the archive
	soon   bool // pause a live source when it has rates

	lost   error // the error of a lost connection
	lostAt time.Time
	failed string // the error of the last sample
}

// delay returns the time until tick is due, and reports whether it is due at all.
func (p *player) delay() (time.Duration, bool) {
	if !p.req.idle() || p.pace.due.IsZero() {
		return 0, false
	}
	return max(0, p.pace.due.Sub(p.clock())), true
}

// tick requests the next sample.
func (p *player) tick() {
	switch {
	case !p.req.idle() || p.pace.due.IsZero():
		return
	case p.lost != nil:
		p.req.want = OpReconnect
	default:
		p.req.want = OpNext
	}
	p.pace.stop()
}

// playing reports whether a replay is running.
func (p *player) playing() bool { return p.host.Archive && !p.paused && !p.atEnd }

// schedule decides when the next sample is due.
func (p *player) schedule() {
	now := p.clock()
	switch {
	case p.lost != nil:
		p.pace.due = now.Add(time.Second)
	case p.host.Archive && !p.playing():
		p.pace.stop()
	case p.host.Archive:
		p.pace.replay(now)
	default:
		p.pace.live(now)
	}
}

// took handles the result of a request, and reports whether it is a sample.
func (p *player) took(r Reply) bool {
	p.req.inflight = false
	switch {
	case r.Op == OpReconnect && r.Err == nil:
		p.lost, p.failed = nil, ""
		p.say("connected again")
		p.req.want = OpNext
		return false
	case r.Err == nil:
		p.failed = ""
	case errors.Is(r.Err, model.ErrEnd):
		p.atEnd = r.Op != OpBack
		p.paused = p.paused || r.Op == OpBack
		if r.Op == OpBack {
			p.say("this is the start of the archive")
		}
		p.schedule()
		return false
	case !p.host.Archive && (r.Op == OpReconnect || errors.Is(r.Err, pcp.ErrIPC) || errors.Is(r.Err, pcp.ErrTimeout)):
		if p.lost == nil {
			p.lostAt = p.clock()
		}
		p.lost = r.Err
		p.schedule()
		return false
	default:
		p.failed = r.Err.Error()
		p.schedule()
		return false
	}
	p.pace.samples++
	if r.Op == OpSeek || r.Op == OpBack {
		p.atEnd = false
	}
	p.film.before(r.Past)
	if p.host.Archive {
		p.film.replace(r.Snapshot)
	} else {
		p.film.push(r.Snapshot)
		if p.soon && p.pace.samples == 2 { // with rates
			p.toggle()
		}
	}
	p.schedule()
	return true
}

// toggle pauses or resumes the display.
func (p *player) toggle() {
	if p.paused || p.film.past() {
		p.resume()
		return
	}
	if p.host.Archive && p.atEnd {
		p.say("the archive ends here")
		return
	}
	p.paused = true
	if p.host.Archive {
		p.pace.stop()
		return
	}
	p.film.show(p.film.tape.Len() - 1)
}

func (p *player) resume() {
	p.paused = false
	p.film.show(-1)
	if p.host.Archive && !p.req.inflight {
		p.schedule()
	}
}

// nothingOlder is the message where the tape of a live source begins.
const nothingOlder = "nothing older is kept; archives have more: pcp replay -1h top"

// step shows the sample n steps away, and pauses.
func (p *player) step(n int) {
	if p.film.now == nil {
		return
	}
	if !p.host.Archive {
		if _, _, ok := p.film.span(); ok {
			p.paused = true
			if !p.film.step(n) {
				p.say(nothingOlder)
			}
		}
		return
	}
	p.paused = true
	p.pace.stop()
	if p.req.inflight {
		return
	}
	switch n {
	case 1:
		p.req.want = OpNext
	case -1:
		p.req.want = OpBack
	default:
		p.seek(p.film.now.Time.Add(time.Duration(n) * p.pace.interval))
	}
}

// seek makes a replay jump.
func (p *player) seek(at pcp.Timestamp) { p.req.seek(p.within(at), true) }

// drag shows the sample of a time while the user moves along the time line. The history follows with a jump, when the
// user stops.
func (p *player) drag(at pcp.Timestamp) {
	if !p.host.Archive {
		p.jump(at)
		return
	}
	p.paused, p.atEnd = true, false
	p.pace.stop()
	p.req.seek(p.within(at), false)
}

// dropped fetches the history of the graphs after a drag.
func (p *player) dropped() {
	if p.host.Archive && p.film.now != nil {
		at := p.film.now.Time
		if p.req.want == OpSeek {
			at = p.req.at
		}
		p.req.seek(at, true)
	}
}

// within returns the nearest time that the archive has.
func (p *player) within(at pcp.Timestamp) pcp.Timestamp {
	if at.Compare(p.host.Last) > 0 {
		at = p.host.Last
	}
	if at.Compare(p.host.First) < 0 {
		at = p.host.First
	}
	return at
}

// jump shows the sample of a time.
func (p *player) jump(at pcp.Timestamp) {
	if p.host.Archive {
		p.atEnd = false
		p.seek(at)
		return
	}
	if _, _, ok := p.film.span(); ok {
		p.paused = true
		if !p.film.jump(at) {
			p.say(nothingOlder)
		}
	}
}

func (p *player) faster(n int) {
	if p.host.Archive {
		p.pace.speed = max(0, min(len(speeds)-1, p.pace.speed+n))
		if p.req.idle() && p.playing() {
			p.schedule()
		}
		return
	}
	p.setInterval(beside(liveIntervals, p.pace.interval, -n))
}

func (p *player) longer(n int) {
	if !p.host.Archive {
		p.faster(-n)
		return
	}
	p.setInterval(beside(replayIntervals, p.pace.interval, n))
}

// beside returns the value of a list that is n places after d, or the nearest.
func beside(list []time.Duration, d time.Duration, n int) time.Duration {
	i, found := slices.BinarySearch(list, d)
	if !found && n > 0 {
		i--
	}
	return list[max(0, min(len(list)-1, i+n))]
}

func (p *player) setInterval(d time.Duration) {
	p.pace.interval = d
	if p.host.Archive {
		if p.film.now != nil {
			p.req.seek(p.film.now.Time, true)
		}
		return
	}
	p.pace.started = p.clock()
	if p.req.idle() && p.lost == nil {
		p.schedule()
	}
}

// again requests a sample at once, of the time shown in a replay.
func (p *player) again() {
	p.req.want = OpNext
	if p.host.Archive {
		p.req.seek(p.film.now.Time, false)
	}
}

// span returns the times between which the user can move.
func (p *player) span() (first, last pcp.Timestamp) {
	if !p.host.Archive {
		if first, last, ok := p.film.span(); ok {
			return first, last
		}
	}
	return p.host.First, p.host.Last
}

// askTime returns the prompt for a time to jump to.
func (p *player) askTime() prompt {
	return prompt{label: "Time", accept: func(text string) error {
		if text == "" {
			return nil
		}
		at, err := p.parseTime(text)
		if err != nil {
			return fmt.Errorf("%q is not a time; 14:30, -10min, start and end are", text)
		}
		p.jump(at)
		return nil
	}}
}

// maxInterval is the longest interval that can be typed.
const maxInterval = 366 * 24 * time.Hour

// askInterval returns the prompt for an interval.
func (p *player) askInterval() prompt {
	label := "Interval"
	if p.host.Archive {
		label = "Step"
	}
	return prompt{label: label, accept: func(text string) error {
		if text == "" {
			return nil
		}
		d, err := pcptime.ParseInterval(text)
		if err != nil {
			return fmt.Errorf("%q is not an interval; 5, 500msec and 2min are", text)
		}
		if d < 100*time.Millisecond || d > maxInterval {
			return fmt.Errorf("%s is outside 100 milliseconds to a year", text)
		}
		p.setInterval(d)
		return nil
	}}
}

// parseTime reads a time as users type it, relative to the time shown.
func (p *player) parseTime(text string) (pcp.Timestamp, error) {
	first, last := p.span()
	now := last
	if p.film.now != nil {
		now = p.film.now.Time
	}
	text = strings.TrimSpace(text)
	switch text {
	case "start", "begin":
		return first, nil
	case "end", "now":
		return last, nil
	}
	if sign, rest := text[:min(1, len(text))], text[min(1, len(text)):]; sign == "+" || sign == "-" {
		d, err := pcptime.ParseInterval(rest)
		if err != nil {
			return now, err
		}
		if sign == "-" {
			d = -d
		}
		return now.Add(d), nil
	}
	// A time of day is on the day shown.
	if clock, err := time.ParseInLocation("15:04:05", text, p.loc); err == nil {
		return onDay(now, clock, p.loc), nil
	}
	if clock, err := time.ParseInLocation("15:04", text, p.loc); err == nil {
		return onDay(now, clock, p.loc), nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, p.loc); err == nil {
			return pcp.TimestampOf(t), nil
		}
	}
	return pcptime.ParseTime("@"+strings.TrimPrefix(text, "@"), first, last, p.loc)
}

func onDay(day pcp.Timestamp, clock time.Time, loc *time.Location) pcp.Timestamp {
	d := day.Time().In(loc)
	return pcp.TimestampOf(time.Date(d.Year(), d.Month(), d.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, loc))
}

// drawState draws the time at the right end of the header, and returns its start. In a text there is only the time.
func (p *player) drawState(line screen.Area, text bool) int {
	type part struct {
		style screen.Style
		text  string
	}
	var parts []part
	glyph := func(unicode, ascii string) string {
		if line.ASCII() {
			return ascii
		}
		return unicode
	}
	switch {
	case text:
	case p.lost != nil:
		parts = append(parts, part{screen.Bad, fmt.Sprintf("no answer for %s", interval(p.clock().Sub(p.lostAt).Round(time.Second)))})
	case p.failed != "":
		parts = append(parts, part{screen.Bad, p.failed})
	case p.host.Archive && p.atEnd:
		parts = append(parts, part{screen.Paused, "end of archive"})
	case p.host.Archive && p.paused:
		parts = append(parts, part{screen.Paused, fmt.Sprintf("%spaused %g/s", glyph("⏸ ", ""), speeds[p.pace.speed])})
	case p.host.Archive:
		parts = append(parts, part{screen.Replay, fmt.Sprintf("%s %g/s", glyph("▶", ">"), speeds[p.pace.speed])})
	case p.film.past():
		parts = append(parts, part{screen.Paused, glyph("⏸ ", "") + "paused"})
	default:
		parts = append(parts, part{screen.Live, glyph("● ", "") + "live " + interval(p.pace.interval)})
	}
	if p.host.Archive {
		parts = append(parts, part{screen.Dim, "step " + interval(p.pace.interval)})
	}
	if p.film.now != nil {
		at := p.film.now.Time.Time().In(p.loc)
		layout := "15:04:05"
		if p.host.Archive && line.W >= 100 || line.W >= 120 {
			layout = "2006-01-02 15:04:05 MST"
		} else if p.host.Archive {
			layout = "01-02 15:04:05"
		}
		parts = append(parts, part{screen.Bold, at.Format(layout)})
	}
	width := 0
	for _, p := range parts {
		width += screen.Width(p.text, line.W) + 2
	}
	start := max(line.W/4, line.W-width+2)
	x := start
	for _, p := range parts {
		x = line.Text(x, 0, p.style, p.text) + 2
	}
	return start
}

// drawTimeLine draws the position of the sample in the archive, or in the tape of a live source.
func (p *player) drawTimeLine(line screen.Area, m *mouse) {
	first, last := p.span()
	layout := "15:04:05"
	from, until := first.Time().In(p.loc), last.Time().In(p.loc)
	if last.Sub(first) > 86400 || from.Day() != until.Day() {
		layout = "01-02 15:04"
	}
	left, right := from.Format(layout), until.Format(layout)
	line.Text(0, 0, screen.Dim, left)
	line.TextRight(line.W, 0, screen.Dim, right)
	bar := line.Part(len(left)+1, 0, line.W-len(left)-len(right)-2, 1)
	if bar.W < 5 || p.film.now == nil {
		return
	}
	rule, knob, done := '─', '●', '━'
	if line.ASCII() {
		rule, knob, done = '-', 'O', '='
	}
	bar.Fill(0, 0, bar.W, screen.Border, rule)
	span := last.Sub(first)
	at := 0
	if span > 0 {
		at = int(math.Round(p.film.now.Time.Sub(first) / span * float64(bar.W-1)))
	}
	at = max(0, min(bar.W-1, at))
	bar.Fill(0, 0, at, screen.Accent, done)
	bar.Rune(at, 0, screen.Replay, knob)
	to := func(x int) pcp.Timestamp { return first.Add(seconds(span * float64(x) / float64(max(1, bar.W-1)))) }
	for x := range bar.W {
		m.on(bar.Part(x, 0, 1, 1), func() { p.jump(to(x)) })
	}
	m.onDrag(bar, func(x int) { p.drag(to(x)) })
}

// seconds returns a number of seconds as a duration.
func seconds(f float64) time.Duration {
	const most = float64(1<<63-1) / float64(time.Second) / 2
	return time.Duration(max(-most, min(most, f)) * float64(time.Second))
}
