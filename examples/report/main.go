// Report is a whole tool of PCP in thirty lines: it prints the values of the metrics that its
// arguments name, of the source and at the times that its options and the environment select.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/options"
)

func main() { os.Exit(run()) }

func run() int {
	o := options.Parse(&getopt.Program{Synopsis: "[options] metricname ...", Options: getopt.General}, os.Args)
	if len(o.Args) == 0 && !o.WantsVersion() {
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
	for s, err := range o.Watch(ctx, c, o.Args...) {
		if err != nil {
			return o.Fatal(err)
		}
		fmt.Println(s.Time.Time().In(o.Zone).Format("15:04:05"), s.Values)
	}
	return 0
}
