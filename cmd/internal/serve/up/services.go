package up

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmcd"
)

// lookInterval is the time between two looks for services that were started meanwhile.
const lookInterval = 30 * time.Second

// services knows which services were found on this machine. Their agents stay when a service ends.
type services struct {
	log    *slog.Logger
	finder *service.Finder

	mu      sync.Mutex
	known   map[string]bool
	refused map[string]bool // the log has it
}

func newServices(specs []builtin.Spec, cfg *config.Config, log *slog.Logger) *services {
	env := builtin.Env{Config: cfg, HostRoot: hostroot.Of(cfg.Get), Log: slog.New(slog.DiscardHandler)}
	return &services{log: log, finder: service.NewFinder(specs, env), known: make(map[string]bool), refused: make(map[string]bool)}
}

// found reports whether the service of an agent was found. The nil *services has found none.
func (s *services) found(name string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[name]
}

// find looks for services, and returns the agents of new ones.
func (s *services) find(ctx context.Context) []string {
	results := s.finder.Find(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for name, err := range results {
		switch {
		case s.known[name]:
		case err == nil:
			s.known[name] = true
			found = append(found, name)
			s.log.Info("found a service", "agent", name)
		case errors.Is(err, service.ErrCredentials) && !s.refused[name]:
			s.refused[name] = true
			s.log.Info("the service of an agent requires a password; pcp doctor has the remedy", "agent", name, "err", err)
		}
	}
	return found
}

// watch looks again after each interval until the function that it returns is called, and calls changed with the agents of new services.
func (s *services) watch(ctx context.Context, interval time.Duration, changed func(ctx context.Context, agents []string)) (stop func()) {
	if interval == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if agents := s.find(ctx); len(agents) > 0 {
					changed(ctx, agents)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// agentPatience is the time limit for the start of agents.
const agentPatience = time.Minute

// awaitAgents waits until agents are connected to a server, and reports whether they are.
func awaitAgents(ctx context.Context, server *pmcd.Server, agents []string) bool {
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		connected := agentNames(server)
		if !slices.ContainsFunc(agents, func(name string) bool { return !slices.Contains(connected, name) }) {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
