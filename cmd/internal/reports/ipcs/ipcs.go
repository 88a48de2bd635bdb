package ipcs

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/pcpjson"
)

// Command is pcp-ipcs.
var Command = &cli.Command{
	Name:    "ipcs",
	Link:    "pcp-ipcs",
	Group:   cli.SeeNow,
	Summary: "show limits and use of System V message queues, shared memory and semaphores",
	Doc: `Prints the limits or the use of interprocess communication. Without an option it prints nothing,
like the C program. Options of pcp itself (pcp -h HOST ipcs -l, pcp -a ARCHIVE -S TIME ipcs -u)
select the host and the time.`,
	Examples: []cli.Example{
		{Line: "pcp ipcs -l", Text: "show the limits"},
		{Line: "pcp ipcs -u", Text: "show the use"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'l', Long: "limits", Help: "show limits"},
			{Short: 'u', Long: "summary", Help: "show the use"},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Interruptible: true,
	Run:           run,
}

// A line is an output line: a value in its format, or a heading if it has no metric.
type line struct {
	format string
	metric string
	table  string // in JSON
	column string
	scale  func(n, page float64) float64 // nil: as it is
}

var limits = []line{
	{format: "\n------ Messages Limits --------"},
	{"max queues system wide = %d", "ipc.msg.max_msgqid", "messages", "max_queues", nil},
	{"max size of message (bytes) = %d", "ipc.msg.max_msgsz", "messages", "max_message_bytes", nil},
	{"default max size of queue (bytes) = %d", "ipc.msg.max_defmsgq", "messages", "default_queue_bytes", nil},
	{format: "\n------ Shared Memory Limits --------"},
	{"max number of segments = %d", "ipc.shm.max_seg", "shared memory", "max_segments", nil},
	{"max seg size (kbytes) = %d", "ipc.shm.max_segsz", "shared memory", "max_segment_kbytes", func(n, _ float64) float64 { return n / 1024 }},
	{"max total shared memory (kbytes) = %d", "ipc.shm.max_shmsys", "shared memory", "max_total_kbytes", func(n, page float64) float64 { return n * (page / 1024) }},
	{"min seg size (bytes) = %d", "ipc.shm.min_segsz", "shared memory", "min_segment_bytes", nil},
	{format: "\n------ Semaphore Limits --------"},
	{"max number of arrays = %d", "ipc.sem.max_semid", "semaphores", "max_arrays", nil},
	{"max semaphores per array = %d", "ipc.sem.max_perid", "semaphores", "max_per_array", nil},
	{"max semaphores system wide = %d", "ipc.sem.num_undo", "semaphores", "max_semaphores", nil},
	{"max ops per semop call = %d", "ipc.sem.max_ops", "semaphores", "max_operations", nil},
	{"semaphore max value = %d", "ipc.sem.max_semval", "semaphores", "max_value", nil},
}

var use = []line{
	{format: "\n------ Messages Status --------"},
	{"allocated queues = %d", "ipc.msg.used_queues", "messages", "queues", nil},
	{"used headers = %d", "ipc.msg.tot_msg", "messages", "headers", nil},
	{"used space = %d  bytes", "ipc.msg.tot_bytes", "messages", "bytes", nil},
	{format: "\n------ Shared Memory Status --------"},
	{"segments allocated   %d", "ipc.shm.used_ids", "shared memory", "segments", nil},
	{"pages allocated    %d", "ipc.shm.tot", "shared memory", "pages", func(n, page float64) float64 { return n / page }},
	{"pages resident   %d", "ipc.shm.rss", "shared memory", "pages_resident", func(n, page float64) float64 { return n / page }},
	{"pages swapped   %d", "ipc.shm.swp", "shared memory", "pages_swapped", nil},
	{"Swap performance: %d attempts", "ipc.shm.swap_attempts", "shared memory", "swap_attempts", nil},
	{"     %d successes", "ipc.shm.swap_successes", "shared memory", "swap_successes", nil},
	{format: "\n------ Semaphore Status --------"},
	{"used arrays = %d", "ipc.sem.used_sem", "semaphores", "arrays", nil},
	{"allocated semaphores = %d", "ipc.sem.tot_sem", "semaphores", "semaphores", nil},
}

const pageMetric = "hinv.pagesize"

func run(ctx context.Context, env *cli.Env) int {
	var limited, used bool
	return pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true},
		Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
			switch opt.Short {
			case 'l':
				limited = true
			case 'u':
				used = true
			default:
				return false
			}
			return true
		},
	}.Run(ctx, env, func(m *pmcc.Manager) int { return print(ctx, m, limited, used) })
}

// print prints the limits, or else the use.
func print(ctx context.Context, m *pmcc.Manager, limited, used bool) int {
	// All metrics must exist, whichever are shown.
	chosen := use
	for _, lines := range [...][]line{limits, use} {
		if !m.Lookup(ctx, metrics(lines)...) {
			return 0
		}
	}
	switch {
	case limited:
		chosen = limits
	case !used:
		return 0
	}
	if !m.Lookup(ctx, metrics(chosen)...) || !m.Once(ctx) {
		return 0
	}
	values := make(map[string]float64)
	at := m.Time()
	for _, name := range metrics(chosen) {
		list, err := m.As(name, pcp.TypeU32)
		if err != nil {
			m.Failed(err)
			return 0
		}
		if len(list) > 0 {
			values[name] = float64(list[0].Uint32())
		}
	}
	if !m.Lookup(ctx, pageMetric) || !m.Once(ctx) {
		return 0
	}
	page, err := m.As(pageMetric, pcp.TypeU32)
	switch {
	case err != nil:
		m.Failed(err)
		return 0
	case len(page) == 0:
		page = []pcp.Value{pcp.Uint32Value(0)}
	}
	size := float64(page[0].Uint32())
	if used && !limited && size == 0 {
		return m.Errorf("%s has no value, by which memory is divided", pageMetric)
	}
	if m.JSON {
		tables(m, at, chosen, values, size)
		return 0
	}
	for i, l := range chosen {
		if l.metric == "" {
			fmt.Fprintln(m.Out, l.format)
			continue
		}
		fmt.Fprintf(m.Out, l.format, uint64(l.value(values, size)))
		if i+1 == len(chosen) || chosen[i+1].format[0] != ' ' { // which continues the line
			fmt.Fprintln(m.Out)
		}
	}
	return 0
}

func metrics(lines []line) []string {
	var names []string
	for _, l := range lines {
		if l.metric != "" {
			names = append(names, l.metric)
		}
	}
	return names
}

func (l *line) value(values map[string]float64, page float64) float64 {
	n := values[l.metric]
	if l.scale != nil {
		n = l.scale(n, page)
	}
	return n
}

// tables prints a JSON object for each table, of values of a time.
func tables(m *pmcc.Manager, at pcp.Timestamp, lines []line, values map[string]float64, page float64) {
	var names []string
	for _, l := range lines {
		if l.table != "" && !slices.Contains(names, l.table) {
			names = append(names, l.table)
		}
	}
	for _, name := range names {
		row := m.Row(name, "")
		row.Time = pcpjson.Time(at)
		for _, l := range lines {
			if l.table == name {
				row.Columns.Number(l.column, l.value(values, page))
			}
		}
		row.Write()
	}
}
