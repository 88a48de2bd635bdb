package pmie

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/daemonlog"
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
	// Zone is the zone of $hour and the like, and of times that are printed; nil means local
	// time.
	Zone *time.Location
	// Act carries out an action of a rule that is true. Nil means to print, and to run commands in
	// the shell.
	Act func(ctx context.Context, a Action) error
	// Alarm and Stomp carry out the actions of these names if Act is nil: they show a text on a screen
	// and send it to a broker. If they are nil, the action is not supported.
	Alarm, Stomp func(ctx context.Context, a Action) error
	// Alert takes an action for a receiver: ActionWebhook, ActionAlertmanager or ActionMail. It is
	// called at each evaluation for which it is known whether the rule is true, with all matches,
	// or with Resolved and without any. It should return soon. If it is nil, Act takes the actions
	// with matches.
	Alert func(ctx context.Context, a Action) error
	// Observe, if not nil, is called with each evaluation of each rule that has an action.
	Observe func(Evaluation)
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
	// Timestamps prints times with values that are not from archives.
	Timestamps bool
	// Places adds file and line to messages about mistakes also at the end of a file, which C does not.
	Places bool
	// Debug gets the trace of [debug.Appl2]: which rules are evaluated and when, and how soon missing metrics are tried
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
	cfg      Config
	ctx      context.Context // of the call
	b        *builder
	ev       evaluator
	tasks    []*task
	archives []*recording
	contexts map[string]*pmapi.Context // for metadata
	states   map[string]hostState
	dead     map[string]bool     // hosts that did not answer just now
	ahead    map[string]*asked   // the answers of the hosts of the rules being read
	scouted  map[string][]string // the metrics that rules name, by host; nil except for an Engine that only collects them
	flights  sync.WaitGroup
	stats    Stats
	stomps   bool
	// unplanned makes all rules be evaluated by their trees.
	unplanned bool
	ran       bool // Run was called
	failure   error
	published []Published // the last ones, for their memory
	out       []byte      // output that is not written yet

	start, stop, now float64
	current          *expr  // the rule that is evaluated
	rule             *named // the named rule that it is, or is a part of
	fired            *expr  // the rule that was true
	pass             uint64 // counts evaluations
	delta            *expr
	clock            [6]*expr // minute, hour, day, month, year, day of the week
}

