package backend

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxAgentOutput is how many bytes of an agent's standard error are written
	// to the log in an outputInterval.
	maxAgentOutput = 64 << 10
	// outputInterval is how long bytes are counted before the next begin.
	outputInterval = time.Minute
)

// An outputLimiter passes on what an agent's process writes to its standard
// error, up to maxAgentOutput: an agent in trouble must not fill the disk. It
// accepts the rest too and drops it, so that the agent neither waits nor notices
// when the log cannot be written to.
type outputLimiter struct {
	out   io.Writer
	log   *slog.Logger
	agent string

	mu      sync.Mutex
	timer   *time.Timer // of the interval; nil outside of one
	written int
	dropped int
	midLine bool // the last line written has no end yet
}

// Write implements io.Writer, and takes everything.
func (o *outputLimiter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		o.timer = time.AfterFunc(outputInterval, o.flush)
	}
	n := len(p)
	if o.dropped > 0 {
		n = 0 // the output after a gap waits for the next interval
	} else if room := maxAgentOutput - o.written; n > room {
		n = bytes.LastIndexByte(p[:room], '\n') + 1
		if n == 0 && o.written == 0 {
			n = room // the beginning of one line that is longer
		}
	}
	if n > 0 {
		o.out.Write(p[:n])
		o.written += n
		o.midLine = p[n-1] != '\n'
	}
	o.dropped += len(p) - n
	return len(p), nil
}

// flush ends the interval, and reports how much was dropped.
func (o *outputLimiter) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	dropped := o.dropped
	o.written, o.dropped = 0, 0
	if dropped == 0 {
		return
	}
	if o.midLine {
		io.WriteString(o.out, "\n")
		o.midLine = false
	}
	o.log.Warn("agent's standard error: more than is kept was dropped", "agent", o.agent,
		"bytes", dropped, "kept", maxAgentOutput, "within", outputInterval.String())
}
