package agentcmd

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmda"
)

// Commands returns a command for each agent that can be a separate program.
func Commands() []*cli.Command {
	var list []*cli.Command
	builtins := agent.Builtins()
	for i := range builtins {
		if b := &builtins[i]; !b.OfCollector {
			list = append(list, command(b))
		}
	}
	return append(list, rootCommand(), recordCommand, loadCommand)
}

func command(b *builtin.Spec) *cli.Command {
	name := "pmda" + b.Name
	return &cli.Command{
		Name: name, Link: name,
		Group:       cli.AgentPrograms,
		Summary:     "serve the agent " + b.Name + " to the collector that starts it",
		Synopsis:    synopsis(b),
		MakeDoc:     func() string { return doc(b) },
		SeeAlso:     []string{"pmcd(1)", "pcp-agent-test(1)", "pmcd.conf(5)"},
		Options:     func() []cli.Option { return options(daemon(b, nil)) },
		DieOnSignal: true, // the collector ends its agents by closing the pipe, or with SIGTERM
		Run: func(ctx context.Context, env *cli.Env) int {
			d := daemon(b, env)
			d.HelpFile = b.HelpFile(env.Config())
			return d.Run(ctx, pmda.Environment{
				Args:  env.Args,
				Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr,
				Getenv: env.Getenv, OutTerminal: env.OutTerminal, TestName: b.Name,
			})
		},
	}
}

// options returns the options of d for the table of commands.
func options(d *pmda.Daemon) []cli.Option {
	var list []cli.Option
	for _, o := range d.Options() {
		list = append(list, cli.Option{Short: o.Short, Long: o.Long, Arg: o.Arg, Help: o.Help})
	}
	return list
}

// doc returns the manual text of an agent's command.
func doc(b *builtin.Spec) string {
	domain, notReady := strconv.Itoa(b.Domain), ""
	if b.Program.StartsNotReady {
		notReady = " notready"
	}
	return `Serves the metrics of the agent ` + b.Name + ` to a collector, which starts this command and communicates with it through pipes. It is for collectors that run agents as processes, such as the C collector; our own collector contains the same agent. It is not useful on a terminal: "pcp agent test ` + b.Name + `" tries an agent out.

A line of pmcd.conf for it is

    ` + b.Name + ` ` + domain + ` pipe binary` + notReady + ` PATH/pmda` + b.Name + ` -d ` + domain
}

// synopsis returns the usage line of an agent that takes arguments, else "".
func synopsis(b *builtin.Spec) string {
	if b.Program.Args == "" {
		return ""
	}
	return "[options] " + b.Program.Args
}

// daemon returns the program of b. Only running it requires env.
func daemon(b *builtin.Spec, env *cli.Env) *pmda.Daemon {
	var args, given []string
	var settings []builtin.Setting
	return &pmda.Daemon{
		Name:       "pmda" + b.Name,
		Domain:     b.Domain,
		PipeOnly:   !b.Program.Sockets,
		NoHelpFile: true,
		KeepUser:   b.Program.KeepUser,
		Synopsis:   synopsis(b),
		Own:        b.Program.Options,
		UserFlag:   b.Program.UserFlag,
		UserLong:   b.Program.UserLong,
		NotReady:   b.Program.StartsNotReady,
		Usage:      b.Program.Usage,
		Set: func(o *pmda.Option, arg string) error {
			if o.Arg == "" {
				given = append(given, o.Long)
			} else {
				settings = append(settings, builtin.Setting{Option: *o, Arg: arg})
			}
			if b.Program.Check == nil {
				return nil
			}
			return b.Program.Check(*o, arg)
		},
		Args: func(list []string) error {
			if args = list; b.Program.Args != "" && len(list) == 0 {
				return errors.New(b.Program.NoArgs)
			}
			return nil
		},
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) {
			return b.Open(builtin.Env{
				Domain: domain, Version: env.Version, Config: env.Config(), Log: log,
				Args: args, Options: given, Settings: settings, Form: builtin.AsDaemon,
			})
		},
	}
}
