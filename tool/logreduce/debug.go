package logreduce

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
)

// debug says what -D asked for.
type debug struct {
	setup   bool // appl0: the window and the metadata
	seen    bool // appl1: the instances that were recorded in an interval
	records bool // appl2: what goes in and out
}

// set takes an argument of -D, and tells whether there is nothing in it that
// this tool does not know.
func (d *debug) set(arg string) bool {
	for name := range strings.SplitSeq(arg, ",") {
		switch strings.ToLower(name) {
		case "appl0":
			d.setup = true
		case "appl1":
			d.seen = true
		case "appl2":
			d.records = true
		default:
			return false
		}
	}
	return true
}

// describeDebug shows a metric and what becomes of it.
func (x *reducer) describeDebug(m *metric, out pcp.Desc) {
	if !x.debug.setup {
		return
	}
	var b []byte
	for i, name := range x.meta.Names(m.id) {
		if i > 0 {
			b = append(b, " or "...)
		}
		b = append(b, name...)
	}
	fmt.Fprintf(x.env.Stderr, "metric: \"%s\" (%s)\ninput descriptor:\n%soutput descriptor (added to archive):\n%s",
		b, m.id, m.desc.AppendPrint(nil), out.AppendPrint(nil))
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

// dumpSeen shows the instances that were recorded up to a time.
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
