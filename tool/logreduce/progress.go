package logreduce

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/tool/cli"
)

// A progress tells on a terminal how far long work is. Nil does nothing.
type progress struct {
	w      io.Writer
	name   string
	window cli.TimeWindow
	next   time.Time
	shown  bool
}

// newProgress returns nil unless standard error is a terminal.
func newProgress(env *cli.Env, w cli.TimeWindow) *progress {
	f, ok := env.Stderr.(*os.File)
	if !ok {
		return nil
	}
	if _, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err != nil {
		return nil
	}
	return &progress{w: f, name: env.ProgName(), window: w, next: time.Now().Add(time.Second)}
}

// at tells which time the work is at.
func (p *progress) at(t pcp.Timestamp) {
	if p == nil {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(200*time.Millisecond), true
		part := 100 * t.Sub(p.window.Start) / max(p.window.Finish.Sub(p.window.Start), 1)
		fmt.Fprintf(p.w, "\r%s: %3.0f%%", p.name, min(100, part))
	}
}

// clear removes what was shown.
func (p *progress) clear() {
	if p != nil && p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
