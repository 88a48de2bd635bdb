package pmapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// A Sample has the values of some metrics at one time.
type Sample struct {
	Time pcp.Timestamp
	// Values are in the order in which the metrics were named, those of one metric
	// in ascending order of its instances.
	Values []MetricValue
}

// Clone returns a copy of s that shares no memory with it.
func (s Sample) Clone() Sample {
	s.Values = slices.Clone(s.Values)
	ownBytes(s.Values)
	return s
}

// ownBytes gives strings and aggregates memory of their own.
func ownBytes(values []MetricValue) {
	for i := range values {
		if v := &values[i].Value; v.Bytes() != nil {
			*v = pcp.BytesValue(v.Type(), bytes.Clone(v.Bytes())).WithInst(v.Inst)
		}
	}
}

// SampleOptions configures when and how samples are taken. The zero value means:
// each record of an archive, or a sample of a live source each second from now
// on.
type SampleOptions struct {
	// Interval is the time between samples. If it is zero, samples of an archive
	// are its records as they are, and those of a live source a second apart.
	Interval time.Duration
	// Start is the time of the first sample; zero means now, or the start of the
	// archive. Samples due before that are skipped, so that an earlier Start
	// aligns samples, for example to the full hour.
	Start pcp.Timestamp
	// Finish is when the last sample may be due; zero means never, or the end of
	// the archive.
	Finish pcp.Timestamp
	// CounterWrap treats a counter that fell as wrapped, as PCP_COUNTER_WRAP
	// does; that variable is not read here.
	CounterWrap bool
	// Turn, if not nil, determines when samples are taken, in place of the clock: it waits until the
	// next sample is wanted, and returns the time of the values, which only archives use. Their
	// values are then interpolated, at steps of Interval, which must not be zero. io.EOF ends the
	// loop, as does any other error, which is then the last one. A sample after the end of an archive
	// is the error pcp.ErrEOL, and the loop continues.
	Turn func(ctx context.Context) (pcp.Timestamp, error)
}

// Samples yields samples of metrics, of archives and of live sources, until the
// time of o is over or ctx ends. Each text of metrics is a name that may be
// followed by instances and by what the values are wanted as:
//
//	disk.dev.read                             as it is, of all instances
//	kernel.all.load[1 minute, "5 minute"]     of some instances
//	disk.dev.read,rate                        each second
//	network.interface.in.bytes[eth0],Mbyte/s  in these units, which pcp.ParseUnits reads
//
// A rate is the difference to the previous sample per second, for a counter of time a fraction. It
// and values in other units are of pcp.TypeDouble; the Desc of a value has its type and units.
// Missing values are left out, such as that of an instance that has gone, or a rate in the first
// sample, after a gap of an archive, or of a counter that fell.
//
// The sample is valid until the next one; [Sample.Clone] keeps it. The loop has its
// own context, made by [Context.Dup]: the profile and the time of c have no effect
// and do not change, and c may be used and closed meanwhile.
//
// # Errors
//
// A failed metric does not end the loop. Each time the error names the failed
// metrics with the reasons, and the Sample has the values of the others. If none
// of the metrics is known at first, the loop ends. When ctx ends, the last error
// is its cause.
//
// # Archives
//
// With an Interval values are interpolated as [ModeInterp] does. Without, a sample
// has the values of one record; a rate is over the time since the record before
// that has the metric. An error of the archive itself is the last one. Derived metrics
// are in no record: with them a loop without an Interval ends with pcp.ErrBadDerive.
//
// # Live sources
//
// Samples are due at Start plus a multiple of Interval. A sample that takes too long does not delay
// the later ones: those due meanwhile are skipped. When a collector is lost, the loop yields an
// error for each sample that is due until it has reconnected, and then continues; break ends it.
// Attempts to reconnect are spaced as [Context.Reconnect] requires. When agents or names of the
// collector change, the metrics are looked up again.
func (c *Context) Samples(ctx context.Context, o SampleOptions, metrics ...string) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		s, err := newSampler(c, o, metrics)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			yield(Sample{}, err)
			return
		}
		defer s.close()
		if c.Kind() == SourceArchive {
			s.replay(ctx, yield)
			return
		}
		s.watch(ctx, yield)
	}
}

// watch takes samples of a live source.
func (s *sampler) watch(ctx context.Context, yield func(Sample, error) bool) {
	var p pace
	for p.begin(s.o); p.more(); p.advance() {
		err := s.wait(ctx, &p)
		if err == errTurns {
			return
		}
		if err == nil {
			err = s.take(ctx)
		}
		if ctx.Err() != nil {
			yield(Sample{}, context.Cause(ctx))
			return
		}
		if !yield(Sample{s.time, s.values}, err) || s.hopeless {
			return
		}
	}
}

// errTurns is the end of the turns.
var errTurns = errors.New("no more turns")

// wait waits until the next sample of a live source is wanted.
func (s *sampler) wait(ctx context.Context, p *pace) error {
	if s.o.Turn == nil {
		return p.wait(ctx)
	}
	_, err := s.o.Turn(ctx)
	switch {
	case err == io.EOF:
		return errTurns
	case err != nil:
		s.hopeless = true
	}
	return err
}

