package timectl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

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

It reads commands from standard input, a line each:

  play, back, stop    go forward or backward from now on, or stop
  next, prev          make a single step
  delta INTERVAL      change the time between two steps
  speed N             go N times as fast as time passed
  fast, normal        go as fast as the tools can, or by the clock
  goto TIME           go to a time of the archive, as -O takes it
  zone TZ             show times in another zone
  live, archive       select the tools for the commands
  show                print where it is
  quit                end, and with it the tools

If standard input ends before the first command, archives are played.`,
	Examples: []cli.Example{
		{Line: "pcp time", Text: "control tools from this terminal"},
		{Line: "echo play | pcp time -p 43334", Text: "play archives in the tools that connect to this port"},
	},
	SeeAlso: []string{"pmval(1)", "pmstat(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			cli.OptGuiPort,
			{Short: 'a', Help: "accepted and ignored, as pmtime does"},
			{Short: 'h', Help: "accepted and ignored, as pmtime does"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Debug: []string{"timecontrol"},
	Run:   run,
}

func run(ctx context.Context, env *cli.Env) int {
	port := 0
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch {
		case opt.Long == "guiport":
			port = o.Number(opt, arg, 1, "+ve numeric")
		case opt.Short == 'a', opt.Short == 'h':
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 && !o.WantsVersion() {
		o.Usagef("too many arguments")
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
	c := &controller{env: env, server: timecontrol.NewServer(timecontrol.Config{UntilLast: true, Debug: o.DebugLog()})}
	c.choose(timecontrol.Archive)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if in, ok := env.Stdin.(*os.File); ok {
		c.terminal = term.IsTerminal(int(in.Fd()))
	}
	// Reading standard input cannot be interrupted, so the program does not wait for it.
	go c.commands(cancel)
	if err := c.server.Serve(ctx, l); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// A controller carries out commands.
type controller struct {
	env      *cli.Env
	server   *timecontrol.Server
	terminal bool // a user types the commands

	mu  sync.Mutex // held while something is printed
	ctl *timecontrol.Control
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
	fmt.Fprintf(w, format, args...)
	c.env.FlushOut()
}

var errQuit = errors.New("quit")

// do carries out a command.
func (c *controller) do(line string) error {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch word {
	case "delta", "speed", "goto", "zone":
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
	case "zone":
		c.ctl.SetZone(arg, c.env.ProgName())
	case "live":
		c.choose(timecontrol.Host)
	case "archive":
		c.choose(timecontrol.Archive)
	case "show":
		c.show(st)
	case "quit", "exit":
		return errQuit
	case "help", "?":
		c.printf(c.env.Stdout, "play back stop next prev fast normal show live archive quit; delta INTERVAL, speed N, goto TIME, zone TZ\n")
	default:
		return fmt.Errorf("%q is not a command; help lists them", word)
	}
	return nil
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
		if st.Start.IsZero() && st.End.IsZero() {
			c.printf(c.env.Stdout, "%s: %s, no tool has come yet; steps of %v, speed %g\n", name, st.State, st.Delta, st.Speed)
			return
		}
		more = fmt.Sprintf(", of %s to %s", pcptime.Ctime(st.Start, loc), pcptime.Ctime(st.End, loc))
	}
	c.printf(c.env.Stdout, "%s: %s at %s%s; steps of %v, speed %g, tools: %d\n",
		name, st.State, pcptime.Ctime(st.Position, loc), more, st.Delta, st.Speed, st.Followers)
}
