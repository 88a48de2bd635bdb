package pmie

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Sources are the hosts or archives that metrics are from, and the connections for their metadata.
type sources struct {
	*console
	cfg      *Config
	ctx      context.Context // of the call
	archives []*recording
	contexts map[string]*pmapi.Context
	states   map[string]hostState
	dead     map[string]bool   // hosts that did not answer just now
	ahead    map[string]*asked // the answers of the hosts of the rules being read
	labels   map[*eval.Metric]*labels
	host     string // the host that was last asked
}

// A recording is an archive.
type recording struct {
	path, host  string
	first, last pcp.Timestamp
}

// openArchive opens an archive. Its errors include the program's name.
func (src *sources) openArchive(ctx context.Context, path string) error {
	a, err := src.cfg.OpenArchive(path)
	if err != nil {
		return fmt.Errorf("%s: cannot open archive %s\npmNewContext failed: %s", src.cfg.Name, path, errText(err))
	}
	src.contexts[path] = a.Context
	label, err := a.Label(ctx)
	if err != nil {
		return fmt.Errorf("%s: cannot read label from archive %s\npmGetArchiveLabel failed: %s", src.cfg.Name, path, errText(err))
	}
	end, err := a.End(ctx)
	if err != nil {
		return fmt.Errorf("%s: archive %s is corrupted\npmGetArchiveEnd failed: %s", src.cfg.Name, path, errText(err))
	}
	for _, b := range src.archives {
		if b.host == label.Host {
			return fmt.Errorf("%s: Error: archive %s not legal - archive %s is already open for host %s", src.cfg.Name, path, b.path, b.host)
		}
	}
	src.archives = append(src.archives, &recording{path: path, host: label.Host, first: label.Start, last: end})
	return nil
}

// bounds returns the times of the first and the last values of all archives, or now and
// pcptime.Never.
func (src *sources) bounds() (first, last pcp.Timestamp) {
	if src.archives == nil {
		return pcp.TimestampOf(time.Now()), pcptime.Never
	}
	first, last = src.archives[0].first, src.archives[0].last
	for _, a := range src.archives[1:] {
		if a.first.Compare(first) < 0 {
			first = a.first
		}
		if a.last.Compare(last) > 0 {
			last = a.last
		}
	}
	return first, last
}

// main returns the default source of metrics.
func (src *sources) main() string {
	if src.archives != nil {
		return src.archives[0].path
	}
	return src.cfg.Host
}

// A hostState is the last known state of a host.
type hostState int

const (
	isNew hostState = iota
	isUnreachable
	isBack
	isLost
)

// changed records the state of a host, and reports whether it has changed.
func (src *sources) changed(conn string, s hostState) bool {
	old := src.states[conn]
	if old == s {
		return false
	}
	src.states[conn] = s
	switch {
	case src.cfg.Quiet:
	case s == isUnreachable:
		src.notify(slog.LevelInfo, fmt.Sprintf("Cannot connect to pmcd %s\n", conn))
	case s == isBack && old != isNew:
		src.notify(slog.LevelInfo, fmt.Sprintf("Re-established connection to pmcd %s\n", conn))
	case s == isLost:
		src.notify(slog.LevelInfo, fmt.Sprintf("Lost connection to pmcd %s\n", conn))
	}
	return true
}

// context returns a context for metadata.
func (src *sources) context(conn string) (*pmapi.Context, error) {
	if c := src.contexts[conn]; c != nil {
		return c, nil
	}
	c, err := src.open(conn)
	if err != nil {
		return nil, err
	}
	src.contexts[conn] = c
	return c, nil
}

// open makes a context. It reports once that a host cannot be reached.
func (src *sources) open(conn string) (*pmapi.Context, error) {
	if src.archives != nil {
		c, err := src.cfg.OpenArchive(conn)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot open archive %s\npmNewContext: %s", src.cfg.Name, conn, errText(err))
		}
		return c.Context, nil
	}
	if src.dead[conn] {
		return nil, pcp.ErrIPC
	}
	c, err := src.cfg.Dial(src.ctx, conn)
	if err != nil {
		src.unreached(conn, err)
	}
	return c, err
}

// unreached records that a host cannot be reached. It is not tried again for now.
func (src *sources) unreached(conn string, err error) {
	src.dead[conn] = true
	if src.changed(conn, isUnreachable) {
		text := "is unreachable"
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			text = "does not respond"
		case errors.Is(err, pcp.ErrPermission):
			text = "does not permit delivery of metrics to the local host"
		case errors.Is(err, pcp.ErrConnLimit):
			text = "has exceeded its connection limit"
		}
		src.errorf("%s: warning - pmcd via %s %s\n", src.cfg.Name, conn, text)
	}
}

// reach connects to hosts that are not known yet, all at once.
func (src *sources) reach(conns []string) {
	if src.archives != nil {
		return
	}
	contexts, errs := make([]*pmapi.Context, len(conns)), make([]error, len(conns))
	asked := make(map[string]bool)
	var wg sync.WaitGroup
	for i, conn := range conns {
		if src.contexts[conn] != nil || src.dead[conn] || asked[conn] {
			continue
		}
		asked[conn] = true
		if a := src.ahead[conn]; a != nil {
			contexts[i], errs[i], a.c = a.c, a.err, nil
			continue
		}
		wg.Go(func() { contexts[i], errs[i] = src.cfg.Dial(src.ctx, conn) })
	}
	wg.Wait()
	for i, conn := range conns {
		switch {
		case errs[i] != nil:
			src.unreached(conn, errs[i])
		case contexts[i] != nil:
			src.contexts[conn] = contexts[i]
		}
	}
}

// release closes the connections to collectors with which rules were read: from now on each host is asked by
// its tasks. A later request for metadata, of new instances for example, connects again.
func (src *sources) release() {
	if src.archives != nil {
		return
	}
	for conn, c := range src.contexts {
		c.Close()
		delete(src.contexts, conn)
	}
}
