package ui

import (
	"context"
	"errors"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
)

// Do carries out the request of an App to a sampler. Another goroutine may run the App
// meanwhile.
func Do(ctx context.Context, s *model.Sampler, r Request) Reply {
	for _, snap := range r.Recycle {
		s.Recycle(snap)
	}
	out := Reply{Op: r.Op}
	switch r.Op {
	case OpReconnect:
		out.Err = s.Reconnect(ctx)
		return out
	case OpNames:
		out.Names, out.Err = model.Names(ctx, s.Context())
		return out
	}
	s.SetCharts(r.Charts)
	if r.Refresh {
		s.Refresh()
	}
	if s.Host().Archive {
		s.SetInterval(r.Interval)
	}
	if r.Past > 0 {
		err := s.Past(ctx, r.At, r.Past, r.Need&^(model.Processes|model.ProcessIO|model.CGroups), func(snap *model.Snapshot) {
			out.Past = append(out.Past, snap)
		})
		if err != nil && !errors.Is(err, model.ErrEnd) {
			out.Err = err
			return out
		}
	}
	switch r.Op {
	case OpBack:
		out.Snapshot, out.Err = s.Back(ctx, r.Need)
	case OpSeek:
		out.Snapshot, out.Err = s.Seek(ctx, r.At, r.Need)
	default:
		out.Snapshot, out.Err = s.Next(ctx, r.Need)
	}
	return out
}
