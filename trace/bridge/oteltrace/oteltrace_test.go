package oteltrace_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltracing "go.opentelemetry.io/otel/trace"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/trace"
	"github.com/go-pcp/pcp/trace/bridge/oteltrace"
)

// An agent keeps the records it receives.
type agent struct {
	port int
	mu   sync.Mutex
	got  []string
}

func newAgent(t *testing.T) *agent {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	a := &agent{port: ln.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Write(trace.Ack(trace.Version).Append(nil, 1))
				for r := trace.NewReader(conn, 0); ; {
					_, pdu, err := r.Next()
					if err != nil {
						return
					}
					var rec trace.Record
					if err := rec.Decode(pdu); err != nil {
						t.Error(err)
						return
					}
					a.mu.Lock()
					a.got = append(a.got, fmt.Sprintf("%d %s %v", rec.Kind, rec.Tag, rec.Value))
					a.mu.Unlock()
				}
			}()
		}
	}()
	return a
}

func (a *agent) records(t *testing.T, n int) []string {
	t.Helper()
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		got := slices.Clone(a.got)
		a.mu.Unlock()
		if len(got) >= n {
			return got
		}
	}
	t.Fatalf("there are not %d records: %q", n, a.got)
	return nil
}

func client(t *testing.T, cfg trace.Config) *trace.Client {
	t.Helper()
	cfg.Config = config.New(func(string) string { return "" })
	c, err := trace.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestSpans(t *testing.T) {
	for _, abort := range []bool{false, true} {
		a := newAgent(t)
		c := client(t, trace.Config{Host: "127.0.0.1", Port: a.port, State: trace.StateAsync})
		p := oteltrace.New(c, oteltrace.Options{AbortFailed: abort, Tag: func(s sdktrace.ReadOnlySpan) string {
			return strings.TrimPrefix(s.Name(), "left out")
		}})
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
		tracer := provider.Tracer("test")
		start := time.Unix(1_000_000_000, 0)
		span := func(name string, took time.Duration, failed bool) {
			_, s := tracer.Start(t.Context(), name, oteltracing.WithTimestamp(start))
			if failed {
				s.SetStatus(codes.Error, "it failed")
			}
			s.End(oteltracing.WithTimestamp(start.Add(took)))
		}
		ctx, outer := tracer.Start(t.Context(), "outer", oteltracing.WithTimestamp(start))
		_, inner := tracer.Start(ctx, "inner", oteltracing.WithTimestamp(start))
		inner.End(oteltracing.WithTimestamp(start.Add(time.Second)))
		outer.End(oteltracing.WithTimestamp(start.Add(2 * time.Second)))
		span("left out", time.Second, false)
		span("pay", 250*time.Millisecond, true)
		span(strings.Repeat("é", 200), 0, false)
		span("back in time", -time.Second, false)
		if err := provider.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"1 inner 1", "1 outer 2", "1 pay 0.25", "2 pay.error -1",
			"1 " + strings.Repeat("é", 127) + " 0", "1 back in time 0",
		}
		if abort {
			want = slices.Delete(want, 2, 3)
		}
		if got := a.records(t, len(want)); !slices.Equal(got, want) {
			t.Errorf("records %q, want %q", got, want)
		}
		span("late", time.Second, false)
		p.OnEnd(nil) // it is no longer used
		if p.Failed() != 0 {
			t.Errorf("%d measurements failed", p.Failed())
		}
	}
}

// TestWithoutAgent checks that spans end as usual, and failures are counted.
func TestWithoutAgent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	c := client(t, trace.Config{Host: "127.0.0.1", Port: port})
	var last error
	p := oteltrace.New(c, oteltrace.Options{Error: func(err error) { last = err }})
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
	for range 3 {
		_, s := provider.Tracer("test").Start(t.Context(), "x")
		s.End()
	}
	if p.Failed() != 3 || !errors.Is(last, trace.ErrIPC) {
		t.Errorf("%d measurements failed, with %v", p.Failed(), last)
	}
	if err := provider.ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkSpan measures a span with the processor, and a span without processors.
func BenchmarkSpan(b *testing.B) {
	b.Run("without", func(b *testing.B) {
		tracer := sdktrace.NewTracerProvider().Tracer("test")
		for b.Loop() {
			_, s := tracer.Start(b.Context(), "x")
			s.End()
		}
	})
	b.Run("with", func(b *testing.B) {
		c, err := trace.New(trace.Config{State: trace.StateNoAgent, Config: config.New(func(string) string { return "" })})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(oteltrace.New(c, oteltrace.Options{}))).Tracer("test")
		for b.Loop() {
			_, s := tracer.Start(b.Context(), "x")
			s.End()
		}
	})
}
