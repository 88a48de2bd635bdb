// Events prints the records of an event metric and the parameters of each record.
//
//	go run ./examples/guide/events local: sample.event.records
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("Usage: events host metric")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, host, metric string) error {
	c, err := pmapi.Dial(ctx, host)
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, metric)
	if err != nil {
		return err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return err
	}
	if err := res.Sets[0].Err; err != 0 {
		return fmt.Errorf("%s: %w", metric, err)
	}
	for _, v := range res.Sets[0].Values {
		records, err := v.EventRecords()
		if err != nil {
			return err
		}
		fmt.Printf("instance %d: %d event records\n", v.Inst, len(records))
		for _, r := range records {
			if err := show(ctx, c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// show prints a record. Flags and the number of lost records are fields of it, not parameters.
func show(ctx context.Context, c *pmapi.Context, r pcp.EventRecord) error {
	fmt.Printf("%s", r.Time.AppendStamp(nil, time.Local))
	if r.Flags&pcp.EventMissed != 0 {
		fmt.Printf(" ==> %d missed event records\n", r.Missed)
		return nil
	}
	fmt.Printf(" flags 0x%x (%v)\n", uint32(r.Flags), r.Flags)
	for _, p := range r.Params {
		name, err := c.NameID(ctx, p.PMID)
		if err != nil {
			return fmt.Errorf("parameter %v: %w", p.PMID, err)
		}
		desc, err := c.LookupDesc(ctx, p.PMID)
		if err != nil {
			return fmt.Errorf("parameter %s: %w", name, err)
		}
		fmt.Printf("    %s %s\n", name, p.Value.AppendPrint(nil, desc.Type, 1, time.Local))
	}
	return nil
}
