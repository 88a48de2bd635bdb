package ps

import (
	"context"
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/pcpjson"
)

// objects prints a row for each selected process, once regardless of the number of lists: with the columns of
// -o, else with all.
func (l *list) objects(ctx context.Context) {
	names := l.columns
	if !l.chosen || l.everything {
		names = nil
		for _, c := range columns() {
			if c.name != "cmd" { // which equals args
				names = append(names, c.name)
			}
		}
	}
	for _, p := range l.processes() {
		row := l.m.Row(ctx, "", p.Get("proc.psinfo.pid").String())
		for _, name := range names {
			l.field(&row, name, p)
		}
		row.Write()
	}
}

// field adds a column. The values match the names, even where the columns of the C program show something else.
func (l *list) field(row *pmcc.Row, name string, p pmcc.Process) {
	metric := map[string]string{
		"cmd": "proc.psinfo.psargs", "args": "proc.psinfo.psargs", "pid": "proc.psinfo.pid", "ppid": "proc.psinfo.ppid", "pri": "proc.psinfo.priority",
		"state": "proc.psinfo.sname", "rss": "proc.psinfo.rss", "rtprio": "proc.psinfo.rt_priority", "tty": "proc.psinfo.ttyname",
		"pname": "proc.psinfo.cmd", "uid": "proc.id.uid", "vsize": "proc.psinfo.vsize", "uname": "proc.id.uid_nm", "wchan": "proc.psinfo.wchan_s",
	}[name]
	switch name {
	case "%cpu":
		row.Figure(name, p.Total())
	case "%mem":
		row.Figure(name, p.Memory())
	case "start":
		since, ok := p.Get("proc.psinfo.start_time").Number()
		boot, okBoot := l.m.One("kernel.all.boottime").Number()
		at := boot + since/1000
		if !ok || !okBoot || at < 0 || at > 1<<40 {
			row.Columns.Unknown(name)
			break
		}
		row.Columns.Text(name, pcpjson.Time(pcp.Timestamp{Sec: int64(at), Nsec: int32(1000*math.Mod(at, 1)) * 1e6}))
	case "time":
		system, ok := p.Get("proc.psinfo.stime").Number()
		user, okUser := p.Get("proc.psinfo.utime").Number()
		if !ok || !okUser {
			row.Columns.Unknown(name)
			break
		}
		row.Columns.Number(name, system+user)
	case "cls":
		row.Policy(name, p)
	default:
		row.Value(name, p.Get(metric))
	}
}
