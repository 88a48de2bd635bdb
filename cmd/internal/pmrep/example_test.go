package pmrep_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// record writes an archive of a counter of bytes, each 10 s from 0 to 30.
func record(path string) error {
	im, err := importer.Start(path, importer.Options{Host: "host", TimeZone: "UTC"})
	if err != nil {
		return err
	}
	sent, err := im.NewMetric("example.sent", importer.Spec{
		Type: pcp.TypeU32, Sem: pcp.SemCounter, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte},
	})
	if err != nil {
		return err
	}
	for i := range 4 {
		sent.PutInt(int64(20480 * i))
		if err := im.Write(time.Unix(1_700_000_000+int64(10*i), 0)); err != nil {
			return err
		}
	}
	return im.End()
}

// A printer is a Writer that prints one line for each value.
type printer struct{ set *pmrep.Set }

func (p printer) WriteSample(s *pmrep.Sample) error {
	for i, m := range p.set.Metrics {
		for _, v := range s.Results[i] {
			fmt.Println(m.Label, v.Double(), m.Unit)
		}
		if len(s.Results[i]) == 0 {
			fmt.Println(m.Label, "N/A")
		}
	}
	return nil
}

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "archive")
	if err := record(path); err != nil {
		log.Fatal(err)
	}
	cfg := conf.New(conf.PmrepKeys())
	if err := cfg.Read("net.conf", "[net]\nexample.sent = sent,,KB,,8\n"); err != nil {
		log.Fatal(err)
	}
	metrics, err := cfg.Select([]string{":net"}, true)
	if err != nil {
		log.Fatal(err)
	}
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	set, err := pmrep.New(ctx, a.Context, metrics, pmrep.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	start := pcp.Timestamp{Sec: 1_700_000_000}
	if err := a.SetMode(ctx, pmapi.ModeInterp, &start, 10*time.Second); err != nil {
		log.Fatal(err)
	}
	if err := (&pmrep.Loop{}).Run(ctx, set, printer{set}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// sent N/A
	// sent 2 KB/s
	// sent 2 KB/s
	// sent 2 KB/s
}
