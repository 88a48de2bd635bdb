package model

import (
	"context"
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/screen/internal/metrics"
)

// perClientThreads is the metric that makes a collector list threads to the client that stores 1 in it.
const perClientThreads = "proc.control.perclient.threads"

// listThreads makes a collector list threads as well as processes, or processes alone. If the collector refuses,
// snapshots have the reason.
func (s *Sampler) listThreads(ctx context.Context, on bool) error {
	if s.archive != nil || on == s.threads {
		return nil
	}
	s.threads, s.noThreads = on, ""
	ids, err := s.c.LookupName(ctx, perClientThreads)
	if err == nil {
		value := pcp.Uint32Value(0)
		if on {
			value = pcp.Uint32Value(1)
		}
		var res pcp.Result
		res.AddSet(ids[0])
		res.Add(value.WithInst(pcp.InNull))
		err = s.c.Store(ctx, &res)
	}
	switch {
	case err == nil:
		s.slowDue = true
	case metrics.Lost(ctx, err):
		s.threads = !on
		return err
	case errors.Is(err, pcp.ErrName):
		s.noThreads = "the collector does not have " + perClientThreads
	case errors.Is(err, pcp.ErrPermission) && s.cfg.Denied != nil:
		s.noThreads = s.cfg.Denied()
	default:
		s.noThreads = perClientThreads + ": " + err.Error()
	}
	return nil
}

// NoThreads returns why a snapshot has no threads of processes, or "".
func (s *Snapshot) NoThreads() string {
	if s.noThreads != "" || s.Groups&Threads == 0 {
		return s.noThreads
	}
	if s.why[mProcGroup] != 0 {
		return s.Absent(PanelThreads)
	}
	if !s.archive {
		return ""
	}
	for i := range s.Processes {
		if s.Processes[i].Thread() {
			return ""
		}
	}
	return "the archive has no threads; collectors list them to recorders after: pcp store proc.control.all.threads 1"
}
