//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
)

// A checked is the result of the comparison of hosts, archives and the engine.
type checked struct {
	served   int // samples that hosts answered
	recorded int // samples in archives
	values   uint64
	archives int
	cut      int             // archives with a part of a record at the end
	lost     int             // samples that were answered when their recorder was killed, or left the host to another one
	missing  int             // other samples that no archive has
	twice    int             // samples that archives have more than once
	foreign  int             // samples in archives that no host served
	gaps     []time.Duration // of more than one and a half intervals, at kills
	deviant  int             // hosts with another number of samples in the engine
	engine   uint64
	compared int     // values that were compared one by one
	differ   int     // of these, values that the engine does not have, or has differently, or more than once
	stored   *stored // nil without object storage
	examples []string
}

func (c *checked) example(format string, args ...any) {
	if len(c.examples) < 10 {
		c.examples = append(c.examples, fmt.Sprintf(format, args...))
	}
}

// verdict returns an error if a sample was lost.
func (c *checked) verdict() error {
	lacking := 0
	if c.stored != nil {
		lacking = c.stored.lacking
	}
	if c.missing+c.twice+c.foreign+c.deviant+c.differ+lacking == 0 {
		return nil
	}
	return fmt.Errorf("samples were lost: %d missing, %d twice, %d foreign, %d hosts deviate in the engine, %d values differ, %d archives are not in the store:\n%s",
		c.missing, c.twice, c.foreign, c.deviant, c.differ, lacking, strings.Join(c.examples, "\n"))
}

// inFlight is the time between the answer of a host and the write of the sample: if a recorder is killed within it, the sample was not written.
const inFlight = 5 * time.Second

// check compares. Each sample that a host answered must be in an archive once, and each sample of an archive must be in the engine once.
func (b *bench) check(ctx context.Context) (*checked, error) {
	c := new(checked)
	if b.victor != nil {
		if err := b.victor.flush(ctx); err != nil {
			return nil, err
		}
	}
	answered := make([][]int64, b.hosts)
	for _, path := range b.crowd.paths {
		list, err := readServed(path)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if int(s.host) < b.hosts && int(s.values) == b.crowd.values {
				answered[s.host] = append(answered[s.host], s.time)
			}
		}
	}
	kills := make([][]time.Time, b.hosts)
	for _, r := range b.list {
		for _, h := range r.hosts {
			kills[h] = append(kills[h], r.kills...)
		}
	}
	for h := range b.hosts {
		times, ends, err := c.host(b, h, func(m map[string]map[string][]point) error {
			if b.victor == nil || m == nil {
				return nil
			}
			return c.compare(ctx, b.victor, h, m)
		})
		if err != nil {
			return nil, err
		}
		c.samples(h, answered[h], times, kills[h], ends, b.interval)
		if b.victor != nil {
			want := uint64(len(times) * b.crowd.values)
			got, err := b.victor.count(ctx, hosts.Name(h), b.duration+time.Hour)
			if err != nil {
				return nil, err
			}
			c.engine += got
			if got != want {
				c.deviant++
				c.example("%s: the engine has %d samples, archives have %d", hosts.Name(h), got, want)
			}
		}
	}
	return c, nil
}

// exact is the number of hosts of which each value is compared.
const exact = 5

// host reads the archives of a host and returns the times of its samples in microseconds, and the ends of the archives. It calls f with the values of some hosts, by metric and
// instance.
func (c *checked) host(b *bench, h int, f func(map[string]map[string][]point) error) (times []int64, ends []time.Time, err error) {
	var points map[string]map[string][]point
	if h%max(1, b.hosts/exact) == 0 {
		points = make(map[string]map[string][]point)
	}
	paths, err := filepath.Glob(filepath.Join(b.dir, "r*", hosts.Name(h), "*.meta*"))
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		base, _, _ := strings.Cut(path, ".meta")
		a, err := archive.Open(base)
		if err != nil {
			if st, serr := os.Stat(base + ".0"); serr == nil && st.Size() < 1000 {
				c.cut++ // killed at its beginning
				continue
			}
			return nil, nil, err
		}
		c.archives++
		if end, err := a.End(); err == nil {
			ends = append(ends, end.Time())
		}
		n, err := c.read(a, points, &times)
		c.values += n
		if err := errors.Join(err, a.Close()); err != nil {
			return nil, nil, err
		}
	}
	return times, ends, f(points)
}

