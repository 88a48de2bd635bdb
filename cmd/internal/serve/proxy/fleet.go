package proxy

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/fleet"
)

// recorders reads the statuses of the recorders that share hosts.
type recorders struct {
	store share.Store
	log   *slog.Logger
	now   func() time.Time

	mu   sync.Mutex
	read time.Time // when list was read
	list []fleet.Recording
	err  error
}

// recordings returns the state of the recordings of all hosts. It reads statuses as often as recorders write them. Of the recorders that
// have a host, as two may for a minute, the one with the newest sample counts.
func (r *recorders) recordings(ctx context.Context) ([]fleet.Recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.read.IsZero() || now.Sub(r.read) >= share.StatusEvery || now.Before(r.read) {
		statuses, err := share.ReadStatus(ctx, r.store)
		if ctx.Err() != nil {
			return nil, ctx.Err() // the client is gone
		}
		if len(statuses) > 0 && err != nil {
			r.log.Warn("some recorders have no status", "err", err)
			err = nil
		}
		r.read, r.list, r.err = now, recordingsOf(statuses), err
	}
	return r.list, r.err
}

func recordingsOf(statuses []share.Status) []fleet.Recording {
	var list []fleet.Recording
	index := map[string]int{}
	newest := map[string]time.Time{}
	for i := range statuses {
		s := &statuses[i]
		for _, h := range s.Hosts {
			r := fleet.Recording{Host: h.Name, Owner: s.ID, Lag: -1}
			if !h.Last.IsZero() {
				r.Lag = max(0, s.Time.Sub(h.Last)) // by one clock, that of the recorder
			}
			switch {
			case s.Gone:
				r.Error = fmt.Sprintf("recorder %s is gone", s.ID)
			case h.Err != "" && !h.ErrTime.Before(h.Last):
				r.Error = h.Err
			}
			n, ok := index[h.Name]
			if !ok {
				index[h.Name], newest[h.Name] = len(list), h.Last
				list = append(list, r)
			} else if h.Last.After(newest[h.Name]) {
				list[n], newest[h.Name] = r, h.Last
			}
		}
	}
	return list
}
