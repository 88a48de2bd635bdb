package vmstat

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pcp-vmstat.
var Command = &cli.Command{
	Name:     "vmstat",
	Link:     "pcp-vmstat",
	Group:    cli.SeeNow,
	Summary:  "show memory, swap, disks and processors, like vmstat",
	Synopsis: "[delta [samples]]",
	Doc: `Prints the output of pmstat -x: a line at each interval, by default every five seconds until it is
interrupted. Options of pcp itself (pcp -h HOST vmstat, pcp -a ARCHIVE -S TIME vmstat) select the
host and the time.`,
	Examples: []cli.Example{
		{Line: "pcp vmstat 1 10", Text: "print ten lines, one a second"},
		{Line: "pcp -a ARCHIVE vmstat 10min", Text: "print a line for each ten minutes of an archive"},
	},
	SeeAlso:     []string{"pmstat(1)"},
	Options:     func() []cli.Option { return []cli.Option{cli.OptJSON, cli.OptHelp} },
	DieOnSignal: true,
	Run:         run,
}

func run(ctx context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true})
	many := len(o.Args) > 2 && !o.Errors()
	if many {
		env.Printf("Too many arguments\n")
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if many { // as the C script ends unintentionally
			status = 2
		}
		return status
	}
	pmstat := cli.Find(env.Commands, "pmstat")
	if pmstat == nil {
		return env.Fatalf("this program has no pmstat")
	}
	set := make(map[string]string)
	if len(o.Args) > 1 {
		set["PCP_SAMPLES"] = o.Args[1]
	}
	if len(o.Args) > 0 {
		set["PCP_INTERVAL"] = o.Args[0]
	}
	other := env.WithGetenv(func(name string) string {
		if v, ok := set[name]; ok {
			return v
		}
		return env.Getenv(name)
	})
	other.LookupEnv = func(name string) (string, bool) {
		if v, ok := set[name]; ok {
			return v, true
		}
		return env.Getenv(name), env.IsSet(name)
	}
	command := *pmstat
	command.Name = env.Command.Name // for messages about this command
	other.Command, other.Name, other.Args = &command, pmstat.Link, []string{"-x"}
	if o.JSON {
		other.Args = slices.Concat(other.Args, []string{"--json"})
	}
	return pmstat.Run(ctx, other)
}
