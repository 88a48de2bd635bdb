package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Names of the marker series.
const (
	sentMarker = "pcp_sent"
	partMarker = "pcp_sent_part"
)

const (
	// Settle is the time after which a query finds the samples that a server has accepted. VictoriaMetrics collects them for two
	// seconds or more.
	Settle = 5 * time.Second
	// maxReasons limits the number of different reasons that are counted one by one.
	maxReasons = 20
)

// A position is the point that a push has reached, by the markers that the server has.
type position struct {
	sent int64        // all samples up to this time are sent, or noTime
	end  int64        // the end of the window of which parts are sent, or noTime
	done map[int]bool // the numbers of these parts
}

// nowhere is the position before the first sample.
func nowhere() position { return position{sent: noTime, end: noTime} }

// A Sum counts the samples and requests of an archive.
type Sum struct {
	Series, Samples, Stale    int // Stale counts the stale markers among the samples
	Requests, Bytes, Rejected int
	Reasons                   map[string]int // samples rejected for each
}

// add counts a request.
func (s *Sum) add(p *part, bytes int) {
	s.Requests++
	s.Samples += p.samples
	s.Bytes += bytes
}

// reject counts samples that the server refused.
func (s *Sum) reject(n int, reason string) {
	if n == 0 {
		return
	}
	if s.Reasons == nil {
		s.Reasons = make(map[string]int)
	}
	if _, ok := s.Reasons[reason]; !ok && len(s.Reasons) >= maxReasons {
		reason = "other reasons"
	}
	s.Rejected += n
	s.Reasons[reason] += n
}

// errLost means that the server has lost samples that it had accepted.
var errLost = errors.New("the server has lost samples that it had accepted")

// A Server is a server that archives are sent to.
type Server struct {
	*remote.Client               // nil: nothing is sent
	Blind          bool          // markers are not read
	Settle         time.Duration // see the constant
	settled        bool          // samples of an earlier push can be found
}

// A Push sends one archive.
type Push struct {
	Archive       *archive.Archive
	Start, Finish pcp.Timestamp
	Follow        bool // another archive of the host follows: a mark belongs after the last record
	To            *Server
	Progress      func(at int64) // called with the end of each window, in milliseconds

	// Sum and Left are the counts of Run.
	Sum  Sum
	Left LeftOut

	markers
	at position // by the markers that were accepted
}

// markers are the marker series of an archive.
type markers struct {
	a      *archive.Archive
	labels []remote.Label // without their names
}

// pushName is the label recorder of pcp push, and of a target without a name.
const pushName = "push"

// newMarkers returns the markers of an archive for a target, and for one of its shards unless shard is "".
func newMarkers(a *archive.Archive, target, shard string) markers {
	l := a.Label()
	list := []remote.Label{
		{Name: "hostname", Value: strings.ToValidUTF8(l.Host, "\ufffd")},
		{Name: "pid", Value: strconv.Itoa(int(l.PID))},
		{Name: "recorder", Value: target},
		{Name: "shard", Value: shard},
		{Name: "started", Value: l.Start.Time().UTC().Format("2006-01-02T15:04:05.000000Z")},
	}
	return markers{a, slices.DeleteFunc(list, func(l remote.Label) bool { return l.Value == "" })}
}

// selector returns the expression for the newest sample of a marker in the archive's time, and until another time.
func (m *markers) selector(name string, until int64) (expr string, at int64, err error) {
	end, err := m.a.End()
	if err != nil && end.IsZero() {
		return "", 0, err
	}
	var b strings.Builder
	b.WriteString(name)
	for i, l := range m.labels {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&b, "%s=%s", l.Name, strconv.Quote(l.Value))
	}
	// A label that no series has. Its value differs each time, as VictoriaMetrics remembers for ten seconds which series a
	// selector finds.
	fmt.Fprintf(&b, `,asked!="%d"`, time.Now().UnixNano())
	first := m.a.Label().Start
	at = max(millis(end), until) + 2000
	return fmt.Sprintf("last_over_time(%s}[%ds])", b.String(), (at-millis(first))/1000+3), at, nil
}

// ask returns the position by the server's markers. Each attempt is one call of get.
func (m *markers) ask(ctx context.Context, get func(ctx context.Context, expr string, at int64) ([]remote.Point, error)) (position, error) {
	p := nowhere()
	expr, at, err := m.selector(sentMarker, noTime)
	if err != nil {
		return p, err
	}
	list, err := get(ctx, expr, at)
	if err != nil {
		return p, err
	}
	for _, one := range list {
		p.sent = max(p.sent, fromSeconds(one.Value))
	}
	if expr, at, err = m.selector(partMarker, noTime); err != nil {
		return p, err
	}
	if list, err = get(ctx, expr, at); err != nil {
		return p, err
	}
	for _, one := range list {
		end := fromSeconds(one.Value)
		n, err := strconv.Atoi(one.Labels["part"])
		if err != nil || end <= p.sent || end < p.end {
			continue
		}
		if end > p.end {
			p.end, p.done = end, make(map[int]bool)
		}
		p.done[n] = true
	}
	return p, nil
}

// Markers are numbers of seconds. A float64 has them to the microsecond.
func fromSeconds(v float64) int64 {
	const most = 1 << 43
	if !(v > -most && v < most) {
		return noTime
	}
	return int64(v*1000 + map[bool]float64{true: 0.5, false: -0.5}[v >= 0])
}

