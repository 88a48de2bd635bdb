package oteltrace

import (
	"context"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/go-pcp/pcp/trace"
)

// Options configures the transactions made from spans. The zero Options make a
// transaction of each.
type Options struct {
	// Tag returns the tag of a span, "" to leave the span out; nil takes its name.
	Tag func(sdktrace.ReadOnlySpan) string
	// AbortFailed leaves out the transactions of spans that failed, so that averages are those of successful
	// spans.
	AbortFailed bool
	// Error, if not nil, is called for each measurement that the client did not accept. It is called
	// where the span ends, and must not wait.
	Error func(error)
}

// A Processor is a span processor that sends transactions.
type Processor struct {
	client *trace.Client
	opt    Options
	failed atomic.Uint64
	ended  atomic.Bool
}

// New returns a processor that sends through c, which the caller closes after the provider has been shut down.
func New(c *trace.Client, opt Options) *Processor { return &Processor{client: c, opt: opt} }

// Failed returns the number of measurements that the client did not accept.
func (p *Processor) Failed() uint64 { return p.failed.Load() }

// OnStart does nothing: a span knows its start.
func (p *Processor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd sends the duration of a span.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.ended.Load() {
		return
	}
	tag := s.Name()
	if p.opt.Tag != nil {
		tag = p.opt.Tag(s)
	}
	if tag == "" {
		return
	}
	failed := s.Status().Code == codes.Error
	if !failed || !p.opt.AbortFailed {
		p.told(p.client.Record(fit(tag, ""), max(0, s.EndTime().Sub(s.StartTime()))))
	}
	if failed {
		p.told(p.client.Point(fit(tag, ".error")))
	}
}

func (p *Processor) told(err error) {
	if err == nil {
		return
	}
	p.failed.Add(1)
	if p.opt.Error != nil {
		p.opt.Error(err)
	}
}

// fit makes a tag of a name, cut to the length that a tag may have, and of its suffix.
func fit(name, behind string) string {
	name = strings.ReplaceAll(name, "\x00", "_")
	if n := trace.MaxTag - len(behind); len(name) > n {
		name = strings.ToValidUTF8(name[:n], "")
	}
	if behind == "" {
		return name
	}
	return name + behind
}

// ForceFlush waits until an asynchronous client has written all its records to the agent's
// connection.
func (p *Processor) ForceFlush(ctx context.Context) error { return p.client.Flush(ctx) }

// Shutdown flushes, and ends the processor. The client stays open.
func (p *Processor) Shutdown(ctx context.Context) error {
	p.ended.Store(true)
	return p.client.Flush(ctx)
}
