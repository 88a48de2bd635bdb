package pmcd

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// A journal is all that a server writes: its log, the parts of the log whose layout scripts know, and
// the event trace. Its parts may be used from many goroutines.
type journal struct {
	log    *slog.Logger
	report io.Writer
	lines  lineLimiter // lines that clients cause
	events *trace.Tracer
	debug  atomic.Int32
}

func newJournal(log *slog.Logger, report io.Writer) *journal {
	return &journal{log: log, report: report, lines: lineLimiter{log: log}, events: trace.New(report)}
}

// setDebug changes the debug options.
func (j *journal) setDebug(flags int32) {
	j.debug.Store(flags)
	j.events.Show(flags&DebugPDU != 0)
}

// debugging reports whether an option is in effect.
func (j *journal) debugging(bit int32) bool { return j.debug.Load()&bit != 0 }

// client logs what happens to a client, if asked to.
func (j *journal) client(what string, c *client) {
	level := slog.LevelDebug
	if j.debugging(DebugIO) {
		level = slog.LevelInfo
	}
	if ctx := context.Background(); j.log.Enabled(ctx, level) {
		j.log.Log(ctx, level, what, "client", c.name, "number", c.number)
	}
}

// request shows the outcome of a client's request, if asked to.
func (j *journal) request(c *client, t wire.Type, err error) {
	if j.debugging(DebugIO) {
		j.log.Info("request", "client", c.pub.ID, "pdu", t.String(), "status", pcp.Code(err))
	}
}