// A recording is an archive.
type recording struct {
	path, host  string
	first, last pcp.Timestamp
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
func (e *Engine) Stats() Stats { return e.stats }

// Stomps reports whether a rule sends messages to a broker.
func (e *Engine) Stomps() bool { return e.stomps }

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
	e := &Engine{cfg: cfg, ctx: ctx, contexts: make(map[string]*pmapi.Context), states: make(map[string]hostState), dead: make(map[string]bool)}
	e.ev = evaluator{wrap: cfg.Wrap, names: e.instanceNames}
	e.b = &builder{e: e, vars: make(map[string]*expr), rules: make(map[string]*expr)}
	variable := func(name string) *expr {
		x := newExpr(opVar, nil, nil, none, none, none, 1, semVar)
		x.valid = 1
		x.text = "$" + name
		e.b.vars[name] = x
		return x
	}
	e.delta = variable("delta")
	for i, name := range []string{"minute", "hour", "day", "month", "year", "day_of_week"} {
		e.clock[i] = variable(name)
	}
	for _, path := range cfg.Archives {
		if err := e.openArchive(ctx, path); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	first, last := e.Bounds()
	e.start, e.stop = real(first), real(last)
	e.now = e.start
	e.tell(cfg.Interval.Seconds())
	return e, nil
}

// Close closes all contexts.
func (e *Engine) Close() error {
	var errs []error
	for _, c := range e.contexts {
		errs = append(errs, c.Close())
	}
	clear(e.contexts)
	for _, t := range e.tasks {
		for _, h := range t.hosts {
			if h.c != nil {
				errs = append(errs, h.c.Close())
			}
		}
	}
	e.tasks = nil
	return errors.Join(errs...)
}

// openArchive opens an archive. Its errors include the program's name.
func (e *Engine) openArchive(ctx context.Context, path string) error {
	a, err := e.cfg.OpenArchive(path)
	if err != nil {
		return fmt.Errorf("%s: cannot open archive %s\npmNewContext failed: %s", e.cfg.Name, path, errText(err))
	}
	e.contexts[path] = a.Context
	label, err := a.Label(ctx)
	if err != nil {
		return fmt.Errorf("%s: cannot read label from archive %s\npmGetArchiveLabel failed: %s", e.cfg.Name, path, errText(err))
	}
	end, err := a.End(ctx)
	if err != nil {
		return fmt.Errorf("%s: archive %s is corrupted\npmGetArchiveEnd failed: %s", e.cfg.Name, path, errText(err))
	}
	for _, b := range e.archives {
		if b.host == label.Host {
			return fmt.Errorf("%s: Error: archive %s not legal - archive %s is already open for host %s", e.cfg.Name, path, b.path, b.host)
		}
	}
	e.archives = append(e.archives, &recording{path: path, host: label.Host, first: label.Start, last: end})
	return nil
}

// Bounds returns the times of the first and the last values of all archives, or now and
// pcptime.Never.
func (e *Engine) Bounds() (first, last pcp.Timestamp) {
	if e.archives == nil {
		return pcp.TimestampOf(time.Now()), pcptime.Never
	}
	first, last = e.archives[0].first, e.archives[0].last
	for _, a := range e.archives[1:] {
		if a.first.Compare(first) < 0 {
			first = a.first
		}
		if a.last.Compare(last) > 0 {
			last = a.last
		}
	}
	return first, last
}

// source returns the default source of metrics.
func (e *Engine) source() string {
	if e.archives != nil {
		return e.archives[0].path
	}
	return e.cfg.Host
}

// Window sets the time window in which rules are evaluated.
func (e *Engine) Window(start, stop pcp.Timestamp) {
	e.start, e.stop = real(start), real(stop)
}

// Load reads rules. It reports and counts mistakes, and returns whether the last statement was sound,
// like the exit status of pmie -C. The error is from reading or from an archive.
func (e *Engine) Load(ctx context.Context, r io.Reader, name string) (sound bool, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	e.ctx = ctx
	clear(e.dead)
	e.ask(ctx, text)
	defer e.forgetAhead()
	b := e.b
	b.ahead = 0
	b.errs, b.unitPercent = 0, false
	b.open(name, bytes.Clone(text), false)
	for b.more() && e.failure == nil {
		b.errs, b.unitPercent = 0, false
		b.result = nil
		yyParse(b)
		if r := b.result; r != nil {
			e.add(r, e.b.vars["delta"].number())
		}
		e.tally()
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
	}
	b.in, b.depth = nil, 0
	return b.errs == 0, e.failure
}

// tally passes the current Stats to Watch.
func (e *Engine) tally() {
	if e.cfg.Watch != nil {
		e.cfg.Watch(e.stats)
	}
}

// number returns the value of a variable.
func (x *expr) number() float64 {
	if x.nums == nil {
		return 0
	}
	return x.nums[0]
}

// fail stops the Engine for an error that affects all rules.
func (e *Engine) fail(err error) {
	if e.failure == nil {
		e.failure = err
	}
}

// errorf reports an error, unless an earlier error has stopped the Engine.
func (e *Engine) errorf(format string, args ...any) {
	if e.failure == nil {
		e.flush()
		fmt.Fprintf(e.cfg.Err, format, args...)
	}
}

// flush writes the output of an evaluation so far: the lines of one evaluation are written
// together, unless a message comes between them.
func (e *Engine) flush() {
	if len(e.out) > 0 {
		e.cfg.Out.Write(e.out)
		e.out = e.out[:0]
	}
}

// notify writes a message in the format of a daemon's log.
func (e *Engine) notify(level slog.Level, text string) {
	e.flush()
	fmt.Fprintln(e.cfg.Err, daemonlog.Line(e.cfg.Name, level, strings.TrimSuffix(text, "\n")))
}

// A hostState is the last known state of a host.
type hostState int

const (
	isNew hostState = iota
	isUnreachable
	isBack
	isLost
)

// changed records the state of a host, and reports whether it has changed.
func (e *Engine) changed(conn string, s hostState) bool {
	old := e.states[conn]
	if old == s {
		return false
	}
	e.states[conn] = s
	switch {
	case e.cfg.Quiet:
	case s == isUnreachable:
		e.notify(slog.LevelInfo, fmt.Sprintf("Cannot connect to pmcd %s\n", conn))
	case s == isBack && old != isNew:
		e.notify(slog.LevelInfo, fmt.Sprintf("Re-established connection to pmcd %s\n", conn))
	case s == isLost:
		e.notify(slog.LevelInfo, fmt.Sprintf("Lost connection to pmcd %s\n", conn))
	}
	return true
}

// tell sets delta and the variables for the time.
func (e *Engine) tell(delta float64) {
	if x := e.b.vars["delta"]; x == e.delta {
		e.delta.nums[0] = delta
	}
	t := timestamp(math.Trunc(e.now)).Time().In(e.cfg.Zone)
	for i, v := range []int{t.Minute(), t.Hour(), t.Day(), int(t.Month()) - 1, t.Year(), int(t.Weekday())} {
		e.clock[i].nums[0] = float64(v)
	}
}

// real returns a time in seconds, to the microsecond.
func real(t pcp.Timestamp) float64 { return float64(t.Sec) + float64(t.Nsec/1000)/1e6 }

// timestamp is the other way round.
func timestamp(f float64) pcp.Timestamp {
	if f >= float64(math.MaxInt64) {
		return pcptime.Never
	}
	sec := math.Floor(f)
	return pcp.Timestamp{Sec: int64(sec), Nsec: int32(math.Round((f-sec)*1e6)) * 1000}
}

func seconds(f float64) time.Duration { return time.Duration(math.Round(f*1e3)) * time.Millisecond }

// UseSourceZone takes the time zone of the default host or archive, and returns both.
func (e *Engine) UseSourceZone(ctx context.Context) (source string, zone *time.Location, err error) {
	source = e.source()
	e.ctx = ctx
	c, err := e.context(source)
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
