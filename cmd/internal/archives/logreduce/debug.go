package logreduce

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
)

// debug holds the debug options of -D.
type debug struct {
	setup   bool // appl0: print the window and the metadata
	seen    bool // appl1: the instances that were recorded in an interval
	records bool // appl2: print records read and written
}

// debugOf returns the debug options of o.
func debugOf(o *cli.Options) debug {
	return debug{setup: o.Debugging("appl0"), seen: o.Debugging("appl1"), records: o.Debugging("appl2")}
}

// describeDebug prints a metric and its fate.
func (x *reducer) describeDebug(m *metric, out pcp.Desc) {
	if !x.debug.setup {
		return
	}
	fmt.Fprintf(x.env.Stderr, "metric: \"%s\" (%s)\ninput descriptor:\n%soutput descriptor (added to archive):\n%s",
		strings.Join(x.meta.Names(m.id), " or "), m.id, report.AppendDesc(nil, &m.desc), report.AppendDesc(nil, &out))
	if m.indom != nil {
		fmt.Fprintf(x.env.Stderr, "    indom %s -> (%p)\n", m.indom.id, m.indom)
	}
}

// dump shows a record.
func (x *reducer) dump(what string, res *pcp.Result) {
	if !x.debug.records {
		return
	}
	w := x.env.Stderr
	if len(res.Sets) == 0 {
		fmt.Fprintf(w, "%s record ... none!\n", what)
		return
	}
	fmt.Fprintf(w, "%s record ...\n%s numpmid: %d\n", what, res.Time.AppendHighResStamp(nil, x.loc), len(res.Sets))
	for i := range res.Sets {
		vs := &res.Sets[i]
		fmt.Fprintf(w, "  %s (%s):", vs.PMID, x.byID[vs.PMID].name)
		switch {
		case vs.Err != 0:
			fmt.Fprintf(w, " %v\n", vs.Err)
			continue
		case len(vs.Values) == 0:
			fmt.Fprintln(w, " No values returned!")
			continue
		}
		fmt.Fprintf(w, " numval: %d valfmt: %d vlist[]:\n", len(vs.Values), vs.ValFmt)
		for _, v := range vs.Values {
			fmt.Fprintf(w, "    inst [%d] value %s\n", v.Inst, v.AppendPrint(nil, pcp.TypeUnknown, 1, x.loc))
		}
	}
}

// dumpSeen prints the instances that were recorded up to a time.
func (x *reducer) dumpSeen(end pcp.Timestamp) {
	if !x.debug.seen {
		return
	}
	stamp := end.AppendHighResStamp(nil, x.loc)
	for _, m := range x.metrics {
		for i := range m.seen.slots {
			if sl := &m.seen.slots[i]; m.seen.recorded(sl, x.scan.interval) {
				fmt.Fprintf(x.env.Stderr, "%s: seen %s (%s) inst %d\n", stamp, m.name, m.id, sl.inst)
			}
		}
	}
}
