package runwith

import (
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// PythonCommand is pmpython.
var PythonCommand = &cli.Command{
	Name:     "python",
	Link:     "pmpython",
	Group:    cli.Scripts,
	Summary:  "run the Python configured in pcp.conf",
	Synopsis: "[argument]...",
	Doc: `Executes the program in the setting PCP_PYTHON_PROG, or python3 without that setting, with all
arguments unchanged. Scripts begin with a line for pmpython to run with the Python that has PCP's
modules.`,
	Examples:    []cli.Example{{Line: "pcp python script.py", Text: "run a script"}},
	SeeAlso:     []string{"pcp.conf(5)"},
	DieOnSignal: true,
	Run:         python,
}

func python(_ context.Context, env *cli.Env) int {
	cfg := env.Config()
	program := cfg.Get("PCP_PYTHON_PROG")
	if program == "" || env.IsSet("PCP_PYTHON_PROG") && env.Getenv("PCP_PYTHON_PROG") == "" {
		file := "/etc/pcp.conf"
		conf, dir := env.Getenv("PCP_CONF"), env.Getenv("PCP_DIR")
		switch {
		case env.IsSet("PCP_CONF") && env.IsSet("PCP_DIR"):
			file = dir + "/" + conf // as in C
		case env.IsSet("PCP_CONF"):
			file = conf
		case env.IsSet("PCP_DIR"):
			file = dir + "/etc/pcp.conf"
		}
		return env.Fatalf("PCP_PYTHON_PROG not set in %s", file)
	}
	var more []string
	if !env.Classic() { // as the C implementation's pcp-python
		more = cfg.Environ()
	}
	path, err := env.LookPath(program)
	if err == nil {
		err = env.Replace(path, env.Args, more)
	}
	return env.Fatalf("execvp(%s, ...) failed: %s", program, cli.ErrText(err))
}

// SocksCommand is pmsocks.
var SocksCommand = &cli.Command{
	Name:     "socks",
	Link:     "pmsocks",
	Group:    cli.Scripts,
	Summary:  "run a program through a SOCKS proxy",
	Synopsis: "[path]program [args ...]",
	Doc: `Runs a program with tsocks, which redirects its connections to a SOCKS proxy by a shared library.
Commands of this program are static and load no libraries: run those of the C implementation, or use
a tunnel ("ssh -L 44321:HOST:44321 GATEWAY" and -h localhost).`,
	Examples:    []cli.Example{{Line: "pcp socks /usr/bin/pmstat", Text: "run the C implementation's pmstat through the proxy"}},
	DieOnSignal: true,
	Run:         socks,
}

func socks(_ context.Context, env *cli.Env) int {
	if len(env.Args) == 0 || env.Args[0] == "-?" || env.Args[0] == "--help" {
		if !env.Classic() && len(env.Args) > 0 {
			env.Help(env.Command)
			return 0
		}
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	tsocks, err := env.LookPath("tsocks")
	if err != nil {
		fmt.Fprintln(env.Stderr, "No tsocks wrapper script found - install the 'tsocks' package")
		return 1
	}
	if path, err := env.LookPath(env.Args[0]); err == nil && isThis(path) {
		return env.Fatalf("%s is a static program, which tsocks cannot lead through a proxy; use a tunnel, as \"%s help socks\" says", env.Args[0], env.Pcp())
	}
	return env.Fatalf("cannot run %s: %s", tsocks, cli.ErrText(env.Replace(tsocks, env.Args, nil)))
}

// isThis reports whether path leads to this program.
func isThis(path string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// NewlogCommand is pmnewlog.
var NewlogCommand = &cli.Command{
	Name:     "newlog",
	Link:     "pmnewlog",
	Group:    cli.Scripts,
	Summary:  "report that pmnewlog was replaced by pmlogctl",
	Synopsis: "",
	Doc: `Prints a notice, whatever its arguments, and succeeds, like the C implementation since version 6.
Use "pmlogctl restart" instead.`,
	Examples:    []cli.Example{{Line: "pcp newlog", Text: "print the notice"}},
	DieOnSignal: true,
	Run: func(_ context.Context, env *cli.Env) int {
		fmt.Fprintln(env.Stdout, "pmnewlog: functionality retired and script will be removed in a future release")
		return 0
	},
}
