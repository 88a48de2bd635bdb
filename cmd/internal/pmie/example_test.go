package pmie_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
)

func Example() {
	dir, err := os.MkdirTemp("", "rules")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "disks")
	if err := record(path); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	e, err := pmie.New(ctx, pmie.Config{Archives: []string{path}, Out: os.Stdout, Err: os.Stderr, Zone: time.UTC, Interval: time.Second, Quiet: true})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	rules := `some_inst disk.busy > 50 -> print "%i is busy: %v percent";`
	if _, err := e.Load(ctx, strings.NewReader(rules), "rules"); err != nil {
		log.Fatal(err)
	}
	if err := e.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// print Thu Jan  1 00:00:02 2026: sdb is busy: 80 percent
}

// record makes an archive of the use of two disks, for three seconds.
func record(path string) error {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	im, err := importer.Start(path, importer.Options{Host: "example", TimeZone: "UTC"})
	if err != nil {
		return err
	}
	indom := pcp.NewInDom(60, 1)
	if _, err := im.AddMetric("disk.busy", pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU32, InDom: indom, Sem: pcp.SemInstant}); err != nil {
		return err
	}
	for i, name := range []string{"sda", "sdb"} {
		if err := im.AddInstance(indom, name, int32(i)); err != nil {
			return err
		}
	}
	for sec, busy := range []int{10, 20, 80, 30} {
		if err := im.PutValue("disk.busy", "sda", "1"); err != nil {
			return err
		}
		if err := im.PutValue("disk.busy", "sdb", fmt.Sprint(busy)); err != nil {
			return err
		}
		if err := im.Write(start.Add(time.Duration(sec) * time.Second)); err != nil {
			return err
		}
	}
	return im.End()
}
