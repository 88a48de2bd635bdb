package debug

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// A Log prints the messages of its options. A nil *Log has no options. Many
// goroutines may use a Log at a time.
type Log struct {
	on []string

	mu       sync.Mutex
	w        io.Writer
	contexts int // number of contexts so far
	current  int // the number of the current one and 1, 0 for none
	zone     *time.Location
}

// New returns a Log that prints the messages of the named options to w. Without
// names it returns nil.
func New(w io.Writer, names ...string) *Log {
	if len(names) == 0 {
		return nil
	}
	return &Log{on: slices.Clone(names), w: w}
}

// On reports whether an option is set.
func (l *Log) On(name string) bool { return l != nil && slices.Contains(l.on, name) }

// Any reports whether one of several options is set.
func (l *Log) Any(names ...string) bool { return slices.ContainsFunc(names, l.On) }

// Printf prints regardless of the options: the caller checks On first. On a nil
// *Log it does nothing.
func (l *Log) Printf(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format, args...)
}

// Write writes b at once, as Printf does.
func (l *Log) Write(b []byte) (int, error) {
	if l == nil {
		return len(b), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
