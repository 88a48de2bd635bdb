// Package alerts is pcp alerts: it shows the alerts of rules, now or over an archive, and
// tests receivers.
//
//	pcp alerts
//	pcp alerts test rules -a morning
//	pcp alerts send pager
package alerts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pcp alerts.
var Command = &cli.Command{
	Name:     "alerts",
	Group:    cli.Alert,
	Summary:  "list firing alerts; test rules and receivers",
	Synopsis: "[options] | test [options] rules | check rules | send [options] receiver",
	Doc: `Lists the rules that are true now, with host, instance, value and start. The list has the rules with
actions of each pcp ie (pmie) on this host that evaluates live metrics, and receivers that do not
accept their alerts.

pcp alerts test evaluates rules over an archive and shows when each would have been true. pcp alerts
check checks files of rules. pcp alerts send sends a test alert to a receiver.

Rules are those of pmie, or of Prometheus in files that begin with "groups:".`,
	Examples: []cli.Example{
		{Line: "pcp alerts", Text: "list firing alerts"},
		{Line: "pcp alerts test -a morning rules", Text: "show when rules would have fired"},
		{Line: "pcp alerts check node.yml", Text: "find mistakes in a file of rules"},
		{Line: "pcp alerts send pager", Text: "send a test alert to the receiver pager"},
	},
	Options: func() []cli.Option { return []cli.Option{cli.Heading("Options"), cli.OptJSON, cli.OptHelp} },
	SeeAlso: []string{"pmie(1)"},
	Sub:     []*cli.Command{testCommand, checkCommand, sendCommand},
	Bare:    true,

	DieOnSignal: true,
	Run:         list,
}

// A line is an alert in the list, as JSON.
type line struct {
	*alert.Alert
	PID int `json:"pid"`
}

func list(_ context.Context, env *cli.Env) int {
	o := cli.ParseOptions(env, cli.ParseConfig{})
	if len(o.Args) > 0 && !o.Errors() {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	status := 0
	states, errs := States(env)
	for _, err := range errs {
		fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), err)
		status = 1
	}
	if o.JSON {
		w := json.NewEncoder(env.Stdout)
		w.SetEscapeHTML(false)
		for _, s := range states {
			for i := range s.Alerts {
				w.Encode(line{&s.Alerts[i], s.PID})
			}
			for i := range s.Pending {
				w.Encode(line{&s.Pending[i], s.PID})
			}
		}
		return status
	}
	firing, pending := 0, 0
	w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
	for _, s := range states {
		for _, a := range s.Alerts {
			if firing++; firing == 1 {
				fmt.Fprintln(w, heading)
			}
			fmt.Fprintln(w, rowOf(env, &a))
		}
	}
	w.Flush()
	switch {
	case len(states) == 0 && status == 0:
		fmt.Fprintf(env.Stdout, "No rules are evaluated on this host.\n")
	case firing == 0 && status == 0:
		fmt.Fprintf(env.Stdout, "Nothing fires.\n")
	}
	for _, s := range states {
		for _, a := range s.Pending {
			if pending++; pending == 1 {
				fmt.Fprintf(env.Stdout, "\nPending, which fire if they stay:\n")
				fmt.Fprintln(w, heading)
			}
			fmt.Fprintln(w, rowOf(env, &a))
		}
	}
	w.Flush()
	for _, s := range states {
		for _, r := range s.Receivers {
			if r.Waiting > 0 && r.Error != "" {
				fmt.Fprintf(env.Stdout, "Receiver %s has not taken %d messages: %s\n", r.Receiver, r.Waiting, plain(r.Error))
			}
			if r.Unsaved > 0 {
				fmt.Fprintf(env.Stdout, "Of receiver %s %d alerts are in memory only: %s\n", r.Receiver, r.Unsaved, plain(r.SpoolError))
			}
		}
	}
	return status
}

const heading = "RULE\tHOST\tINSTANCE\tVALUE\tSINCE\tWHY"

// rowOf returns the line of an alert.
func rowOf(env *cli.Env, a *alert.Alert) string {
	expr := a.Expr
	if a.Series != "" { // it may have several lines
		expr = strings.Join(strings.Fields(expr), " ")
	}
	return row(a.Rule, a.Host, a.Instance, a.Value, a.Since.In(env.Local()).Format(stamp), expr)
}

const stamp = "2006-01-02 15:04:05"

