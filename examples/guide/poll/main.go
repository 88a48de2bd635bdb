// Poll prints all values of some metrics every ten seconds.
//
//	go run ./examples/guide/poll -t 2sec -s 3 kernel.all.load disk.dev.read
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

func main() { os.Exit(run()) }

func run() int {
	o := options.Parse(&getopt.Program{Synopsis: "[options] metricname ...", Options: []getopt.Option{
		getopt.OptHost, getopt.OptInterval, getopt.OptSamples, getopt.OptHelp,
	}}, os.Args)
	if len(o.Args) == 0 && !o.WantsHelp() {
		o.Usagef("no metricname")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	ctx := context.Background()
	c, err := o.Open(ctx)
	if err != nil {
		return o.Fatal(err)
	}
	defer c.Close()
	interval := o.Interval
	if interval == 0 {
		interval = 10 * time.Second
	}
	if err := poll(ctx, c, interval, o.Samples, o.Args); err != nil {
		return o.Fatal(err)
	}
	return 0
}

// poll prints as many samples as there should be; 0 means no limit. Names and descriptors are
// looked up once, and each fetch asks for all metrics together.
func poll(ctx context.Context, c *pmapi.Context, interval time.Duration, samples int, metrics []string) error {
	ids, err := c.LookupName(ctx, metrics...)
	if err != nil {
		return err
	}
	descs, err := c.LookupDescs(ctx, ids...)
	if err != nil {
		return err
	}
	var res pcp.Result // used again for each fetch
	for n := 1; ; n++ {
		if _, err := c.FetchInto(ctx, ids, &res); err != nil {
			return err
		}
		fmt.Printf("\n@ %s\n", pcptime.Ctime(res.Time, time.Local))
		var line []byte
		for i, set := range res.Sets { // in the order of ids
			line = fmt.Appendf(line[:0], "PMID: %v", set.PMID)
			for _, v := range set.Values {
				line = fmt.Appendf(line, " [%d]", v.Inst)
				line = v.AppendPrint(line, descs[i].Type, 8, time.Local)
			}
			fmt.Printf("%s\n", line)
		}
		if n == samples {
			return nil
		}
		time.Sleep(interval)
	}
}
