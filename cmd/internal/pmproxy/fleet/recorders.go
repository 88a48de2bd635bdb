package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
)

// Recorders reads the statuses of the recorders that share hosts. Use NewRecorders.
type Recorders struct {
	store share.Store
	log   *slog.Logger
	now   func() time.Time

	mu   sync.Mutex
	read time.Time // when list was read
	list []Recording
	err  error
}

// NewRecorders returns a Recorders that reads from the directory of a fleet. Log receives errors of single statuses.
func NewRecorders(store share.Store, log *slog.Logger) *Recorders {
	return &Recorders{store: store, log: log, now: time.Now}
}

// Recordings returns the state of the recordings of all hosts. It reads statuses as often as recorders write them. Of the recorders that
// have a host, as two may for a minute, the one with the newest sample counts. It is for [Config.Recording].
func (r *Recorders) Recordings(ctx context.Context) ([]Recording, error) {
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

func recordingsOf(statuses []share.Status) []Recording {
	var list []Recording
	index := map[string]int{}
	newest := map[string]time.Time{}
	for i := range statuses {
		s := &statuses[i]
		for _, h := range s.Hosts {
			r := Recording{Host: h.Name, Owner: s.ID, Lag: -1}
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
