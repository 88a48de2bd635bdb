// Pmclient_fg prints what pmclient does. A fetch group computes rates and converts units, and sets the
// fields of a struct.
//
//	go run ./examples/guide/pmclient_fg -t 1sec -s 5
package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

func main() { os.Exit(run(context.Background())) }

// info has the values of a line. Processors are a map: they can come and go.
type info struct {
	Processors int                `pcp:"hinv.ncpu"`
	Load1      *float64           `pcp:"kernel.all.load[1 minute]"`
	Load15     *float64           `pcp:"kernel.all.load[15 minute]"`
	User       map[string]float64 `pcp:"kernel.percpu.cpu.user,second/second"`
	Sys        map[string]float64 `pcp:"kernel.percpu.cpu.sys,second/second"`
	Free       *float64           `pcp:"mem.freemem,Mbyte"`
	Operations *float64           `pcp:"disk.all.total,count/second"`
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
	}
	g, err := pmapi.NewFetchGroup(c)
	if err != nil {
		return err
	}
	defer g.Close()
	var now info
	if _, err := g.AddStruct(ctx, &now); err != nil {
		return err
	}
	if err := g.Fetch(ctx); err != nil {
		return err
	}
	if archived { // the first fetch is where the archive starts
		if err := g.Fetch(ctx); err != nil {
			return err
		}
	}
	for n := 0; o.Samples == 0 || n < o.Samples; n++ {
		if n%15 == 0 {
			fmt.Printf("%sHost: %s, %d cpu(s), %s\n", from, host, now.Processors, pcptime.Ctime(g.Time(), o.Zone))
			busy, cpu := "", ""
			if now.Processors > 1 {
				busy, cpu = "  Busy    Busy", "   CPU    Util"
			}
			fmt.Printf("  CPU%s  Free Mem   Disk     Load Average\n Util%s  (Mbytes)   IOPS    1 Min  15 Min\n", busy, cpu)
		}
		if !archived {
			time.Sleep(interval)
		}
		if err := g.Fetch(ctx); err != nil {
			return err
		}
		fmt.Println(now.line())
	}
	return nil
}

func (i *info) line() string {
	sum, peak, busiest := 0.0, -1.0, "?"
	for name, user := range i.User {
		u := min(1, user+i.Sys[name])
		sum += u
		if u > peak || u == peak && name < busiest {
			peak, busiest = u, name
		}
	}
	line := fmt.Sprintf("%5.2f", sum/float64(max(1, len(i.User))))
	if i.Processors > 1 {
		line += fmt.Sprintf("   %3s   %5.2f", strings.TrimPrefix(busiest, "cpu"), peak)
	}
	return line + fmt.Sprintf(" %9.3f %6.0f  %7.2f %7.2f", or(i.Free), or(i.Operations), or(i.Load1), or(i.Load15))
}

// or returns a value, or NaN if there is none.
func or(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}
