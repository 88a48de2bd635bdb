package uptime

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-uptime.
var Command = &cli.Command{
	Name:    "uptime",
	Link:    "pcp-uptime",
	Group:   cli.SeeNow,
	Summary: "show the uptime and load of a host",
	Doc: `Prints in one line the time, the uptime of the host, the number of logged in users, and the load
averages of one, five and fifteen minutes. Options of pcp itself (pcp -h HOST uptime, pcp -a ARCHIVE
-S TIME uptime) select the host and the time.`,
	Examples: []cli.Example{
		{Line: "pcp uptime", Text: "show the uptime of this machine"},
		{Line: "pcp -h web1 uptime", Text: "show that of another host"},
	},
	Options: func() []cli.Option {
		return []cli.Option{cli.Heading("Options"), cli.OptJSON, cli.OptVersion, cli.OptHelp}
	},
	Interruptible: true,
	Run:           run,
}

const (
	upMetric    = "kernel.all.uptime"
	usersMetric = "kernel.all.nusers"
	loadMetric  = "kernel.all.load"
)

func run(ctx context.Context, env *cli.Env) int {
	return pmcc.Report{Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true}}.Run(ctx, env, func(m *pmcc.Manager) int {
		return print(ctx, m)
	})
}

func print(ctx context.Context, m *pmcc.Manager) int {
	if err := m.Uninterpolated(ctx); err != nil {
		m.Failed(err)
		return 0
	}
	if !m.Lookup(ctx, upMetric, usersMetric, loadMetric) || !m.Once(ctx) {
		return 0
	}
	up, err := m.As(upMetric, pcp.TypeU64)
	if err == nil && len(up) == 0 {
		return m.Errorf("%s has no value at that time", upMetric)
	}
	var users, load []pcp.Value
	if err == nil {
		users, err = m.As(usersMetric, pcp.TypeU32)
	}
	if err == nil {
		load, err = m.As(loadMetric, pcp.TypeFloat)
	}
	switch {
	case err != nil:
		m.Failed(err)
		return 0
	case len(users) == 0:
		return m.Errorf("%s has no value at that time", usersMetric)
	case len(load) < 3:
		return m.Errorf("%s has %d values at that time, not 3", loadMetric, len(load))
	}
	if m.JSON {
		row := m.Row("", "")
		row.Columns.Value("uptime", up[0])
		row.Columns.Value("users", users[0])
		for i, name := range [...]string{"load1", "load5", "load15"} {
			row.Columns.Value(name, load[i])
		}
		row.Write()
		return 0
	}
	fmt.Fprintf(m.Out, " %s%s%s load average: %.2f, %.2f, %.2f\n", m.Clock("%H:%M:%S", m.Now()), since(up[0].Uint64()), present(users[0].Uint32()),
		load[0].Float(), load[1].Float(), load[2].Float())
	return 0
}

// since formats a duration in seconds.
func since(seconds uint64) string {
	text := " up"
	switch days := seconds / (24 * 60 * 60); days {
	case 0:
	case 1:
		text += " 1 day,"
	default:
		text += fmt.Sprintf(" %d days,", days)
	}
	minutes := seconds / 60
	if hours := minutes / 60 % 24; hours != 0 {
		return text + fmt.Sprintf(" %2d:%02d,", hours, minutes%60)
	}
	return text + fmt.Sprintf(" %d min,", minutes%60)
}

// present formats the number of users.
func present(users uint32) string {
	if users == 1 {
		return " 1 user, "
	}
	return fmt.Sprintf(" %2d users, ", users)
}
