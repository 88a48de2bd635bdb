package ss

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pcptime"
)

// zone returns the time zone of the environment.
func zone(env *cli.Env) *time.Location { return pcptime.Local(env.Getenv("TZ")) }

// sockets returns the instances of all metrics, in the order of the C program: those of the first metric by
// number, and then additional instances of the others.
func (l *list) sockets() []int32 {
	var list []int32
	seen := make(map[int32]bool)
	for i := range l.names[1:] {
		begin := len(list)
		for _, v := range l.res.Sets[i+1].Values {
			if !seen[v.Inst] {
				seen[v.Inst] = true
				list = append(list, v.Inst)
			}
		}
		slices.Sort(list[begin:])
	}
	return list
}

// text returns the value of a string metric, "" if it is missing.
func (l *list) text(metric string, inst int32) string {
	v, ok := l.by[metric][inst]
	if !ok {
		return ""
	}
	s, _ := v.Text()
	return strings.ToValidUTF8(s, "\ufffd")
}

// selected reports whether the options select a socket.
func (l *list) selected(inst int32) bool {
	switch kind := l.text("netid", inst); kind {
	case "tcp", "udp", "unix", "raw":
		if !l.args[kind] {
			return false
		}
	default:
		return false
	}
	switch state := l.text("state", inst); {
	case l.env.Seven() && !l.asked(state, l.text("netid", inst)):
		return false
	case !l.env.Seven() && !l.args["all"] && l.args["listening"] && state != "LISTEN":
		return false
	}
	address := l.text("src", inst)
	if address == "" {
		address = l.text("dst", inst)
	}
	if strings.HasPrefix(address, "[") {
		return l.args["ipv6"]
	}
	return l.args["ipv4"]
}

// asked reports whether -a and -l of PCP 7 select a socket in that state. Without them neither TCP sockets that listen nor UDP sockets that are
// not connected are listed.
func (l *list) asked(state, kind string) bool {
	if kind == "udp" && state == "UNCONN" {
		return l.args["listening"]
	}
	return l.args["all"] || l.args["listening"] == (state == "LISTEN")
}

// A field is a part of a row.
type field struct {
	format string
	metric string
	other  any // placeholder for a missing value
}

var (
	columns = []field{
		{"%-6s", "netid", ""},
		{"%-9s", "state", "-"},
		{"%6d", "recvq", 0},
		{"%6d", "sendq", 0},
	}
	addresses  = []field{{"%26s ", "src", ""}, {"%-26s", "dst", ""}}
	addresses7 = []field{{" %25s", "src", ""}, {" %-25s", "dst", ""}} // of PCP 7
	extended   = []field{
		{" uid:%d", "uid", 0},
		{" inode:%d", "inode", 0},
		{" sk:%x", "sk", 0},
		{" cgroup:%s", "cgroup", ""},
	}
	flags = []string{"ts", "sack", "cubic"}
	info  = []field{
		{" wscale:%s", "wscale.str", ""},
		{" rtt:%s", "round_trip.str", ""},
		{" ato:%.0f", "ato", 0.0},
		{" mss:%d", "mss", 0},
		{" cwnd:%d", "cwnd", 0},
		{" pmtu:%d", "pmtu", 0},
		{" ssthresh:%d", "ssthresh", 0},
		{" bytes_sent:%d", "bytes_sent", 0},
		{" bytes_acked:%d", "bytes_acked", 0},
		{" bytes_received:%d", "bytes_received", 0},
		{" segs_out:%d", "segs_out", 0},
		{" segs_in:%d", "segs_in", 0},
		{" send %.0fbps", "send", 0.0},
		{" lastsnd:%.0f", "lastsnd", 0.0},
		{" lastrcv:%.0f", "lastrcv", 0.0},
		{" lastack:%.0f", "lastack", 0.0},
		{" pacing_rate %.0fbps", "pacing_rate", 0.0},
		{" delivery_rate %.0fbps", "delivery_rate", 0.0},
		{" rcv_space:%d", "rcv_space", 0},
	}
)

