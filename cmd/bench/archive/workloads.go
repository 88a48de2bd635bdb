// Package archive makes archives, the same each time, and lists the commands on them that are measured. See README.md.
package archive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Set is the archives in a folder.
type Set struct {
	Data  string // the folder
	Quick bool   // archives of a seventh of the size
}

// A Workload is one command that all sides run.
type Workload struct {
	Name  string // such as v3.dump.wide
	Tool  string
	Args  []string // Out represents an archive to write
	Goal  float64  // the processor time of C over ours
	Floor Floor

	Slow  bool // for the C tool: it runs once, and its output is not compared
	Alone bool // the C tool cannot do it
}

// Out represents the base name of the archive that a command writes.
const Out = "@out"

// A Floor is what any program does that does the same work.
type Floor int

const (
	// Start starts a program that does nothing.
	Start Floor = iota
	// Read reads the files of the archives.
	Read
	// Copy writes them, too.
	Copy
)

// Inputs returns the archives that a command reads, or the folders of them.
func (b Set) Inputs(w Workload) []string {
	var paths []string
	for _, arg := range w.Args {
		if rel, err := filepath.Rel(b.Data, arg); err == nil && filepath.IsLocal(rel) && !strings.HasSuffix(arg, configSuffix) {
			paths = append(paths, arg)
		}
	}
	return paths
}

// configSuffix is the end of the name of a file of other kinds.
const configSuffix = ".config"

// faster is the goal of the commands that read all of an archive.
const faster = 3

