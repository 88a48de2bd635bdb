package pmproxy

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerMinute is the number of log lines of each kind about clients.
const linesPerMinute = 100

// A lineLimit keeps clients from filling the log. A kind is a message.
type lineLimit struct {
	mu    sync.Mutex
	since time.Time
	kinds map[string]int
}

// allow reports whether another line of a kind may be logged, and the number of
// lines of that kind suppressed in the minute before.
func (l *lineLimit) allow(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.kinds == nil || now.Sub(l.since) >= time.Minute {
		l.since, l.kinds = now, map[string]int{}
	}
	l.kinds[kind]++
	return l.kinds[kind] <= linesPerMinute
}

func (l *lineLimit) log(log *slog.Logger, level slog.Level, msg string, attrs ...any) {
	if log.Enabled(context.Background(), level) && l.allow(msg) {
		log.Log(context.Background(), level, msg, attrs...)
	}
}

// A limitedHandler handles the messages of net/http, all as one kind.
type limitedHandler struct {
	slog.Handler
	lines *lineLimit
}

func (h *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.lines.allow("net/http") {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
