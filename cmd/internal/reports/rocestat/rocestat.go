package rocestat

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-rocestat.
var Command = &cli.Command{
	Name:    "rocestat",
	Link:    "pcp-rocestat",
	Group:   cli.SeeNow,
	Summary: "show the counters of adapters for RDMA over Ethernet (RoCE)",
	Doc: `Prints a table of the counters of each adapter, with rates per second in parentheses, and a table of
the queues of its ports; with --hw_stats or --lane_stats only one of them. The collector must have
the agent for these metrics, which is not part of this software. Options of pcp itself (pcp -h HOST
rocestat, pcp -a ARCHIVE rocestat) select the source.`,
	Examples: []cli.Example{
		{Line: "pcp -h HOST rocestat -s 2", Text: "show the adapters of a host twice, a second apart"},
		{Line: "pcp -a ARCHIVE rocestat --lane_stats", Text: "show the queues"},
	},
	SeeAlso: []string{"pcp-netstat(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			{Long: "hw_stats", Help: "show the counters of adapters"},
			{Long: "lane_stats", Help: "show the queues of ports"},
			cli.OptStart,
			cli.OptFinish,
			{Short: 's', Long: "samples", Arg: "COUNT", Help: "number of samples to show"},
			cli.OptArchive,
			{Short: '?', Long: "help", Shown: true, Help: "show this usage message and exit"},
			{Short: 't', Arg: "DELTA"},
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

func run(ctx context.Context, env *cli.Env) int {
	hw, lanes := false, false
	return pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + " "},
		Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
			switch {
			case opt.Long == "hw_stats":
				hw = true
			case opt.Long == "lane_stats":
				lanes = true
			case opt.Short == 't':
				o.Common(cli.OptInterval, arg)
			default:
				return false
			}
			return true
		},
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		names := make([]string, 0, len(counters)+len(laneMetrics))
		for _, name := range counters {
			names = append(names, below+name)
		}
		names = append(names, laneMetrics...)
		if status, ok := m.Use(ctx, names, len(names)); !ok {
			return status
		}
		if hw == lanes {
			hw, lanes = true, true
		}
		return m.Each(ctx, func() error {
			s := &sample{m: m}
			if !m.JSON {
				fmt.Fprintf(m.Out, "zzz <%s>\n", m.Clock("%x %H:%M:%S", m.Now()))
			}
			if hw {
				if err := s.adapters(); err != nil {
					return err
				}
			}
			if lanes {
				s.lanes()
			}
			if !m.JSON {
				fmt.Fprintln(m.Out)
			}
			return nil
		})
	})
}
