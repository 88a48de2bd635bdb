package prom

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// A writer writes expressions at random, the same ones for the same seed.
type writer struct {
	r  *rand.Rand
	in bool // in a subquery
}

func (w *writer) one(list ...string) string { return list[w.r.IntN(len(list))] }

// Metrics by what expressions may do with them.
var (
	diskCounters = []string{"gen_reads", "gen_writes"}
	diskMetrics  = append([]string{"gen_level"}, diskCounters...)
	hostMetrics  = []string{"gen_temp", "gen_odd", "gen_huge", "gen_seldom"}
	counters     = append([]string{"gen_huge", "gen_latency_bucket"}, diskCounters...)
	all          = append(append([]string{"gen_latency_bucket"}, hostMetrics...), diskMetrics...)
)

// selector selects series of one of the metrics, perhaps of several if more.
func (w *writer) selector(list []string, more bool) string {
	name := w.one(list...)
	var match []string
	add := func(odds int, list ...string) {
		if w.r.IntN(odds) == 0 {
			match = append(match, w.one(list...))
		}
	}
	add(4, `hostname="www1"`, `hostname!="www1"`, `hostname=~"www[12]"`, `hostname!~".*2"`, `zone="eu"`, `zone!=""`, `nothing=""`, `hostname="other"`)
	add(4, `instname="sda"`, `instname!="sdb"`, `instname=~"sd[abd]"`, `instname!~"sd[ab]|0.*"`, `instid="3"`, `kind="ssd"`, `kind!="ssd"`, `kind=~"s.*|"`, `le!="+Inf"`, `instname=""`)
	if more && w.r.IntN(8) == 0 {
		match = append(match, `__name__=~"`+w.one("gen_(reads|writes)", "gen_.*e.*", "gen_[lt].+")+`"`)
		name = ""
	}
	if len(match) > 0 {
		name += "{" + strings.Join(match, ",") + "}"
	}
	return name
}

// modifiers are those of time, or "".
func (w *writer) modifiers() string {
	var s string
	if w.r.IntN(5) == 0 {
		s += " offset " + w.one("10s", "1m", "5m", "17m", "-2m")
	}
	if w.r.IntN(8) == 0 {
		s += " @ " + w.one("start()", "end()", fmt.Sprint(start.Unix()+7+int64(w.r.IntN(300))*10))
	}
	return s
}

func (w *writer) span() string { return w.one("30s", "1m", "2m", "5m", "10m", "25m") }

// window is a range of series of one of the metrics.
func (w *writer) window(list []string) string {
	return w.selector(list, false) + "[" + w.span() + "]" + w.modifiers()
}

// over is a function over time.
func (w *writer) over() string {
	switch w.r.IntN(7) {
	case 0:
		return w.one("rate", "irate", "increase", "resets") + "(" + w.window(counters) + ")"
	case 1:
		return w.one("delta", "idelta", "deriv", "changes") + "(" + w.window(diskMetrics) + ")"
	case 2:
		return "quantile_over_time(" + w.one("0", "0.25", "0.5", "0.9", "1") + ", " + w.window(diskMetrics) + ")"
	case 3:
		// With @, version 2 returns only one point of a range.
		return "predict_linear(" + w.selector(diskMetrics, false) + "[" + w.span() + "], 600)"
	case 4:
		return w.one("min", "max", "last", "present", "absent", "count") + "_over_time(" + w.window(all) + ")"
	case 5:
		if !w.in {
			w.in = true
			inner := w.vector(1)
			w.in = false
			step := w.one("", "10s", "30s", "1m")
			return w.one("max", "min", "avg", "sum", "count", "last") + "_over_time((" + inner + ")[" + w.one("2m", "5m", "10m") + ":" + step + "]" + w.modifiers() + ")"
		}
	}
	return w.one("avg", "sum", "stddev", "stdvar") + "_over_time(" + w.window(diskMetrics) + ")"
}

// finite is a vector of finite values, which differ.
func (w *writer) finite() string {
	if w.r.IntN(2) == 0 {
		return "rate(" + w.selector(diskCounters, false) + "[10m])"
	}
	return w.selector(diskMetrics, false)
}

func (w *writer) grouping() string {
	return w.one("", " by (hostname)", " by (hostname, kind)", " by (instname)", " without (instid, instname)", " without (hostname)", " by (nothing)", " by ()")
}

