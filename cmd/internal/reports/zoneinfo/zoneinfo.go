package zoneinfo

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp-zoneinfo.
var Command = &cli.Command{
	Name:    "zoneinfo",
	Link:    "pcp-zoneinfo",
	Group:   "Metrics",
	Summary: "show the zones of memory of each node, as /proc/zoneinfo does",
	Doc: `Prints what each node has of memory, and each zone of it, in pages of 4 kB: once for a live host, and for each sample of an
archive. Counters such as numa_hit are divided by 4 like all others, as in the C program. Options of pcp itself (pcp -h HOST zoneinfo,
pcp -a ARCHIVE -S TIME zoneinfo) say where the values come from, and of which time.`,
	Examples: []cli.Example{
		{Line: "pcp zoneinfo", Text: "show the zones of this host"},
		{Line: "pcp -a ARCHIVE -S @10:00 zoneinfo -s 1", Text: "show those of a host at ten o'clock"},
	},
	SeeAlso: []string{"pcp-buddyinfo(1)", "proc(5)"},
	Options: []cli.Option{
		cli.Heading("General options"),
		{Short: 'a', Arg: "FILE"},
		cli.OptHostZone,
		cli.OptTimeZone,
		cli.OptHelp,
		cli.OptSamples,
		cli.OptVersion,
		cli.OptJSON,
	},
	Interruptible: true,
	Run:           run,
}

// errMachine is the C program's message for anything that it does not find.
//
//lint:ignore ST1005 these are the words of the C program, to the user
var errMachine = errors.New("Incorrect machine info due to some missing metrics")

func run(ctx context.Context, env *cli.Env) int {
	o := source.Parse(env, cli.ParseConfig{Archives: true, HighRes: true, Own: pmcc.TakeArchive})
	if status, exit := o.Done(); exit {
		return status
	}
	m, status := pmcc.Open(ctx, env, o, pmcc.Kind{})
	if m == nil {
		return status
	}
	defer m.Close()
	names := full(always)
	all := append(names[:len(names):len(names)], full(since5)...)
	whole := len(m.Missing(ctx, all...)) == 0
	if whole {
		names = all
	}
	if status, ok := m.UseEach(ctx, names, pmcc.MachineMetrics()); !ok {
		return status
	}
	m.Split(pmcc.Group{Names: names}, pmcc.Group{Names: pmcc.MachineMetrics()}, pmcc.Group{Names: append(names, pmcc.MachineMetrics()...), Unread: true})
	var failed error
	status = m.Run(ctx, func() bool {
		s := newSample(m, whole)
		switch {
		case len(s.zones) == 0:
		case o.JSON:
			s.printJSON(ctx, env)
		default:
			failed = report(env, m, s)
		}
		return failed == nil && (m.Archive || o.SamplesSet)
	})
	if failed != nil {
		return env.Fatalf("%v", failed)
	}
	return status
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
func report(env *cli.Env, m *pmcc.Manager, s *sample) error {
	machine := m.Machine()
	if machine == "" {
		fmt.Fprintln(env.Stdout, errMachine)
		return nil
	}
	fmt.Fprintf(env.Stdout, "%s\nTimeStamp = %s\n", machine, m.Clock("%H:%M:%S", m.GroupTime(1)))
	print := s.printNodes
	if !s.whole {
		print = s.printZones
	}
	err := print(env.Stdout)
	if errors.Is(err, errMachine) {
		fmt.Fprintln(env.Stdout, err)
		return nil
	}
	return err
}
