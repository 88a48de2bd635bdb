package oteltrace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/go-pcp/pcp/trace"
	"github.com/go-pcp/pcp/trace/bridge/oteltrace"
)

func Example() {
	ctx := context.Background()
	// A real program has trace.Config{State: trace.StateAsync}; this example prints the records.
	var shown strings.Builder
	tr, err := trace.New(trace.Config{State: trace.StateNoAgent, Debug: &shown})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(oteltrace.New(tr, oteltrace.Options{})))
	_, span := provider.Tracer("shop").Start(ctx, "checkout")
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, strings.Contains(shown.String(), "sending data"))
	// Output: true
}
