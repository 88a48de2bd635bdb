package pmlogger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// Record a metric of this program.
func Example() {
	ctx := context.Background()
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, Metrics: []pmda.Metric{{
		Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemDiscrete,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "guide", Domain: 400, Agent: a})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "20260101")
	r, err := pmlogger.New(ctx, c, pmlogger.Config{Archive: base, Size: pmlogger.Size{Samples: 3}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Configure(ctx, strings.NewReader("log on every 10 msec guide.answer"), "config"); err != nil {
		log.Fatal(err)
	}
	if err := r.Run(ctx); !errors.Is(err, pmlogger.ErrSampleLimit) {
		log.Fatal(err)
	}

	recorded, err := archive.Open(base)
	if err != nil {
		log.Fatal(err)
	}
	defer recorded.Close()
	n := 0
	for rec, err := range recorded.Records(recorded.Label().Start, archive.Forward) {
		if err != nil {
			log.Fatal(err)
		}
		if len(rec.Sets) == 1 {
			n++
		}
	}
	fmt.Println(n, "samples")
	// Output: 3 samples
}
