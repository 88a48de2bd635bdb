package pmcd

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// logInterval is how long lines are counted before the next begin.
	logInterval = time.Minute
	// maxClientLines is how many lines of a kind about clients are written in a
	// logInterval. One line at its end counts the rest.
	maxClientLines = 100
	// maxLineKinds is how many kinds are counted apart. There are some dozens;
	// all others count as one more kind.
	maxLineKinds = 64
)

// A lineLimiter writes lines that clients can cause as often as they like, such
// as those about clients that break the protocol. Lines about the life of agents
// do not go through it: all of them are written.
type lineLimiter struct {
	log *slog.Logger

	mu     sync.Mutex
	kinds  map[string]*lineKind // the kinds with a line written in their interval
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

// tell logs the number of omitted lines of a kind, with the message of the last.
// No goroutine counts in k any more.
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
		if k.timer.Stop() { // else end reports
			l.tell(k)
		}
	}
}