// awaitTurn waits until the next sample of archives is wanted, and moves to its time.
// It returns pcp.ErrEOL at the end of the turns.
func (s *sampler) awaitTurn(ctx context.Context, a *ArchiveContext, at *pcp.Timestamp) error {
	before := *at
	var err error
	if *at, err = s.o.Turn(ctx); err == io.EOF {
		return pcp.ErrEOL
	} else if err != nil {
		return err
	}
	if at.Compare(before) <= 0 {
		s.forget() // there are no rates after this
	}
	return a.SetMode(ctx, ModeInterp, at, s.o.Interval)
}

// replay takes samples of archives.
func (s *sampler) replay(ctx context.Context, yield func(Sample, error) bool) {
	end := func(err error) {
		if err != nil && !errors.Is(err, pcp.ErrEOL) {
			yield(Sample{}, err)
		}
	}
	err := s.open(ctx)
	if err != nil {
		end(err)
		return
	}
	if err := s.bind(ctx); err != nil && (!yield(Sample{}, err) || !s.bound) {
		return
	}
	if s.o.Interval == 0 && derivedIDs(s.ids) {
		end(fmt.Errorf("a derived metric is in no record, it takes an interval: %w", pcp.ErrBadDerive))
		return
	}
	a, _ := s.c.Archive()
	label, err := a.Label(ctx)
	if err != nil {
		end(err)
		return
	}
	at, o := label.Start, s.o
	if !o.Start.IsZero() {
		at = o.Start
		if early := label.Start.Sub(at); early > 0 && o.Interval > 0 {
			at = at.Add(stepsOver(time.Duration(early*1e9), o.Interval))
		}
	}
	mode := ModeForw
	if o.Interval > 0 {
		mode = ModeInterp
	}
	if err := a.SetMode(ctx, mode, &at, o.Interval); err != nil {
		end(err)
		return
	}
	for ; o.Turn != nil || o.Finish.IsZero() || at.Compare(o.Finish) <= 0; at = at.Add(o.Interval) {
		if o.Turn != nil {
			if err := s.awaitTurn(ctx, a, &at); err != nil {
				end(err)
				return
			}
		}
		if mode == ModeInterp {
			_, err = s.c.FetchInto(ctx, s.ids, &s.res)
		} else {
			err = a.FetchArchiveOf(ctx, s.ids, &s.res)
			at = s.res.Time
		}
		switch {
		case ctx.Err() != nil:
			end(context.Cause(ctx))
			return
		case o.Turn != nil && errors.Is(err, pcp.ErrEOL):
			if !yield(Sample{Time: at}, err) {
				return
			}
			s.forget()
			continue
		case err != nil:
			end(err)
			return
		case mode == ModeForw && !o.Finish.IsZero() && at.Compare(o.Finish) > 0:
			return
		case len(s.res.Sets) == 0: // a mark
			s.forget()
			continue
		}
		err := s.collect(ctx)
		if !yield(Sample{s.time, s.values}, err) {
			return
		}
	}
}

// stepsOver returns the least multiple of step that is not less than d.
func stepsOver(d, step time.Duration) time.Duration {
	n := d / step
	if n*step < d {
		n++
	}
	return n * step
}

// newSampler returns a sampler that has not asked for anything yet.
func newSampler(c *Context, o SampleOptions, metrics []string) (*sampler, error) {
	switch {
	case len(metrics) == 0:
		return nil, fmt.Errorf("samples of no metric: %w", pcp.ErrTooSmall)
	case o.Interval < 0 || o.Turn != nil && o.Interval == 0:
		return nil, fmt.Errorf("interval %v: %w", o.Interval, -pcp.Error(syscall.EINVAL))
	}
	s := &sampler{from: c, o: o, indoms: make(map[pcp.InDom]*instanceNames)}
	for _, text := range metrics {
		w, err := parseWanted(text)
		if err != nil {
			return nil, err
		}
		s.metrics = append(s.metrics, sampled{text: text, wanted: w})
	}
	return s, nil
}

// A pace determines when samples of a live source are due.
type pace struct {
	due, finish time.Time
	step        time.Duration
	timer       *time.Timer
}

func (p *pace) begin(o SampleOptions) {
	p.step = o.Interval
	if p.step == 0 {
		p.step = time.Second
	}
	p.due = time.Now()
	if !o.Start.IsZero() {
		start := o.Start.Time()
		p.due = start.Add(max(0, stepsOver(p.due.Sub(start), p.step)))
	}
	if !o.Finish.IsZero() {
		p.finish = o.Finish.Time()
	}
}

// more reports whether there is another sample.
func (p *pace) more() bool { return p.finish.IsZero() || !p.due.After(p.finish) }

// wait waits until the sample is due.
func (p *pace) wait(ctx context.Context) error {
	d := time.Until(p.due)
	if d <= 0 {
		return nil
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	select {
	case <-p.timer.C:
		return nil
	case <-ctx.Done():
		p.timer.Stop()
		return context.Cause(ctx)
	}
}

// advance moves to the first sample that is due from now on.
func (p *pace) advance() {
	p.due = p.due.Add(max(p.step, stepsOver(time.Since(p.due), p.step)))
}
