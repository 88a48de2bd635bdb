package rep_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// settings are lines of [options] and of metricsets. The last ones are mistakes.
var settings = []string{
	"header = no", "header: yes", "header = 2", "timestamp = yes", "timestamp = True", "unitinfo = no", "instinfo = 0", "globals = no", "globals = 1",
	"interval = 5s", "interval = 2min", "samples = 3", "width = 4", "width = 12", "width_force = 9", "precision = 0", "precision_force = 1",
	"delimiter = |", `delimiter = " "`, `delimiter = ","`, "delimiter = %%", "repeat_header = 2", "repeat_header = auto", "timefmt = %%H.%%M", `timefmt = "%%S"`,
	`colxrow = "inst"`, "colxrow = no", "dynamic_header = yes", "extcsv = yes", "fixed_header = y", "separate_header = 1", "interpol = no", "rank = 1",
	"rank = -1", "limit_filter = 1", "limit_filter_force = -5", "live_filter = yes", "invert_filter = yes", "predicate = METRIC", "sort_metric = METRIC",
	"omit_flat = yes", "include_labels = yes", "ignore_incompat = yes", "ignore_unknown = true", "type = raw", "type = x", "type_prefer = raw", "count_scale = count x 10^3",
	"space_scale = MB", "space_scale_force = GB", "time_scale_force = hour", "names_change = update", "output = csv", "derived = a.b=METRIC*2", "derived = a.b=1,c.d=2",
	"overall_rank = 1", "overall_rank_alt = 1", "instances = .*", `instances = "a,b"`, "version = 1",
	"header =", "interval = x", "samples = -1", "width = x", "rank = x", "output = x", "version = 2", "nosuch = 1", "k : v", "instances = (",
}

// metricLines are lines of metricsets and [global].
var metricLines = []string{
	"METRIC = ,,,,", "METRIC = label,,,,", `METRIC = "a b",,,,`, "METRIC = label,INST,,,8", "METRIC = label,'INST','b',,raw,8", "METRIC = l\u00e9,,KB,,,2",
	"METRIC = ,,,,,2,-2", "METRIC = ,,,,,,1", "kN = METRIC\nkN.label = foo\nkN.width = 10", "kN = METRIC\nkN.instances = INST\nkN.precision = 1", "kN = METRIC\nkN.unit = MB",
	"kN = METRIC\nkN.type = raw\nkN.limit = 1", "dN = der.nN\ndN.formula = METRIC * 2\ndN.label = der", "dN = der.nN\ndN.formula = rate(METRIC)",
	"dN = der.nN\ndN.formula = METRIC +\n  METRIC", "dN = der.nN\ndN.formula = defined(METRIC) ? METRIC : 0", "dN = der.nN\ndN.formula = count(METRIC)", "# comment", "; comment\n",
}

// noise are misplaced lines.
var noise = []string{
	"METRIC =", "METRIC", "kN.label = x", "kN = METRIC\nkN.nosuch = 1", "kN = METRIC\nkN.width = x", "dN = der.nN\ndN.formula = 1 +", "[ ]", "[]", "[set]", "[unclosed", "=x",
	"  indented", "x = %(METRIC)s", "x = %(nosuch)s", "x = %", "[DEFAULT]\nx =", "\xff = 1", "x = \xe2\x82", "METRIC = a\r",
}

// drawConfig draws a configuration with the metricset [set].
func drawConfig(r *rand.Rand, in input) string {
	n := 0
	pick := func(list []string) string {
		n++
		line := list[r.IntN(len(list))]
		line = strings.ReplaceAll(line, "METRIC", in.specs[r.IntN(len(in.specs))])
		line = strings.ReplaceAll(line, "INST", in.insts[r.IntN(len(in.insts))])
		for _, key := range []string{"k", "d", "n"} {
			line = strings.ReplaceAll(line, key+"N", fmt.Sprint(key, n))
		}
		return line + "\n"
	}
	good := len(settings)
	if r.IntN(5) > 0 {
		good -= 10
	}
	bad := r.IntN(5) == 0
	var b strings.Builder
	for _, i := range r.Perm(4)[:1+r.IntN(4)] {
		name := []string{"options", "global", "set", "other"}[i]
		b.WriteString("[" + name + "]\n")
		for range 1 + r.IntN(3) {
			if name == "options" || name != "global" && r.IntN(4) == 0 {
				b.WriteString(pick(settings[:good]))
			} else {
				b.WriteString(pick(metricLines))
			}
			if bad && r.IntN(4) == 0 {
				b.WriteString(pick(noise))
			}
		}
	}
	if !strings.Contains(b.String(), "[set]") {
		b.WriteString("[set]\n" + pick(metricLines))
	}
	return b.String()
}
