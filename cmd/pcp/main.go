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
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	c := cli.Find(table, name)
	if c == nil || c.Link != name {
		c = nil
		if len(args) == 0 {
			return list(table)
		}
		switch args[0] {
		case "-V", "--version":
			fmt.Println("pcp version", version.String())
			return 0
		case "-h", "-?", "--help":
			return list(table)
		}
		c = cli.Find(table, args[0])
		if c == nil {
			fmt.Fprint(os.Stderr, cli.Unknown(table, args[0]))
			return 1
		}
		name, args = "pcp "+c.Name, args[1:]
	}

	ctx := context.Background()
	if !c.DieOnSignal {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		// A second signal must not be in vain when the first one hangs.
		context.AfterFunc(ctx, stop)
	}
	out := newOutput(os.Stdout)
	status := c.Run(ctx, &cli.Env{
		Name: name, Args: args,
		Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv,
		Version: version.String(),
		Rows:    terminalRows,

		ErrTerminal: errTerminal,
		Command:     c, Commands: table,
	})
	if err := out.Flush(); err != nil && status == 0 {
		fmt.Fprintf(os.Stderr, "%s: writing standard output: %s\n", name, cli.ErrText(err))
		status = 1
	}
	return status
}

func list(table []*cli.Command) int {
	out := newOutput(os.Stdout)
	help.List(out, table)
	if out.Flush() != nil {
		return 1
	}
	return 0
}
