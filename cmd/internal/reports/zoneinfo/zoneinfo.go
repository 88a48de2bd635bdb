package zoneinfo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-zoneinfo.
var Command = &cli.Command{
	Name:    "zoneinfo",
	Link:    "pcp-zoneinfo",
	Group:   cli.SeeNow,
	Summary: "show the memory zones of each node, as in /proc/zoneinfo",
	Doc: `Prints the memory of each node and of each of its zones, in pages of 4 kB: once for a live host, and
for each sample of an archive. Counters such as numa_hit are divided by 4 like all others, as in the
C program. Options of pcp itself (pcp -h HOST zoneinfo, pcp -a ARCHIVE -S TIME zoneinfo) select the
source and the time.`,
	Examples: []cli.Example{
		{Line: "pcp zoneinfo", Text: "show the zones of this host"},
		{Line: "pcp -a ARCHIVE -S @10:00 zoneinfo -s 1", Text: "show those of a host at ten o'clock"},
	},
	SeeAlso: []string{"pcp-buddyinfo(1)", "proc(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'a', Arg: "FILE"},
			cli.OptHostZone,
			cli.OptTimeZone,
			cli.OptHelp,
			cli.OptSamples,
			cli.OptVersion,
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

// errMachine is the C program's message for anything that it does not find.
//
//lint:ignore ST1005 these are the words of the C program, to the user
var errMachine = errors.New("Incorrect machine info due to some missing metrics")

func run(ctx context.Context, env *cli.Env) int {
	return pmcc.Report{Own: pmcc.TakeArchive}.Run(ctx, env, func(m *pmcc.Manager) int {
		names := full(always)
		all := slices.Concat(names, full(since5))
		whole := len(m.Missing(ctx, all...)) == 0
		if whole {
			names = all
		}
		machine := pmcc.MachineMetrics()
		if status, ok := m.UseEach(ctx, names, machine); !ok {
			return status
		}
		m.Split(pmcc.Group{Names: names}, pmcc.Group{Names: machine}, pmcc.Group{Names: slices.Concat(names, machine), Unread: true})
		return m.EachOrFirst(ctx, func() error {
			switch s := newSample(m, whole); {
			case len(s.zones) == 0:
				return nil
			case m.JSON:
				s.printJSON()
				return nil
			default:
				return report(m, s)
			}
		})
	})
}

// full returns the full names of metrics.
func full(names []string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = below + name
	}
	return list
}

// report prints a sample.
func report(m *pmcc.Manager, s *sample) error {
	machine := m.Machine()
	if machine == "" {
		fmt.Fprintln(m.Out, errMachine)
		return nil
	}
	fmt.Fprintf(m.Out, "%s\nTimeStamp = %s\n", machine, m.Clock("%H:%M:%S", m.GroupTime(1)))
	print := s.printNodes
	if !s.whole {
		print = s.printZones
	}
	err := print(m.Out)
	if errors.Is(err, errMachine) {
		fmt.Fprintln(m.Out, err)
		return nil
	}
	return err
}
