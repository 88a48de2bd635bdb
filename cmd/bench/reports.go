//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// reports measures reports of pmrep over archives of 20 metrics that were recorded each 10 s: all of a week, and a minute of a
// month with an archive for each day.
func (b *bench) reports(ctx context.Context) error {
	if !b.wants("report.week") && !b.wants("report.minute") {
		return nil
	}
	dir := filepath.Join(filepath.Dir(b.ours.dir), "reports")
	month := filepath.Join(dir, "month")
	if err := os.MkdirAll(month, 0o755); err != nil {
		return err
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const day = 8640
	if err := reportArchive(filepath.Join(dir, "week"), start, 7*day); err != nil {
		return err
	}
	for d := range 30 {
		s := start.AddDate(0, 0, d)
		if err := reportArchive(filepath.Join(month, s.Format("20060102")), s, day); err != nil {
			return err
		}
	}
	fmt.Printf("\n%-20s %9s %10s %10s %7s\n", "report", "tool", "median", "cpu", "ratio")
	if b.wants("report.week") {
		if err := b.report(ctx, "report.week", 1, "-a", filepath.Join(dir, "week"), "-t", "10s"); err != nil {
			return err
		}
	}
	if !b.wants("report.minute") {
		return nil
	}
	return b.report(ctx, "report.minute", b.runs, "-a", month, "-t", "10s",
		"-S", "@Thu Jan 15 12:00:00 2026", "-T", "@Thu Jan 15 12:01:00 2026")
}

// report runs both programs and compares their output.
func (b *bench) report(ctx context.Context, label string, runs int, args ...string) error {
	args = append(args, "-Z", "UTC", "-o", "csv", "bench")
	commands := map[*server][]string{b.ours: {filepath.Join(b.links, "pmrep")}}
	if b.real != nil {
		commands[b.real] = []string{"/usr/bin/python3", "/usr/bin/pmrep"}
	}
	wall, cpu, text := map[*server][]time.Duration{}, map[*server][]time.Duration{}, map[*server]string{}
	for range runs {
		for _, s := range b.sides() {
			c := commands[s]
			cmd := exec.CommandContext(ctx, c[0], append(c[1:len(c):len(c)], args...)...)
			cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
			begin := time.Now()
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			wall[s] = append(wall[s], time.Since(begin))
			cpu[s] = append(cpu[s], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			text[s] = string(out)
		}
	}
	if b.real != nil && text[b.real] != text[b.ours] {
		return fmt.Errorf("%s: the reports differ", label)
	}
	var theirs time.Duration
	for _, s := range b.sides() {
		slices.Sort(wall[s])
		slices.Sort(cpu[s])
		median := wall[s][runs/2]
		fmt.Printf("%-20s %9s %10s %10s", label, s.name, short(median), short(cpu[s][runs/2]))
		if s == b.real {
			theirs = median
		} else if theirs > 0 {
			fmt.Printf(" %7.2f", float64(theirs)/float64(median))
		}
		fmt.Println()
	}
	return nil
}

// reportArchive writes an archive of ten counters and ten numbers.
func reportArchive(path string, start time.Time, records int) error {
	im, err := importer.Start(path, importer.Options{Host: "bench", TimeZone: "UTC", Version: 2})
	if err != nil {
		return err
	}
	var metrics []*importer.Metric
	for i := range 20 {
		spec := importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}
		if i%2 == 1 {
			spec.Type, spec.Sem = pcp.TypeDouble, pcp.SemInstant
		}
		m, err := im.NewMetric(fmt.Sprintf("bench.m%d", i), spec)
		if err != nil {
			return err
		}
		metrics = append(metrics, m)
	}
	for n := range records {
		for i, m := range metrics {
			if i%2 == 1 {
				err = m.PutDouble(float64(n%1000) * 1.25)
			} else {
				err = m.PutUint(uint64(n * (i + 1) * 7))
			}
			if err != nil {
				return err
			}
		}
		if err := im.Write(start.Add(time.Duration(n) * 10 * time.Second)); err != nil {
			return err
		}
	}
	return im.End()
}
