package pmlogger

import (
	"context"
	"errors"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// A collector is the connection to the recorded host, which may be lost and restored.
type collector struct {
	c    *pmapi.Context
	host string
	log  journal
	lost bool
}

// lost reports whether an error means that the connection to the collector is lost.
func lost(err error) bool { return errors.Is(err, pcp.ErrIPC) }

// lose records the loss of the connection, once.
func (k *collector) lose(err error) {
	if k.lost {
		return
	}
	k.lost = true
	k.log.printf("pmlogger: Error: %v\n", pcp.Code(err))
	k.log.printf("pmlogger: Lost connection to PMCD on \"%s\" at %s\n", k.host, time.Now().Format(time.ANSIC))
}

// restore restores a lost connection, and checks that the metrics of the tasks are unchanged.
func (k *collector) restore(ctx context.Context, tasks []*task) error {
	if err := k.c.Reconnect(ctx); err != nil {
		return err
	}
	k.lost = false
	k.log.printf("pmlogger: re-established connection to PMCD on \"%s\" at %s\n", k.host, time.Now().Format(time.ANSIC))
	return k.validate(ctx, tasks)
}

// zone asks for the collector's time and time zone. It is not ok if there is no answer.
func (k *collector) zone(ctx context.Context) (t pcp.Timestamp, zone, info string, ok bool) {
	if k.lost {
		return t, "", "", false
	}
	ids, err := k.c.LookupName(ctx, "pmcd.timezone", "pmcd.zoneinfo")
	if err != nil {
		return t, "", "", false
	}
	res, err := k.c.Fetch(ctx, ids)
	if err != nil {
		return t, "", "", false
	}
	text := func(s *pcp.ValueSet) string {
		for _, v := range s.Values {
			s, _ := v.Text()
			return s
		}
		return ""
	}
	zone, info = text(&res.Sets[0]), text(&res.Sets[1])
	return res.Time, zone, info, zone != ""
}

// process asks for the collector's time, the number of its process and its sequence number, which changes with
// the agents. It is not ok if there is no answer.
func (k *collector) process(ctx context.Context) (t pcp.Timestamp, pid uint64, seq uint32, ok bool) {
	if k.lost {
		return t, 0, 0, false
	}
	res, err := k.c.Fetch(ctx, []pcp.PMID{pcp.NewPMID(2, 0, 23), pcp.NewPMID(2, 0, 24)})
	if err != nil {
		return t, 0, 0, false
	}
	if v := res.Sets[0].Values; len(v) == 1 {
		pid = v[0].As(pcp.TypeU64).Uint64()
	}
	if v := res.Sets[1].Values; len(v) == 1 {
		seq = v[0].As(pcp.TypeU32).Uint32()
	}
	return res.Time, pid, seq, true
}

// errChanged is the error of a recorder whose metrics have changed.
var errChanged = errors.New("metrics changed with the collector")

// validate checks that the metrics of all tasks are unchanged, when the
// collector or one of its agents has restarted.
func (k *collector) validate(ctx context.Context, tasks []*task) error {
	k.log.printf("pmlogger: Validating metrics after PMCD state changed at %s\n", time.Now().Format(time.ANSIC))
	bad := false
	for _, t := range tasks {
		if len(t.metrics) == 0 {
			continue
		}
		names := make([]string, len(t.metrics))
		for i, m := range t.metrics {
			names[i] = m.name
		}
		ids, err := k.c.LookupName(ctx, names...)
		if err != nil && lost(err) {
			k.lose(err)
			return err
		}
		for i, m := range t.metrics {
			id := pcp.PMIDNull
			if i < len(ids) {
				id = ids[i]
			}
			if !k.same(ctx, m, id) {
				bad = true
			}
		}
	}
	if bad {
		k.log.printf("One or more configured metrics have changed after pmcd state change. Exiting\n")
		return errChanged
	}
	return nil
}

// same reports whether a metric is unchanged, and logs differences.
func (k *collector) same(ctx context.Context, m taskMetric, id pcp.PMID) bool {
	if id == pcp.PMIDNull {
		ids, err := k.c.LookupName(ctx, m.name)
		if err == nil && ids[0] == pcp.PMIDNull {
			err = pcp.ErrName
		}
		if err != nil {
			k.log.printf("Error looking up %s: Reason: %v\n", m.name, pcp.Code(err))
			return false
		}
		id = ids[0]
	}
	same := true
	differ := func(format string, args ...any) {
		same = false
		k.log.printf(format, args...)
	}
	old := m.desc
	if id != old.PMID {
		differ("PMID of metric \"%s\" has changed from %v to %v\n", m.name, old.PMID, id)
	}
	now, err := k.c.LookupDesc(ctx, id)
	if err != nil {
		differ("Description unavailable for metric \"%s\": %v\n", m.name, pcp.Code(err))
		return false
	}
	if now.Type != old.Type {
		differ("Type of metric \"%s\" has changed from %v to %v\n", m.name, old.Type, now.Type)
	}
	if now.Sem != old.Sem {
		differ("Semantics of metric \"%s\" have changed from %v to %v\n", m.name, old.Sem, now.Sem)
	}
	if now.InDom != old.InDom {
		differ("Instance domain of metric \"%s\" has changed from %v to %v\n", m.name, old.InDom, now.InDom)
	}
	if now.Units != old.Units {
		differ("Units of metric \"%s\" has changed from %v to %v\n", m.name, old.Units, now.Units)
	}
	return same
}
