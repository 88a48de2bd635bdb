package mmv_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/internal/daemonlog"
)

// A logBuffer collects a log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// count returns the number of lines that contain text.
func (l *logBuffer) count(text string) int { return strings.Count(l.String(), text) }

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(daemonlog.NewHandler(l, "pmdammv", slog.LevelInfo))
}
