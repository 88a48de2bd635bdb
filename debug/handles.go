package debug

import "time"

// A program's contexts have numbers in the output, which the C library calls
// handles. The Log that they all print to counts them.

// OpenContext returns the number of a new context, from 0, which becomes the
// current one. On a nil *Log it returns -1.
func (l *Log) OpenContext() int {
	if l == nil {
		return -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.contexts
	l.contexts++
	l.current = l.contexts
	return n
}

// CloseContext marks a context as closed. If it was the current one, there is no
// current context.
func (l *Log) CloseContext(n int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == n+1 {
		l.current = 0
	}
}

// CurrentContext returns the number of the context that was opened last, -1 if it
// has been closed.
func (l *Log) CurrentContext() int {
	if l == nil {
		return -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current - 1
}

// SetZone sets the zone in which times of day are printed, as pmUseZone(3) does.
// Without it they are local times.
func (l *Log) SetZone(zone *time.Location) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.zone = zone
}

// Zone returns the zone of SetZone.
func (l *Log) Zone() *time.Location {
	if l == nil {
		return time.Local
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.zone == nil {
		return time.Local
	}
	return l.zone
}
