package cli

import (
	"fmt"
	"io"
	"time"
)

// How long work may take before it is told how far it is, and how often that is
// told anew.
const (
	progressDelay = time.Second
	progressPause = time.Second / 4
)

// A Progress tells on a terminal how far long work is. Nil tells nothing, so
// that a tool need not ask whether there is a terminal. It is for one goroutine.
type Progress struct {
	w           io.Writer
	label       string
	done, total int64
	next        time.Time
	shown       bool
}

// NewProgress returns what tells of work that is done when total units are, or
// as many as Set says; nil unless standard error is a terminal. The label is
// what the line starts with, the name of the program mostly.
func NewProgress(env *Env, label string, total int64) *Progress {
	if env.ErrTerminal == nil || !env.ErrTerminal() {
		return nil
	}
	return &Progress{w: env.Stderr, label: label, total: total, next: time.Now().Add(progressDelay)}
}

// Add tells that n more units are done.
func (p *Progress) Add(n int64) {
	if p != nil {
		p.Set(p.done+n, p.total)
	}
}

// Set tells how many units of how many are done.
func (p *Progress) Set(done, total int64) {
	if p == nil || total <= 0 {
		return
	}
	p.done, p.total = done, total
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(progressPause), true
		fmt.Fprintf(p.w, "\r%s: %3d%%", p.label, min(100, int(100*float64(p.done)/float64(p.total))))
	}
}

// Clear takes away what was told, so that something else can be said. The work
// may go on.
func (p *Progress) Clear() {
	if p != nil && p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
