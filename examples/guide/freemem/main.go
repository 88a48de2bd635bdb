// Freemem prints a metric with its units, by default the free memory of this host, and shows what
// to do about errors: each call can fail, and so can the metric in an answer.
//
//	go run ./examples/guide/freemem
//	go run ./examples/guide/freemem server.example disk.all.total
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

func main() {
	host, metric := "local:", "mem.freemem"
	if len(os.Args) > 1 {
		host = os.Args[1]
	}
	if len(os.Args) > 2 {
		metric = os.Args[2]
	}
	line, err := read(context.Background(), host, metric)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// read returns the metric's first value and its units. An error names the step that failed,
// with the text of pmErrStr(3).
func read(ctx context.Context, host, metric string) (string, error) {
	c, err := pmapi.Dial(ctx, host)
	if err != nil {
		return "", fmt.Errorf("connecting to pmcd on %s: %w", host, pcp.Code(err))
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, metric)
	if err != nil {
		return "", fmt.Errorf("looking up %s: %w", metric, pcp.Code(err))
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		return "", fmt.Errorf("getting descriptor for %s:%s: %w", host, metric, pcp.Code(err))
	}
	res, err := c.Fetch(ctx, ids)
	if err == nil && res.Sets[0].Err != 0 { // the fetch is fine, but the metric has no values
		err = res.Sets[0].Err
	}
	if err != nil {
		return "", fmt.Errorf("fetching %s:%s: %w", host, metric, pcp.Code(err))
	}
	line := fmt.Appendf(nil, "%s:%s = ", host, metric)
	values := res.Sets[0].Values
	if len(values) == 0 {
		return string(line) + "(no value)", nil
	}
	line = values[0].AppendPrint(line, desc.Type, 5, time.Local)
	return fmt.Sprintf("%s %s", line, desc.Units), nil
}
