// Pmclient prints how busy the processors are, the busiest of them, free memory, disk operations
// and the load, of a host or an archive. It takes all values out of results itself;
// pmclient_fg prints the same with fewer lines.
//
//	go run ./examples/guide/pmclient -t 1sec -s 5
//	go run ./examples/guide/pmclient -a /tmp/shop -t 10sec
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

func main() { os.Exit(run(context.Background())) }

// The metrics, in the order in which they are looked up and fetched.
const (
	loadAvg = iota
	cpuUser
	cpuSys
	freeMem
	diskOps
)

func names() []string {
	return []string{loadAvg: "kernel.all.load", cpuUser: "kernel.percpu.cpu.user", cpuSys: "kernel.percpu.cpu.sys", freeMem: "mem.freemem", diskOps: "disk.all.total"}
}

func run(ctx context.Context) int {
	o := options.Parse(&getopt.Program{Options: getopt.General}, os.Args)
	if status, exit := o.Done(); exit {
		return status
	}
	c, err := o.Open(ctx)
	if err != nil {
		return o.Fatal(err)
	}
	defer c.Close()
	if err := show(ctx, c, o); err != nil {
		return o.Fatal(err)
	}
	return 0
}

func show(ctx context.Context, c *pmapi.Context, o *options.Options) error {
	interval := o.Interval
	if interval == 0 {
		interval = 5 * time.Second
	}
	s := &sampler{c: c}
	if err := s.lookup(ctx); err != nil {
		return err
	}
	host, err := c.HostName(ctx)
	if err != nil {
		return err
	}
	from := ""
	a, archived := c.Archive()
	if archived {
		from = "Archive: " + o.Archives[0] + ", "
		if err := a.SetMode(ctx, pmapi.ModeInterp, &o.Window.Start, interval); err != nil {
			return err
		}
		if _, err := s.sample(ctx); err != nil { // the start, where counters may have no values
			return err
		}
	}
	if _, err := s.sample(ctx); err != nil {
		return err
	}
	for n := 0; o.Samples == 0 || n < o.Samples; n++ {
		if n%15 == 0 {
			fmt.Printf("%sHost: %s, %d cpu(s), %s\n", from, host, s.ncpu, pcptime.Ctime(s.cur.Time, o.Zone))
			busy, cpu := "", ""
			if s.ncpu > 1 {
				busy, cpu = "  Busy    Busy", "   CPU    Util"
			}
			fmt.Printf("  CPU%s  Free Mem   Disk     Load Average\n Util%s  (Mbytes)   IOPS    1 Min  15 Min\n", busy, cpu)
		}
		if !archived {
			time.Sleep(interval)
		}
		line, err := s.sample(ctx)
		if err != nil {
			return err
		}
		fmt.Println(line)
	}
	return nil
}

// A sampler has the last two results: rates are differences of them.
type sampler struct {
	c             *pmapi.Context
	ncpu          int
	ids           []pcp.PMID
	descs         []pcp.Desc
	load1, load15 int32
	cur, prev     *pcp.Result
}

func (s *sampler) lookup(ctx context.Context) error {
	ids, err := s.c.LookupName(ctx, "hinv.ncpu")
	if err != nil {
		return err
	}
	res, err := s.c.Fetch(ctx, ids)
	if err != nil {
		return err
	}
	s.ncpu = 1
	if values := res.Sets[0].Values; len(values) > 0 {
		s.ncpu = max(1, int(values[0].As(pcp.TypeU32).Uint32()))
	}
	if s.ids, err = s.c.LookupName(ctx, names()...); err != nil {
		return err
	}
	if s.descs, err = s.c.LookupDescs(ctx, s.ids...); err != nil {
		return err
	}
	// Only two of the three loads are wanted.
	indom, lookup := s.descs[loadAvg].InDom, s.c.LookupInDom
	if a, ok := s.c.Archive(); ok {
		lookup = a.LookupInDomArchive
	}
	if s.load1, err = lookup(ctx, indom, "1 minute"); err != nil {
		return err
	}
	if s.load15, err = lookup(ctx, indom, "15 minute"); err != nil {
		return err
	}
	if err := s.c.DelProfile(indom); err != nil {
		return err
	}
	return s.c.AddProfile(indom, s.load1, s.load15)
}

// sample fetches, and returns a line if there was a sample before.
func (s *sampler) sample(ctx context.Context) (string, error) {
	res, err := s.c.Fetch(ctx, s.ids)
	if err != nil {
		return "", err
	}
	s.prev, s.cur = s.cur, res
	if s.prev == nil {
		return "", nil
	}
	util, peak, peakUtil := s.processors()
	line := number("%5.2f", 5, util)
	if s.ncpu > 1 {
		line += "   " + number("%3.0f", 3, peak) + "   " + number("%5.2f", 5, peakUtil)
	}
	return line + " " + number("%9.3f", 9, s.free()) + " " + number("%6.0f", 6, s.operations()) +
		"  " + number("%7.2f", 7, s.load(s.load1)) + "  " + number("%7.2f", 7, s.load(s.load15)), nil
}

// number formats a value that is -1 if it is unknown.
func number(format string, width int, x float64) string {
	if x < 0 {
		return fmt.Sprintf("%*s", width, "?")
	}
	return fmt.Sprintf(format, x)
}

// value returns the i-th value of a metric, whatever its type.
func (s *sampler) value(res *pcp.Result, metric, i int) float64 {
	v, err := res.Sets[metric].Values[i].Extract(s.descs[metric].Type, pcp.TypeDouble)
	if err != nil {
		return 0
	}
	return v.Double()
}

// delta returns how much a counter has grown.
func (s *sampler) delta(metric, i int) float64 {
	return s.value(s.cur, metric, i) - s.value(s.prev, metric, i)
}

// has reports whether both results have at least n values of a metric.
func (s *sampler) has(metric, n int) bool {
	return len(s.cur.Sets[metric].Values) >= n && len(s.prev.Sets[metric].Values) >= n
}

// processors returns the mean share of time in which processors were busy, and the busiest one.
func (s *sampler) processors() (util, peak, peakUtil float64) {
	if !s.has(cpuUser, s.ncpu) || !s.has(cpuSys, s.ncpu) {
		return -1, -1, -1
	}
	peakUtil = -1
	msec := 1000 * s.cur.Time.Sub(s.prev.Time)
	for i := range s.ncpu {
		u := min(1, (s.delta(cpuUser, i)+s.delta(cpuSys, i))/msec)
		util += u / float64(s.ncpu)
		if u > peakUtil {
			peak, peakUtil = float64(i), u
		}
	}
	return util, peak, peakUtil
}

// free returns the free memory in megabytes, in whichever unit it came.
func (s *sampler) free() float64 {
	if !s.has(freeMem, 1) {
		return -1
	}
	v, err := pcp.ConvScale(pcp.DoubleValue(s.value(s.cur, freeMem, 0)), s.descs[freeMem].Units, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte})
	if err != nil {
		return -1
	}
	return v.Double()
}

func (s *sampler) operations() float64 {
	if !s.has(diskOps, 1) {
		return -1
	}
	return float64(int((s.delta(diskOps, 0) + 0.5) / s.cur.Time.Sub(s.prev.Time)))
}

func (s *sampler) load(inst int32) float64 {
	for i, v := range s.cur.Sets[loadAvg].Values {
		if v.Inst == inst {
			return s.value(s.cur, loadAvg, i)
		}
	}
	return -1
}
