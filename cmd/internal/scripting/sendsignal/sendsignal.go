// Package sendsignal is pmsignal: it sends a signal to processes by number or by name.
//
//	pmsignal -s HUP -a pmlogger
package sendsignal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmsignal.
var Command = &cli.Command{
	Name:     "signal",
	Link:     "pmsignal",
	Group:    cli.Scripts,
	Summary:  "send a signal to processes by number or by name",
	Synopsis: "[options] PID ... | name ...",
	Doc: `Sends TERM, or the signal of -s, to processes. They are given by their process IDs; with -a by the
names of their programs, in any directory; and with -p by the names of programs with a process ID
file in PCP's directory, such as pmcd and pmlogger.`,
	Examples: []cli.Example{
		{Line: `pcp signal -s HUP 1234`, Text: `send SIGHUP to process 1234`},
		{Line: `pcp signal -n -a pmlogger`, Text: `only print the signals for all loggers`},
	},
	SeeAlso: []string{"kill(1)", "killall(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'a', Long: "all", Help: "send signal to all named processes (killall mode)"},
			{Short: 'l', Long: "list", Help: "list available signals"},
			{Short: 'n', Long: "dry-run", Help: "list processes that would be affected"},
			{Short: 'p', Long: "program", Help: "extract process identifiers from files of programs"},
			{Short: 's', Long: "signal", Arg: "N", Help: "signal to send (" + names + ")"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// names are the signals that PCP's programs handle on each system.
const names = "HUP USR1 USR2 TERM KILL"

// settings are those of the command line.
type settings struct {
	all, list, dry, program bool
	signal                  string
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		set.all = true
	case 'l':
		set.list = true
	case 'n':
		set.dry = true
	case 'p':
		set.program = true
	case 's':
		set.signal = arg
		if !slices.Contains(strings.Fields(names), arg) {
			o.Usagef("invalid signal - %s", arg)
		}
	default:
		return false
	}
	return true
}

func run(_ context.Context, env *cli.Env) int {
	set := settings{signal: "TERM"}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: set.own})
	switch {
	case o.Errors() || set.list:
	case set.all && set.program:
		o.Usagef("Cannot specify both \"all\" and \"program\" modes")
	case len(o.Args) == 0:
		o.Usagef("Insufficient arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if set.list {
		fmt.Fprintln(env.Stdout, names)
		if env.Classic() {
			return 1 // as in C
		}
		return 0
	}
	pids, err := set.processes(env, o.Args)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	status := 0
	for _, pid := range pids {
		if err := set.send(env, pid); err != nil {
			text := err.Error()
			if !errors.Is(err, errNumber) {
				text = cli.ErrText(err)
			}
			if env.Classic() && !errors.Is(err, errNumber) {
				// As in C, where the shell prints the message: scripts look for it behind the path
				// of pmsignal.
				env.FlushOut()
				fmt.Fprintf(env.Stderr, "%s: kill: (%s) - %s\n", cmp.Or(env.Program, env.ProgName()), pid, text)
				status = 1
				continue
			}
			status = env.Fatalf("kill %s: %s", pid, text)
		}
	}
	return status
}

// processes returns the process numbers that the arguments name, as text.
func (set *settings) processes(env *cli.Env, args []string) (pids []string, err error) {
	cfg := env.Config()
	for _, arg := range args {
		name := filepath.Base(arg)
		switch {
		case set.all:
			list, err := env.Finder(name).Find(name, true)
			if err != nil {
				return nil, err
			}
			for _, pid := range list {
				pids = append(pids, strconv.Itoa(pid))
			}
		case set.program:
			b, err := os.ReadFile(filepath.Join(cfg.Get("PCP_RUN_DIR"), name+".pid"))
			if err == nil {
				pids = append(pids, strings.Fields(string(b))...)
			}
		default:
			pids = append(pids, arg)
		}
	}
	return pids, nil
}

var errNumber = errors.New("not the number of a process")

func (set *settings) send(env *cli.Env, number string) error {
	if set.dry {
		fmt.Fprintf(env.Stdout, "kill -%s %s\n", set.signal, number)
		return nil
	}
	pid, err := strconv.ParseInt(number, 10, 32)
	if err != nil || pid <= 0 {
		return errNumber
	}
	return kill(int(pid), set.signal)
}