// Workloads returns the table of the measurements.
func (b Set) Workloads() []Workload {
	var all []Workload
	for _, v := range []string{"v3", "v2"} {
		at := func(name string) string { return filepath.Join(b.Data, v, name) }
		wide, long, churn, many := at("wide"), at("long"), at("churn"), at("many")
		one, types, names := at(oneMetric), at(otherTypes), at(otherNames)
		add := func(name, tool string, args ...string) *Workload {
			w := Workload{Name: v + "." + name, Tool: tool, Args: args, Goal: faster, Floor: Read}
			if strings.HasPrefix(name, "open.") {
				w.Goal, w.Floor = 1, Start
			}
			all = append(all, w)
			return &all[len(all)-1]
		}
		mid, end := "@2024-01-01 00:10:00", "@2024-01-01 00:13:00"
		day, minute := "@2024-04-01 00:00:00", "@2024-04-01 00:01:00"
		if b.Quick {
			mid, end = "@2024-01-01 00:02:00", "@2024-01-01 00:02:30"
			day, minute = "@2024-01-12 00:00:00", "@2024-01-12 00:01:00"
		}

		add("open.label.wide", "pmdumplog", "-l", wide)
		add("open.names.wide", "pminfo", "-a", wide)
		add("open.descs.wide", "pminfo", "-d", "-a", wide)
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
		add("extract.wide", "pmlogextract", wide, Out).Floor = Copy
		add("extract.window", "pmlogextract", "-z", "-S", mid, "-T", end, wide, Out)
		add("extract.merge4", "pmlogextract", at("slice0"), at("slice1"), at("slice2"), at("slice3"), Out).Floor = Copy
		add("extract.one", "pmlogextract", "-c", one, wide, Out)
		add("reduce.long", "pmlogreduce", "-z", "-t", "60", long, Out)
		add("reduce.wide", "pmlogreduce", "-z", "-t", "30", wide, Out)
		for _, a := range []struct{ label, base string }{{"wide", wide}, {"long", long}} {
			add("rewrite.copy."+a.label, "pmlogrewrite", a.base, Out).Floor = Copy
			add("rewrite.types."+a.label, "pmlogrewrite", "-c", types, a.base, Out).Floor = Copy
			add("rewrite.names."+a.label, "pmlogrewrite", "-c", names, a.base, Out).Floor = Copy
			if v == "v2" {
				add("rewrite.v3."+a.label, "pmlogrewrite", "-V", "3", a.base, Out).Floor = Copy
			}
		}
		var columns []string
		for i := range 20 {
			columns = append(columns, fmt.Sprintf("bench.one.metric%03d", i))
		}
		report := func(name string, args ...string) *Workload {
			return add(name, "pmrep", append(append(args, "-Z", "UTC", "-o", "csv"), columns...)...)
		}
		report("report.long", "-a", long, "-t", "10s").Slow = true
		report("report.minute", "-a", many, "-t", "10s", "-S", day, "-T", minute)
		add("many.first", "pminfo", "-a", many, "-f", "bench.one.metric000")
		add("many.middle", "pmval", "-z", "-a", many, "-S", day, "-t", "300", "-s", "2", "bench.one.metric000")
		add("many.all", "pmval", "-z", "-O", "0", "-a", many, "-t", "3600", "bench.one.metric000")

		add("churn.open", "pminfo", "-a", churn, "-f", "bench.proc.metric000").Slow = true
		add("churn.dump", "pmdumplog", "-z", "-a", churn).Slow = true
		add("churn.check", "pmlogcheck", churn).Slow = true
		add("churn.summary", "pmlogsummary", "-z", churn).Slow = true
		add("churn.raw", "pmval", "-z", "-U", churn, "bench.proc.metric000").Slow = true
		add("churn.interp", "pmval", "-z", "-O", "0", "-t", "10", "-a", churn, "bench.proc.metric000").Slow = true
		add("churn.extract", "pmlogextract", churn, Out).Slow = true
		add("churn.reduce", "pmlogreduce", "-z", "-t", "60", churn, Out).Slow = true
	}
	for _, c := range []string{"xz", "zst"} {
		base := filepath.Join(b.Data, "v3", "wide-"+c)
		for _, w := range []Workload{
			{Name: "dump", Tool: "pmdumplog", Args: []string{"-z", "-a", base}},
			{Name: "summary", Tool: "pmlogsummary", Args: []string{"-z", base}},
			{Name: "val", Tool: "pmval", Args: []string{"-z", "-O", "0", "-t", "1", "-a", base, "bench.one.metric000"}},
			{Name: "window", Tool: "pmval", Args: []string{"-z", "-S", "@2024-01-01 00:02:00", "-t", "1", "-s", "5", "-a", base, "bench.one.metric000"}},
		} {
			w.Name = fmt.Sprintf("v3.%s.%s", c, w.Name)
			w.Goal, w.Floor = faster, Read
			w.Alone = c == "zst" // PCP 6.0.3 does not read it
			all = append(all, w)
		}
	}
	return all
}

// The files that commands need: the name of a metric, and rules for pmlogrewrite.
const (
	oneMetric  = "one" + configSuffix
	otherTypes = "types" + configSuffix
	otherNames = "names" + configSuffix
)

// writeConfigs writes these: the rules give ten metrics other types, and the instances of a domain other names.
func writeConfigs(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, oneMetric), []byte("bench.one.metric000\n"), 0o644); err != nil {
		return err
	}
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "metric bench.one.metric%03d {\n  type if 32 -> double\n  type if u32 -> double\n  type if 64 -> double\n"+
			"  type if u64 -> double\n  type if float -> double\n  type if double -> float\n}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, otherTypes), []byte(b.String()), 0o644); err != nil {
		return err
	}
	b.Reset()
	b.WriteString("indom 350.1 {\n")
	for i := range 4 {
		// Those of wide, and those of long.
		fmt.Fprintf(&b, "  iname \"cpu%d\" -> \"core%d\"\n  iname \"sd%c\" -> \"disk%d\"\n  inst %d -> %d\n", i, i, 'a'+i, i, i, 100+i)
	}
	b.WriteString("}\n")
	return os.WriteFile(filepath.Join(dir, otherNames), []byte(b.String()), 0o644)
}