// States returns the firing alerts of this host's processes that evaluate
// rules.
func States(env *cli.Env) (states []alert.State, errs []error) {
	for _, dir := range alert.StateDirs(env.Config().Get("PCP_RUN_DIR"), env.Getenv("XDG_RUNTIME_DIR")) {
		list, err := alert.ReadStates(dir, processes.Exists)
		if err != nil {
			errs = append(errs, err)
		}
		states = append(states, list...)
	}
	return states, errs
}

// row returns columns of a table.
func row(columns ...string) string {
	for i, c := range columns {
		if columns[i] = plain(c); c == "" {
			columns[i] = "-"
		}
	}
	return strings.Join(columns, "\t")
}

// plain returns a text as it is if a terminal can show it, else quoted.
func plain(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

var testCommand = &cli.Command{
	Name:     "alerts test",
	Summary:  "show when rules would have fired in an archive",
	Synopsis: "-a archive [options] rules...",
	Doc: `Evaluates rules over archives, and prints a line for each period in which a rule was true for a host
or an instance: its start, its end, and the first value. Actions are not performed.

Groups of rules of Prometheus are evaluated at their intervals, those without one at the interval of -t, or each minute.`,
	Examples: []cli.Example{{Line: "pcp alerts test -a morning -t 1min rules", Text: "evaluate rules for each minute of an archive"}},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptAlign, cli.OptArchive, cli.OptOrigin, cli.OptStart, cli.OptFinish, cli.OptInterval, cli.OptTimeZone, cli.OptHostZone, cli.OptJSON, cli.OptHelp,
		}
	},
	SeeAlso:     []string{"pmie(1)"},
	DieOnSignal: true,
	Run:         test,
}

