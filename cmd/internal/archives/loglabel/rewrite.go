package loglabel

import (
	"fmt"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// rewrite writes the labels of all files, or none of them.
func (l *labels) rewrite() {
	g := &l.golden
	if l.version != 0 {
		g.Version = l.version
	}
	if l.pid != 0 {
		g.PID = int32(l.pid)
	}
	if l.setHost {
		g.Host = l.host
	}
	if l.setZone {
		g.TimeZone, g.ZoneInfo = l.zone, ""
	}
	ok := true
	fail := func(format string, args ...any) {
		fmt.Fprintf(l.env.Stderr, format+"\n", args...)
		l.status, ok = notDone, false
	}
	open := make([]*os.File, len(l.files))
	for i := range l.files {
		f := &l.files[i]
		l.say("Writing label on %s", f.what)
		w, err := os.OpenFile(f.path, os.O_RDWR, 0)
		if err != nil {
			fail("Failed %s open: %s", f.what, cli.ErrText(err))
			continue
		}
		defer w.Close()
		open[i] = w
		size := archive.LabelSize(g.Version)
		switch {
		case size == 0:
			fail("Failed %s label write: %s", f.what, cli.ErrText(pcp.ErrLabel))
		case f.size != size && f.have > size:
			fail("Failed %s label write: %d bytes of a version %d label would go over what follows the one there is; see pcp archive convert",
				f.what, size, g.Version)
		}
	}
	if !ok {
		return
	}
	for i, w := range open {
		g.Vol = l.files[i].vol
		// One write of a few bytes, which succeeds or fails as a whole.
		_, err := w.WriteAt(g.Append(nil), 0)
		if err == nil {
			err = w.Sync()
		}
		if err != nil {
			fail("Failed %s label write: %s", l.files[i].what, cli.ErrText(err))
		}
	}
}
