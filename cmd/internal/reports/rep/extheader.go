package rep

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
	"github.com/go-pcp/pcp/pcptime"

	"github.com/go-pcp/pcp"
)

// writeExtHeader writes a description of the report.
func (p *reporter) writeExtHeader(f *form) {
	r := p.r
	host := "localhost, using DSO PMDAs"
	if !r.Options.Local {
		host = r.HostName(p.ctx)
	}
	zone, local := metricset.UTCOffset(r.Zone), metricset.UTCOffset(r.LocalZone)
	if zone != local {
		zone += " (reporting, current is " + local + ")"
	}
	origin, finish := metricset.Seconds(r.Window.Origin), metricset.Seconds(r.Window.Finish)
	interval := float64(r.Interval) / 1e9 // rounded once, unlike Seconds: 1.64 s is 1.64
	samples, duration := float64(r.Samples), r.Runtime
	switch {
	case r.Runtime != -1:
	case r.Samples != 0:
		duration = (samples - 1) * interval
	default:
		samples = max(0, math.Trunc((finish-origin)/interval+1))
		duration = max(0, (samples-1)*interval)
	}
	end := origin + duration
	instances := 0
	for _, m := range r.Set.Metrics {
		instances += len(m.Instances)
	}
	what := "instances"
	if instances == 1 {
		what = "instance"
	}
	if !f.static {
		if what += " initially"; r.Archive {
			what = what[:len(what)-len(" initially")] + " present in archive"
		}
	}
	recorded := r.Archive && !r.Interpolated
	if recorded {
		duration = max(0, finish-origin)
	}
	count := strconv.FormatFloat(samples, 'f', 0, 64)
	if a, ok := r.Context.Archive(); ok {
		if t, err := a.End(p.ctx); err == nil {
			end = metricset.Seconds(t)
		}
	}
	if recorded {
		if r.Options.Samples != 0 {
			count += " (requested)"
		} else {
			count = "N/A"
		}
	}
	lead := ""
	if f.output == outCSV {
		lead = "#"
	}
	line := func(text string) { p.out.WriteString(lead + text + "\n") }
	line("")
	switch {
	case r.Archive && p.env.Seven():
		line("   source: " + r.Source + " (archive)")
	case r.Archive:
		line("  archive: " + r.Source)
	case p.env.Seven():
		line("   source: pmcd (live)")
	}
	line("     host: " + host)
	line(" timezone: " + zone)
	line("    start: " + p.ctime(origin))
	line("      end: " + p.ctime(end))
	line(fmt.Sprintf("  metrics: %d (%d %s)", len(r.Set.Metrics), instances, what))
	line("  samples: " + count)
	if recorded {
		line(" interval: N/A")
	} else {
		line(" interval: " + pytext.Float(interval) + " sec")
	}
	line(" duration: " + spanText(duration))
	line("")
}

func (p *reporter) ctime(sec float64) string {
	return pcptime.Ctime(pcp.Timestamp{Sec: int64(math.Floor(sec))}, p.r.Loc)
}

// spanText formats a span of time for users: "03:04:05", "2 days, 03:04:05".
func spanText(sec float64) string {
	total := int64(math.Floor(sec + math.Copysign(0.5, sec)))
	const day = int64(24 * time.Hour / time.Second)
	days := total / day
	if total < 0 && total%day != 0 {
		days--
	}
	rest := total - days*day
	text := fmt.Sprintf("%02d:%02d:%02d", rest/3600, rest/60%60, rest%60)
	switch days {
	case 0:
		return text
	case 1, -1:
		return fmt.Sprintf("%d day, %s", days, text)
	}
	return fmt.Sprintf("%d days, %s", days, text)
}
