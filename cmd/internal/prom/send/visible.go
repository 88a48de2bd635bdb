package send

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// probeMarker is a series that is sent to find out whether the server shows accepted samples.
const probeMarker = "pcp_sent_probe"

// probeTime limits the time for which a server may show nothing, as a multiple of the time in which it may lose samples. After that,
// samples are taken for lost.
const probeTime = 20

// A question is whether a server has lost samples that it had accepted, or is too slow to show them. While it is open, nothing is
// sent, since newer markers would hide a loss.
type question struct {
	m      *markers
	safe   place // accepted long ago
	at     int64 // time of all probes, or noTime
	begun  time.Time
	probed time.Time     // when the last probe was accepted
	shown  time.Duration // that a probe took to become visible, 0 for none
	wait   time.Duration // before the next look

	refused bool // the probe; samples of its age are refused, too
}

// probe returns the series of a probe, one for each time.
func (m *markers) probe(at int64, now time.Time) remote.Series {
	f := &remote.Family{Name: probeMarker, Help: "time of a question whether samples are visible", Unit: "sec"}
	labels := append([]remote.Label{{Name: "__name__", Value: f.Name}, {Name: "probe", Value: strconv.FormatInt(now.UnixMilli(), 10)}}, m.labels...)
	slices.SortFunc(labels, func(a, b remote.Label) int { return strings.Compare(a.Name, b.Name) })
	return remote.Series{Labels: labels, Family: f, Samples: []remote.Sample{{Time: at, Bits: remote.Number(float64(now.UnixMilli()) / 1000)}}}
}

// resolve answers an open question. It returns errBack if the server has lost samples.
func (s *stream) resolve(ctx context.Context) error {
	for s.open != nil {
		q := s.open
		if s.n.isBlind() {
			s.open = nil
			return nil
		}
		sent, ok, err := s.marker(ctx, q.m)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if sent >= q.safe.Sent {
			s.open, s.denials = nil, 0
			return nil
		}
		if q.shown > 0 || q.refused || time.Since(q.begun) > probeTime*s.loses {
			return s.lost(q.safe, sent)
		}
		if q.probed.IsZero() || time.Since(q.probed) > s.loses {
			// A probe may be lost, too, if the server is killed.
			if err := s.sendProbe(ctx, q); err != nil {
				return err
			}
		}
		select {
		case <-s.drain:
			return errDrained // the next recorder asks again
		default:
		}
		if err := pauseOr(ctx, q.wait, s.drain); err != nil {
			return err
		}
		q.wait = min(2*q.wait, s.loses)
		if err := s.askProbe(ctx, q); err != nil {
			return err
		}
		if q.shown > 0 {
			// Samples that were accepted before the probe are given as much time again.
			if err := pauseOr(ctx, max(q.shown, s.settle), s.drain); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendProbe sends another probe, until one is accepted. Unless the question has a time for them, the first one has the time of samples that were
// accepted, as Prometheus refuses old samples once it has new ones. A server may not keep samples of that age, so the others have the present time.
func (s *stream) sendProbe(ctx context.Context, q *question) error {
	for {
		now := time.Now()
		at := q.at
		if at == noTime && q.probed.IsZero() {
			at = s.at.Sent
		}
		if at == noTime {
			at = now.UnixMilli()
		}
		var out remote.Outcome
		err := s.request(ctx, func(c *remote.Client) (err error) {
			out, err = c.Try(ctx, []remote.Series{q.m.probe(at, now)})
			return err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			q.probed, q.refused = now, out.Rejected > 0
			return nil
		}
	}
}

// askProbe asks whether a probe of the question is visible.
func (s *stream) askProbe(ctx context.Context, q *question) error {
	_, err := s.ask(ctx, func(c *remote.Client) error {
		expr, at, err := q.m.selector(probeMarker, time.Now().UnixMilli())
		if err != nil {
			return err
		}
		list, err := c.Ask(ctx, expr, at)
		for _, one := range list {
			if sent := fromSeconds(one.Value); sent >= q.begun.UnixMilli() {
				q.shown = max(q.shown, time.Since(time.UnixMilli(sent)), 1) // since the newest one
			}
		}
		return err
	})
	return err
}

// prove waits until a probe is visible. The server then shows the samples that arrived before it, too, so that those which it does not show can be
// sent again. The probe has the time at of the first of them: with a later one Prometheus would refuse those that are more than an hour older.
func (s *stream) prove(ctx context.Context, m *markers, at int64) error {
	q := &question{m: m, at: at, begun: time.Now(), wait: s.settle}
	for q.shown == 0 && !q.refused && time.Since(q.begun) < probeTime*s.loses && !s.n.isBlind() {
		if q.probed.IsZero() || time.Since(q.probed) > s.loses {
			if err := s.sendProbe(ctx, q); err != nil {
				return err
			}
		}
		if err := pause(ctx, q.wait); err != nil {
			return err
		}
		q.wait = min(2*q.wait, s.loses)
		if err := s.askProbe(ctx, q); err != nil {
			return err
		}
	}
	s.unsure = false
	return pause(ctx, max(q.shown-s.settle, 0))
}

// compare opens a question if the newest marker of the archive is older than it was long ago.
func (s *stream) compare(m *markers, sent int64) {
	p := s.safe()
	if p.Base != s.at.Base || sent >= p.Sent {
		s.denials = 0
		return
	}
	if time.Now().Before(s.denied) || s.open != nil {
		return
	}
	s.open = &question{m: m, safe: p, at: noTime, begun: time.Now(), wait: s.settle}
}

// lost goes back to the newest marker of the archive, or to an earlier archive of which the server may have lost samples as well.
func (s *stream) lost(p place, sent int64) error {
	s.open = nil
	// A server that does not keep samples of that age is not asked again and again.
	s.denied = time.Now().Add(min(time.Minute<<s.denials, time.Hour))
	s.denials = min(s.denials+1, 10)
	since := "the beginning of " + s.at.Base
	if sent != noTime {
		since = time.UnixMilli(sent).UTC().Format(time.RFC3339)
	}
	s.n.event(fmt.Sprintf("%s: the server has lost samples; they are sent again from %s on", s.name, since), nil)
	p.Sent = sent
	if s.before.compare(p) < 0 {
		p = s.before
	}
	err := s.back(p)
	s.unsure = false // a probe was visible
	return err
}
