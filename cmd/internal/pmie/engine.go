package pmie

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// A Config configures an Engine: the source of its metrics, its output and its actions.
type Config struct {
	// Name is the name of the program in messages; "" means pmie.
	Name string
	// Out gets values and the output of print actions, Err messages. Nil discards them.
	Out, Err io.Writer
	// Host is the default collector of metrics; "" means "local:".
	Host string
	// Archives are evaluated in place of live metrics, one of each host. The first is the
	// default.
	Archives []string
	// Dial connects to a collector. Nil means pmapi.Dial.
	Dial func(ctx context.Context, spec string) (*pmapi.Context, error)
	// OpenArchive opens an archive. Nil means pmapi.OpenArchive.
	OpenArchive func(path string) (*pmapi.ArchiveContext, error)
	// Meant returns an addition to the message about a name that no metric of a source has, such as a
	// name with a similar spelling. Nil adds nothing.
	Meant func(ctx context.Context, c *pmapi.Context, name string) string
	// Timeout limits a fetch from a host; 0 means no limit.
	Timeout time.Duration
	// Interval is the interval of rules that do not set delta; 0 means ten seconds.
	Interval time.Duration
	// Nanoseconds takes times and intervals of archives in nanoseconds, as PCP 7 does. They are otherwise in microseconds and
	// milliseconds.
	Nanoseconds bool
	// Zone is the zone of $hour and the like, and of times that are printed; nil means local
	// time.
	Zone *time.Location
	// Act carries out an action of a rule that is true. Nil means to print, and to run commands in
	// the shell.
	Act func(ctx context.Context, a deliver.Action) error
	// Alarm and Stomp carry out the actions of these names if Act is nil: they show a text on a screen
	// and send it to a broker. If they are nil, the action is not supported.
	Alarm, Stomp func(ctx context.Context, a deliver.Action) error
	// Alert takes an action for a receiver: ActionWebhook, ActionAlertmanager or ActionMail. It is
	// called at each evaluation for which it is known whether the rule is true, with all matches,
	// or with Resolved and without any. It should return soon. If it is nil, Act takes the actions
	// with matches.
	Alert func(ctx context.Context, a deliver.Action) error
	// Observe, if not nil, is called with each evaluation of each rule that has an action.
	Observe func(deliver.Evaluation)
	// Watch is called with the current Stats whenever they change. It may be nil.
	Watch func(Stats)
	// Publish, if not nil, makes rules metrics of an agent: it is called after each evaluation with the
	// rules of an interval, which it must not keep. They must have names then and no actions, and no
	// values are printed. An error ends Run, which returns it.
	Publish func(rules []Published) error
	// LogSocket is the socket of the system log; "" means /dev/log.
	LogSocket string
	// Path is the search path of the shell for commands; "" means the usual directories.
	Path string
	// ShellOut and ShellErr replace Out and Err as the output of shell commands. The commands get
	// the files themselves, also if they continue in the background.
	ShellOut, ShellErr *os.File
	// Verbose selects the values that are printed.
	Verbose Verbosity
	// Format is the form of the line that an action is over an archive: text in which %a is the name of the action, %d the
	// time, %u the time with microseconds, %f and %l the file and line of the rule and %m the arguments. "" means
	// "%a %d: %m".
	Format string
	// Timestamps prints times with values that are not from archives.
	Timestamps bool
	// Places adds file and line to messages about mistakes also at the end of a file, which C does not.
	Places bool
	// Debug gets the trace of -D appl2: which rules are evaluated and when, and how soon missing metrics are tried
	// again. Nil prints nothing.
	Debug *debug.Log
	// ReadAhead reads from archives while rules are evaluated over the values read before, if there is another
	// processor.
	ReadAhead bool
	// Quiet suppresses messages about hosts.
	Quiet bool
	// Wrap treats a counter that went back as overflowed.
	Wrap bool
}

// A Verbosity selects the values of rules that are printed.
type Verbosity int

const (
	Silent     Verbosity = iota
	Values               // the values of rules
	Annotated            // with hosts and instances
	Satisfying           // of rules that are true, the values that make them so
	Applet               // values of all rules in a line
)

// Interval is the default interval between evaluations of a rule.
const Interval = 10 * time.Second

// An Engine evaluates rules. It is for one goroutine.
type Engine struct {
	cfg Config
	console
	src   sources
	rules *rule.Parser
	get   fetcher
	act   actor

	stop, now float64 // the end of the window, and the time of the evaluation
	ran       bool    // Run was called
	// alone makes each rule be evaluated alone, without a plan.
	alone     bool
	published []Published // the last ones, for their memory
}

// Stats are counts of the work that an Engine has done, like the metrics below pmcd.pmie.
type Stats struct {
	Host                 string  // the host that was last asked for metadata
	Expected             float64 // evaluations of rules a second, at their intervals
	Rules                uint32  // with a condition and an action
	Actions              uint32  // that were done
	True, False, Unknown uint32  // values that conditions of rules had
	Actual               uint32  // evaluations, also of expressions without an action
}

// Stats returns the current counts. It must not be called while Run runs.
func (e *Engine) Stats() Stats {
	s := e.act.counts
	s.Host, s.Rules, s.Expected = e.src.host, e.rules.Conditions, e.get.expected
	return s
}

// Stomps reports whether a rule sends messages to a broker.
func (e *Engine) Stomps() bool { return e.rules.Stomps }

