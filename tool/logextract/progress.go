package logextract

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/tool/cli"
)

// A progress tells on a terminal how far long work is. Nil does nothing.
type progress struct {
	w     io.Writer
	name  string
	total int64
	done  int64
	next  time.Time
	shown bool
}

// newProgress returns nil unless standard error is a terminal.
func newProgress(env *cli.Env, inputs []*input) *progress {
	f, ok := env.Stderr.(*os.File)
	if !ok {
		return nil
	}
	if _, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err != nil {
		return nil
	}
	p := &progress{w: f, name: env.ProgName(), next: time.Now().Add(time.Second)}
	for _, in := range inputs {
		if in.empty {
			continue
		}
		for _, number := range in.a.Volumes() {
			if n, err := archive.FileSize(in.a.Path() + "." + strconv.Itoa(number)); err == nil {
				p.total += n
			}
		}
		in.vols.done = p.add
	}
	return p
}

func (p *progress) add(n int64) {
	if p.done += n; p.total == 0 {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(200*time.Millisecond), true
		fmt.Fprintf(p.w, "\r%s: %3d%%", p.name, min(100, p.done*100/p.total))
	}
}

// clear removes what was shown.
func (p *progress) clear() {
	if p != nil && p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
