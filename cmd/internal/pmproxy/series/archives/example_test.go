package archives_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
)

// The load of a host from the archives of a directory, thinned to one value an hour.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	writeExample(filepath.Join(dir, "20260101"))

	store, err := archives.Open(ctx, archives.Config{Dirs: []string{dir}, Index: filepath.Join(dir, "series.db")})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	list, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: "hinv.ncpu"})
	if err != nil {
		log.Fatal(err)
	}
	for sample, err := range store.Values(ctx, list, series.Window{Interval: time.Hour}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(sample.Time.Time().UTC().Format(time.TimeOnly), sample.Values[0].Value.Uint32())
	}
	// Output:
	// 00:00:00 4
	// 01:00:00 4
	// 02:00:00 8
}

// writeExample records the number of CPUs for two hours, each ten minutes.
func writeExample(base string) {
	im, err := importer.Start(base, importer.Options{Host: "www.example.com", TimeZone: "UTC"})
	if err != nil {
		log.Fatal(err)
	}
	ncpu, err := im.NewMetric("hinv.ncpu", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemDiscrete})
	if err != nil {
		log.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 13 {
		n := int64(4)
		if i > 8 {
			n = 8
		}
		ncpu.PutInt(n)
		if err := im.Write(start.Add(time.Duration(i) * 10 * time.Minute)); err != nil {
			log.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		log.Fatal(err)
	}
}
