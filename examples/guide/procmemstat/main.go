// Procmemstat prints how much memory it has itself, before and after it takes a mebibyte more.
//
//	go run ./examples/guide/procmemstat -u Mbytes
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

func main() {
	log.SetFlags(0)
	units := flag.String("u", "kbytes", "units of the sizes")
	flag.Parse()
	if err := run(context.Background(), *units); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, units string) error {
	c, err := pmapi.Dial(ctx, "local:")
	if err != nil {
		return err
	}
	defer c.Close()
	if err := report(ctx, c, units); err != nil {
		return err
	}
	b := make([]byte, 1<<20)
	for i := 0; i < len(b); i += 1024 {
		b[i] = 1
	}
	fmt.Println("\nAfter malloc ...")
	err = report(ctx, c, units)
	b[0]++ // until here the memory is in use
	return err
}

// report prints the metrics of this process alone: the profile excludes all others.
func report(ctx context.Context, c *pmapi.Context, units string) error {
	scale, factor, err := pcp.ParseUnits(units)
	if err != nil {
		return err
	}
	metrics := []string{"proc.memory.rss", "proc.memory.textrss", "proc.memory.librss", "proc.memory.datrss"}
	ids, err := c.LookupName(ctx, metrics...)
	if err != nil {
		return err
	}
	descs, err := c.LookupDescs(ctx, ids...)
	if err != nil {
		return err
	}
	if err := c.DelProfile(descs[0].InDom); err != nil {
		return err
	}
	pid := os.Getpid()
	if err := c.AddProfile(descs[0].InDom, int32(pid)); err != nil {
		return err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return err
	}
	fmt.Printf("memory metrics for pid %d (sizes in %s)\n", pid, units)
	for i, set := range res.Sets {
		if len(set.Values) == 0 {
			fmt.Printf("???????? %s\n", metrics[i])
			continue
		}
		v, err := set.Values[0].Extract(descs[i].Type, pcp.TypeDouble)
		if err == nil {
			v, err = pcp.ConvScale(v, descs[i].Units, scale)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", metrics[i], err)
		}
		fmt.Printf("%8.0f %s\n", v.Double()*factor, metrics[i])
	}
	return nil
}