// vector is an instant vector.
func (w *writer) vector(depth int) string {
	if depth <= 0 {
		if w.r.IntN(3) == 0 {
			return w.over()
		}
		return w.selector(all, true) + w.modifiers()
	}
	depth--
	switch w.r.IntN(12) {
	case 0:
		// The versions have different results for infinite values.
		return w.one("stddev", "stdvar") + w.grouping() + " (" + w.finite() + ")"
	case 1:
		return w.one("sum", "min", "max", "count", "avg", "group") + w.grouping() + " (" + w.vector(depth) + ")"
	case 2:
		// Equal values would have the servers choose between them.
		of := w.finite()
		return w.one("topk", "bottomk") + w.one("", " by (hostname)") + " (" + w.one("1", "2", "7") + ", " + of + ")"
	case 3:
		if w.r.IntN(2) == 0 {
			return "count_values" + w.one("", " by (hostname)") + ` ("v", ` + w.selector(all, true) + w.modifiers() + ")"
		}
		return "quantile" + w.grouping() + " (" + w.one("0", "0.3", "0.95") + ", " + w.finite() + ")"
	case 4:
		op := w.one("+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<= bool", "> bool")
		if w.r.IntN(2) == 0 {
			return "(" + w.vector(depth) + ") " + op + " " + w.scalar()
		}
		return w.scalar() + " " + op + " (" + w.vector(depth) + ")"
	case 5:
		match := w.one("", "on (hostname, instname)", "ignoring (kind, zone)", "on (hostname, instid)")
		op := w.one("+", "-", "*", "/", ">", "< bool", "and", "or", "unless")
		return fmt.Sprintf("%s %s %s %s", w.selector(diskMetrics, false), op, match, w.selector(diskMetrics, false))
	case 6:
		a, b := w.selector(diskMetrics, false), w.selector(hostMetrics, false)
		op := w.one("+", "-", "*", "/", ">=")
		if w.r.IntN(2) == 0 {
			return a + " " + op + " on (hostname) group_left () " + b
		}
		return b + " " + op + " on (hostname) group_right (zone) " + a
	case 7:
		return w.one("abs", "exp", "ln", "log2", "log10", "sqrt", "sgn", "sort", "sort_desc", "timestamp", "-", "cos", "atan", "minute", "day_of_week") + "(" + w.vector(depth) + ")"
	case 8:
		return w.one(w.one("round", "ceil", "floor")+"("+w.finite()+")", "clamp("+w.vector(depth)+", -10, 1e6)", "clamp_max("+w.vector(depth)+", 30)", "clamp_min("+w.vector(depth)+", 30)")
	case 9:
		return w.one(`label_replace(`+w.vector(depth)+`, "d", "$1-x", "instname", "sd(.*)")`, `label_join(`+w.vector(depth)+`, "j", "/", "hostname", "instname")`,
			`absent(`+w.selector(all, false)+`)`, `vector(`+w.scalar()+`)`)
	case 10:
		return "histogram_quantile(" + w.one("0", "0.5", "0.9", "1") + ", sum by (" + w.one("le", "le, hostname") + ") (" +
			w.one("rate", "increase") + `(gen_latency_bucket` + w.one("", `{hostname="www1"}`) + "[" + w.span() + "])))"
	}
	return w.over()
}

func (w *writer) scalar() string {
	return w.one("2", "0", "-1.5", "1e3", "time()", "scalar(gen_temp{hostname=\"www1\"})", "(1 + 2 * 3)", "NaN", "Inf")
}

// A query is an expression with its times, 7 seconds after a multiple of 10: no edge of a range or subquery is at a sample.
type query struct {
	expr       string
	start, end int64 // equal for an instant query
	step       int64
}

func (w *writer) query() query {
	q := query{expr: w.vector(w.r.IntN(4))}
	q.start = start.Unix() + 7 + 10*int64(w.r.IntN(int((records*interval+10*time.Minute)/(10*time.Second))))
	q.end = q.start
	if w.r.IntN(2) == 0 {
		q.step = 10 * (1 + int64(w.r.IntN(30)))
		q.end += q.step*int64(w.r.IntN(100)) + int64(w.r.IntN(10))
	}
	return q
}