// begin returns the position where to begin.
func (s *Push) begin(ctx context.Context) (position, error) {
	if s.To.Blind || s.To.Client == nil {
		return nowhere(), nil
	}
	p, err := s.ask(ctx, s.To.Query)
	if err != nil || s.To.settled {
		return p, err
	}
	if err := pause(ctx, s.To.Settle); err != nil {
		return p, err
	}
	s.To.settled = true
	return s.ask(ctx, s.To.Query)
}

// Missing reports whether the server still lacks the marker that it accepted last, after a time in which it should have
// become visible.
func (s *Push) Missing(ctx context.Context) (bool, error) {
	if s.To.Blind || s.To.Client == nil || s.Sum.Samples == 0 || s.at.sent == noTime {
		return false, nil
	}
	for limit := time.Now().Add(4 * s.To.Settle); ; {
		p, err := s.ask(ctx, s.To.Query)
		if err != nil || p.sent >= s.at.sent {
			return false, err
		}
		if time.Now().After(limit) {
			return true, nil
		}
		if err := pause(ctx, s.To.Settle/20); err != nil {
			return false, err
		}
	}
}

// pause waits for a time.
func pause(ctx context.Context, d time.Duration) error {
	if !pacing.Sleep(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// Run sends the archive.
func (s *Push) Run(ctx context.Context) error {
	s.markers = newMarkers(s.Archive, pushName, "")
	for {
		at, err := s.begin(ctx)
		if err != nil {
			return err
		}
		s.at = at
		if err := s.pass(ctx); !errors.Is(err, errLost) {
			return err
		}
	}
}

// pass reads the archive from the position on, and sends it. One goroutine reads the next window while the other sends.
func (s *Push) pass(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	full, free := make(chan *window), make(chan *window, 2)
	free <- new(window)
	r := newReader(s.Archive, s.Start, s.Finish, s.Follow, s.at, func(w *window) (*window, error) {
		select {
		case full <- w:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		select {
		case w := <-free:
			return w, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	done := make(chan error, 1)
	go func() {
		err := r.read(ctx, new(window))
		close(full)
		done <- err
	}()
	var failed error
	for w := range full {
		if failed != nil {
			continue
		}
		if failed = s.window(ctx, w); failed != nil {
			cancel(failed)
			continue
		}
		free <- w
	}
	err := <-done
	s.Left = r.left
	s.Sum.Series += r.sum.series
	s.Sum.Stale += r.sum.stale
	if failed != nil {
		return failed
	}
	return err
}

// window sends a window.
func (s *Push) window(ctx context.Context, w *window) error {
	parts := w.split()
	for i := range parts {
		p := &parts[i]
		if s.at.end == w.end && s.at.done[i+1] {
			continue // by an earlier push
		}
		if s.To.Client == nil {
			s.Sum.add(p, 0)
			continue
		}
		last := i == len(parts)-1
		out, err := s.To.Write(ctx, append(p.list, s.marker(w.end, i+1, last)), s.arrived(w, i+1, last))
		if err != nil {
			return err
		}
		s.Sum.add(p, out.Bytes)
		s.Sum.reject(min(out.Rejected, p.samples), out.Reason)
		if out.Rejected > 0 {
			continue // perhaps its marker too
		}
		if last {
			s.at = position{sent: w.end, end: noTime}
			continue
		}
		if s.at.end != w.end {
			s.at.end, s.at.done = w.end, make(map[int]bool)
		}
		s.at.done[i+1] = true
	}
	s.Progress(w.end)
	return nil
}

// marker returns the series that marks a part of the window that ends at a time, or all of it.
func (m *markers) marker(end int64, part int, last bool) remote.Series {
	f := &remote.Family{Name: sentMarker, Help: "time up to which all samples of an archive are sent", Unit: "sec"}
	labels := m.labels
	if !last {
		f = &remote.Family{Name: partMarker, Help: "end of the time of which this part is sent", Unit: "sec"}
		labels = append([]remote.Label{{Name: "part", Value: strconv.Itoa(part)}}, labels...)
	}
	labels = append([]remote.Label{{Name: "__name__", Value: f.Name}}, labels...)
	slices.SortFunc(labels, func(a, b remote.Label) int { return strings.Compare(a.Name, b.Name) })
	return remote.Series{Labels: labels, Family: f, Samples: []remote.Sample{{Time: end, Bits: remote.Number(float64(end) / 1000)}}}
}

// arrived returns a function that asks the server whether it has a part of a window. It returns errLost if parts before
// that are missing.
func (s *Push) arrived(w *window, part int, last bool) func(context.Context) (bool, error) {
	if s.To.Blind {
		return nil
	}
	return func(ctx context.Context) (bool, error) {
		if err := pause(ctx, s.To.Settle); err != nil {
			return false, err
		}
		p, err := s.ask(ctx, s.To.Ask)
		switch {
		case err != nil:
			return false, err
		case p.sent >= w.end, !last && p.end == w.end && p.done[part]:
			return true, nil
		case p.sent < s.at.sent:
			return false, errLost
		}
		for n := range s.at.done {
			if s.at.end == w.end && !p.done[n] {
				return false, errLost
			}
		}
		return false, nil
	}
}
