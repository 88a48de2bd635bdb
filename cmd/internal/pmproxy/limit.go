package pmproxy

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerMinute is how many lines of a kind about clients the log gets.
const linesPerMinute = 100

// A lineLimit keeps clients from filling the log. A kind is a message.
type lineLimit struct {
	mu    sync.Mutex
	since time.Time
	kinds map[string]int
}

// allow reports whether the log gets one more line of a kind, and how many of that
// kind it did not get in the minute before.
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

// A limitedHandler takes what net/http has to say, all as one kind.
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
