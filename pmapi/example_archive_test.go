package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/pmapi"
)

// record writes an archive of a counter, each 10 s from 0 to 30.
func record(path string) error {
	im, err := importer.Start(path, importer.Options{Host: "host", TimeZone: "UTC"})
	if err != nil {
		return err
	}
	requests, err := im.NewMetric("example.requests", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemCounter})
	if err != nil {
		return err
	}
	for i := range 4 {
		requests.PutInt(int64(100 * i))
		if err := im.Write(time.Unix(1_700_000_000+int64(10*i), 0)); err != nil {
			return err
		}
	}
	return im.End()
}

// average prints how many requests there were each second.
func average(path string) {
	c, err := pmapi.OpenArchive(path)
	if err != nil {
		log.Fatal(err)
	}
	sum, n := 0.0, 0.0
	for s, err := range c.Samples(context.Background(), pmapi.SampleOptions{}, "example.requests,rate") {
		if err != nil {
			log.Fatal(err)
		}
		for _, v := range s.Values {
			sum, n = sum+v.Value.Double(), n+1
		}
	}
	fmt.Println(sum/n, "requests a second")
}

// The average of a rate over an archive.
func ExampleContext_Samples() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "20231114") // or that of an archive of pmlogger
	if err := record(path); err != nil {
		log.Fatal(err)
	}
	average(path)
	// Output: 10 requests a second
}

// An archive gives the values between its records too.
func ExampleOpenArchive() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "20231114") // or that of an archive of pmlogger, or a directory of these
	if err := record(path); err != nil {
		log.Fatal(err)
	}

	c, err := pmapi.OpenArchive(path)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	label, err := c.Label(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.SetMode(ctx, pmapi.ModeInterp, &label.Start, 15*time.Second); err != nil {
		log.Fatal(err)
	}
	ids, err := c.LookupName(ctx, "example.requests")
	if err != nil {
		log.Fatal(err)
	}
	for {
		res, err := c.Fetch(ctx, ids)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for _, v := range res.Sets[0].Values {
			fmt.Println(res.Time.Time().UTC().Format(time.TimeOnly), v)
		}
	}
	// Output:
	// 22:13:20 0
	// 22:13:35 150
	// 22:13:50 300
}
