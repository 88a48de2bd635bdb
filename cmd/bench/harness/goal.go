package harness

import (
	"fmt"
	"strings"
	"time"
)

// A Goal is what a workload is to reach; a zero field sets no limit.
type Goal struct {
	C     float64       `json:"c,omitempty"`     // the processor time of C over ours, at least
	Floor float64       `json:"floor,omitempty"` // our processor time over that of the floor, at most
	CPU   time.Duration `json:"cpu,omitempty"`   // our processor time, at most
	Wall  time.Duration `json:"wall,omitempty"`  // our time by the clock, at most
	RSS   int64         `json:"rss,omitempty"`   // our resident set in bytes, at most
}

// String returns the goal as tables show it, "" if there is none.
func (g Goal) String() string {
	var parts []string
	add := func(set bool, format string, v any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(g.C > 0, "%.3g × C", g.C)
	add(g.Floor > 0, "≤ %.3g × floor", g.Floor)
	add(g.CPU > 0, "CPU ≤ %s", Duration(float64(g.CPU)))
	add(g.Wall > 0, "≤ %s", Duration(float64(g.Wall)))
	add(g.RSS > 0, "≤ %s", Bytes(float64(g.RSS)))
	return strings.Join(parts, ", ")
}

// Missed returns the parts of the goal that a row misses, by its medians. A part without the samples to decide it is
// not missed.
func (r *Row) Missed() []string {
	var missed []string
	g := r.Goal
	check := func(limit float64, over bool, part Goal) {
		if limit > 0 && over {
			missed = append(missed, part.String())
		}
	}
	if ratio, ok := r.Ratio(C, Now, CPU); ok {
		check(g.C, ratio < g.C, Goal{C: g.C})
	}
	if ratio, ok := r.Ratio(Now, Floor, CPU); ok {
		check(g.Floor, ratio > g.Floor, Goal{Floor: g.Floor})
	}
	now := r.Side(Now)
	if now == nil {
		return missed
	}
	_, cpu, _ := now.Spread(CPU)
	_, wall, _ := now.Spread(Wall)
	_, rss, _ := now.Spread(RSS)
	check(float64(g.CPU), cpu > float64(g.CPU), Goal{CPU: g.CPU})
	check(float64(g.Wall), wall > float64(g.Wall), Goal{Wall: g.Wall})
	check(float64(g.RSS), rss > float64(g.RSS), Goal{RSS: g.RSS})
	return missed
}

// Duration prints nanoseconds with three digits.
func Duration(ns float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if ns >= u.size*0.9995 {
			return fmt.Sprintf("%.3g %s", ns/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.3g ns", ns)
}

// Bytes prints bytes as MiB.
func Bytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/(1<<20)) }
