package rocestat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// laneMetrics are the metrics of a queue.
var laneMetrics = []string{"rocestat.lane.tx_bytes", "rocestat.lane.rx_bytes", "rocestat.lane.rx_pause"}

// queues are the names of the queues of a port.
var queues = []string{
	"Default(TCP) - 0", "Normal Large - 1", "VIP Small - 2", "VIP Large - 3", "Normal Small - 4", "VIP Small - 5", "Unused - 6", "CNP - 7",
}

// A sample holds the printed values of a sample.
type sample struct {
	m *pmcc.Manager
}

// adapters prints the table of adapters, a column each. The instances of the first counter are the adapters.
func (s *sample) adapters() error {
	var names []string
	for _, v := range s.m.Named(below + counters[0]) {
		if !strings.HasSuffix(v.Name, "_delta") {
			names = append(names, v.Name)
		}
	}
	width := 0
	for _, c := range counters {
		width = max(width, 5+len(last(c)))
	}
	row := func(first string, cells []string) string {
		line := fmt.Sprintf("%*s ", width, first)
		for i, c := range cells {
			cells[i] = fmt.Sprintf("%25s", c)
		}
		return line + strings.Join(cells, " ")
	}
	lines := []string{row("Counter", slices.Clone(names))}
	rows := make([]pmcc.Row, len(names))
	for i, name := range names {
		rows[i] = s.m.Row("adapter", name)
	}
	for _, c := range counters {
		now, before := pmcc.ByName(s.m.Named(below+c)), pmcc.ByName(s.m.NamedBefore(below+c))
		var cells []string
		for i, name := range names {
			v, ok := now[name]
			if !ok {
				return fmt.Errorf("%s%s: no value for %q", below, c, name)
			}
			was, sampled := before[name]
			cells = append(cells, fmt.Sprintf("%s(%s)", v, s.rate(v, was, sampled, strings.Contains(last(c), "data"))))
			f, _ := v.Number()
			rows[i].Columns.Number(c, f)
		}
		for name := range now {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%s%s: %q is not an adapter", below, c, name)
			}
		}
		lines = append(lines, row(last(c), cells))
	}
	if s.m.JSON {
		for i := range rows {
			rows[i].Write()
		}
		return nil
	}
	if len(names) > 0 {
		fmt.Fprintln(s.m.Out, strings.Join(lines, "\n"))
	}
	fmt.Fprintln(s.m.Out)
	return nil
}

// last returns the last part of a name.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// rate formats the increase of a counter per second, in units of 10^9 for data, without a decimal point if it is a
// whole number.
func (s *sample) rate(v, was pmcc.Value, sampled, data bool) string {
	grown, ok := v.Minus(was)
	if !sampled || !ok {
		return "0"
	}
	f, _ := grown.Number()
	if f /= s.m.Elapsed(); data {
		f /= 1e9
	}
	return figure(f)
}

func figure(f float64) string {
	r := pmcc.Round(f)
	if r.OK && r.F == float64(int64(r.F)) {
		return strconv.FormatInt(int64(r.F), 10)
	}
	return r.String()
}

// lanes prints the table of queues.
func (s *sample) lanes() {
	var names []string
	now, before := make([]map[string]pmcc.Value, len(laneMetrics)), make([]map[string]pmcc.Value, len(laneMetrics))
	for i, metric := range laneMetrics {
		values := s.m.Named(metric)
		now[i], before[i] = pmcc.ByName(values), pmcc.ByName(s.m.NamedBefore(metric))
		for _, v := range values {
			if !slices.Contains(names, v.Name) {
				names = append(names, v.Name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	const layout = "%10s %20s %12s %12s %12s %12s %12s %12s\n"
	if !s.m.JSON {
		fmt.Fprintf(s.m.Out, layout, "Netdev", "Queue", "tx_bytes", "rx_bytes", "tx/s(Gbps)", "rx/s(Gbps)", "pause", "pause_delta")
	}
	for _, name := range names {
		var value, grown [3]float64
		row := s.m.Row("lane", name)
		for i := range laneMetrics {
			value[i], _ = now[i][name].Number()
			if d, ok := now[i][name].Minus(before[i][name]); ok {
				grown[i], _ = d.Number()
			}
			row.Columns.Number(last(laneMetrics[i]), value[i])
		}
		if s.m.JSON {
			row.Write()
			continue
		}
		text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
		gbit := func(bytes float64) string {
			if bytes == 0 {
				return "0"
			}
			return figure(bytes * 8 / 1e9 / s.m.Elapsed())
		}
		device, queue := split(name)
		fmt.Fprintf(s.m.Out, layout, device, queue, text(value[0]), text(value[1]), gbit(grown[0]), gbit(grown[1]), text(value[2]), text(grown[2]))
	}
}

// split returns the device and the queue of a lane name such as ens6np0_lane0.
func split(lane string) (device, queue string) {
	part := strings.Split(lane, "_")
	if len(part) != 2 {
		return lane, "Unknown Queue"
	}
	id := strings.ReplaceAll(part[1], "lane", "")
	if n, err := strconv.Atoi(id); err == nil && n >= 0 && n < len(queues) && strconv.Itoa(n) == id {
		return part[0], queues[n]
	}
	return part[0], "Queue - " + id
}
