package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// A server is a Server with its last values.
type server struct {
	Server
	layout                  *layout
	log                     *slog.Logger
	patience, limit, maxAge time.Duration
	minAge                  time.Duration
	ctx                     context.Context
	cancel                  context.CancelFunc

	mu      sync.Mutex
	stopped bool
	running chan struct{} // closed at the end of the reading under way; nil if there is none
	began   time.Time     // when it began
	late    bool          // the last reading took longer than fetches wait
	failing bool          // the log has it
	pause   time.Duration // after the next failure
	next    time.Time     // no reading before that
	latest  *Answer
	at      time.Time // of latest
}

func newServer(s Server, l *layout, cfg Config) *server {
	n := &server{
		Server: s, layout: l, log: cfg.Log, minAge: cfg.MinAge,
		patience: cmp.Or(cfg.patience, Patience), limit: cmp.Or(cfg.limit, Limit), maxAge: cmp.Or(cfg.maxAge, MaxAge),
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// start begins a reading, unless one is under way or has to wait, and returns a channel that is closed at its end; nil if the caller
// is not to wait.
func (s *server) start() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		if s.stopped || time.Now().Before(s.next) || s.latest != nil && time.Since(s.at) < s.minAge {
			return nil
		}
		s.running, s.began = make(chan struct{}), time.Now()
		go s.read(s.running)
	}
	if s.late || time.Since(s.began) >= s.patience {
		return nil
	}
	return s.running
}

func (s *server) read(done chan struct{}) {
	ctx, cancel := context.WithTimeout(s.ctx, s.limit)
	defer cancel()
	a := newAnswer(s.layout)
	err := s.try(ctx, a)
	if err == nil {
		a.empty = false
		a.finish()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = time.Since(s.began) >= s.patience
	s.running = nil
	close(done)
	if err == nil {
		s.latest, s.at = a, time.Now()
		s.pause, s.next = 0, time.Time{}
		if s.failing {
			s.failing = false
			s.log.Info("the service answers again", "server", s.Name)
		}
		return
	}
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.next = time.Now().Add(s.pause)
	if !s.failing && s.ctx.Err() == nil {
		s.failing = true
		s.log.Warn("the service does not answer", "server", s.Name, "err", err)
	}
}

// try is Read, with an error in place of a panic: the bytes of a service must not end the collector.
func (s *server) try(ctx context.Context, a *Answer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading its answer: %v", p)
		}
	}()
	return s.Read(ctx, a)
}

// values returns the last answer, nil if there is none or it is too old.
func (s *server) values(now time.Time) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil && now.Sub(s.at) > s.maxAge {
		s.latest = nil
	}
	return s.latest
}

// stop ends the reading under way, and waits for it.
func (s *server) stop() {
	s.mu.Lock()
	s.stopped = true
	running := s.running
	s.mu.Unlock()
	s.cancel()
	if running != nil {
		<-running
	}
	if s.Close != nil {
		s.Close()
	}
}
