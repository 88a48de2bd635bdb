package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// begin is when all archives start: 2024-01-01 00:00:00 UTC.
const begin = 1704067200

// domain is the domain of no agent.
const domain = 350

// Generate makes the archives that are not there yet. The same come out each
// time.
func (b Set) Generate(ctx context.Context) error {
	scale := func(n int) int {
		if b.Quick {
			return n / 7
		}
		return n
	}
	for _, version := range []int{archive.Version2, archive.Version3} {
		jobs := []struct {
			name string
			make func(base string) error
		}{
			{"wide", func(base string) error { return wide(base, version, scale(1800)) }},
			{"long", func(base string) error { return long(base, version, 1, begin, 10, scale(60480)) }},
			{"churn", func(base string) error { return churn(base, version, scale(2000)) }},
		}
		for i := range 4 {
			n := scale(8640)
			jobs = append(jobs, struct {
				name string
				make func(base string) error
			}{fmt.Sprintf("slice%d", i), func(base string) error {
				return long(base, version, uint64(10+i), begin+int64(i*n*10), 10, n)
			}})
		}
		for i := range 200 {
			n := scale(288)
			jobs = append(jobs, struct {
				name string
				make func(base string) error
			}{fmt.Sprintf("many/%03d", i), func(base string) error {
				return long(base, version, uint64(100+i), begin+int64(i*n*300), 300, n)
			}})
		}
		for _, j := range jobs {
			if err := ctx.Err(); err != nil {
				return err
			}
			base := filepath.Join(b.Data, fmt.Sprintf("v%d", version), j.name)
			if _, err := os.Stat(base + ".index"); err == nil {
				continue
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
				return err
			}
			// Made under another name, so that an interrupted one is made again.
			tmp := base + "-part"
			for _, part := range []string{".0", ".meta", ".index"} {
				os.Remove(tmp + part)
			}
			if err := j.make(tmp); err != nil {
				return err
			}
			for _, part := range []string{".0", ".meta", ".index"} {
				if err := os.Rename(tmp+part, base+part); err != nil {
					return err
				}
			}
		}
	}
	for _, v := range []string{"v2", "v3"} {
		if err := writeConfigs(filepath.Join(b.Data, v)); err != nil {
			return err
		}
	}
	return b.compress(ctx)
}

