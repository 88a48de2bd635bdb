package up

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// promRules evaluates rules of Prometheus over the archives of this host and its collector.
type promRules struct {
	engine *promrules.Engine
	newer  bool // a later release saved the alerts

	mu    sync.Mutex
	files []*promrules.File
	r     *rules // while they are evaluated
}

// connect makes the engine.
func (p *promRules) connect(data storage.Queryable, log *slog.Logger) {
	p.engine = promrules.New(promrules.Config{Data: data, Observe: p.observe, Log: log})
	p.engine.Load(p.files)
}

// names returns the names of the files.
func (p *promRules) names() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, f := range p.files {
		list = append(list, f.Name)
	}
	return strings.Join(list, ", ")
}

// count returns the number of rules.
func (p *promRules) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, f := range p.files {
		n += f.Rules()
	}
	return n
}

func (p *promRules) run(ctx context.Context, r *rules) error {
	p.mu.Lock()
	p.r = r
	p.mu.Unlock()
	path := filepath.Join(r.set.dir, savedAlerts)
	p.restore(path)
	var done sync.WaitGroup
	defer done.Wait()
	done.Go(func() {
		tick := time.NewTicker(saveEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			p.save(path)
		}
	})
	return p.engine.Run(ctx)
}

const (
	savedAlerts = "rules.json" // in the state directory
	saveEvery   = time.Minute
)

// restore continues with the alerts of the last run.
func (p *promRules) restore(path string) {
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(f, promrules.MaxSaved+1)); err == nil {
			err = p.engine.Restore(text)
		}
	}
	if p.newer = fileversion.IsNewer(err); p.newer {
		p.r.log.Warn("alerts of the last run are not continued, and those of this one are not saved", "file", path, "err", err)
	} else if err != nil {
		p.r.log.Warn("alerts of the last run are forgotten", "file", path, "err", err)
	}
}

// save writes the alerts for the next run.
func (p *promRules) save(path string) {
	if p.newer {
		return
	}
	text, err := p.engine.Save()
	if err == nil {
		err = safefile.ReplaceBytes(path, text, safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
	}
	if err != nil {
		p.r.log.Warn("alerts cannot be saved for the next run", "file", path, "err", err)
	}
}

// reload reads the files again. A file with mistakes keeps its rules.
func (p *promRules) reload() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.r == nil {
		return // soon
	}
	for i, f := range p.files {
		fresh, err := promrules.ReadFile(f.Name)
		if err != nil {
			p.r.log.Error("a file of rules keeps its old rules", "file", f.Name, "err", err)
			continue
		}
		p.files[i] = fresh
	}
	p.engine.Load(p.files)
	if p.r.manager != nil {
		if err := p.r.manager.Adopt(p.r.deliveries()); err != nil {
			p.r.log.Error("alerts of other rules are not resolved", "err", err)
		}
	}
}

// observe reports the alerts of a rule after an evaluation.
func (p *promRules) observe(ev promrules.Evaluation) {
	p.mu.Lock()
	r := p.r
	p.mu.Unlock()
	if r == nil || ev.Err != nil {
		return
	}
	now, pending, since := alerts.Evaluation(ev)
	if r.board != nil {
		r.board.Await(ev.Rule, ev.Expr, since, pending)
	}
	r.observe(now)
	if r.manager == nil {
		return
	}
	for _, to := range r.receivers.Receivers {
		err := r.manager.Act(context.Background(), deliver.Action{
			Kind: kindOf(to), Receiver: to.Name, Rule: ev.Rule, Expr: ev.Expr, Time: ev.Time, Matches: now.Matches, Resolved: len(now.Matches) == 0,
		})
		if errors.Is(err, alert.ErrUnknown) {
			r.log.Error("an alert has no receiver", "rule", ev.Rule, "err", err)
		}
	}
}

// kindOf returns the action that notifies a receiver.
func kindOf(to *alert.Receiver) deliver.Kind {
	for k := deliver.Webhook; k <= deliver.Mail; k++ {
		if k.String() == string(to.Kind) {
			return k
		}
	}
	return -1
}
