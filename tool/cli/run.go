package cli

import (
	"context"
	"fmt"
	"strings"
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
	if len(e.Command.Sub) == 0 {
		return e.Command.Run(ctx, &e)
	}
	if len(e.Args) > 0 && !strings.HasPrefix(e.Args[0], "-") {
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
