//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pmapi"
)

// derivedMetrics measures derived metrics: the cost of definitions at the start
// of a tool, and fetching 100 of 200 operands, from a collector and from an
// archive.
func (b *bench) derivedMetrics(ctx context.Context) error {
	for _, part := range []func(context.Context) error{b.derivedStart, b.derivedFetches} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// derivedStart measures pminfo with and without a file of 1,000 definitions.
func (b *bench) derivedStart(ctx context.Context) error {
	if !b.wants("derived.start") {
		return nil
	}
	file := filepath.Join(filepath.Dir(b.ours.dir), "thousand.conf")
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "k.m%d = delta(kernel.all.pswitch) / %d + delta(kernel.all.intr) * %d\n", i, i+1, i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return err
	}
	type start struct {
		label, metric string
		env           []string
	}
	starts := []start{
		{"no definitions", "kernel.all.load", []string{"PCP_DERIVED_CONFIG="}},
		{"installed ones", "kernel.all.load", nil},
		{"1,000", "kernel.all.load", []string{"PCP_DERIVED_CONFIG=" + file}},
		{"1,000, one used", "k.m500", []string{"PCP_DERIVED_CONFIG=" + file}},
	}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PCP_DERIVED_") {
			env = append(env, v)
		}
	}
	sides := b.sides()
	tools := map[*server]string{b.ours: filepath.Join(b.links, "pminfo"), b.real: "/usr/bin/pminfo"}
	times := make([]map[*server][]time.Duration, len(starts))
	for range b.runs {
		for i, st := range starts { // in turn, so that a busy moment meets all
			if times[i] == nil {
				times[i] = make(map[*server][]time.Duration)
			}
			for _, s := range sides {
				cmd := exec.CommandContext(ctx, tools[s], "-h", "unix:"+b.ours.sock, "-d", st.metric)
				cmd.Env = slices.Concat(env, st.env)
				begin := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("%s: %w: %s", tools[s], err, out)
				}
				times[i][s] = append(times[i][s], time.Since(begin))
			}
		}
	}
	seconds := func(d time.Duration) float64 { return float64(d) }
	fmt.Printf("\n%-14s %-16s %6s %10s %12s %7s\n", "derived.start", "definitions", "side", "median", "over without", "ratio")
	for i, st := range starts {
		for _, s := range sides {
			t := times[i][s]
			fmt.Printf("%-14s %-16s %6s %10s %12.2f", "pminfo -d", st.label, s.name, short(time.Duration(middle(t, seconds))), ratio(times[0][s], t, seconds))
			if s == b.ours && b.real != nil {
				fmt.Printf(" %7.2f", ratio(t, times[i][b.real], seconds))
			}
			fmt.Println()
		}
	}
	return nil
}

//go:embed c/derived.c
var derivedClient string

// compileDerived compiles the client of the C library. If that fails it prints the reason and
// returns "".
func (b *bench) compileDerived(ctx context.Context) string {
	if b.real == nil {
		return ""
	}
	dir := filepath.Dir(b.ours.dir)
	source, program := filepath.Join(dir, "derived.c"), filepath.Join(dir, "derived")
	if err := os.WriteFile(source, []byte(derivedClient), 0o644); err != nil {
		fmt.Printf("C is left out of derived.live and derived.archive: %v\n", err)
		return ""
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-o", program, source, "-lpcp").CombinedOutput(); err != nil {
		fmt.Printf("C is left out of derived.live and derived.archive, as its client cannot be compiled: %v: %s\n", err, out)
		return ""
	}
	return program
}

const (
	derivedCount    = 100 // metrics in a fetch
	derivedOperands = 2 * derivedCount
	derivedRecords  = 100_000
	derivedInRecord = 20 // metrics that a record has
)

// A derivedLoad is a source and the names to fetch from it.
type derivedLoad struct {
	label, kind, source string
	defs                string // file of definitions
	names               []string
}

// derivedFetches measures fetches of derived metrics and of their operands.
func (b *bench) derivedFetches(ctx context.Context) error {
	live, archive := b.wants("derived.live"), b.wants("derived.archive")
	if !live && !archive {
		return nil
	}
	client := b.compileDerived(ctx)
	var loads []derivedLoad
	if live {
		operands, err := b.operands(ctx)
		if err != nil {
			return err
		}
		l, err := b.derivedLoads("live", "host", "unix:"+b.ours.sock, operands)
		if err != nil {
			return err
		}
		loads = append(loads, l...)
	}
	if archive {
		path, operands, err := b.derivedArchive()
		if err != nil {
			return err
		}
		l, err := b.derivedLoads("archive", "archive", path, operands)
		if err != nil {
			return err
		}
		loads = append(loads, l...)
	}
	fmt.Printf("\n%-16s %-9s %8s %6s %10s %14s %7s\n", "derived", "what", "metrics", "side", "fetches", "time/fetch", "ratio")
	for _, l := range loads {
		seconds := b.time / 2
		if l.kind == "archive" {
			seconds = time.Hour // to its end
		}
		var theirs, ours []float64
		var n int
		for range 3 {
			if client != "" {
				_, d, err := l.theirs(ctx, client, seconds)
				if err != nil {
					return err
				}
				theirs = append(theirs, d)
			}
			fetches, d, err := l.ours(ctx, seconds)
			if err != nil {
				return err
			}
			n, ours = fetches, append(ours, d)
		}
		itself := func(f float64) float64 { return f }
		row := func(side string, t []float64) {
			fmt.Printf("%-16s %-9s %8d %6s %10d %14s", "derived."+strings.Fields(l.label)[0], strings.Fields(l.label)[1], len(l.names), side, n, short(time.Duration(middle(t, itself))))
		}
		if client != "" {
			row("C", theirs)
			fmt.Println()
		}
		row("ours", ours)
		if client != "" {
			fmt.Printf(" %7.2f", ratio(ours, theirs, itself))
		}
		fmt.Println()
	}
	return nil
}

