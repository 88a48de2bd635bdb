package nfsiostat

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-nfsiostat.
var Command = &cli.Command{
	Name:    "nfsiostat",
	Link:    "pcp-nfsiostat",
	Group:   cli.SeeNow,
	Summary: "show reads and writes of NFS mounts and their times",
	Doc: `Prints two tables for each mount of NFS: read and write operations and bytes per second, their
times, and the number of retransmissions and failures. The first report covers the time since the
mount, the others the time since the previous report.`,
	Examples: []cli.Example{
		{Line: "pcp nfsiostat -t 5 -s 3", Text: "show the mounts of this host three times, each five seconds"},
		{Line: "pcp -a ARCHIVE nfsiostat -S @10:00 -s 2", Text: "show those of a host at ten o'clock"},
	},
	SeeAlso: []string{"nfsiostat(8)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptHost,
			cli.OptHostZone,
			cli.OptTimeZone,
			cli.OptArchive,
			cli.OptOrigin,
			cli.OptStart,
			cli.OptSamples,
			cli.OptFinish,
			cli.OptInterval,
			cli.OptHelp,
			cli.OptVersion,
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

const (
	mountpoint = "nfsclient.mountpoint"
	export     = "nfsclient.export"
	age        = "nfsclient.age"
	sends      = "nfsclient.xprt.sends"
	backlog    = "nfsclient.xprt.backlog_u"
)

// operations are the metrics below nfsclient.ops.read and nfsclient.ops.write.
var operations = []string{"ops", "errors", "execute", "rtt", "queue", "bytes_recv", "bytes_sent", "ntrans"}

func metrics() []string {
	list := []string{mountpoint, export, age, sends, backlog}
	for _, direction := range []string{"read", "write"} {
		for _, name := range operations {
			list = append(list, "nfsclient.ops."+direction+"."+name)
		}
	}
	return slices.Concat(list, pmcc.MachineMetrics())
}

func run(ctx context.Context, env *cli.Env) int {
	return pmcc.Report{}.Run(ctx, env, func(m *pmcc.Manager) int {
		all := metrics()
		if status, ok := m.Use(ctx, all, len(all)); !ok {
			return status
		}
		begun := false
		return m.Each(ctx, func() error {
			exports := m.All(export)
			if len(exports) == 0 {
				return nil
			}
			if !m.JSON {
				if !begun {
					machine := m.MachineAt("%m/%d/%Y %H:%M:%S")
					if machine == "" {
						fmt.Fprintln(m.Out, "Incorrect machine info due to some missing metrics")
						return nil
					}
					fmt.Fprintln(m.Out, machine)
					begun = true
				}
				fmt.Fprintf(m.Out, "%-18s:%s\n\n", "Timestamp", m.Clock("%m/%d/%Y %H:%M:%S", m.Now()))
			}
			for _, v := range exports {
				mnt, err := newMount(m, v.Inst)
				switch {
				case err != nil:
					return err
				case m.JSON:
					mnt.printJSON(m.Row("", mnt.point))
				default:
					mnt.print(m.Out)
				}
			}
			return nil
		})
	})
}
