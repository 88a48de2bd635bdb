package pmlogger_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmapi"
)

// A lateConn delivers answers in pieces, some time after they have arrived, as that of a busy recorder that waits for its turn.
type lateConn struct {
	net.Conn
	ended <-chan struct{} // no answer is delivered before the recording ends
	began chan<- struct{} // gets a value when an answer waits for that
}

func (c *lateConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 200)])
	select {
	case c.began <- struct{}{}:
		<-c.ended
		time.Sleep(100 * time.Millisecond)
	default:
	}
	return n, err
}

// TestEnding ends a recording after the collector has answered, and before the recorder has read the answer: the sample is recorded.
func TestEnding(t *testing.T) {
	var last, samples atomic.Int64
	sim, err := hosts.New(hosts.Config{Metrics: 20, Served: func(_ int, at time.Time, _ int) {
		last.Store(at.UnixMicro())
		samples.Add(1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(t.Context())
	defer stop()
	go sim.Serve(serving, ln)
	ended, began := make(chan struct{}), make(chan struct{})
	d := pmapi.Dialer{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(hosts.Address(1).String(), strings.TrimPrefix(ln.Addr().String(), "0.0.0.0:")))
		return &lateConn{conn, ended, began}, err
	}}
	c, err := d.Dial(t.Context(), "host")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	base := filepath.Join(t.TempDir(), "a")
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 50 msec sim"), "config"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	await.Until(t, "samples", func() bool { return samples.Load() >= 3 })
	<-began
	cancel()
	close(ended)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var recorded time.Time
	for res, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Sets {
			if res.Sets[i].PMID.Domain() == hosts.Domain {
				recorded = res.Time.Time()
			}
		}
	}
	if at := time.UnixMicro(last.Load()); recorded.UnixMicro() != at.UnixMicro() {
		t.Errorf("the last sample that was answered is of %v, the last one recorded of %v", at, recorded)
	}
}
