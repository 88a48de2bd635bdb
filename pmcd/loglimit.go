package pmcd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// logInterval is how long lines and bytes are counted before the next begin.
	logInterval = time.Minute
	// maxClientLines is how many lines of a kind about clients are written in a
	// logInterval. One line at its end counts the rest.
	maxClientLines = 100
	// maxLineKinds is how many kinds are counted apart. There are some dozens;
	// all others count as one more kind.
	maxLineKinds = 64
	// maxAgentOutput is how many bytes of an agent's standard error are written
	// to the log in a logInterval.
	maxAgentOutput = 64 << 10
)

// A lineLimiter writes lines that clients can cause as often as they like, such
// as those about clients that break the protocol. Lines about the life of agents
// do not go through it: all of them are written.
type lineLimiter struct {
	log *slog.Logger

	mu     sync.Mutex
	kinds  map[string]*lineKind // those of which a line was written in its interval
	closed bool
}

// A lineKind counts the lines of one kind since the first one.
type lineKind struct {
	timer *time.Timer
	level slog.Level
	lines int
	more  int    // that were left out
	msg   string // of the last of them
	attrs []any
}

// write logs a line of a kind, or counts it.
func (l *lineLimiter) write(level slog.Level, kind, msg string, attrs ...any) {
	if l.count(level, kind, msg, attrs) {
		l.log.Log(context.Background(), level, msg, attrs...)
	}
}

// count counts a line, and reports whether to write it.
func (l *lineLimiter) count(level slog.Level, kind, msg string, attrs []any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return true
	}
	if l.kinds[kind] == nil && len(l.kinds) >= maxLineKinds {
		kind = ""
	}
	k := l.kinds[kind]
	if k == nil {
		if l.kinds == nil {
			l.kinds = map[string]*lineKind{}
		}
		k = &lineKind{level: level}
		k.timer = time.AfterFunc(logInterval, func() { l.end(kind, k) })
		l.kinds[kind] = k
	}
	if k.lines < maxClientLines {
		k.lines++
		return true
	}
	k.more++
	k.level, k.msg, k.attrs = level, msg, attrs
	return false
}

// end ends the interval of a kind.
func (l *lineLimiter) end(kind string, k *lineKind) {
	l.mu.Lock()
	if l.kinds[kind] == k {
		delete(l.kinds, kind)
	}
	l.mu.Unlock()
	l.tell(k)
}

// tell logs how many lines of a kind were left out, with the message of the last
// one. No goroutine counts in k any more.
func (l *lineLimiter) tell(k *lineKind) {
	if k.more > 0 {
		l.log.Log(context.Background(), k.level, k.msg+": more like this were left out",
			append([]any{"lines", k.more, "within", logInterval.String()}, k.attrs...)...)
	}
}

// close ends all intervals; from then on all lines are written.
func (l *lineLimiter) close() {
	l.mu.Lock()
	kinds := l.kinds
	l.kinds, l.closed = nil, true
	l.mu.Unlock()
	for _, k := range kinds {
		if k.timer.Stop() { // else end calls tell
			l.tell(k)
		}
	}
}

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
		o.timer = time.AfterFunc(logInterval, o.flush)
	}
	n := len(p)
	if o.dropped > 0 {
		n = 0 // what comes after a gap waits for the next interval
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

// flush ends the interval, and says how much was dropped.
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
		"bytes", dropped, "kept", maxAgentOutput, "within", logInterval.String())
}
