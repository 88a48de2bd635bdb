package pmcd_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/pmcd"
)

// TestListenTriesAgain has another collector close its port and its socket
// while Listen tries.
func TestListenTriesAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "pmcd") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	other, err := pmcd.Listen(t.Context(), pmcd.ListenConfig{Ports: []int{0}, Addresses: []string{"127.0.0.1"}, Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	lc := pmcd.ListenConfig{Ports: []int{other[0].Addr().(*net.TCPAddr).Port}, Addresses: []string{"127.0.0.1"}, Socket: socket}
	refused := func(what string, ctx context.Context, within time.Duration) {
		t.Helper()
		start := time.Now()
		lns, err := pmcd.Listen(ctx, lc)
		if took := time.Since(start); len(lns) > 0 || !errors.Is(err, syscall.EADDRINUSE) && ctx.Err() == nil || err == nil || took > within {
			t.Errorf("%s: %d listeners, %v, after %v", what, len(lns), err, took)
		}
	}
	refused("one try", t.Context(), 200*time.Millisecond)
	lc.Tries = 2
	start := time.Now()
	refused("two tries", t.Context(), time.Minute)
	if took := time.Since(start); took < 500*time.Millisecond { // of which each has two
		t.Errorf("two tries take %v", took)
	}
	lc.Tries = 1000
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	refused("without time", ctx, 30*time.Second)

	time.AfterFunc(50*time.Millisecond, func() {
		for _, ln := range other {
			ln.Close()
		}
	})
	lns, err := pmcd.Listen(t.Context(), lc)
	if err != nil || len(lns) != 2 {
		t.Errorf("once they are free: %d listeners, %v", len(lns), err)
	}
	for _, ln := range lns {
		ln.Close()
	}
}
