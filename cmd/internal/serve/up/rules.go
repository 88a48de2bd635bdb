package up

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/ieconf"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// maxRules is the largest file of rules that is read.
const maxRules = 16 << 20

// builtinRules is the name of the included rules in messages.
const builtinRules = "built-in rules"

// rules evaluates rules over the metrics of the collector of this process. It is an ordinary client
// of its socket.
type rules struct {
	env   *cli.Env
	set   *settings
	log   *slog.Logger
	out   io.Writer   // the log as a file, for what rules print
	files []rulesFile // of pmie
	prom  *promRules  // files of Prometheus, nil if there are none

	receivers *alert.Settings // receivers of alerts, nil if there are none
	manager   *alert.Manager  // delivers to them
	quiet     *alert.Quiet    // silences
	board     *alert.Board    // lists the alerts that fire, nil if there is no place for it

	cancel context.CancelFunc // nil if they are not evaluated
	done   chan struct{}

	mu     sync.Mutex
	firing map[string]bool    // by rule, host, instance and series
	own    []deliver.Delivery // of the rules of pmie
}

// A rulesFile is a file of rules of pmie.
type rulesFile struct {
	name string
	text []byte
}

// loadRules reads the rules of --rules, and returns an error with all mistakes in them. It returns
// nil if none are wanted.
func loadRules(ctx context.Context, env *cli.Env, set *settings) (*rules, error) {
	if !set.rules {
		return nil, nil
	}
	r := &rules{env: env, set: set, firing: make(map[string]bool)}
	if len(set.rulesFiles) == 0 {
		text, err := ieconf.Generate(ieconf.Config{})
		if err != nil {
			return nil, err
		}
		r.files = append(r.files, rulesFile{builtinRules, text})
	}
	for _, name := range set.rulesFiles {
		text, err := readRules(name)
		if err != nil {
			return nil, err
		}
		if !promrules.Is(text) {
			r.files = append(r.files, rulesFile{name, text})
			continue
		}
		f, err := promrules.Parse(name, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w:\n%w", name, errRules, err)
		}
		if r.prom == nil {
			r.prom = &promRules{}
		}
		r.prom.files = append(r.prom.files, f)
	}
	list, err := r.check(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && r.prom == nil {
		return r, nil
	}
	r.receivers, _, err = alerts.Receivers(env, set.receivers, set.dir)
	if errors.Is(err, alerts.ErrNoReceivers) && len(list) == 0 { // rules of Prometheus name none
		return r, nil
	}
	if err == nil {
		err = r.receivers.Check(list)
	}
	switch {
	case err == nil:
		return r, nil
	case len(list) == 0:
		return nil, err
	}
	return nil, fmt.Errorf("%s: %w:\nrule %s is for receiver %s: %w", r.pmieNames(), errRules, list[0].Rule, list[0].Receiver, err)
}

// check checks the files of pmie, and returns the actions that notify receivers.
func (r *rules) check(ctx context.Context) ([]deliver.Delivery, error) {
	var all []deliver.Delivery
	for _, f := range r.files {
		_, list, err := alerts.CheckPmie(ctx, f.name, f.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w:\n%w", f.name, errRules, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// pmieNames returns the names of the files of pmie.
func (r *rules) pmieNames() string {
	var list []string
	for _, f := range r.files {
		list = append(list, f.name)
	}
	return strings.Join(list, ", ")
}

func readRules(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, cli.ErrText(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %s", path, cli.ErrText(err))
	case len(b) > maxRules:
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxRules)
	}
	return b, nil
}

// errRules means that rules have mistakes.
var errRules = errors.New("rules cannot be used")

// start evaluates the rules until stop is called. If they have mistakes that show only with the
// metrics, it calls fail.
func (r *rules) start(fail func(error)) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		err := r.run(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, errRules):
			fail(err)
		default:
			r.log.Error("rules are not evaluated any more", "err", err)
			fmt.Fprintf(r.env.Stdout, "Rules are not evaluated any more: %s\n", cli.ErrText(err))
			if err := r.env.FlushOut(); err != nil {
				r.log.Error("cannot write to the terminal", "err", err)
			}
		}
	}()
}

func (r *rules) run(ctx context.Context) error {
	var e *pmie.Engine
	if len(r.files) > 0 {
		var err error
		if e, err = r.open(ctx); err != nil {
			return err
		}
		defer e.Close()
		r.own = e.Deliveries()
		r.log.Info("rules are evaluated", "from", r.pmieNames(), "rules", e.Stats().Rules)
	}
	if err := r.tell(); err != nil {
		return err
	}
	defer r.endTelling()
	g, ctx := errgroup.WithContext(ctx)
	if e != nil {
		g.Go(func() error { return e.Run(ctx) })
	}
	if r.prom != nil {
		r.log.Info("rules of Prometheus are evaluated", "from", r.prom.names(), "rules", r.prom.count())
		g.Go(func() error { return r.prom.run(ctx, r) })
	}
	return g.Wait()
}

