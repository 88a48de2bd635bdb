package importcmd

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/tool/cli"
)

// A progress says on a terminal how far the work is. Nil says nothing.
type progress struct {
	w           io.Writer
	name        string
	done, total int64
	next        time.Time
	shown       bool
}

// newProgress returns nil unless standard error is a terminal.
func newProgress(env *cli.Env, total int64) *progress {
	f, ok := env.Stderr.(*os.File)
	if !ok || total <= 0 {
		return nil
	}
	if _, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err != nil {
		return nil
	}
	return &progress{w: f, name: env.ProgName(), total: total, next: time.Now().Add(time.Second)}
}

// add counts bytes that were read.
func (p *progress) add(n int) {
	if p == nil {
		return
	}
	p.done += int64(n)
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(time.Second/4), true
		fmt.Fprintf(p.w, "\r%s: %d%%", p.name, min(100, 100*p.done/p.total))
	}
}

// clear wipes out what was said.
func (p *progress) clear() {
	if p != nil && p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
