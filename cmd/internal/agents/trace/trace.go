// Package trace implements pmtrace, which reports a point, a value or the time of a command to the agent trace.
//
//	pmtrace -e 'make all' build
package trace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/trace"
)

// Command is pmtrace.
var Command = &cli.Command{
	Name:     "trace",
	Link:     "pmtrace",
	Group:    cli.Scripts,
	Summary:  "trace a script: transactions, points and values",
	Synopsis: synopsis,
	Doc: `Reports to the agent trace that a script passed a point, or with -v a value, with -c a counter, or
with -e the time of a command. The agent shows each under its tag: trace.point, trace.observe,
trace.counter and trace.transact.

The agent is that of this host, or of the host in -h or PCP_TRACE_HOST, on the port PCP_TRACE_PORT.
If it cannot be reached, the command of -e is still run. With -e the exit status is that of the
command, otherwise it is always 0, so that a script continues.`,
	Examples: []cli.Example{
		{Line: `pcp trace started`, Text: `count that the script was started`},
		{Line: `pcp trace -e 'make all' build`, Text: `measure how long a command takes`},
		{Line: `pcp trace -q -v 42.5 queue`, Text: `report a value, silently`},
	},
	SeeAlso: []string{"pmdatrace(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			{Short: 'c', Arg: "value", Help: "send the value of a counter"},
			{Short: 'e', Arg: "command", Help: "run a command and send how long it took"},
			{Short: 'h', Arg: "host", Help: "where the agent is"},
			{Short: 'q', Help: "print nothing on success"},
			{Short: 'S', Arg: "state", Help: "show what happens: the sum of 1 for calls, 2 for the connection, 4 for PDUs; 16 for no agent at all"},
			{Short: 'v', Arg: "value", Help: "send an observed value"},
			{Short: '?'},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

const synopsis = "[-q] [-c value|-e command|-v value] [-h host] [-S state] tag"

// usage is the C tool's text below its synopsis, except the last line.
const usage = `
Options:
  -c value    export a counter value through the trace PMDA
  -e command  run command and export transaction data
  -h host     send trace data to trace PMDA on given host
  -q          quiet mode - suppress message from successful trace
  -S state    set debug state using pmtracestate(3) as bit-wise
              combination of these flags:
	       1 Shows processing just below the API
	       2 Shows network-related activity
	       4 Shows app<->PMDA IPC traffic
	       8 Shows internal IPC buffer management
	      16 No PMDA communications at all
  -v value    export an observation value through the trace PMDA

`

// A job is the parsed command line.
type job struct {
	what    rune // 'c', 'e', 'v', or 0 for a point
	value   float64
	command string
	host    string
	state   trace.State
	quiet   bool
	tag     string
}

// parse parses the command line. It reports whether that is valid; if not, it has printed all messages.
func (j *job) parse(env *cli.Env) bool {
	me, ok := env.ProgName(), true
	complain := func(format string, args ...any) {
		fmt.Fprintf(env.Stderr, "%s: %s\n", me, fmt.Sprintf(format, args...))
		ok = false
	}
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = env.IsSet("POSIXLY_CORRECT")
	for opt, arg := range p.All() {
		if opt == nil {
			complain("%s", p.Problem())
			continue
		}
		switch opt.Short {
		case 'S':
			n, err := strconv.ParseInt(strings.TrimLeft(arg, ctext.Space), 0, 32)
			if err != nil || strings.Contains(arg, "_") {
				complain("-S requires a numeric argument")
				break
			}
			j.state |= trace.State(n)
		case 'h':
			j.host = arg
		case 'q':
			j.quiet = true
		case 'c', 'e', 'v':
			if j.what != 0 {
				complain("only one of -c, -v or -e allowed")
			}
			j.what = opt.Short
			if j.what == 'e' {
				j.command = arg
				break
			}
			value, end, _ := ctext.Strtod(arg)
			if end < len(arg) {
				complain("-v requires a numeric argument")
			}
			j.value = value
		default:
			ok = false
		}
	}
	if args := p.Args(); len(args) == 1 {
		j.tag = args[0]
	} else {
		ok = false
	}
	if !ok {
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n%s%s always uses the asynchronous PDU protocol mode.\n", me, synopsis, usage, me)
	}
	return ok
}

// config returns the address of the agent. Like the C tool it warns about unreadable variables, and ignores them.
func (j *job) config(env *cli.Env) trace.Config {
	cfg := trace.Config{
		Host: j.host, State: j.state | trace.StateAsync, Config: env.Config(), Debug: env.Stderr,
		Reconnect: []time.Duration{trace.DefaultTimeout}, // the tool ends before that
	}
	if j.state&trace.StateNoAgent != 0 {
		cfg.Config = config.New(func(string) string { return "" }) // nothing of it is needed
		return cfg
	}
	if v := env.Getenv("PCP_TRACE_PORT"); v != "" {
		if n, err := strconv.ParseUint(v, 0, 16); err != nil {
			fmt.Fprint(env.Stderr, "trace warning: bad PCP_TRACE_PORT ignored.")
			cfg.Port = trace.Port
		} else {
			cfg.Port = int(n)
		}
	}
	if v := env.Getenv("PCP_TRACE_TIMEOUT"); v != "" {
		if x, end, err := ctext.Strtod(v); err != nil || end < len(v) || !(x >= 0) {
			fmt.Fprint(env.Stderr, "trace warning: bogus PCP_TRACE_TIMEOUT.")
			cfg.Timeout = trace.DefaultTimeout
		}
	}
	return cfg
}

func run(ctx context.Context, env *cli.Env) int {
	env.Debug()
	var j job
	if !j.parse(env) {
		return 0
	}
	me := env.ProgName()
	// done prints that a record has been sent, or why not.
	done := func(what string, err error, format string, args ...any) bool {
		env.FlushOut()
		switch {
		case err != nil:
			fmt.Fprintf(env.Stderr, "%s: %s error: %s\n", me, what, text(err))
		case format != "" && !j.quiet:
			fmt.Fprintf(env.Stdout, "%s: %s complete (tag=\"%s\"%s)\n", me, what, j.tag, fmt.Sprintf(format, args...))
		}
		return err == nil
	}
	tr, err := trace.New(j.config(env))
	if err == nil {
		defer tr.Close()
	}
	// send calls a function and waits until its data has been sent.
	send := func(call func() error) error {
		if err != nil {
			return err
		}
		if err := call(); err != nil {
			return err
		}
		return tr.Flush(ctx)
	}
	switch j.what {
	case 'c':
		done("counter", send(func() error { return tr.Counter(j.tag, j.value) }), ", value=%s", float(j.value))
	case 'v':
		done("observation", send(func() error { return tr.Observe(j.tag, j.value) }), ", value=%s", float(j.value))
	case 'e':
		began := send(func() error {
			if err := tr.Connect(ctx); err != nil {
				return err
			}
			return tr.Begin(j.tag)
		})
		done("transaction begin", began, "")
		status, err := shell(ctx, env, j.command)
		if err != nil {
			fmt.Fprintf(env.Stderr, "%s: system error running '%s': %s\n", me, j.command, text(err))
			return 0
		}
		if began != nil {
			return status
		}
		if err := send(func() error { return tr.End(j.tag) }); err != nil {
			done("transaction end", err, "")
		} else {
			done("transaction", nil, "%s", "")
		}
		return status
	default:
		done("point", send(func() error { return tr.Point(j.tag) }), "%s", "")
	}
	return 0
}

// float formats a number as printf("%f") does.
func float(x float64) string {
	switch {
	case math.IsNaN(x) && math.Signbit(x):
		return "-nan"
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return strconv.FormatFloat(x, 'f', 6, 64)
}

// text returns the C tool's text of an error: that of the system if there is one.
func text(err error) string {
	if code := trace.Error(0); errors.As(err, &code) && code != trace.ErrIPC && code != trace.ErrTimeout {
		return code.Error()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return trace.ErrText(-int(errno))
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return trace.ErrText(-int(syscall.EHOSTUNREACH))
	}
	if code := trace.Error(0); errors.As(err, &code) {
		return code.Error()
	}
	return err.Error()
}

// shell runs a command as system(3) does, and returns its exit status: 128 plus the number of the signal if a signal
// ended it.
func shell(ctx context.Context, env *cli.Env, command string) (int, error) {
	env.FlushOut()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Stdin, env.Stdout, env.ChildStderr()
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}