// derivedLoads returns the loads of a source: metrics of two operands each, and the operands alone.
func (b *bench) derivedLoads(label, kind, source string, operands []string) ([]derivedLoad, error) {
	file := filepath.Join(filepath.Dir(b.ours.dir), label+".conf")
	var text strings.Builder
	derived := derivedLoad{label: label + " derived", kind: kind, source: source, defs: file}
	for i := range derivedCount {
		fmt.Fprintf(&text, "d.m%d = delta(%s) / delta(%s)\n", i, operands[2*i%len(operands)], operands[(2*i+1)%len(operands)])
		derived.names = append(derived.names, fmt.Sprintf("d.m%d", i))
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	return []derivedLoad{{label: label + " operands", kind: kind, source: source, defs: file, names: operands}, derived}, nil
}

// operands returns numeric metrics of our collector with one value each.
func (b *bench) operands(ctx context.Context) ([]string, error) {
	c, err := pmapi.Dial(ctx, "unix:"+b.ours.sock)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var list []string
	for _, top := range []string{"mem", "network", "kernel.all", "swap"} {
		for name, err := range c.Traverse(ctx, top) {
			if err != nil {
				return nil, err
			}
			ids, err := c.LookupName(ctx, name)
			if err != nil {
				return nil, err
			}
			desc, err := c.LookupDesc(ctx, ids[0])
			if err != nil || desc.InDom != pcp.InDomNull || !desc.Type.IsNumeric() {
				continue
			}
			res, err := c.Fetch(ctx, ids)
			if err != nil {
				return nil, err
			}
			if len(res.Sets[0].Values) != 1 {
				continue
			}
			if list = append(list, name); len(list) == derivedOperands {
				return list, nil
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("the collector has no metrics to derive others of")
	}
	return list, nil
}

// derivedArchive writes an archive of many small records.
func (b *bench) derivedArchive() (path string, operands []string, err error) {
	im, err := importer.Start(filepath.Join(filepath.Dir(b.ours.dir), "records"), importer.Options{Host: "bench", TimeZone: "UTC", Version: 2})
	if err != nil {
		return "", nil, err
	}
	var metrics []*importer.Metric
	for i := range derivedInRecord {
		m, err := im.NewMetric(fmt.Sprintf("bench.m%d", i), importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}})
		if err != nil {
			return "", nil, err
		}
		metrics, operands = append(metrics, m), append(operands, m.Name())
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range derivedRecords {
		for i, m := range metrics {
			if err := m.PutUint(uint64(n * (i + 1))); err != nil {
				return "", nil, err
			}
		}
		if err := im.Write(start.Add(time.Duration(n) * time.Second)); err != nil {
			return "", nil, err
		}
	}
	return im.Path(), operands, im.End()
}

// theirs fetches with the C client and returns the number of fetches, and the nanoseconds of each.
func (l *derivedLoad) theirs(ctx context.Context, client string, seconds time.Duration) (n int, each float64, err error) {
	cmd := exec.CommandContext(ctx, client, append([]string{l.kind, l.source, fmt.Sprint(seconds.Seconds())}, l.names...)...)
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG="+l.defs)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", client, err)
	}
	var took float64
	if _, err := fmt.Sscan(string(out), &n, &took); err != nil || n == 0 {
		return 0, 0, fmt.Errorf("%s printed %q", client, out)
	}
	return n, took * 1e9 / float64(n), nil
}

// ours is theirs with our library, in this process.
func (l *derivedLoad) ours(ctx context.Context, seconds time.Duration) (n int, each float64, err error) {
	var c *pmapi.Context
	if l.kind == "host" {
		c, err = pmapi.Dial(ctx, l.source)
	} else {
		var a *pmapi.ArchiveContext
		if a, err = pmapi.OpenArchive(l.source); err == nil {
			c = a.Context
		}
	}
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	set := new(derive.Set)
	if _, err := set.Load(l.defs); err != nil {
		return 0, 0, err
	}
	c.UseDerived(set, nil)
	ids, err := c.LookupName(ctx, l.names...)
	if err != nil {
		return 0, 0, err
	}
	var res pcp.Result
	begin := time.Now()
	for time.Since(begin) < seconds {
		_, err := c.FetchInto(ctx, ids, &res)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		n++
	}
	if n == 0 {
		return 0, 0, fmt.Errorf("%s: no fetch", l.label)
	}
	return n, float64(time.Since(begin)) / float64(n), nil
}
