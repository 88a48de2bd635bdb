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
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/ieconf"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// maxRules is the largest file of rules that is read.
const maxRules = 16 << 20

// builtinRules is the name of the included rules in messages.
const builtinRules = "built-in rules"

// rules evaluates rules over the metrics of the collector of this process. It is an ordinary client
// of its socket.
type rules struct {
	env  *cli.Env
	set  *settings
	log  *slog.Logger
	out  io.Writer // the log as a file, for what rules print
	name string
	text []byte

	receivers *alert.Settings // receivers of alerts, nil if there are none
	manager   *alert.Manager  // delivers to them
	board     *alert.Board    // lists the alerts that fire, nil if there is no place for it

	cancel context.CancelFunc // nil if they are not evaluated
	done   chan struct{}
	firing map[string]bool // by rule, host and instance
}

// loadRules reads the rules of --rules, and returns an error with all mistakes in them. It returns
// nil if none are wanted.
func loadRules(ctx context.Context, env *cli.Env, set *settings) (*rules, error) {
	if !set.rules {
		return nil, nil
	}
	r := &rules{env: env, set: set, name: set.rulesFile, firing: make(map[string]bool)}
	var err error
	if r.name == "" {
		r.name = builtinRules
		r.text, err = ieconf.Generate(ieconf.Config{})
	} else {
		r.text, err = readRules(r.name)
	}
	if err != nil {
		return nil, err
	}
	// Without a collector only the text is checked.
	var wrong bytes.Buffer
	e, err := pmie.New(ctx, pmie.Config{Name: "rules", Err: &wrong, Quiet: true, Places: true, Dial: func(context.Context, string) (*pmapi.Context, error) {
		return nil, errors.New("there is no collector yet")
	}})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if _, err := e.Load(ctx, bytes.NewReader(r.text), r.name); err != nil {
		return nil, err
	}
	var errs strings.Builder
	for line := range strings.Lines(wrong.String()) {
		if !strings.HasPrefix(line, "rules: warning - ") { // that there is no collector
			errs.WriteString(line)
		}
	}
	if errs.Len() > 0 {
		return nil, fmt.Errorf("%s: %w:\n%s", r.name, errRules, strings.TrimSpace(errs.String()))
	}
	if list := e.Deliveries(); len(list) > 0 {
		if r.receivers, _, err = alerts.Receivers(env, set.receivers, set.dir); err == nil {
			err = r.receivers.Check(list)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w:\nrule %s is for receiver %s: %w", r.name, errRules, list[0].Rule, list[0].Receiver, err)
		}
	}
	return r, nil
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
	const own = "unix:"
	none := config.NewLookup(func(string) (string, bool) { return "", false }) // proxies are for other clients
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
		return err
	}
	defer e.Close()
	if _, err := e.Load(ctx, bytes.NewReader(r.text), r.name); err != nil {
		return err
	}
	if text := said.String(); strings.Contains(text, " error - ") {
		return fmt.Errorf("%s: %w:\n%s", r.name, errRules, strings.TrimSpace(text))
	}
	if _, err := said.WriteTo(r.out); err != nil {
		return err
	}
	messages.w = r.out
	if err := r.tell(e); err != nil {
		return err
	}
	defer r.endTelling()
	r.log.Info("rules are evaluated", "from", r.name, "rules", e.Stats().Rules)
	return e.Run(ctx)
}

// drainFor is the longest wait for receivers at the end.
const drainFor = 5 * time.Second

// tell delivers alerts to receivers, and lists them for pcp alerts.
func (r *rules) tell(e *pmie.Engine) error {
	var standings func() []alert.Standing
	if r.receivers != nil {
		dir := r.receivers.Spool
		if dir == "" {
			dir = r.set.dir
		}
		m, err := alert.New(alert.Config{Receivers: r.receivers.Receivers, Dir: filepath.Join(dir, "alerts"), Log: r.log})
		if err != nil {
			return fmt.Errorf("alerts cannot be kept until they are delivered: %w", err)
		}
		if err := m.Adopt(e.Deliveries()); err != nil {
			return errors.Join(err, m.Close())
		}
		r.manager, standings = m, m.Standings
	}
	state := alert.State{PID: os.Getpid(), Rules: []string{r.name}, Host: "local:"}
	var err error
	for _, dir := range alert.StateDirs(r.env.Config().Get("PCP_RUN_DIR"), r.env.Getenv("XDG_RUNTIME_DIR")) {
		if r.board, err = alert.NewBoard(dir, state, standings); err == nil {
			return nil
		}
	}
	r.log.Warn("pcp alerts will not know which rules are true", "err", err)
	return nil
}

// endTelling undoes tell. Messages that receivers have not accepted by then are sent at the next
// start.
func (r *rules) endTelling() {
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

// A redirect is a writer in place of another, which may change between calls.
type redirect struct{ w io.Writer }

func (r *redirect) Write(b []byte) (int, error) { return r.w.Write(b) }

// observe logs when a rule becomes true for a host or an instance, and when it clears.
func (r *rules) observe(ev deliver.Evaluation) {
	if r.board != nil {
		r.board.Observe(ev)
	}
	if ev.State == deliver.Unknown {
		return
	}
	prefix := ev.Rule + "\x00"
	now := make(map[string]bool)
	for _, m := range ev.Matches {
		key := prefix + m.Host + "\x00" + m.Instance
		now[key] = true
		if !r.firing[key] {
			r.firing[key] = true
			r.log.Warn("a rule is true", "rule", ev.Rule, "host", m.Host, "instance", m.Instance, "value", m.Value)
		}
	}
	for key := range r.firing {
		if strings.HasPrefix(key, prefix) && !now[key] {
			delete(r.firing, key)
			_, rest, _ := strings.Cut(key, "\x00")
			host, inst, _ := strings.Cut(rest, "\x00")
			r.log.Info("a rule is not true any more", "rule", ev.Rule, "host", host, "instance", inst)
		}
	}
}

// stop ends the evaluation, and waits for it.
func (r *rules) stop() {
	if r == nil || r.cancel == nil {
		return
	}
	r.cancel()
	<-r.done
}
