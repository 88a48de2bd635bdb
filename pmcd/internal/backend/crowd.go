package backend

import (
	"sync/atomic"
	"time"
)

// A crowd records whether fetches from several agents run at the same time.
type crowd struct {
	fetches atomic.Int32 // on their way
	met     atomic.Int64 // when there last were two, on the host's clock
}

// crowdMemory is for how long fetches that met are expected to do so again.
const crowdMemory = 10 * time.Millisecond

// enter reports whether a fetch that begins now is alone.
func (cr *crowd) enter(now int64) bool {
	if cr.fetches.Add(1) > 1 {
		cr.met.Store(now)
		return false
	}
	met := cr.met.Load()
	return met == 0 || now-met > int64(crowdMemory)
}

func (cr *crowd) leave() { cr.fetches.Add(-1) }
