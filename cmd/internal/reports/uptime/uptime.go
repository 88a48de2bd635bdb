package uptime

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
		return print(ctx, m, env.Seven())
	})
}

// print prints the line. With seven it is that of the beginning of the window, with question marks for missing values; 6.0.3 prints
// the first record with values from there on.
func print(ctx context.Context, m *pmcc.Manager, seven bool) int {
	position := m.Uninterpolated
	if seven {
		position = m.Interpolated
	}
	if err := position(ctx); err != nil {
		m.Failed(err)
		return 0
	}
	if !m.Lookup(ctx, upMetric, usersMetric, loadMetric) || !m.Once(ctx) {
		return 0
	}
	up, err := m.As(upMetric, pcp.TypeU64)
	if err == nil && len(up) == 0 && !seven {
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
	case seven:
	case len(users) == 0:
		return m.Errorf("%s has no value at that time", usersMetric)
	case len(load) < 3:
		return m.Errorf("%s has %d values at that time, not 3", loadMetric, len(load))
	}
	// Interpolated values are in no order.
	slices.SortFunc(load, func(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) })
	if m.JSON {
		row := m.Row("", "")
		for _, part := range []struct {
			name string
			list []pcp.Value
			at   int
		}{{"uptime", up, 0}, {"users", users, 0}, {"load1", load, 0}, {"load5", load, 1}, {"load15", load, 2}} {
			if part.at < len(part.list) {
				row.Columns.Value(part.name, part.list[part.at])
			}
		}
		row.Write()
		return 0
	}
	fmt.Fprintf(m.Out, " %s%s%s load average: %s\n", m.Clock("%H:%M:%S", m.Now()), since(up), present(users), averages(load))
	return 0
}

// since formats a duration in seconds.
func since(up []pcp.Value) string {
	text := " up"
	if len(up) == 0 {
		return text + " ? time,"
	}
	seconds := up[0].Uint64()
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
func present(users []pcp.Value) string {
	if len(users) == 0 {
		return " ? users,"
	}
	if users[0].Uint32() == 1 {
		return " 1 user, "
	}
	return fmt.Sprintf(" %2d users, ", users[0].Uint32())
}

// averages formats the load averages.
func averages(load []pcp.Value) string {
	if len(load) < 3 {
		return "?, ?, ?"
	}
	return fmt.Sprintf("%.2f, %.2f, %.2f", load[0].Float(), load[1].Float(), load[2].Float())
}
