package meminfo

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// Command is pcp-meminfo.
var Command = &cli.Command{
	Name:    "meminfo",
	Link:    "pcp-meminfo",
	Group:   cli.SeeNow,
	Summary: "show the use of memory, as in /proc/meminfo",
	Doc: `Prints the lines of /proc/meminfo of a host, once for a live host, and for each sample of an
archive. Missing values are NA. Options of pcp itself (pcp -h HOST meminfo, pcp -a ARCHIVE -S TIME
meminfo) select the source and the time.`,
	Examples: []cli.Example{
		{Line: "pcp meminfo", Text: "show the memory of this host"},
		{Line: "pcp -a ARCHIVE -S @10:00 meminfo -s 1", Text: "show that of a host at ten o'clock"},
	},
	SeeAlso: []string{"pcp-free(1)", "proc(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			{Short: 'a', Arg: "FILE"},
			{Short: 's', Long: "samples", Arg: "N"},
			{Short: 'A', Long: "align", Arg: "TIME"},
			{Short: 't', Long: "interval", Arg: "DELTA"},
			{Short: 'z', Arg: "-"}, // and the arguments after this option are ignored, as in C
			cli.OptStart,
			cli.OptFinish,
			{Short: '?', Long: "help", Shown: true, Help: "show this usage message and exit"},
			cli.OptJSON,
		}
	},
	Interruptible: true,
	Run:           run,
}

// A line is a line of the report: its name, the metric, and its unit there, "B" if the metric is in
// bytes.
type line struct{ name, metric, unit string }

var lines = []line{
	{"MemTotal", "mem.physmem", "kB"},
	{"MemFree", "mem.util.free", "kB"},
	{"MemAvailable", "mem.util.available", "kB"},
	{"Buffers", "mem.util.bufmem", "kB"},
	{"Cached", "mem.util.cached", "kB"},
	{"SwapCached", "mem.util.swapCached", "kB"},
	{"Active", "mem.util.active", "kB"},
	{"Inactive", "mem.util.inactive", "kB"},
	{"Active(anon)", "mem.util.active_anon", "kB"},
	{"Inactive(anon)", "mem.util.inactive_anon", "kB"},
	{"Active(file)", "mem.util.active_file", "kB"},
	{"Inactive(file)", "mem.util.inactive_file", "kB"},
	{"Unevictable", "mem.util.unevictable", "kB"},
	{"Mlocked", "mem.util.mlocked", "kB"},
	{"SwapTotal", "mem.util.swapTotal", "kB"},
	{"SwapFree", "mem.util.swapFree", "kB"},
	{"Dirty", "mem.util.dirty", "kB"},
	{"Writeback", "mem.util.writeback", "kB"},
	{"AnonPages", "mem.util.anonpages", "kB"},
	{"Mapped", "mem.util.mapped", "kB"},
	{"Shmem", "mem.util.shared", "kB"},
	{"KReclaimable", "mem.util.kreclaimable", "kB"},
	{"Slab", "mem.util.slab", "kB"},
	{"SReclaimable", "mem.util.slabReclaimable", "kB"},
	{"SUnreclaim", "mem.util.slabUnreclaimable", "kB"},
	{"KernelStack", "mem.util.kernelStack", "kB"},
	{"PageTables", "mem.util.pageTables", "kB"},
	{"NFS_Unstable", "mem.util.NFS_Unstable", "kB"},
	{"Bounce", "mem.util.bounce", "kB"},
	{"WritebackTmp", "mem.vmstat.nr_writeback_temp", "kB"},
	{"CommitLimit", "mem.util.commitLimit", "kB"},
	{"Committed_AS", "mem.util.committed_AS", "kB"},
	{"VmallocTotal", "mem.util.vmallocTotal", "kB"},
	{"VmallocUsed", "mem.util.vmallocUsed", "kB"},
	{"VmallocChunk", "mem.util.vmallocChunk", "kB"},
	{"Percpu", "mem.util.percpu", "kB"},
	{"HardwareCorrupted", "mem.util.corrupthardware", "kB"},
	{"AnonHugePages", "mem.util.anonhugepages", "kB"},
	{"ShmemHugePages", "mem.vmstat.nr_shmem_hugepages", "kB"},
	{"ShmemPmdMapped", "mem.vmstat.nr_shmem_pmdmapped", "kB"},
	{"FileHugePages", "mem.util.filehugepages", "kB"},
	{"FilePmdMapped", "mem.util.filepmdmapped", "kB"},
	{"CmaTotal", "mem.util.cmatotal", "kB"},
	{"CmaFree", "mem.zoneinfo.nr_free_cma", "kB"},
	{"HugePages_Total", "mem.util.hugepagesTotal", ""},
	{"HugePages_Free", "mem.util.hugepagesFree", ""},
	{"HugePages_Rsvd", "mem.util.hugepagesRsvd", ""},
	{"HugePages_Surp", "mem.util.hugepagesSurp", ""},
	{"Hugepagesize", "hinv.hugepagesize", "B"},
	{"Hugetlb", "mem.util.hugetlb", "kB"},
	{"DirectMap4k", "mem.util.directMap4k", "kB"},
	{"DirectMap2M", "mem.util.directMap2M", "kB"},
	{"DirectMap1G", "mem.util.directMap1G", "kB"},
}

func run(ctx context.Context, env *cli.Env) int {
	return pmcc.Report{Kind: pmcc.Kind{Prefix: env.ProgName() + " ", Missing: "Missing:"}, Own: own}.Run(ctx, env, func(m *pmcc.Manager) int {
		var names []string
		for _, l := range lines {
			names = append(names, l.metric)
		}
		all := slices.Concat(names, pmcc.MachineMetrics())
		if status, ok := m.Use(ctx, all, len(all)); !ok {
			return status
		}
		m.Split(pmcc.Group{Names: names}, pmcc.Group{Names: pmcc.MachineMetrics()})
		begun := false
		return m.EachOrFirst(ctx, func() error {
			if m.JSON {
				printJSON(m)
				return nil
			}
			if !begun {
				machine := m.Machine()
				if machine == "" {
					return pmcc.ErrNotYet
				}
				fmt.Fprintln(m.Out, machine)
				begun = true
			}
			print(m)
			return nil
		})
	})
}

func own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'a':
		o.AddArchive(arg)
	case 'z':
		o.Common(cli.OptHostZone, "")
	case '?':
		o.WantUsage()
	default:
		return false
	}
	return true
}

// print prints the lines of a sample.
func print(m *pmcc.Manager) {
	fmt.Fprintf(m.Out, "%-18s: %s\n", "Timestamp", m.Clock("%m/%d/%Y %H:%M:%S", m.GroupTime(0)))
	for _, l := range lines {
		v := m.One(l.metric)
		switch {
		case !v.OK():
			fmt.Fprintf(m.Out, "%-17s : NA\n", l.name)
		case l.unit == "B":
			fmt.Fprintf(m.Out, "%-17s : %d kB\n", l.name, v.Int()/1024)
		default:
			fmt.Fprintf(m.Out, "%-17s : %s %s\n", l.name, v, l.unit)
		}
	}
	fmt.Fprintln(m.Out)
}

// printJSON prints the sample with --json.
func printJSON(m *pmcc.Manager) {
	row := m.Row("", "")
	row.Units = "Kbyte"
	for _, l := range lines {
		switch f, ok := m.One(l.metric).Number(); {
		case ok && l.unit == "B":
			row.Figure(l.name, pmcc.Figure{F: f / 1024, OK: true})
		default:
			row.Figure(l.name, pmcc.Figure{F: f, OK: ok})
		}
	}
	row.Write()
}
