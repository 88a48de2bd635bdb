//go:build linux

package main

import (
	"cmp"
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
	engine   held
	stored   *stored // nil without object storage
	examples []string
}

// A held is what the engine has of the values in archives.
type held struct {
	values  uint64
	lost    int // values that it does not have
	twice   int // values that it has more often than archives
	foreign int // values of times without a value in the archives
	differ  int // other values than those of archives
	hosts   int // with any of these
}

func (c *checked) example(format string, args ...any) {
	if len(c.examples) < 10 {
		c.examples = append(c.examples, fmt.Sprintf(format, args...))
	}
}

// verdict returns an error if a sample was lost.
func (c *checked) verdict() error {
	bad := c.missing + c.twice + c.foreign + c.engine.hosts
	if s := c.stored; s != nil {
		bad += s.lacking + s.foreign + s.lost + s.twice
	}
	if bad == 0 {
		return nil
	}
	return fmt.Errorf("samples were lost, or are there twice:\n%s", strings.Join(c.examples, "\n"))
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
			if b.victor == nil {
				return nil
			}
			return c.compare(ctx, b.victor, h, m)
		})
		if err != nil {
			return nil, err
		}
		c.samples(h, answered[h], times, kills[h], ends, b.interval)
	}
	return c, nil
}

// host reads the archives of a host and returns the times of its samples in microseconds, and the ends of the archives. It calls f with the values, by metric and instance.
func (c *checked) host(b *bench, h int, f func(map[string]map[string][]point) error) (times []int64, ends []time.Time, err error) {
	var points map[string]map[string][]point
	if b.victor != nil {
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
	was := c.engine
	got := make(map[[2]string][]point)
	err := e.export(ctx, hosts.Name(h), func(metric, inst string, list []point) {
		k := [2]string{metric, inst}
		got[k] = append(got[k], list...)
	})
	for metric, byInst := range want {
		for inst, list := range byInst {
			k := [2]string{metric, inst}
			if text := c.engine.series(list, got[k]); text != "" {
				c.example("%s: %s{%s}: %s", hosts.Name(h), metric, inst, text)
			}
			delete(got, k)
		}
	}
	for k, list := range got {
		c.engine.foreign += len(list)
		c.engine.values += uint64(len(list))
		c.example("%s: %s{%s}: no archive has %d values of the engine", hosts.Name(h), k[0], k[1], len(list))
	}
	now := c.engine
	if now.lost+now.twice+now.foreign+now.differ > was.lost+was.twice+was.foreign+was.differ {
		c.engine.hosts++
	}
	return err
}

// series compares the values of a series in archives with those in the engine, and describes a difference.
func (e *held) series(want, got []point) (text string) {
	order := func(a, b point) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.value, b.value)) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	e.values += uint64(len(got))
	for len(want)+len(got) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && want[0].at < got[0].at:
			e.lost++
			text = fmt.Sprintf("the engine does not have the value of %v", time.UnixMilli(want[0].at))
			want = want[1:]
		case len(want) == 0 || got[0].at < want[0].at:
			e.foreign++
			text = fmt.Sprintf("no archive has the value of %v", time.UnixMilli(got[0].at))
			got = got[1:]
		default:
			at := want[0].at
			if math.Abs(want[0].value-got[0].value) > 1e-12*math.Abs(want[0].value) {
				e.differ++
				text = fmt.Sprintf("the engine has %v, archives have %v", got[0], want[0])
			}
			want, got = want[1:], got[1:]
			for len(got) > 0 && got[0].at == at && (len(want) == 0 || want[0].at > at) {
				e.twice++
				text = fmt.Sprintf("the value of %v is there more than once", time.UnixMilli(at))
				got = got[1:]
			}
		}
	}
	return text
}
