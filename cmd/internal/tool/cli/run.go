package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/getopt"
)

// Resolve turns e into the environment of the subcommand that the first argument
// names, as "ls" in "pcp archive ls", if there is one.
func (e *Env) Resolve() {
	for len(e.Command.Sub) > 0 && len(e.Args) > 0 {
		sub := e.Command.below(e.Args[0])
		if sub == nil {
			return
		}
		e.Command, e.Name, e.Args = sub, "pcp "+sub.Name, e.Args[1:]
	}
}

// below returns the command below c with a name, or nil.
func (c *Command) below(name string) *Command {
	for _, s := range c.Sub {
		if s.Name == c.Name+" "+name {
			return s
		}
	}
	return nil
}

// Run runs the command of env, or the subcommand that its first argument names,
// and returns the exit status. It is the Run of a command with subcommands.
func Run(ctx context.Context, env *Env) int {
	e := *env
	e.Config() // before e is copied
	e.Resolve()
	named := len(e.Args) > 0 && !strings.HasPrefix(e.Args[0], "-")
	if len(e.Command.Sub) == 0 || e.Command.Bare && !named {
		return e.Command.Run(ctx, &e)
	}
	if named {
		fmt.Fprint(e.Stderr, unknown(e.Command.Sub, e.Command.Name+" "+e.Args[0], "pcp help "+e.Command.Name))
		return 1
	}
	o := ParseArgs(&e, ParseConfig{POSIX: true})
	if !o.Errors() && !o.WantsVersion() {
		o.WantUsage()
	}
	status, _ := o.Done()
	return status
}

// Call runs another command of this program, by its classic name, as a script runs
// it, and returns its exit status. The command reads nothing and prints to out and
// errs. A name that is not in the table of commands has status 127, as in a shell.
func (e *Env) Call(ctx context.Context, link string, out, errs io.Writer, args ...string) int {
	for _, c := range e.Commands {
		if c.Link == link {
			return e.CallCommand(ctx, c, out, errs, args...)
		}
	}
	fmt.Fprintf(errs, "%s: %s: not found\n", e.ProgName(), link)
	return 127
}

// CallCommand is Call for a command that the caller has.
func (e *Env) CallCommand(ctx context.Context, c *Command, out, errs io.Writer, args ...string) int {
	e.Config() // before e is copied
	other := *e
	other.Name, other.Args, other.Command = c.Link, args, c
	other.Stdin, other.Stdout, other.Stderr = strings.NewReader(""), out, errs
	other.Rows, other.Columns, other.OutTerminal, other.ErrTerminal, other.Exec = nil, nil, nil, nil, nil
	other.ByName, other.Advice = false, nil
	other.msg = getopt.Messages{}
	status := c.Run(ctx, &other)
	other.FlushOut()
	return status
}
