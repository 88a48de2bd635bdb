package agentcmd

import (
	"context"
	"log/slog"

	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/tool/cli"
)

// Commands returns a command for each agent that can be a program of its own.
func Commands() []*cli.Command {
	var list []*cli.Command
	for _, b := range agent.Builtins() {
		if b.Name != "pmcd" { // it reports on the collector it is part of
			list = append(list, command(b))
		}
	}
	return list
}

func command(b agent.Builtin) *cli.Command {
	return &cli.Command{
		Name: "pmda" + b.Name, Link: "pmda" + b.Name,
		Group:       "Agents",
		Summary:     "serve the agent " + b.Name + " to the collector that starts it",
		Options:     daemon(b, "").Options(),
		DieOnSignal: true, // the collector ends its agents by closing the pipe, or with SIGTERM
		Run: func(ctx context.Context, env *cli.Env) int {
			return daemon(b, env.Version).Run(ctx, pmda.Environment{
				Args:  env.Args,
				Stdin: env.Stdin, Stdout: env.Stdout, Stderr: env.Stderr,
				Getenv: env.Getenv,
			})
		},
	}
}

func daemon(b agent.Builtin, version string) *pmda.Daemon {
	return &pmda.Daemon{
		Name:   "pmda" + b.Name,
		Domain: b.Domain,
		// As with the C agents of these names.
		PipeOnly: b.Name != "simple" && b.Name != "sample",
		KeepUser: !b.Sample && b.Name != "mmv" && b.Name != "pmproxy",
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) {
			return b.Open(agent.Env{Domain: domain, Version: version, Daemon: true, Log: log})
		},
	}
}
