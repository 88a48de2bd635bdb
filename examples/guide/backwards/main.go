// Backwards prints the values of a metric in an archive as they were every ten seconds, from the end of the
// archive to its start. Where nothing was recorded at such a time, values are interpolated.
//
//	go run ./examples/guide/backwards /var/log/pcp/pmlogger/host/20261127 kernel.all.load
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
		log.Fatal("Usage: backwards archive metric")
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
	end, err := a.End(ctx)
	if err != nil {
		return err
	}
	if err := a.SetMode(ctx, pmapi.ModeInterp, &end, -10*time.Second); err != nil {
		return err
	}
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
