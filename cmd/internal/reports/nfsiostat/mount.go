package nfsiostat

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/pcpjson"
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
	for _, d := range []struct {
		title string
		direction
	}{{"read:", m.read}, {"write:", m.write}} {
		fmt.Fprintf(w, "%-19s%11s%12s%13s%16s%15s%15s%17s%14s\n", d.title, "ops/s", "kB/s", "kB/op", "retrans",
			"avg RTT (ms)", "avg exe (ms)", "avg queue (ms)", "errors")
		fmt.Fprintf(w, "%19s%s%s%s%s%s%s%s%s\n", "", number(d.rate, 11), number(d.kBytes, 12), number(d.kBytesPerOp, 13),
			share(d.retrans, d.retransPct, 16), number(d.rtt, 15), number(d.execute, 15), number(d.queue, 17),
			share(d.errors, d.errorsPct, 14))
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
func (m *mount) printJSON(env *cli.Env, row pcpjson.Row) {
	row.Columns.Text("export", m.export)
	row.Columns.Number("ops/s", m.sends)
	row.Columns.Number("rpc bklog", m.backlog)
	for _, d := range []struct {
		title string
		direction
	}{{"read ", m.read}, {"write ", m.write}} {
		for _, c := range []struct {
			name string
			f    float64
		}{
			{"ops/s", d.rate},
			{"kB/s", d.kBytes},
			{"kB/op", d.kBytesPerOp},
			{"retrans", d.retrans},
			{"avg RTT (ms)", d.rtt},
			{"avg exe (ms)", d.execute},
			{"avg queue (ms)", d.queue},
			{"errors", d.errors},
		} {
			row.Columns.Number(d.title+c.name, c.f)
		}
	}
	env.Stdout.Write(pcpjson.Line(&row))
}