// open returns an engine of pmie with the rules.
func (r *rules) open(ctx context.Context) (*pmie.Engine, error) {
	const own = "unix:"
	none := noProxies()
	var said bytes.Buffer
	messages := &redirect{&said}
	e, err := pmie.New(ctx, pmie.Config{
		Name: "rules", Out: r.out, Err: messages, Host: own, Quiet: true, Places: true, Zone: r.env.Local(), Observe: r.observe,
		Alert: func(ctx context.Context, a deliver.Action) error { return r.manager.Act(ctx, a) },
		Dial: func(ctx context.Context, spec string) (*pmapi.Context, error) {
			d := pmapi.Dialer{Config: r.env.Config()}
			if spec == own {
				d = pmapi.Dialer{Config: none, Socket: r.set.socket}
			}
			return d.Dial(ctx, spec)
		},
	})
	if err != nil {
		return nil, err
	}
	for _, f := range r.files {
		if _, err := e.Load(ctx, bytes.NewReader(f.text), f.name); err != nil {
			e.Close()
			return nil, err
		}
	}
	if text := said.String(); strings.Contains(text, " error - ") {
		e.Close()
		return nil, fmt.Errorf("%s: %w:\n%s", r.pmieNames(), errRules, strings.TrimSpace(text))
	}
	if _, err := said.WriteTo(r.out); err != nil {
		e.Close()
		return nil, err
	}
	messages.w = r.out
	return e, nil
}

// drainFor is the longest wait for receivers at the end.
const drainFor = 5 * time.Second

// tell delivers alerts to receivers, and lists them for pcp alerts.
func (r *rules) tell() error {
	var standings func() []alert.Standing
	if r.receivers != nil {
		dir := r.receivers.Spool
		if dir == "" {
			dir = r.set.dir
		}
		m, err := alert.New(alert.Config{Receivers: r.receivers.Receivers, Dir: filepath.Join(dir, "alerts"), Muted: r.muted, Log: r.log})
		if err != nil {
			return fmt.Errorf("alerts cannot be kept until they are delivered: %w", err)
		}
		if err := m.Adopt(r.deliveries()); err != nil {
			return errors.Join(err, m.Close())
		}
		r.manager, standings = m, m.Standings
	}
	state := alert.State{PID: os.Getpid(), Rules: r.fileNames(), Host: "local:"}
	var err error
	for _, dir := range alert.StateDirs(r.env.Config().Get("PCP_RUN_DIR"), r.env.Getenv("XDG_RUNTIME_DIR")) {
		if r.board, err = alert.NewBoard(dir, state, standings); err == nil {
			return nil
		}
	}
	r.log.Warn("pcp alerts will not know which rules are true", "err", err)
	return nil
}

// fileNames returns the names of all files as a list.
func (r *rules) fileNames() []string {
	if len(r.set.rulesFiles) == 0 {
		return []string{builtinRules}
	}
	return r.set.rulesFiles
}

// deliveries returns the actions of all rules: each alerting rule of Prometheus notifies each receiver.
func (r *rules) deliveries() []deliver.Delivery {
	list := slices.Clone(r.own)
	if r.prom == nil {
		return list
	}
	for _, name := range r.prom.engine.AlertingRules() {
		for _, to := range r.receivers.Receivers {
			list = append(list, deliver.Delivery{Rule: name, Kind: kindOf(to), Receiver: to.Name})
		}
	}
	return list
}

// endTelling undoes tell. Messages that receivers have not accepted by then are sent at the next
// start.
func (r *rules) endTelling() {
	if r.quiet != nil {
		if err := r.quiet.Close(); err != nil {
			r.log.Warn("the times of alerts cannot be saved", "err", err)
		}
	}
	if r.board != nil {
		if err := r.board.Close(); err != nil {
			r.log.Warn("cannot remove what pcp alerts reads", "err", err)
		}
	}
	if r.manager == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	r.manager.Drain(ctx)
	if err := r.manager.Close(); err != nil {
		r.log.Error("cannot end the delivery of alerts", "err", err)
	}
}

// muted reports whether an alert is silenced or acknowledged.
func (r *rules) muted(a *alert.Alert) bool { return r.quiet != nil && r.quiet.Muted(a) }

// A redirect is a writer in place of another, which may change between calls.
type redirect struct{ w io.Writer }

func (r *redirect) Write(b []byte) (int, error) { return r.w.Write(b) }

// observe logs when a rule becomes true for a host or an instance, and when it clears.
func (r *rules) observe(ev deliver.Evaluation) {
	if r.board != nil {
		r.board.Observe(ev)
	}
	if r.quiet != nil {
		r.quiet.Observe(ev)
	}
	if ev.State == deliver.Unknown {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	prefix := ev.Rule + "\x00"
	now := make(map[string]bool)
	for _, m := range ev.Matches {
		key := prefix + m.Host + "\x00" + m.Instance + "\x00" + m.Series
		now[key] = true
		if !r.firing[key] {
			r.firing[key] = true
			r.log.Warn("a rule is true", append([]any{"rule", ev.Rule, "host", m.Host, "instance", m.Instance, "value", m.Value}, seriesAttr(m.Series)...)...)
		}
	}
	for key := range r.firing {
		if strings.HasPrefix(key, prefix) && !now[key] {
			delete(r.firing, key)
			of := strings.SplitN(key, "\x00", 4)
			r.log.Info("a rule is not true any more", append([]any{"rule", ev.Rule, "host", of[1], "instance", of[2]}, seriesAttr(of[3])...)...)
		}
	}
}

// seriesAttr is the attribute of the log with the labels of an alert of Prometheus.
func seriesAttr(series string) []any {
	if series == "" {
		return nil
	}
	return []any{"labels", series}
}

// stop ends the evaluation, and waits for it.
func (r *rules) stop() {
	if r == nil || r.cancel == nil {
		return
	}
	r.cancel()
	<-r.done
}
