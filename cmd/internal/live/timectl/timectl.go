package timectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/browser"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/timecontrol"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is pmtime.
var Command = &cli.Command{
	Name:    "time",
	Link:    "pmtime",
	Group:   cli.SeePast,
	Summary: "control the time shown by other tools",
	Doc: `
Controls the time and speed of tools that were started with -g or -p. It prints its port for them,
listens on this machine only, and ends with the last of them.

In a terminal, single keys control it, also over ssh: space plays and stops, the arrows step, + and -
change the speed, and ? lists the others. With --window, or if it is called pmtime, or was started by
a tool with -g, it opens a window of the browser with the same controls. Closing the window ends the
control, and with it the tools. Without a display pmtime does without the window.

From a pipe or file it reads commands, a line each. At a terminal a colon begins one:

  play, back, stop    go forward or backward from now on, or stop
  next, prev          make a single step
  delta INTERVAL      change the time between two steps
  speed N             go N times as fast as time passed
  fast, normal        go as fast as the tools can, or by the clock
  goto TIME           go to a time of the archive, as -O takes it
  at SECONDS          go to a time of the archive, in seconds since 1970
  first, last         go to the beginning or the end of the archive
  skip N              go N steps forward, or backward if N is negative
  zone TZ             show times in another zone
  live, archive       select the tools for the commands
  show                print where it is
  quit                end, and with it the tools

If standard input ends before the first command, archives are played.`,
	Examples: []cli.Example{
		{Line: "pcp time", Text: "control tools from this terminal"},
		{Line: "pcp time --window", Text: "control tools from a window"},
		{Line: "echo play | pcp time -p 43334", Text: "play archives in the tools that connect to this port"},
	},
	SeeAlso: []string{"pmval(1)", "pmstat(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			cli.OptGuiPort,
			{Long: "window", Help: "open a window of the browser", Extra: true},
			{Long: "no-window", Help: "open no window", Extra: true},
			{Short: 'a', Help: "control the tools of archives first, as tools with -g ask for"},
			{Short: 'h', Help: "control the tools of live values first"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Debug: []string{"timecontrol"},
	Run:   run,
}

func run(ctx context.Context, env *cli.Env) int {
	port := 0
	wanted, unwanted, launched := false, false, false
	first := timecontrol.Archive
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch {
		case opt.Long == "guiport":
			port = o.Number(opt, arg, 1, "+ve numeric")
		case opt.Long == "window":
			wanted = true
		case opt.Long == "no-window":
			unwanted = true
		case opt.Short == 'a':
			launched, first = true, timecontrol.Archive
		case opt.Short == 'h':
			launched, first = true, timecontrol.Host
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 && !o.WantsVersion() {
		o.Usagef("too many arguments")
	}
	if wanted && unwanted {
		o.Usagef("--window and --no-window contradict each other")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	base, known := timecontrol.DefaultPort, port != 0
	if s := env.Getenv("PMTIME_PORT"); s != "" && !known {
		n, err := strconv.ParseUint(s, 0, 16)
		if err != nil || n == 0 {
			return env.Fatalf("PMTIME_PORT must be a numeric port number (not %s)", s)
		}
		base = int(n)
	}
	l, err := timecontrol.Listen(port, base)
	if err != nil {
		return env.Fatalf("cannot listen: %v", err)
	}
	if !known {
		fmt.Fprintf(env.Stdout, "port=%d\n", l.Addr().(*net.TCPAddr).Port)
		env.FlushOut()
	}
	c := &controller{env: env, bell: newBell(), mu: new(sync.Mutex)}
	c.server = timecontrol.NewServer(timecontrol.Config{UntilLast: true, Changed: c.bell.ring, Debug: o.DebugLog()})
	c.choose(first)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, _ := env.Stdin.(*os.File)
	c.terminal = in != nil && term.IsTerminal(int(in.Fd()))
	shown := wanted || !unwanted && (launched || env.Classic() && c.terminal)
	keys := c.terminal && env.OutTerminal != nil && env.OutTerminal() && env.Getenv("TERM") != "dumb"
	failed := false
	var uses sync.WaitGroup
	if shown {
		uses.Go(func() {
			err := newWindow(c, first, cancel).show(ctx, c)
			switch {
			case err == nil:
			case wanted:
				failed = true
				fmt.Fprintf(env.Stderr, "%s: no window: %v; without --window it is controlled by keys in a terminal\n", env.ProgName(), err)
				cancel()
			case !errors.Is(err, browser.ErrNone):
				fmt.Fprintf(env.Stderr, "%s: no window: %v\n", env.ProgName(), err)
				fallthrough
			default:
				// As without a display: the tools that started it have no other control.
				if !c.terminal {
					c.use(cancel)
				}
			}
		})
	}
	switch {
	case keys:
		uses.Go(func() {
			if err := c.clone().useKeys(ctx, in, cancel); err != nil {
				fmt.Fprintf(env.Stderr, "%s: the terminal: %v\n", env.ProgName(), err)
			}
		})
	case !shown || c.terminal:
		c.use(cancel)
	}
	err = c.server.Serve(ctx, l)
	cancel()
	uses.Wait()
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if failed {
		return 1
	}
	return 0
}

// A controller carries out commands.
type controller struct {
	env      *cli.Env
	server   *timecontrol.Server
	bell     *bell             // rings when something changes
	terminal bool              // a user types the commands
	out      func(text string) // prints the answers of commands; nil: to standard output

	mu     *sync.Mutex // held while something is printed
	ctl    *timecontrol.Control
	chosen bool // the user chose the control
}

// clone returns a controller of the same server that chooses its tools itself.
func (c *controller) clone() *controller {
	other := *c
	return &other
}

// use reads commands from standard input in the background: reading it cannot be interrupted, so the program does not wait for it.
func (c *controller) use(quit func()) { go c.clone().commands(quit) }

// follow chooses the control that has tools, unless the user chose.
func (c *controller) follow() {
	st := c.ctl.Report()
	if c.chosen || st.Followers > 0 {
		return
	}
	if other := otherThan(st.Source); c.server.Control(other).Report().Followers > 0 {
		c.choose(other)
	}
}

// status reports what the control does that is shown.
func (c *controller) status() timecontrol.Status {
	c.follow()
	return c.ctl.Report()
}

func otherThan(s timecontrol.Source) timecontrol.Source {
	if s == timecontrol.Archive {
		return timecontrol.Host
	}
	return timecontrol.Archive
}

func sourceName(s timecontrol.Source) string {
	if s == timecontrol.Archive {
		return "archive"
	}
	return "host"
}

func (c *controller) choose(s timecontrol.Source) { c.ctl = c.server.Control(s) }

// commands reads commands until there are no more, or one is to quit.
func (c *controller) commands(quit func()) {
	in := bufio.NewScanner(c.env.Stdin)
	any := false
	for c.prompt(); in.Scan(); c.prompt() {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		any = true
		err := c.do(line)
		if errors.Is(err, errQuit) {
			quit()
			return
		}
		if err != nil {
			c.printf(c.env.Stderr, "%s: %v\n", c.env.ProgName(), err)
		}
	}
	if err := in.Err(); err != nil {
		c.printf(c.env.Stderr, "%s: standard input: %v\n", c.env.ProgName(), err)
	}
	switch {
	case c.terminal:
		quit() // the end that was typed
	case !any:
		c.server.Control(timecontrol.Archive).Play()
	}
}

func (c *controller) prompt() {
	if c.terminal {
		c.printf(c.env.Stdout, "time> ")
	}
}

func (c *controller) printf(w io.Writer, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out != nil {
		c.out(fmt.Sprintf(format, args...))
		return
	}
	fmt.Fprintf(w, format, args...)
	c.env.FlushOut()
}

var errQuit = errors.New("quit")

// do carries out a command.
func (c *controller) do(line string) error {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "delta", "speed", "goto", "zone", "at", "skip":
		if arg == "" {
			return fmt.Errorf("%s: an argument is missing", word)
		}
	default:
		if arg != "" {
			return fmt.Errorf("%s: it takes no argument, and there is %q", word, arg)
		}
	}
	st := c.ctl.Report()
	switch word {
	case "play":
		c.leaveSteps(st)
		c.ctl.Play()
	case "back":
		if st.Source == timecontrol.Host {
			return errors.New("back: time that passes does not go back")
		}
		c.leaveSteps(st)
		c.ctl.Back()
	case "stop":
		c.ctl.Stop()
	case "next":
		c.ctl.SetMode(timecontrol.StepMode)
		c.ctl.Play()
	case "prev":
		if st.Source == timecontrol.Host {
			return errors.New("prev: time that passes does not go back")
		}
		c.ctl.SetMode(timecontrol.StepMode)
		c.ctl.Back()
	case "fast":
		c.ctl.SetMode(timecontrol.FastMode)
	case "normal":
		c.ctl.SetMode(timecontrol.NormalMode)
	case "delta":
		d, err := pcptime.ParseInterval(arg)
		if err != nil {
			return fmt.Errorf("delta: not an interval: %q", arg)
		}
		c.ctl.SetDelta(d)
	case "speed":
		f, err := strconv.ParseFloat(arg, 64)
		if err != nil || f <= 0 || f > timecontrol.MaxSpeed {
			return fmt.Errorf("speed: not a number above 0, up to %d: %q", timecontrol.MaxSpeed, arg)
		}
		c.ctl.SetSpeed(f)
	case "goto":
		if st.Source == timecontrol.Host {
			return errors.New("goto: only archives have other times than now")
		}
		t, err := pcptime.ParseTime(arg, st.Start, st.End, pcptime.Zone(st.Zone))
		if err != nil {
			return fmt.Errorf("goto: not a time: %q", arg)
		}
		c.ctl.SetPosition(t)
	case "at":
		f, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(math.Abs(f) < 1<<40) {
			return fmt.Errorf("at: not a number of seconds: %q", arg)
		}
		return c.move(word, st, pcp.TimestampOf(time.UnixMicro(int64(math.Round(f*1e6)))))
	case "first":
		return c.move(word, st, st.Start)
	case "last":
		return c.move(word, st, st.End)
	case "skip":
		n, err := strconv.ParseInt(arg, 10, 32)
		if err != nil || math.Abs(float64(n)*float64(st.Delta)) > math.MaxInt64/2 {
			return fmt.Errorf("skip: not a number of steps: %q", arg)
		}
		return c.move(word, st, st.Position.Add(time.Duration(n)*st.Delta))
	case "pause":
		if st.State != timecontrol.Stopped && st.Mode != timecontrol.StepMode {
			c.ctl.Stop()
			return nil
		}
		c.leaveSteps(st)
		c.ctl.Play()
	case "faster":
		c.ctl.SetSpeed(st.Speed * 2)
	case "slower":
		c.ctl.SetSpeed(max(st.Speed/2, minSpeed))
	case "longer":
		if st.Delta < maxDelta {
			c.ctl.SetDelta(st.Delta * 2)
		}
	case "shorter":
		c.ctl.SetDelta(st.Delta / 2)
	case "hurry":
		if st.Mode == timecontrol.FastMode {
			c.ctl.SetMode(timecontrol.NormalMode)
		} else {
			c.ctl.SetMode(timecontrol.FastMode)
		}
		c.resume(st)
	case "other":
		c.chosen = true
		c.choose(otherThan(st.Source))
	case "zone":
		c.ctl.SetZone(arg, c.env.ProgName())
	case "live":
		c.chosen = true
		c.choose(timecontrol.Host)
	case "archive":
		c.chosen = true
		c.choose(timecontrol.Archive)
	case "show":
		c.show(st)
	case "quit", "exit":
		return errQuit
	case "help", "?":
		c.printf(c.env.Stdout, "play back stop next prev fast normal first last show live archive quit; delta INTERVAL, speed N, goto TIME, at SECONDS, skip N, zone TZ\n")
	default:
		return fmt.Errorf("%q is not a command; help lists them", word)
	}
	return nil
}

// Limits of the keys that change speeds and steps.
const (
	minSpeed = 1.0 / 1024
	maxDelta = 366 * 24 * time.Hour
)

// move goes to a time of archives.
func (c *controller) move(word string, st timecontrol.Status, t pcp.Timestamp) error {
	switch {
	case st.Source == timecontrol.Host:
		return fmt.Errorf("%s: only archives have other times than now", word)
	case !described(st):
		return fmt.Errorf("%s: no tool has come yet", word)
	}
	c.ctl.SetPosition(t)
	return nil
}

// resume continues after a change of the mode, which stops.
func (c *controller) resume(st timecontrol.Status) {
	switch {
	case st.Mode == timecontrol.StepMode:
	case st.State == timecontrol.Forward:
		c.ctl.Play()
	case st.State == timecontrol.Backward:
		c.ctl.Back()
	}
}

// described reports whether a tool has described its archives.
func described(st timecontrol.Status) bool { return !st.Start.IsZero() || !st.End.IsZero() }

// clock returns the position in its zone, with milliseconds if it has parts of a second.
func clock(st timecontrol.Status) string {
	loc := pcptime.Zone(st.Zone)
	if st.Position.Nsec == 0 && st.Delta%time.Second == 0 {
		return pcptime.Ctime(st.Position, loc)
	}
	return time.Unix(st.Position.Sec, int64(st.Position.Nsec)).In(loc).Format("Mon Jan _2 15:04:05.000 2006")
}

// leaveSteps continues by the clock after single steps.
func (c *controller) leaveSteps(st timecontrol.Status) {
	if st.Mode == timecontrol.StepMode {
		c.ctl.SetMode(timecontrol.NormalMode)
	}
}

// show prints the position of the control.
func (c *controller) show(st timecontrol.Status) {
	loc := pcptime.Zone(st.Zone)
	name, more := "live", ""
	if st.Source == timecontrol.Archive {
		name = "archive"
		if !described(st) {
			c.printf(c.env.Stdout, "%s: %s, no tool has come yet; steps of %v, speed %g\n", name, st.State, st.Delta, st.Speed)
			return
		}
		more = fmt.Sprintf(", of %s to %s", pcptime.Ctime(st.Start, loc), pcptime.Ctime(st.End, loc))
	}
	c.printf(c.env.Stdout, "%s: %s at %s%s; steps of %v, speed %g, tools: %d\n",
		name, st.State, pcptime.Ctime(st.Position, loc), more, st.Delta, st.Speed, st.Followers)
}
