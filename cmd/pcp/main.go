package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-pcp/pcp/internal/version"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/tool/help"
)

func main() { os.Exit(run()) }

// run finds the command by the name of the program or its first argument,
// and returns its exit status.
func run() int {
	table := commands()
	out := newOutput(os.Stdout)
	env := &cli.Env{
		Name: filepath.Base(os.Args[0]), Program: os.Args[0], Args: os.Args[1:],
		Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv,
		Version: version.String(),
		Rows:    terminalRows,

		OutTerminal: outTerminal,
		ErrTerminal: errTerminal,
		Commands:    table,
	}
	if c := cli.Find(table, env.Name); c != nil && c.Link == env.Name {
		env.Command = c
	} else if status, done := named(env); done {
		return status
	}
	env.Resolve()
	c := env.Command

	ctx := context.Background()
	if !c.DieOnSignal {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		// A second signal must not be in vain when the first one hangs.
		context.AfterFunc(ctx, stop)
	}
	status := c.Run(ctx, env)
	if err := out.Flush(); err != nil && status == 0 {
		fmt.Fprintf(os.Stderr, "%s: writing standard output: %s\n", env.Name, cli.ErrText(err))
		status = 1
	}
	return status
}

// named makes env that of the command which the first argument names. It does
// what else there is to do with arguments itself, and then returns true and the
// exit status.
func named(env *cli.Env) (status int, done bool) {
	env.Name = "pcp help"
	if len(env.Args) == 0 {
		return list(env), true
	}
	switch env.Args[0] {
	case "-V", "--version":
		fmt.Println("pcp version", version.String())
		return 0, true
	case "-h", "-?", "--help":
		return list(env), true
	}
	env.Command = cli.Find(env.Commands, env.Args[0])
	if env.Command == nil {
		fmt.Fprint(os.Stderr, cli.Unknown(env.Commands, env.Args[0]))
		return 1, true
	}
	env.Name, env.Args = "pcp "+env.Command.Name, env.Args[1:]
	return 0, false
}

func list(env *cli.Env) int {
	help.List(env)
	if env.FlushOut() != nil {
		return 1
	}
	return 0
}