// New returns an Engine without rules. It opens the archives.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Name == "" {
		cfg.Name = "pmie"
	}
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	if cfg.Err == nil {
		cfg.Err = io.Discard
	}
	if cfg.Dial == nil {
		cfg.Dial = pmapi.Dial
	}
	if cfg.OpenArchive == nil {
		cfg.OpenArchive = pmapi.OpenArchive
	}
	if cfg.Host == "" {
		cfg.Host = "local:"
	}
	if cfg.Interval == 0 {
		cfg.Interval = Interval
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	e := &Engine{cfg: cfg}
	e.console = console{name: cfg.Name, out: cfg.Out, err: cfg.Err}
	e.src = sources{
		console: &e.console, cfg: &e.cfg, ctx: ctx,
		contexts: make(map[string]*pmapi.Context), states: make(map[string]hostState), dead: make(map[string]bool), labels: make(map[*eval.Metric]*labels),
	}
	e.rules = rule.New(rule.Config{
		Program: cfg.Name, Places: cfg.Places, Agent: cfg.Publish != nil, Applet: cfg.Verbose == Applet, Errorf: e.errorf, Source: &e.src,
	})
	e.get = fetcher{sources: &e.src}
	e.act = actor{
		sources: &e.src, ev: eval.Evaluator{Wrap: cfg.Wrap, Names: e.src.instanceNames}, tally: e.tally,
		runner: deliver.Runner{
			Out: cfg.Out, Err: cfg.Err, ShellOut: cfg.ShellOut, ShellErr: cfg.ShellErr, Path: cfg.Path, LogSocket: cfg.LogSocket,
			Alarm: cfg.Alarm, Stomp: cfg.Stomp, Notify: e.notify,
		},
	}
	for _, path := range cfg.Archives {
		if err := e.src.openArchive(ctx, path); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	e.Window(e.Bounds())
	e.now = e.get.start
	e.tell(cfg.Interval.Seconds())
	return e, nil
}

// Bounds returns the times of the first and the last values of all archives, or now and
// pcptime.Never.
func (e *Engine) Bounds() (first, last pcp.Timestamp) { return e.src.bounds() }

// Close closes all contexts.
func (e *Engine) Close() error {
	var errs []error
	for _, c := range e.src.contexts {
		errs = append(errs, c.Close())
	}
	clear(e.src.contexts)
	for _, t := range e.get.tasks {
		for _, h := range t.hosts {
			if h.c != nil {
				errs = append(errs, h.c.Close())
			}
		}
	}
	e.get.tasks = nil
	return errors.Join(errs...)
}

// Window sets the time window in which rules are evaluated.
func (e *Engine) Window(start, stop pcp.Timestamp) {
	e.get.start, e.stop = e.cfg.real(start), e.cfg.real(stop)
}

// Load reads rules. It reports and counts mistakes, and returns whether the last statement was sound,
// like the exit status of pmie -C. The error is from reading or from an archive.
func (e *Engine) Load(ctx context.Context, r io.Reader, name string) (sound bool, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	e.src.ctx = ctx
	clear(e.src.dead)
	e.src.ask(ctx, text)
	defer e.src.forgetAhead()
	defer e.rules.End()
	for e.rules.Begin(name, text); e.rules.More() && e.failure == nil; {
		if r := e.rules.Next(); r != nil {
			e.get.add(r, e.rules.Delta())
		}
		e.tally()
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
	return e.rules.Errs == 0, e.failure
}

// tally passes the current Stats to Watch.
func (e *Engine) tally() {
	if e.cfg.Watch != nil {
		e.cfg.Watch(e.Stats())
	}
}

// tell sets delta and the variables for the time.
func (e *Engine) tell(delta float64) {
	e.rules.SetTime(delta, timestamp(math.Trunc(e.now)).Time().In(e.cfg.Zone))
}

// real returns a time in seconds, to the microsecond.
func (cfg *Config) real(t pcp.Timestamp) float64 {
	if cfg.Nanoseconds {
		return float64(t.Sec) + float64(t.Nsec)/1e9
	}
	return float64(t.Sec) + float64(t.Nsec/1000)/1e6
}

// timestamp is the other way round.
func timestamp(f float64) pcp.Timestamp {
	if f >= float64(math.MaxInt64) {
		return pcptime.Never
	}
	sec := math.Floor(f)
	return pcp.Timestamp{Sec: int64(sec), Nsec: int32(math.Round((f-sec)*1e6)) * 1000}
}

// step returns an interval of an archive.
func (cfg *Config) step(seconds float64) time.Duration {
	if cfg.Nanoseconds {
		return time.Duration(math.Round(seconds * 1e9))
	}
	return time.Duration(math.Round(seconds*1e3)) * time.Millisecond
}

// UseSourceZone takes the time zone of the default host or archive, and returns both.
func (e *Engine) UseSourceZone(ctx context.Context) (source string, zone *time.Location, err error) {
	source = e.src.main()
	e.src.ctx = ctx
	c, err := e.src.context(source)
	if err != nil {
		return source, nil, err
	}
	name, err := c.TimeZone(ctx)
	if err != nil {
		return source, nil, err
	}
	e.cfg.Zone = pcptime.Zone(name)
	e.tell(e.cfg.Interval.Seconds())
	return source, e.cfg.Zone, nil
}

// Deliveries lists the actions of all rules that name a receiver.
func (e *Engine) Deliveries() []deliver.Delivery {
	var list []deliver.Delivery
	for _, t := range e.get.tasks {
		for _, r := range t.rules {
			for _, d := range r.deliveries {
				list = append(list, deliver.Delivery{Rule: r.Name, Kind: kindOf(d.act), Receiver: d.act.Text})
			}
		}
	}
	return list
}

// date returns a time in the format of ctime(3), without its newline.
func (c *Config) date(f float64) string {
	return strings.TrimSuffix(pcptime.Ctime(pcp.Timestamp{Sec: int64(f)}, c.Zone), "\n")
}
