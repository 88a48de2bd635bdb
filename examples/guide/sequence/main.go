// Sequence prints the values of a metric in an archive, in the order in which they were recorded.
//
//	go run ./examples/guide/sequence /var/log/pcp/pmlogger/host/20261127 kernel.all.load
package main

import (
	"context"
	"errors"
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
		log.Fatal("Usage: sequence archive metric")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path, metric string) error {
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		return err
	}
	defer a.Close()
	ids, err := a.LookupName(ctx, metric)
	if err != nil {
		return err
	}
	desc, err := a.LookupDesc(ctx, ids[0])
	if err != nil {
		return err
	}
	// An archive starts before its first record. Each fetch moves to the next record with a
	// value of one of the metrics.
	for {
		res, err := a.Fetch(ctx, ids)
		if errors.Is(err, pcp.ErrEOL) {
			return nil
		}
		if err != nil {
			return err
		}
		line := res.Time.AppendStamp(nil, time.Local)
		for _, v := range res.Sets[0].Values {
			line = v.AppendPrint(append(line, ' '), desc.Type, 1, time.Local)
		}
		fmt.Printf("%s\n", line)
	}
}
