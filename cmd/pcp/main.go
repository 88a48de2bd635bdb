package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/version"
)

func main() { os.Exit(run()) }

// run finds the command by the name of the program or its first argument,
// and returns its exit status.
func run() int {
	objects.Register(os.Getenv)
	table := commands()
	env := &cli.Env{
		Name: filepath.Base(os.Args[0]), Program: os.Args[0], Args: os.Args[1:],
		Stdin:  os.Stdin,
		Getenv: os.Getenv, LookupEnv: os.LookupEnv,
		Version: version.String(),
		Rows:    terminalRows,
		Columns: terminalColumns,

		Commands: table,
		Advice:   new(cli.Advice),
		Exec:     replace,
	}
	finish := env.Streams()
	if err := enoughSpace(); err != nil {
		fmt.Fprintf(env.Stderr, "%s: %v\n", env.Name, err)
		return 1
	}
	if name, ok := sevenName(table, env.Name); ok {
		env.Name = name
		os.Setenv("PCP_COMPAT", "7")
	}
	if c := cli.Find(table, env.Name); c != nil && c.Link == env.Name {
		env.Command = c
	} else if status, done := dispatch(env, func(name, value string) { os.Setenv(name, value) }); done {
		if err := finish(); err != nil && status == 0 {
			status = env.OutputFailed(err)
		}
		return status
	}
	env.UseWords()
	env.Resolve()
	c := env.Command

	ctx := context.Background()
	if !c.DieOnSignal {
		var stop context.CancelFunc
		ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
		if c.Interruptible {
			ends = ends[:1]
		}
		ctx, stop = signal.NotifyContext(ctx, ends...)
		defer stop()
		// A second signal must not be in vain when the first one hangs.
		context.AfterFunc(ctx, stop)
	}
	status := c.Run(ctx, env)
	if err := finish(); err != nil && status == 0 {
		fmt.Fprintf(env.Stderr, "%s: writing standard output: %s\n", env.Name, cli.ErrText(err))
		status = 1
	}
	env.WriteAdvice(status)
	return status
}

// sevenName returns the name of a program without the 7 at its end, as in pmrep7, which chooses the output of PCP 7.
func sevenName(table []*cli.Command, name string) (string, bool) {
	classic, ok := strings.CutSuffix(name, "7")
	if !ok || cli.Find(table, name) != nil {
		return "", false
	}
	if c := cli.Find(table, classic); classic == "pcp" || c != nil && c.Link == classic {
		return classic, true
	}
	return "", false
}

// replace runs another program in the place of this one. Of variables that more
// names too, it gets only these.
func replace(path string, args, more []string) error {
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(more, func(m string) bool { return strings.HasPrefix(m, name+"=") })
	})
	return syscall.Exec(path, slices.Concat([]string{path}, args), append(environ, more...))
}
