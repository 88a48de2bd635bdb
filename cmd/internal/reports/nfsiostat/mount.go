package nfsiostat

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/table"
)

// A mount is a mount in the time between two samples; in the first sample, since it was
// mounted.
type mount struct {
	export, point string
	sends         float64 // in a second
	backlog       float64
	read, write   direction
}

// A direction is the reads or the writes of a mount.
type direction struct {
	rate, kBytes        float64 // in a second
	kBytesPerOp         float64
	retrans, retransPct float64
	rtt, execute, queue float64 // milliseconds of an operation
	errors, errorsPct   float64
}

// newMount returns a mount of the sample. All its metrics must have values.
func newMount(m *pmcc.Manager, inst int32) (*mount, error) {
	var missing error
	value := func(name string) pmcc.Value {
		v := m.Of(name, inst)
		if !v.OK() && missing == nil {
			missing = fmt.Errorf("%s: no value for %q", name, m.Of(export, inst))
		}
		return v
	}
	grown := func(name string) float64 {
		v := value(name)
		if d, ok := v.Minus(m.Before(name, inst)); ok {
			v = d
		}
		f, _ := v.Number()
		return f
	}
	seconds := grown(age)
	way := func(name string) direction {
		get := func(last string) float64 { return grown("nfsclient.ops." + name + "." + last) }
		ops := get("ops")
		d := direction{errors: get("errors"), retrans: get("ntrans") - ops}
		kBytes := (get("bytes_sent") + get("bytes_recv")) / 1024
		rtt, execute, queue := get("rtt"), get("execute"), get("queue")
		if seconds > 0 {
			d.rate, d.kBytes = ops/seconds, kBytes/seconds
		}
		if ops > 0 {
			d.kBytesPerOp = kBytes / ops
			d.rtt, d.execute, d.queue = rtt/ops, execute/ops, queue/ops
			d.retransPct, d.errorsPct = d.retrans*100/ops, d.errors*100/ops
		}
		return d
	}
	mnt := &mount{
		export: value(export).String(), point: value(mountpoint).String(), backlog: grown(backlog),
		sends: grown(sends), read: way("read"), write: way("write"),
	}
	if seconds > 0 {
		mnt.sends /= seconds
	} else {
		mnt.sends = 0
	}
	return mnt, missing
}

// print prints the tables of a mount.
func (m *mount) print(w io.Writer) {
	fmt.Fprintf(w, "%s mounted on %s:\n", m.export, m.point)
	fmt.Fprintf(w, "%14s%11s%16s\n", "", "ops/s", "rpc bklog")
	fmt.Fprintf(w, "%14s%s%s\n\n", "", number(m.sends, 11), number(m.backlog, 16))
	for _, way := range m.ways() {
		columns := columns("")
		fmt.Fprintf(w, "%-19s%s\n%19s%s\n", way.title+":", columns.Titles(), "", columns.Line(way.direction))
	}
	fmt.Fprintln(w)
}

// number formats f with three decimals, or with an exponent if that does not fit.
func number(f float64, width int) string {
	return fit(width, fmt.Sprintf("%.3f", f), exponent(f, width))
}

// exponent formats f with an exponent and as many digits as fit.
func exponent(f float64, width int) string { return fmt.Sprintf("%.*e", max(0, width-7), f) }

// share formats a count and its share of the total.
func share(count, percent float64, width int) string {
	n := int64(count)
	return fit(width, fmt.Sprintf("%d (%.1f%%)", n, percent), fmt.Sprintf("%d (%.1e%%)", n, percent), exponent(float64(n), width))
}

// fit returns the first of the texts that fits, right-aligned.
func fit(width int, texts ...string) string {
	for _, s := range texts {
		if len(s) <= width {
			return strings.Repeat(" ", width-len(s)) + s
		}
	}
	return strings.Repeat("#", width)
}

// printJSON prints the mount with --json.
func (m *mount) printJSON(row pmcc.Row) {
	row.Columns.Text("export", m.export)
	row.Columns.Number("ops/s", m.sends)
	row.Columns.Number("rpc bklog", m.backlog)
	for _, way := range m.ways() {
		columns(way.title+" ").AddTo(&row.Columns, way.direction)
	}
	row.Write()
}

// A way is a direction with its name.
type way struct {
	title string
	direction
}

func (m *mount) ways() []way { return []way{{"read", m.read}, {"write", m.write}} }

// columns returns the columns of a direction. In JSON their names have a prefix.
func columns(prefix string) table.Columns[direction] {
	column := func(title string, width int, cell func(direction) table.Cell) table.Column[direction] {
		return table.Column[direction]{Name: prefix + title, Title: title, Format: fmt.Sprintf("%%%ds", width), Cell: cell}
	}
	plain := func(title string, width int, f func(direction) float64) table.Column[direction] {
		return column(title, width, func(d direction) table.Cell { return table.Fixed{F: f(d), Text: number(f(d), width)} })
	}
	return table.Columns[direction]{
		plain("ops/s", 11, func(d direction) float64 { return d.rate }),
		plain("kB/s", 12, func(d direction) float64 { return d.kBytes }),
		plain("kB/op", 13, func(d direction) float64 { return d.kBytesPerOp }),
		column("retrans", 16, func(d direction) table.Cell {
			return table.Fixed{F: d.retrans, Text: share(d.retrans, d.retransPct, 16)}
		}),
		plain("avg RTT (ms)", 15, func(d direction) float64 { return d.rtt }),
		plain("avg exe (ms)", 15, func(d direction) float64 { return d.execute }),
		plain("avg queue (ms)", 17, func(d direction) float64 { return d.queue }),
		column("errors", 14, func(d direction) table.Cell { return table.Fixed{F: d.errors, Text: share(d.errors, d.errorsPct, 14)} }),
	}
}