// show formats a field of a socket.
func (l *list) show(f field, inst int32) string {
	v, ok := l.by[f.metric][inst]
	if !ok {
		return fmt.Sprintf(f.format, f.other)
	}
	number, numeric := v.Float64()
	switch {
	case strings.HasSuffix(strings.TrimRight(f.format, " "), "s") && strings.Contains(f.format, "%") && isText(f.other):
		if s, ok := v.Text(); ok {
			return fmt.Sprintf(f.format, strings.ToValidUTF8(s, "\ufffd"))
		}
		return fmt.Sprintf(f.format, plain(v))
	case !numeric:
		return fmt.Sprintf(f.format, f.other)
	case isFloat(f.other):
		return fmt.Sprintf(f.format, number)
	}
	return fmt.Sprintf(f.format, whole(v))
}

func isText(v any) bool { _, ok := v.(string); return ok }

func isFloat(v any) bool { _, ok := v.(float64); return ok }

// plain formats a number as Python's str does.
func plain(v pcp.Value) string {
	if v.Type() == pcp.TypeFloat || v.Type() == pcp.TypeDouble {
		f, _ := v.Float64()
		return fmt.Sprint(f)
	}
	return fmt.Sprint(whole(v))
}

// whole formats a number without a fraction.
func whole(v pcp.Value) any {
	if v.Type() == pcp.TypeU64 {
		return v.Uint64()
	}
	return v.Int64()
}

// print prints the sockets, and returns the exit status.
func (l *list) print(ctx context.Context) int {
	if l.args["json"] {
		l.json(ctx)
		return 0
	}
	out := l.env.Stdout
	if !l.args["noheader"] {
		names := l.res.Sets[0]
		if len(names.Values) == 0 {
			return l.failed(noValue(&names))
		}
		text, _ := names.Values[0].As(l.descs[0].Type).Text()
		t := l.res.Time.Time().In(l.loc)
		stamp := t.Format("2006-01-02 15:04:05")
		if us := t.Nanosecond() / 1000; us != 0 {
			stamp += fmt.Sprintf(".%06d", us)
		}
		fmt.Fprintf(out, "# Time: %s Filter: %s\n", stamp, text)
		fmt.Fprintf(out, "Netid  State  Recv-Q Send-Q %25s %-25s  Process\n", "Local Address:Port", "Peer Address:Port")
	}
	for _, inst := range l.sockets() {
		if l.selected(inst) {
			fmt.Fprintln(out, l.row(inst))
		}
	}
	return 0
}

// noValue returns the reason why a metric has no value.
func noValue(set *pcp.ValueSet) error {
	if set.Err != 0 {
		return set.Err
	}
	return pcp.ErrValue
}

func (l *list) row(inst int32) string {
	var b strings.Builder
	all := func(fields []field) {
		for _, f := range fields {
			b.WriteString(l.show(f, inst))
		}
	}
	all(columns)
	if l.env.Seven() {
		all(addresses7)
	} else {
		all(addresses)
	}
	if l.args["options"] {
		if s := l.text("timer.str", inst); s != "" {
			fmt.Fprintf(&b, " timer(%s)", s)
		}
	}
	if l.args["extended"] {
		all(extended)
		if v, ok := l.by["v6only"][inst]; ok && v.Int64() != 0 {
			fmt.Fprintf(&b, " v6only:%d", v.Int64())
		}
		b.WriteString(" <->")
	}
	if !l.args["oneline"] && l.args.any("memory", "info") {
		b.WriteByte('\n')
	}
	if l.args["memory"] {
		if s := l.text("skmem.str", inst); s != "" {
			fmt.Fprintf(&b, " skmem(%s)", s)
		}
	}
	if l.args["info"] {
		for _, name := range flags {
			if f, ok := l.by[name][inst].Float64(); ok && f != 0 {
				b.WriteString(" " + name)
			}
		}
		all(info)
	}
	return b.String()
}

// json prints the sockets with all known values.
func (l *list) json(ctx context.Context) {
	host, _ := l.c.HostName(ctx)
	row := pcpjson.Row{Time: pcpjson.Time(l.res.Time), Host: host}
	for _, inst := range l.sockets() {
		if !l.selected(inst) {
			continue
		}
		row.Columns = nil
		for _, name := range l.names[1:] {
			if v, ok := l.by[name][inst]; ok {
				row.Columns.Value(name, v)
			}
		}
		l.env.Stdout.Write(pcpjson.Line(&row))
	}
}