// compress makes copies of wide whose volume is compressed, in blocks as
// pmlogger_daily makes them.
func (b Set) compress(ctx context.Context) error {
	from := filepath.Join(b.Data, "v3", "wide")
	for _, c := range []struct {
		suffix string
		cmd    []string
	}{
		{"xz", []string{"xz", "-0", "--block-size=10MiB", "-k", "-c"}},
		{"zst", []string{"zstd", "-q", "-3", "-c"}},
	} {
		base := filepath.Join(b.Data, "v3", "wide-"+c.suffix)
		if _, err := os.Stat(base + ".index"); err == nil {
			continue
		}
		if _, err := exec.LookPath(c.cmd[0]); err != nil {
			continue // its workloads are left out
		}
		out, err := os.Create(base + ".0." + c.suffix)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, c.cmd[0], append(c.cmd[1:], from+".0")...)
		cmd.Stdout, cmd.Stderr = out, os.Stderr
		if err := errors.Join(cmd.Run(), out.Close()); err != nil {
			return fmt.Errorf("%s: %w", out.Name(), err)
		}
		for _, part := range []string{".meta", ".index"} {
			data, err := os.ReadFile(from + part)
			if err != nil {
				return err
			}
			if err := os.WriteFile(base+part, data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// A generator writes one archive.
type generator struct {
	w       *archive.Writer
	rand    *rand.Rand
	metrics []*metric
	res     pcp.Result
	now     int64
}

// A metric moves by itself.
type metric struct {
	desc  pcp.Desc
	insts []int32
	level []float64 // of each instance
	rate  []float64
	every int // in how many samples it is once
}

func newGenerator(base string, version int, seed uint64, start int64) (*generator, error) {
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{
		Version: version, PID: 4711, Start: pcp.Timestamp{Sec: start}, Host: "bench.example", TimeZone: "UTC",
	}})
	return &generator{w: w, rand: rand.New(rand.NewPCG(seed, 1)), now: start}, err
}

// kinds are the types and semantics that metrics have in turn.
var kinds = []struct {
	typ pcp.Type
	sem pcp.Sem
}{
	{pcp.TypeU64, pcp.SemCounter},
	{pcp.TypeU32, pcp.SemCounter},
	{pcp.TypeDouble, pcp.SemInstant},
	{pcp.TypeU64, pcp.SemCounter},
	{pcp.TypeFloat, pcp.SemInstant},
	{pcp.TypeU64, pcp.SemInstant},
	{pcp.Type32, pcp.SemInstant},
	{pcp.Type64, pcp.SemDiscrete},
}

// add adds n metrics over the instances, nil for none, each in every n-th sample.
func (g *generator) add(group string, cluster, n int, serial int, insts []int32, every int) error {
	for i := range n {
		kind := kinds[i%len(kinds)]
		m := &metric{insts: insts, every: every, desc: pcp.Desc{
			PMID: pcp.NewPMID(domain, cluster, i), Type: kind.typ, Sem: kind.sem, InDom: pcp.InDomNull,
		}}
		if insts == nil {
			m.insts = []int32{pcp.InNull}
		} else {
			m.desc.InDom = pcp.NewInDom(domain, serial)
		}
		if kind.sem == pcp.SemCounter {
			m.desc.Units.DimCount = 1
		}
		m.level, m.rate = make([]float64, len(m.insts)), make([]float64, len(m.insts))
		for k := range m.level {
			m.level[k], m.rate[k] = float64(g.rand.IntN(100_000)), float64(1+g.rand.IntN(5000))
		}
		if err := g.w.Desc(m.desc, fmt.Sprintf("bench.%s.metric%03d", group, i)); err != nil {
			return err
		}
		g.metrics = append(g.metrics, m)
	}
	return nil
}

// inDom writes an instance domain of n instances as of now, and returns their numbers.
func (g *generator) inDom(serial, n int, name func(i int) string) ([]int32, error) {
	insts, numbers := make([]pcp.Instance, n), make([]int32, n)
	for i := range insts {
		insts[i] = pcp.Instance{Inst: int32(i), Name: name(i)}
		numbers[i] = int32(i)
	}
	return numbers, g.w.InDom(pcp.Timestamp{Sec: g.now}, pcp.NewInDom(domain, serial), insts)
}

// next moves m and returns the value of its k-th instance.
func (g *generator) next(m *metric, k int) pcp.Value {
	switch m.desc.Sem {
	case pcp.SemCounter:
		if g.rand.IntN(8) != 0 {
			m.level[k] += math.Floor(m.rate[k] * g.rand.Float64())
		}
	case pcp.SemInstant:
		m.level[k] = (m.level[k]*7 + float64(g.rand.IntN(100_000))) / 8
	}
	var v pcp.Value
	switch m.desc.Type {
	case pcp.Type32:
		v = pcp.Int32Value(int32(m.level[k]))
	case pcp.TypeU32:
		v = pcp.Uint32Value(uint32(int64(m.level[k])))
	case pcp.Type64:
		v = pcp.Int64Value(int64(m.level[k]))
	case pcp.TypeU64:
		v = pcp.Uint64Value(uint64(m.level[k]))
	case pcp.TypeFloat:
		v = pcp.FloatValue(float32(m.level[k] / 128))
	default:
		v = pcp.DoubleValue(m.level[k] / 128)
	}
	v.Inst = m.insts[k]
	return v
}

// sample writes the i-th record and moves the time on.
func (g *generator) sample(i int, interval int64) error {
	g.res.Reset()
	g.res.Time = pcp.Timestamp{Sec: g.now}
	for _, m := range g.metrics {
		if i%m.every != 0 {
			continue
		}
		g.res.AddSet(m.desc.PMID)
		for k := range m.insts {
			g.res.Add(g.next(m, k))
		}
	}
	g.now += interval
	return g.w.WriteResult(&g.res)
}

// wide has 1,000 metrics, 40 of them over 500 processes in each tenth sample.
func wide(base string, version, samples int) error {
	g, err := newGenerator(base, version, 1, begin)
	if err != nil {
		return err
	}
	cpus, err := g.inDom(1, 16, func(i int) string { return fmt.Sprintf("cpu%d", i) })
	if err != nil {
		return err
	}
	procs, err := g.inDom(2, 500, func(i int) string { return fmt.Sprintf("%06d /usr/sbin/worker --shard=%d", 1000+7*i, i) })
	if err != nil {
		return err
	}
	err = errors.Join(g.add("one", 1, 720, 0, nil, 1), g.add("cpu", 2, 240, 1, cpus, 1), g.add("proc", 3, 40, 2, procs, 10))
	for i := 0; i < samples && err == nil; i++ {
		err = g.sample(i, 1)
	}
	return errors.Join(err, g.w.Close())
}

// long has 60 metrics, 12 of them over 4 disks.
func long(base string, version int, seed uint64, start, interval int64, samples int) error {
	g, err := newGenerator(base, version, seed, start)
	if err != nil {
		return err
	}
	disks, err := g.inDom(1, 4, func(i int) string { return fmt.Sprintf("sd%c", 'a'+i) })
	if err != nil {
		return err
	}
	err = errors.Join(g.add("one", 1, 48, 0, nil, 1), g.add("disk", 2, 12, 1, disks, 1))
	for i := 0; i < samples && err == nil; i++ {
		err = g.sample(i, interval)
	}
	return errors.Join(err, g.w.Close())
}

// churn has 4 metrics over 300 processes, 9 of which are replaced before each
// sample.
func churn(base string, version, samples int) error {
	const procs, replaced = 300, 9
	g, err := newGenerator(base, version, 2, begin)
	if err != nil {
		return err
	}
	indom := pcp.NewInDom(domain, 1)
	insts := make([]pcp.Instance, procs)
	numbers := make([]int32, procs)
	pid := int32(1000)
	name := func() string { return fmt.Sprintf("%06d /usr/bin/job --id=%d", pid, pid*13%997) }
	for i := range insts {
		pid++
		insts[i], numbers[i] = pcp.Instance{Inst: pid, Name: name()}, pid
	}
	err = g.add("proc", 1, 4, 1, numbers, 1)
	for i := 0; i < samples && err == nil; i++ {
		if i > 0 {
			for range replaced {
				k := g.rand.IntN(procs)
				pid++
				insts[k], numbers[k] = pcp.Instance{Inst: pid, Name: name()}, pid
				for _, m := range g.metrics {
					m.level[k] = 0
				}
			}
		}
		if err = g.w.InDom(pcp.Timestamp{Sec: g.now}, indom, insts); err == nil {
			err = g.sample(i, 10)
		}
	}
	return errors.Join(err, g.w.Close())
}
