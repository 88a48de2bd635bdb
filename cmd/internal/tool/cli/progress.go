package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
)

// How long work may take before its progress is shown, and how often that is
// shown again.
const (
	progressDelay = time.Second
	progressPause = time.Second / 4
)

// A Progress shows on a terminal how far long work has come. A nil Progress shows
// nothing, so a tool need not ask whether there is a terminal. Only one goroutine
// may use it.
type Progress struct {
	w           io.Writer
	begin, wipe string // what goes to the beginning of the line, and empties it
	label       string
	done, total int64
	next        time.Time
	shown       bool
}

// NewProgress returns a Progress for work of total units, which Set may change. It
// returns nil unless standard error is a terminal that can take a line back. The line starts with label,
// mostly the name of the program.
func NewProgress(env *Env, label string, total int64) *Progress {
	if env.ErrTerminal == nil || env.Getenv("TERM") == "dumb" || !env.ErrTerminal() {
		return nil
	}
	return &Progress{w: env.Stderr, begin: env.OwnErr("\r"), wipe: env.OwnErr("\r\x1b[K"), label: label, total: total, next: time.Now().Add(progressDelay)}
}

// Add reports that n more units are done.
func (p *Progress) Add(n int64) {
	if p != nil {
		p.Set(p.done+n, p.total)
	}
}

// Set reports that done of total units are done.
func (p *Progress) Set(done, total int64) {
	if p == nil || total <= 0 {
		return
	}
	p.done, p.total = done, total
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(progressPause), true
		fmt.Fprintf(p.w, "%s%s: %3d%%", p.begin, p.label, min(100, int(100*float64(p.done)/float64(p.total))))
	}
}

// SetTime reports that work which goes through time from start has reached at, and ends at
// finish.
func (p *Progress) SetTime(at, start, finish pcp.Timestamp) {
	if p != nil {
		p.Set(int64(1000*at.Sub(start)), int64(1000*finish.Sub(start)))
	}
}

// Clear removes the line, so that the tool can print something else. The work may
// continue.
func (p *Progress) Clear() {
	if p != nil && p.shown {
		p.shown = false
		io.WriteString(p.w, p.wipe)
	}
}
