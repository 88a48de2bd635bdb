package alerts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/prom/names"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// evaluateProm evaluates rules of Prometheus over the archives.
func (r *record) evaluateProm(ctx context.Context, o *source.Options, files []*promrules.File, window pcptime.Window) error {
	cfg := archives.Config{Interval: -1, Log: slog.New(slog.DiscardHandler)}
	for _, list := range o.Archives {
		cfg.Dirs = append(cfg.Dirs, strings.Split(list, ",")...)
	}
	ser, err := archives.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer ser.Close()
	for _, why := range ser.Damaged() {
		return errors.New(why)
	}
	var failed error
	e := promrules.New(promrules.Config{Data: store.New(ser, store.Config{}), Interval: o.Interval, Observe: func(ev promrules.Evaluation) {
		if ev.Err != nil && failed == nil {
			failed = fmt.Errorf("rule %s at %s: %w", ev.Rule, ev.Time.UTC().Format(time.RFC3339), ev.Err)
		}
		if ev.Err == nil {
			now, _, _ := Evaluation(ev)
			r.observe(now)
		}
	}})
	e.Load(files)
	end := window.Finish
	if _, last, ok := ser.Span(); ok && last.Compare(end) < 0 {
		end = last
	}
	if err := e.Walk(ctx, window.Start.Time(), end.Time()); err != nil {
		return err
	}
	return failed
}

// Evaluation returns what receivers and lists get of a rule of Prometheus: the alerts that fire, and those that are pending, with the times since
// which they are active.
func Evaluation(ev promrules.Evaluation) (now deliver.Evaluation, pending []deliver.Match, since []time.Time) {
	now = deliver.Evaluation{Rule: ev.Rule, Expr: ev.Expr, Time: ev.Time, State: deliver.False}
	for i := range ev.Alerts {
		a := &ev.Alerts[i]
		if a.State == promrules.Firing {
			now.State = deliver.True
			now.Matches = append(now.Matches, matchOf(a))
			continue
		}
		pending, since = append(pending, matchOf(a)), append(since, a.ActiveAt)
	}
	return now, pending, since
}

// matchOf returns an alert of Prometheus for receivers.
func matchOf(a *promrules.Alert) deliver.Match {
	m := deliver.Match{
		Host: a.Labels.Get("hostname"), Instance: a.Labels.Get(names.InstanceName), Value: strconv.FormatFloat(a.Value, 'g', -1, 64),
		Labels: a.Labels.Map(), Series: a.Labels.String(), Annotations: a.Annotations.Map(),
	}
	m.Text = cmp.Or(m.Annotations["summary"], m.Annotations["description"], m.Annotations["message"], strings.TrimSpace(m.Labels["alertname"]+" "+m.Host))
	return m
}

var checkCommand = &cli.Command{
	Name:     "alerts check",
	Summary:  "find mistakes in files of rules",
	Synopsis: "rules...",
	Doc: `Checks files of rules, of pmie or Prometheus, without a collector, and reports each mistake with its file and line. Mistakes that show only
with metrics, such as a wrong instance, are not found.`,
	Examples:    []cli.Example{{Line: "pcp alerts check node.yml my.rules", Text: "check two files"}},
	Options:     func() []cli.Option { return []cli.Option{cli.Heading("Options"), cli.OptHelp} },
	SeeAlso:     []string{"pmie(1)"},
	DieOnSignal: true,
	Run:         check,
}

func check(ctx context.Context, env *cli.Env) int {
	o := cli.ParseOptions(env, cli.ParseConfig{})
	if len(o.Args) == 0 && !o.Errors() {
		o.Usagef("a file of rules is missing")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	status := 0
	for _, name := range o.Args {
		found, err := checkFile(ctx, name)
		if err != nil {
			env.FlushOut()
			fmt.Fprintln(env.Stderr, err)
			status = 1
			continue
		}
		fmt.Fprintf(env.Stdout, "%s: %s\n", plain(name), found)
	}
	return status
}

// checkFile checks a file, and returns the number of its rules as text.
func checkFile(ctx context.Context, name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %s", name, cli.ErrText(err))
	}
	if promrules.Is(text) {
		f, err := promrules.Parse(name, text)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("rules of Prometheus: %d in %d groups", f.Rules(), f.Groups()), nil
	}
	n, _, err := CheckPmie(ctx, name, text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("rules of pmie: %d", n), nil
}

// CheckPmie checks the text of a file of rules of pmie, without a collector. It returns the number of rules, and the actions that notify receivers.
func CheckPmie(ctx context.Context, name string, text []byte) (int, []deliver.Delivery, error) {
	var wrong bytes.Buffer
	e, err := pmie.New(ctx, pmie.Config{Name: "rules", Err: &wrong, Quiet: true, Places: true, Dial: func(context.Context, string) (*pmapi.Context, error) {
		return nil, errors.New("there is no collector yet")
	}})
	if err != nil {
		return 0, nil, err
	}
	defer e.Close()
	if _, err := e.Load(ctx, bytes.NewReader(text), name); err != nil {
		return 0, nil, err
	}
	var errs strings.Builder
	for line := range strings.Lines(wrong.String()) {
		if !strings.HasPrefix(line, "rules: warning - ") { // that there is no collector
			errs.WriteString(line)
		}
	}
	if errs.Len() > 0 {
		return 0, nil, errors.New(strings.TrimSpace(errs.String()))
	}
	return int(e.Stats().Rules), e.Deliveries(), nil
}