func (c *checked) read(a *archive.Archive, points map[string]map[string][]point, times *[]int64) (n uint64, err error) {
	names := make(map[pcp.PMID]string)
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			if errors.Is(err, pcp.ErrLogRec) {
				c.cut++
				break
			}
			return n, err
		}
		sample := false
		for i := range res.Sets {
			set := &res.Sets[i]
			if set.PMID.Domain() != hosts.Domain {
				continue
			}
			sample = true
			n += uint64(len(set.Values))
			if points == nil {
				continue
			}
			name, ok := names[set.PMID]
			desc, err := a.Meta().Desc(set.PMID)
			if err != nil {
				return n, err
			}
			if !ok {
				name = strings.ReplaceAll(a.Meta().Names(set.PMID)[0], ".", "_")
				names[set.PMID] = name
			}
			byInst := points[name]
			if byInst == nil {
				byInst = make(map[string][]point)
				points[name] = byInst
			}
			for _, v := range set.Values {
				inst := ""
				if desc.InDom != pcp.InDomNull {
					inst = fmt.Sprintf("unit%d-%d", desc.InDom.Serial(), v.Inst)
				}
				f, _ := v.As(desc.Type).Float64()
				byInst[inst] = append(byInst[inst], point{res.Time.Time().UnixMilli(), f})
			}
		}
		if sample {
			*times = append(*times, res.Time.Time().UnixMicro())
		}
	}
	return n, nil
}

// samples compares the answers of a host with its archives.
func (c *checked) samples(h int, answered, times []int64, kills, ends []time.Time, interval time.Duration) {
	slices.Sort(answered)
	slices.Sort(times)
	c.served += len(answered)
	c.recorded += len(times)
	count := make(map[int64]int, len(times))
	for _, t := range times {
		count[t]++
	}
	for _, t := range answered {
		switch n := count[t]; {
		case n == 1:
		case n > 1:
			c.twice++
			c.example("%s: the sample of %v is there %d times", hosts.Name(h), time.UnixMicro(t), n)
		case slices.ContainsFunc(slices.Concat(kills, ends), func(k time.Time) bool {
			return t <= k.Add(inFlight).UnixMicro() && t > k.Add(-inFlight).UnixMicro()
		}):
			c.lost++
		default:
			c.missing++
			c.example("%s: the sample of %v is missing", hosts.Name(h), time.UnixMicro(t))
		}
		delete(count, t)
	}
	c.foreign += len(count)
	for t := range count {
		c.example("%s: no host served the sample of %v", hosts.Name(h), time.UnixMicro(t))
	}
	if len(kills) == 0 {
		return
	}
	for _, k := range kills[:len(kills)-1] { // the last one is the end
		at := k.UnixMicro()
		i, _ := slices.BinarySearch(times, at)
		if i > 0 && i < len(times) && times[i]-times[i-1] > (interval+interval/2).Microseconds() {
			c.gaps = append(c.gaps, time.Duration(times[i]-times[i-1])*time.Microsecond)
		}
	}
	slices.Sort(c.gaps)
}

// compare compares each value of a host with those of the engine.
func (c *checked) compare(ctx context.Context, e *engine, h int, want map[string]map[string][]point) error {
	err := e.export(ctx, hosts.Name(h), func(metric, inst string, got []point) {
		list := want[metric][inst]
		delete(want[metric], inst)
		order := func(a, b point) int { return int(a.at - b.at) }
		slices.SortFunc(list, order)
		slices.SortFunc(got, order)
		c.compared += len(list)
		if len(list) != len(got) {
			c.differ += max(len(list), len(got)) - min(len(list), len(got))
			c.example("%s: %s{%s}: the engine has %d values, archives have %d", hosts.Name(h), metric, inst, len(got), len(list))
			return
		}
		for i := range list {
			if list[i].at != got[i].at || math.Abs(list[i].value-got[i].value) > 1e-12*math.Abs(list[i].value) {
				c.differ++
				c.example("%s: %s{%s}: the engine has %v, archives have %v", hosts.Name(h), metric, inst, got[i], list[i])
			}
		}
	})
	for metric, byInst := range want {
		for inst, list := range byInst {
			c.differ += len(list)
			c.example("%s: %s{%s} is not in the engine", hosts.Name(h), metric, inst)
		}
	}
	return err
}
