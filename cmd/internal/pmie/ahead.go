package pmie

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
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
func (src *sources) ask(ctx context.Context, text []byte) {
	if src.archives != nil {
		return
	}
	names := src.scouted(ctx, text)
	if len(names) < 2 {
		return // no other host is delayed
	}
	limit := aheadFor
	if src.cfg.Timeout > 0 {
		limit = min(limit, src.cfg.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := make(map[string]*asked)
	for conn, metrics := range names {
		if src.contexts[conn] != nil {
			continue
		}
		wg.Go(func() {
			a := &asked{found: make(map[string]metadata)}
			if a.c, a.err = src.cfg.Dial(ctx, conn); a.err == nil {
				for _, name := range metrics {
					d := src.lookUp(ctx, a.c, name)
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
	src.ahead = all
}

// forgetAhead closes connections that were not used.
func (src *sources) forgetAhead() {
	for _, a := range src.ahead {
		if a.c != nil {
			a.c.Close()
		}
	}
	src.ahead = nil
}

// A scout records which metrics of which hosts rules name.
type scout struct {
	*sources
	names map[string][]string
}

func (s *scout) Metrics(name string, hosts, insts []string) []*eval.Metric {
	list := s.named(name, hosts, insts)
	for _, m := range list {
		if !slices.Contains(s.names[m.Conn], name) {
			s.names[m.Conn] = append(s.names[m.Conn], name)
		}
	}
	return list
}

func (s *scout) Describe(*eval.Metric) bool { return true }

// scouted returns the metrics that rules name, by host. Mistakes are reported when the rules are loaded.
func (src *sources) scouted(ctx context.Context, text []byte) map[string][]string {
	s := &scout{sources: src, names: make(map[string][]string)}
	b := rule.New(rule.Config{Errorf: func(string, ...any) {}, Source: s})
	for b.Begin("", text); b.More() && ctx.Err() == nil; {
		b.Next()
	}
	return s.names
}
