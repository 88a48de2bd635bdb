package ie

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/daemonlog"
)

// drainFor is how long receivers are waited for at the end.
const drainFor = 5 * time.Second

// An alerting delivers the alerts of rules to receivers, and keeps the file with the firing
// alerts.
type alerting struct {
	file    string // of --receivers
	manager *alert.Manager
	board   *alert.Board
}

// prepare connects the configuration of an engine to the alerting.
func (a *alerting) prepare(cfg *pmie.Config) {
	cfg.Alert = func(ctx context.Context, act deliver.Action) error { return a.manager.Act(ctx, act) }
	if cfg.Archives != nil {
		return // nothing fires now: see start
	}
	cfg.Observe = func(ev deliver.Evaluation) {
		if a.board != nil {
			a.board.Observe(ev)
		}
	}
}

// receivers reads the file of receivers, if rules need it, and checks that it has them.
func (a *alerting) receivers(env *cli.Env, list []deliver.Delivery) (*alert.Settings, error) {
	if len(list) == 0 {
		return &alert.Settings{}, nil
	}
	s, file, err := alerts.Receivers(env, a.file, "")
	if a.file = file; err != nil {
		return nil, fmt.Errorf("%s: rule %s is for receiver %s: %w", env.ProgName(), list[0].Rule, list[0].Receiver, err)
	}
	for _, d := range list {
		switch r := s.Receiver(d.Receiver); {
		case r == nil:
			return nil, fmt.Errorf("%s: rule %s: there is no receiver %s in %s", env.ProgName(), d.Rule, d.Receiver, a.file)
		case string(r.Kind) != d.Kind.String():
			return nil, fmt.Errorf("%s: rule %s: receiver %s is of kind %s, not %v", env.ProgName(), d.Rule, d.Receiver, r.Kind, d.Kind)
		}
	}
	return s, nil
}

// start begins to deliver. End is called when rules are not evaluated any more.
func (a *alerting) start(env *cli.Env, cfg *pmie.Config, files []string, e *pmie.Engine) (end func(), err error) {
	end = func() {}
	if cfg.Archives != nil {
		return end, nil
	}
	list := e.Deliveries()
	s, err := a.receivers(env, list)
	if err != nil {
		return nil, err
	}
	for i, name := range files {
		if abs, err := filepath.Abs(name); err == nil && name != "" {
			files[i] = abs
		}
	}
	var standings func() []alert.Standing
	if len(list) > 0 {
		dir := s.Spool
		if dir == "" {
			dir = filepath.Join(env.Config().Get("PCP_LOG_DIR"), "pmie", "alerts")
		}
		// Processes with other rules have other directories.
		key := sha256.Sum256([]byte(strings.Join(append([]string{cfg.Host}, files...), "\x00")))
		log := slog.New(daemonlog.NewHandler(cfg.Err, cfg.Name, slog.LevelInfo))
		if a.manager, err = alert.New(alert.Config{Receivers: s.Receivers, Dir: filepath.Join(dir, fmt.Sprintf("%x", key[:8])), Log: log}); err != nil {
			return nil, fmt.Errorf("%s: alerts cannot be stored until they are delivered (set spool in %s): %w", env.ProgName(), a.file, err)
		}
		if err := a.manager.Adopt(list); err != nil {
			a.manager.Close()
			return nil, err
		}
		standings = a.manager.Standings
	}
	if e.Stats().Rules > 0 {
		state := alert.State{PID: os.Getpid(), Rules: files, Host: cfg.Host}
		for _, dir := range alert.StateDirs(env.Config().Get("PCP_RUN_DIR"), env.Getenv("XDG_RUNTIME_DIR")) {
			// A process that may not write there does without: rules matter more.
			if a.board, err = alert.NewBoard(dir, state, standings); err == nil {
				break
			}
		}
	}
	return a.end, nil
}

func (a *alerting) end() {
	if a.board != nil {
		a.board.Close()
		a.board = nil
	}
	if a.manager == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	a.manager.Drain(ctx)
	a.manager.Close()
	a.manager = nil
}
