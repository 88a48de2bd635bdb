package query

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func TestMain(m *testing.M) { twin.Built(m) }

// TestRollUps reads four days, of which the recorded archives of the first two have expired and roll-ups by pmlogreduce are left.
// Counters grow by 3 and 5 a second: their rates are the same everywhere, also where roll-ups and recorded archives meet.
func TestRollUps(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const step = 30 * time.Second
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), twin.Tool(t, "pcp"), args...)
		cmd.Env, cmd.Dir = append(os.Environ(), "TZ=UTC"), dir
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("pcp %s: %v\n%s", strings.Join(args, " "), err, errs.String())
		}
		return string(out)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, sub := range []string{"h", "rollup/1min/h", "rollup/1h/h"} {
		must(os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}
	wide, narrow, level := pcp.NewPMID(60, 0, 1), pcp.NewPMID(60, 0, 2), pcp.NewPMID(60, 0, 3)
	for day := range 4 {
		begin := start.AddDate(0, 0, day)
		name := begin.Format("20060102")
		base := filepath.Join(dir, "h", name)
		w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: 3, PID: 1, Host: "h", TimeZone: "UTC", Start: pcp.TimestampOf(begin)}})
		must(err)
		one := pcp.Units{DimCount: 1}
		must(w.Desc(pcp.Desc{PMID: wide, Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: one}, "c.wide"))
		must(w.Desc(pcp.Desc{PMID: narrow, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: one}, "c.narrow"))
		must(w.Desc(pcp.Desc{PMID: level, Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "g.level"))
		var res pcp.Result
		for at := begin; at.Before(begin.AddDate(0, 0, 1)); at = at.Add(step) {
			s := uint64(at.Sub(start) / time.Second)
			res.Reset()
			res.Time = pcp.TimestampOf(at)
			res.AddSet(wide)
			res.Add(pcp.Uint64Value(3 * s).WithInst(pcp.InNull))
			res.AddSet(narrow)
			res.Add(pcp.Uint32Value(uint32(5 * s)).WithInst(pcp.InNull))
			res.AddSet(level)
			res.Add(pcp.DoubleValue(7).WithInst(pcp.InNull))
			must(w.WriteResult(&res))
		}
		must(w.Close())
		for _, l := range []string{"1min", "1h"} {
			run("logreduce", "-t", l, base, filepath.Join(dir, "rollup", l, "h", name))
		}
		if day < 2 {
			files, err := archive.FindFiles(base)
			must(err)
			for _, f := range files.All() {
				must(os.Remove(f))
			}
		}
	}

	// query returns the values of an expression over time.
	query := func(expr, from, to, step string) []float64 {
		t.Helper()
		args := []string{"query", "--json", "-a", "h", expr}
		if to == "" {
			args = append(args, "-O", from)
		} else {
			args = append(args, "-S", from, "-T", to, "-t", step)
		}
		var answer struct {
			Result []struct {
				Value  [2]any
				Values [][2]any
			}
		}
		out := run(args...)
		must(json.Unmarshal([]byte(out), &answer))
		if len(answer.Result) != 1 {
			t.Fatalf("%s: %s", expr, out)
		}
		r := answer.Result[0]
		var list []float64
		for _, v := range append(r.Values, r.Value) {
			if text, ok := v[1].(string); ok {
				f, err := strconv.ParseFloat(text, 64)
				must(err)
				list = append(list, f)
			}
		}
		return list
	}
	same := func(what string, list []float64, n int, want, slack float64) {
		t.Helper()
		bad := slices.ContainsFunc(list, func(v float64) bool { return math.Abs(v-want) > slack })
		if len(list) != n || bad {
			t.Errorf("%s: %d values, want %d that are %v: %v", what, len(list), n, want, list[:min(len(list), 20)])
		}
	}
	const first, last = "2026-01-01T02:00:00Z", "2026-01-04T23:00:00Z" // 93 hours
	same("rate, step 10min", query("rate(c_wide[10m])", first, last, "10min"), 93*6+1, 3, 0.01)
	same("rate of a counter of 32 bits", query("rate(c_narrow[10m])", first, last, "10min"), 93*6+1, 5, 0.01)
	same("rate over six hours, step 1h", query("rate(c_wide[6h])", "2026-01-01T08:00:00Z", last, "1h"), 88, 3, 0.01)
	same("instant, step 5min", query("g_level", first, last, "5min"), 93*12+1, 7, 0)
	same("increase over the seam", query("increase(c_wide[2h])", "2026-01-03T01:00:00Z", "", ""), 1, 3*7200, 3*60)
	// The recorded samples are used where there are any, and for functions that depend on their number.
	same("count of what was recorded", query("count_over_time(c_wide[10m])", "2026-01-03T12:00:00Z", "2026-01-04T12:00:00Z", "10min"), 24*6+1, 20, 1)
	same("count of what was reduced", query("count_over_time(c_wide[10m])", "2026-01-01T12:00:00Z", "2026-01-01T14:00:00Z", "10min"), 13, 10, 1)
	// The 1h roll-up is used for a long range.
	if v := query("last_over_time(c_wide[8h])", "2026-01-04T12:29:00Z", "", ""); len(v) != 1 || math.Abs(v[0]-3*86400*3.5) > 3*3600 {
		t.Errorf("last_over_time: %v", v)
	}

	// Tools that replay archives use roll-ups for expired times.
	for _, c := range []struct {
		metric, from, to string
		want             string
		n                int
	}{
		{"c.wide", "@2026-01-01 05:00:00", "@2026-01-01 06:00:00", "3.0", 6},
		{"c.narrow", "@2026-01-01 05:00:00", "@2026-01-01 06:00:00", "5.0", 6},
		{"c.wide", "@2026-01-03 05:00:00", "@2026-01-03 06:00:00", "3.0", 6},
	} {
		out := run("pmval", "-t", "10min", "-f", "1", "-S", c.from, "-T", c.to, "-a", "h", c.metric)
		n := 0
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) == 2 && f[1] == c.want {
				n++
			}
		}
		if n != c.n {
			t.Errorf("pmval %s from %s: %d values %s, want %d:\n%s", c.metric, c.from, n, c.want, c.n, out)
		}
	}
	must(errors.Join(os.RemoveAll(filepath.Join(dir, "rollup")), nil))
	same("without roll-ups", query("rate(c_wide[10m])", "2026-01-03T02:00:00Z", "2026-01-03T03:00:00Z", "10min"), 7, 3, 0.01)
}
