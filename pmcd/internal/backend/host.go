package backend

import (
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// A Host is the collector that agents belong to, as far as they know it. All its
// exported fields except Root must be set.
type Host struct {
	Log    *slog.Logger
	Report io.Writer // the parts of the log whose layout scripts know
	Trace  *trace.Tracer

	// Of processes of agents.
	Dir          string        // where they run
	Env          []string      // their environment in addition to that of this process
	Output       io.Writer     // gets their standard error
	CredsTimeout time.Duration // for their first PDU
	Root         *Launcher     // starts them, if it is not nil

	// Closing is closed when the collector stops.
	Closing <-chan struct{}

	// Callbacks to the collector.
	Changed func(wire.State)                     // clients are to learn of it with their next results
	Died    func()                               // an agent is gone that was not stopped
	NoRoot  func(err error)                      // there is no Root to reach
	Warn    func(kind, msg string, attrs ...any) // logs lines that clients can cause as often as they like
	Clients func() int                           // how many there are

	// Start is the zero of the clock.
	Start time.Time

	timeout atomic.Int64 // the agents' time limit, in nanoseconds; 0 means unlimited
	crowd   crowd
}

// Timeout is how long an agent may take to answer; 0 means unlimited.
func (h *Host) Timeout() time.Duration { return time.Duration(h.timeout.Load()) }

// SetTimeout changes it for the calls that follow.
func (h *Host) SetTimeout(d time.Duration) { h.timeout.Store(int64(max(d, 0))) }

// now is a clock that only grows.
func (h *Host) now() int64 { return int64(time.Since(h.Start)) }

func (h *Host) stopping() bool {
	select {
	case <-h.Closing:
		return true
	default:
		return false
	}
}
