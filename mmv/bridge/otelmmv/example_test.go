package otelmmv_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge/otelmmv"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "mmv") // a real program does not set Options.Dir
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	reg, err := mmv.New("shop", mmv.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer reg.Close()

	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(otelmmv.NewReader(reg, otelmmv.Options{})))
	sold, err := provider.Meter("shop").Int64Counter("sold", metric.WithUnit("{product}"))
	if err != nil {
		log.Fatal(err)
	}
	sold.Add(ctx, 3)

	// The last measurements are published after Shutdown.
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reg.Lookup("sold"))
	// Output: 3
}
