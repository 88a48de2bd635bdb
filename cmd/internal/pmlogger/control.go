package pmlogger

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// Changes to a running recorder. All of these are called in the goroutine of Run, as by
// Call.

// NewVolume starts a volume of the archive, and logs the reason. It returns the number of
// the volume. The volume due by Config.Volume.Time is postponed accordingly.
func (r *Recorder) NewVolume(why string) (int, error) {
	if r.out.w == nil {
		return 0, errNotRunning
	}
	before, _, _ := r.out.w.Position()
	if err := r.out.newVolume(why); err != nil {
		if errors.Is(err, ErrByteLimit) {
			r.stop = err
		}
		return 0, err
	}
	vol, _, _ := r.out.w.Position()
	if vol == before {
		return 0, -pcp.Error(syscall.ENOSPC)
	}
	r.out.count.restart(time.Now())
	return vol, nil
}

// Flush writes the data held in memory, which there is only while the file system is full.
func (r *Recorder) Flush() error {
	if r.out.w == nil {
		return errNotRunning
	}
	return r.out.flush()
}

// Stop makes Run end with an error when f of Call has returned.
func (r *Recorder) Stop(why error) { r.stop = why }

// Status returns the fields of LOG_STATUS: times, volume and size, the host and its time zone.
func (r *Recorder) Status() wire.LogStatus {
	st := wire.LogStatus{Last: r.out.last, Now: pcp.TimestampOf(time.Now()), Host: r.from.host}
	if r.out.w == nil {
		return st
	}
	label := r.out.w.Label()
	vol, at, _ := r.out.w.Position()
	st.State, st.Start, st.Volume, st.Size = wire.LogStateInit, label.Start, int32(vol), at
	st.Host, st.TimeZone = label.Host, label.TimeZone
	return st
}

// Control executes a LOG_CONTROL, logs the results, and returns the answer: the state of each
// instance as a wire.LogValue. A metric that cannot be recorded has an error there. A change
// that is not permitted, such as of a mandatory state by an advisory request, is not made;
// the answer then has the old state.
func (r *Recorder) Control(ctx context.Context, q *wire.LogControl) (*pcp.Result, error) {
	k := controller{c: r.from.c, plan: r.plan, dict: &r.dict, log: r.log}
	return k.control(ctx, q)
}

// A controller changes a plan for clients, and answers them.
type controller struct {
	c    *pmapi.Context
	plan *plan
	dict *dictionary
	log  journal
}

// control is Recorder.Control.
func (k *controller) control(ctx context.Context, q *wire.LogControl) (*pcp.Result, error) {
	if q.Delta < 0 || q.Delta > wire.MaxLogDelta {
		return nil, -pcp.Error(syscall.EINVAL)
	}
	change := q.Control == wire.LogMandatory || q.Control == wire.LogAdvisory
	if change {
		k.plan.apply(ctx, k.c, q, time.Now())
	} else if q.Control != wire.LogEnquire {
		return nil, pcp.ErrIPC
	}
	res := new(pcp.Result)
	for i := range q.Metrics {
		m := &q.Metrics[i]
		if change {
			k.log.printf("  metric: %s", k.allNames(ctx, m.PMID))
		}
		res.AddSet(m.PMID)
		insts, err := m.Insts, error(nil)
		if len(insts) == 0 {
			insts, err = k.instances(ctx, m.PMID, !change)
		}
		if err != nil {
			res.Sets[i].Err = pcp.Code(err)
			if change {
				k.log.printf(": %v [request failed]\n", pcp.Code(err))
			}
			continue
		}
		for j, inst := range insts {
			v := k.plan.state(m.PMID, inst) | k.dict.state(m.PMID, inst)
			res.Add(pcp.Uint32Value(uint32(v)).WithInst(inst))
			if change {
				k.told(ctx, q, m.PMID, inst, j, len(insts), v)
			}
		}
	}
	return res, nil
}

// allNames returns the names of a metric in the format of the log.
func (k *controller) allNames(ctx context.Context, id pcp.PMID) string {
	names, err := k.c.NameAll(ctx, id)
	if err != nil || len(names) == 0 {
		return id.String()
	}
	return strings.Join(names, " or ")
}

// told logs the result for an instance, number j of n in a request.
func (k *controller) told(ctx context.Context, q *wire.LogControl, id pcp.PMID, inst int32, j, n int, v wire.LogValue) {
	found := k.plan.find(id, inst)
	switch {
	case found != nil && found.desc.InDom != pcp.InDomNull:
		if j == 0 {
			k.log.printf("\n")
		}
		if name, err := k.c.NameInDom(ctx, found.desc.InDom, inst); err == nil {
			k.log.printf("    instance: %s", name)
		} else {
			k.log.printf("    instance: #%d", inst)
		}
	case n > 1 || inst != pcp.InNull:
		if j == 0 {
			k.log.printf("\n")
		}
		k.log.printf("    instance: #%d", inst)
	}
	mask, want, delta := wire.LogBitMandatory, wire.LogValue(0), int32(0)
	if q.State != wire.LogMaybe {
		mask |= wire.LogBitOn
		if q.Control == wire.LogMandatory {
			want |= wire.LogBitMandatory
		}
		if q.State == wire.LogOn {
			want |= wire.LogBitOn
			delta = q.Delta
		}
	}
	if v&mask != want || v.Delta() != delta {
		k.log.printf(" [request failed]")
	}
	k.log.printf("\n")
}

// instances returns the current instances of a metric, preceded, if past is set, by the
// other instances in the archive.
func (k *controller) instances(ctx context.Context, id pcp.PMID, past bool) ([]int32, error) {
	d, err := k.c.LookupDesc(ctx, id)
	if err != nil {
		return nil, err
	}
	if d.InDom == pcp.InDomNull {
		return []int32{pcp.InNull}, nil
	}
	list, err := k.c.GetInDom(ctx, d.InDom)
	if err != nil {
		return nil, err
	}
	insts := make([]int32, 0, len(list))
	now := make(map[int32]bool, len(list))
	for _, i := range list {
		insts = append(insts, i.Inst)
		now[i.Inst] = true
	}
	if m := k.dict.metrics[id]; m != nil && past {
		for _, inst := range m.seen {
			if !now[inst] {
				insts = append(insts, inst)
			}
		}
	}
	return insts, nil
}
