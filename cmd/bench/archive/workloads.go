package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// workloads returns the table of the measurements.
func (b *bench) workloads() ([]workload, error) {
	var all []workload
	for _, v := range []string{"v3", "v2"} {
		at := func(name string) string { return filepath.Join(b.data, v, name) }
		wide, long, churn, many := at("wide"), at("long"), at("churn"), at("many")
		one := at("one.config")
		if err := os.WriteFile(one, []byte("bench.one.metric000\n"), 0o644); err != nil {
			return nil, err
		}
		add := func(label, tool string, args ...string) *workload {
			all = append(all, workload{label: v + "." + label, tool: tool, args: args})
			return &all[len(all)-1]
		}
		mid, end, day := "@2024-01-01 00:10:00", "@2024-01-01 00:13:00", "@2024-04-01 00:00:00"
		if b.quick {
			mid, end, day = "@2024-01-01 00:02:00", "@2024-01-01 00:02:30", "@2024-01-12 00:00:00"
		}

		add("open.label.wide", "pmdumplog", "-l", wide)
		add("open.names.wide", "pminfo", "-a", wide)
		add("open.first.wide", "pminfo", "-f", "-a", wide)
		add("dump.wide", "pmdumplog", "-z", "-a", wide)
		add("dump.long", "pmdumplog", "-z", "-a", long)
		add("check.wide", "pmlogcheck", wide)
		add("check.long", "pmlogcheck", long)
		add("summary.wide", "pmlogsummary", "-z", wide)
		add("summary.long", "pmlogsummary", "-z", long)
		add("val.interp.wide", "pmval", "-z", "-O", "0", "-t", "1", "-a", wide, "bench.one.metric000")
		add("val.interp.wide.cpu", "pmval", "-z", "-O", "0", "-t", "1", "-a", wide, "bench.cpu.metric000")
		add("val.interp.long", "pmval", "-z", "-O", "0", "-t", "10", "-a", long, "bench.one.metric000")
		add("val.coarse.long", "pmval", "-z", "-O", "0", "-t", "3600", "-a", long, "bench.one.metric000")
		add("val.raw.wide", "pmval", "-z", "-U", wide, "bench.one.metric000")
		add("val.raw.long", "pmval", "-z", "-U", long, "bench.one.metric000")
		add("extract.wide", "pmlogextract", wide, outArg)
		add("extract.window", "pmlogextract", "-z", "-S", mid, "-T", end, wide, outArg)
		add("extract.merge4", "pmlogextract", at("slice0"), at("slice1"), at("slice2"), at("slice3"), outArg)
		add("extract.one", "pmlogextract", "-c", one, wide, outArg)
		add("reduce.long", "pmlogreduce", "-z", "-t", "60", long, outArg)
		add("reduce.wide", "pmlogreduce", "-z", "-t", "30", wide, outArg)
		types, names := at("types.rules"), at("names.rules")
		if err := writeRules(types, names); err != nil {
			return nil, err
		}
		for _, a := range []struct{ label, base string }{{"wide", wide}, {"long", long}} {
			add("rewrite.copy."+a.label, "pmlogrewrite", a.base, outArg)
			add("rewrite.types."+a.label, "pmlogrewrite", "-c", types, a.base, outArg)
			add("rewrite.names."+a.label, "pmlogrewrite", "-c", names, a.base, outArg)
			if v == "v2" {
				add("rewrite.v3."+a.label, "pmlogrewrite", "-V", "3", a.base, outArg)
			}
		}
		add("many.first", "pminfo", "-a", many, "-f", "bench.one.metric000")
		add("many.middle", "pmval", "-z", "-a", many, "-S", day, "-t", "300", "-s", "2", "bench.one.metric000")
		add("many.all", "pmval", "-z", "-O", "0", "-a", many, "-t", "3600", "bench.one.metric000")

		add("churn.open", "pminfo", "-a", churn, "-f", "bench.proc.metric000").slow = true
		add("churn.dump", "pmdumplog", "-z", "-a", churn).slow = true
		add("churn.check", "pmlogcheck", churn).slow = true
		add("churn.summary", "pmlogsummary", "-z", churn).slow = true
		add("churn.raw", "pmval", "-z", "-U", churn, "bench.proc.metric000").slow = true
		add("churn.interp", "pmval", "-z", "-O", "0", "-t", "10", "-a", churn, "bench.proc.metric000").slow = true
		add("churn.extract", "pmlogextract", churn, outArg).slow = true
		add("churn.reduce", "pmlogreduce", "-z", "-t", "60", churn, outArg).slow = true
	}
	for _, c := range []string{"xz", "zst"} {
		base := filepath.Join(b.data, "v3", "wide-"+c)
		if _, err := os.Stat(base + ".index"); err != nil {
			continue
		}
		for _, w := range []workload{
			{label: "dump", tool: "pmdumplog", args: []string{"-z", "-a", base}},
			{label: "summary", tool: "pmlogsummary", args: []string{"-z", base}},
			{label: "val", tool: "pmval", args: []string{"-z", "-O", "0", "-t", "1", "-a", base, "bench.one.metric000"}},
			{label: "window", tool: "pmval", args: []string{"-z", "-S", "@2024-01-01 00:02:00", "-t", "1", "-s", "5", "-a", base, "bench.one.metric000"}},
		} {
			w.label = fmt.Sprintf("v3.%s.%s", c, w.label)
			w.alone = c == "zst" // PCP 6.0.3 does not read it
			all = append(all, w)
		}
	}
	return all, nil
}

// writeRules writes rules for pmlogrewrite: other types of ten metrics, and other names
// of the instances of one domain.
func writeRules(types, names string) error {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "metric bench.one.metric%03d {\n  type if 32 -> double\n  type if u32 -> double\n  type if 64 -> double\n"+
			"  type if u64 -> double\n  type if float -> double\n  type if double -> float\n}\n", i)
	}
	if err := os.WriteFile(types, []byte(b.String()), 0o644); err != nil {
		return err
	}
	b.Reset()
	b.WriteString("indom 350.1 {\n")
	for i := range 4 {
		// Those of wide, and those of long.
		fmt.Fprintf(&b, "  iname \"cpu%d\" -> \"core%d\"\n  iname \"sd%c\" -> \"disk%d\"\n  inst %d -> %d\n", i, i, 'a'+i, i, i, 100+i)
	}
	b.WriteString("}\n")
	return os.WriteFile(names, []byte(b.String()), 0o644)
}
