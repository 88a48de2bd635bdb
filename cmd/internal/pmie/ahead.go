package pmie

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// aheadFor limits the wait for the hosts' answers when rules are read, unless Timeout is less. A host that
// does not answer in time is tried again in the background.
const aheadFor = 5 * time.Second

// An asked is the answer of a host that was asked ahead.
type asked struct {
	c     *pmapi.Context
	err   error
	found map[string]metadata // by metric
}

// ask asks all hosts that rules name, concurrently, for the metadata that the rules need. If
// they were asked one after another, each host that hangs would delay the rest.
func (e *Engine) ask(ctx context.Context, text []byte) {
	if e.archives != nil || e.scouted != nil {
		return
	}
	names := e.scout(ctx, text)
	if len(names) < 2 {
		return // no other host is delayed
	}
	limit := aheadFor
	if e.cfg.Timeout > 0 {
		limit = min(limit, e.cfg.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := make(map[string]*asked)
	for conn, metrics := range names {
		if e.contexts[conn] != nil {
			continue
		}
		wg.Go(func() {
			a := &asked{found: make(map[string]metadata)}
			if a.c, a.err = e.cfg.Dial(ctx, conn); a.err == nil {
				for _, name := range metrics {
					d := e.lookUp(ctx, a.c, name)
					if ctx.Err() != nil || broken(d.nameErr) {
						a.c.Close()
						a.c, a.err = nil, pcp.ErrTimeout
						break
					}
					a.found[name] = d
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all[conn] = a
		})
	}
	wg.Wait()
	e.ahead = all
}

// forgetAhead closes connections that were not used.
func (e *Engine) forgetAhead() {
	for _, a := range e.ahead {
		if a.c != nil {
			a.c.Close()
		}
	}
	e.ahead = nil
}

// scout returns the hosts and metrics that rules name.
func (e *Engine) scout(ctx context.Context, text []byte) map[string][]string {
	cfg := e.cfg
	cfg.Out, cfg.Err, cfg.Quiet = io.Discard, io.Discard, true
	cfg.Watch, cfg.Observe, cfg.Alert = nil, nil, nil
	cfg.Dial = func(context.Context, string) (*pmapi.Context, error) { return nil, pcp.ErrIPC }
	s, err := New(ctx, cfg)
	if err != nil {
		return nil
	}
	defer s.Close()
	s.scouted = make(map[string][]string)
	// Mistakes are reported when the rules are loaded.
	s.Load(ctx, bytes.NewReader(text), "")
	return s.scouted
}

// note records that a rule needs a metric of a host.
func (e *Engine) note(conn, name string) {
	if e.scouted != nil && !slices.Contains(e.scouted[conn], name) {
		e.scouted[conn] = append(e.scouted[conn], name)
	}
}