// An episode is a time for which a rule was true, as JSON.
type episode struct {
	Rule     string     `json:"rule"`
	Host     string     `json:"host,omitempty"`
	Instance string     `json:"instance,omitempty"`
	Value    string     `json:"value,omitempty"`
	Expr     string     `json:"expression,omitempty"`
	Since    time.Time  `json:"since"`
	Until    *time.Time `json:"until,omitempty"` // nil: to the end

	Labels      map[string]string `json:"labels,omitempty"` // of a rule of Prometheus
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A record gathers episodes.
type record struct {
	all   []*episode
	open  map[[4]string]*episode
	rules []string
	seen  map[string]bool // of rules, whether they were true
}

func (r *record) observe(ev deliver.Evaluation) {
	if _, ok := r.seen[ev.Rule]; !ok {
		r.rules = append(r.rules, ev.Rule)
		r.seen[ev.Rule] = false
	}
	here := make(map[[4]string]bool)
	for _, m := range ev.Matches {
		r.seen[ev.Rule] = true
		key := [4]string{ev.Rule, m.Host, m.Instance, m.Series}
		here[key] = true
		if r.open[key] == nil {
			r.open[key] = &episode{Rule: ev.Rule, Host: m.Host, Instance: m.Instance, Value: m.Value, Expr: ev.Expr, Since: ev.Time}
			if m.Series != "" {
				r.open[key].Labels, r.open[key].Annotations = m.Labels, m.Annotations
			}
			r.all = append(r.all, r.open[key])
		}
	}
	if ev.State == deliver.Unknown {
		return
	}
	for key, ep := range r.open {
		if key[0] == ev.Rule && !here[key] {
			at := ev.Time
			ep.Until = &at
			delete(r.open, key)
		}
	}
}

func test(ctx context.Context, env *cli.Env) int {
	o := source.Parse(env, cli.ParseConfig{Archives: true})
	switch {
	case o.Errors():
	case len(o.Args) == 0:
		o.Usagef("a file of rules is missing")
	case len(o.Archives) == 0:
		o.Usagef("-a is missing: an archive over which to evaluate the rules")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	r := &record{open: make(map[[4]string]*episode), seen: make(map[string]bool)}
	zone, err := r.evaluate(ctx, env, o)
	if err != nil {
		if text := strings.TrimSuffix(err.Error(), "\n"); text != "" {
			fmt.Fprintln(env.Stderr, text)
		}
		return 1
	}
	if o.JSON {
		w := json.NewEncoder(env.Stdout)
		w.SetEscapeHTML(false)
		for _, ep := range r.all {
			ep.Since = ep.Since.UTC()
			if ep.Until != nil {
				*ep.Until = ep.Until.UTC()
			}
			w.Encode(ep)
		}
		return 0
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
	for i, ep := range r.all {
		if i == 0 {
			fmt.Fprintln(w, "RULE\tFROM\tUNTIL\tHOST\tINSTANCE\tVALUE")
		}
		until := "the end"
		if ep.Until != nil {
			until = ep.Until.In(zone).Format(stamp)
		}
		fmt.Fprintln(w, row(ep.Rule, ep.Since.In(zone).Format(stamp), until, ep.Host, ep.Instance, ep.Value))
	}
	w.Flush()
	for _, rule := range r.rules {
		if !r.seen[rule] {
			fmt.Fprintf(env.Stdout, "%s would not have fired.\n", plain(rule))
		}
	}
	if len(r.rules) == 0 {
		fmt.Fprintln(env.Stdout, "There is no rule with an action.")
	}
	return 0
}

// errRules is that rules have mistakes, which were printed.
var errRules = errors.New("")

// evaluate evaluates the rules of files over the archives.
func (r *record) evaluate(ctx context.Context, env *cli.Env, o *source.Options) (*time.Location, error) {
	zone := env.Local()
	if o.TimeZoneSet {
		zone = pcptime.Zone(o.TimeZone)
	}
	var said bytes.Buffer
	e, err := pmie.New(ctx, pmie.Config{
		Name: env.ProgName(), Err: io.MultiWriter(env.Stderr, &said), Archives: o.Archives, Interval: o.Interval, Zone: zone, Quiet: true, Places: true,
		Wrap: env.IsSet("PCP_COUNTER_WRAP"), Observe: r.observe,
		Dial: func(ctx context.Context, spec string) (*pmapi.Context, error) { return o.Dial(ctx, spec) }, OpenArchive: o.OpenArchive,
	})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if o.HostZone && !o.TimeZoneSet {
		if _, zone, err = e.UseSourceZone(ctx); err != nil {
			return nil, fmt.Errorf("%s: time zone: %w", env.ProgName(), err)
		}
	}
	first, last := e.Bounds()
	window, _, err := pcptime.ParseWindow(o.Bounds(), first, last, zone)
	if err != nil {
		return nil, err
	}
	e.Window(window.Origin, window.Finish)
	var files []*promrules.File
	pmie := false
	for _, name := range o.Args {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", env.ProgName(), err)
		}
		if promrules.Is(b) {
			f, err := promrules.Parse(name, b)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
			continue
		}
		pmie = true
		sound, err := e.Load(ctx, bytes.NewReader(b), name)
		if err != nil {
			return nil, err
		}
		if !sound || strings.Contains(said.String(), "syntax error") {
			return nil, errRules
		}
	}
	if pmie {
		if err := e.Run(ctx); err != nil {
			return nil, err
		}
	}
	if len(files) > 0 {
		err = r.evaluateProm(ctx, o, files, window)
	}
	return zone, err
}

var sendCommand = &cli.Command{
	Name:     "alerts send",
	Summary:  "send a test alert to a receiver",
	Synopsis: "[options] receiver [text...]",
	Doc: `Sends an alert of the rule test to a receiver, and prints whether it was accepted. The alert is not
stored or retried. An Alertmanager resolves the alert after some minutes.`,
	Examples: []cli.Example{{Line: "pcp alerts send pager", Text: "test the receiver pager"}},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			OptReceivers,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         send,
}

func send(ctx context.Context, env *cli.Env) int {
	file := ""
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Long != "receivers" {
			return false
		}
		file = arg
		return true
	}})
	if len(o.Args) == 0 && !o.Errors() {
		o.Usagef("the name of a receiver is missing")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	s, file, err := Receivers(env, file, "")
	if err != nil {
		return env.Fatalf("%v", err)
	}
	r := s.Receiver(o.Args[0])
	if r == nil {
		var names []string
		for _, r := range s.Receivers {
			names = append(names, r.Name)
		}
		return env.Fatalf("there is no receiver %s in %s, which has: %s", plain(o.Args[0]), file, strings.Join(names, ", "))
	}
	host, _ := os.Hostname()
	text := strings.Join(o.Args[1:], " ")
	if text == "" {
		text = "a test of the receiver " + r.Name
	}
	if err := r.Send(ctx, alert.NewTest(host, text, time.Now())); err != nil {
		return env.Fatalf("%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s took the test.\n", r.Name)
	return 0
}
