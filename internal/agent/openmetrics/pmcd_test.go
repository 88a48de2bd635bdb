package openmetrics_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/agent/openmetrics"
	"github.com/go-pcp/pcp/pmapi"
)

// TestSlowInCollector has a client of a collector wait for a source that hangs. Another gets its values meanwhile.
func TestSlowInCollector(t *testing.T) {
	hangs, entered := make(chan struct{}), make(chan struct{}, 10)
	var slow atomic.Bool
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" && slow.Load() {
			entered <- struct{}{}
			<-hangs
		}
		io.WriteString(w, "m 1\n")
	})
	dir := t.TempDir()
	for _, name := range []string{"slow", "quick"} {
		write(t, filepath.Join(dir, name+".url"), url+"/"+name+"\n", 0o644)
	}
	host := startOurs(t, openmetrics.Config{Dirs: []string{dir}, State: "-", Wait: true, Timeout: time.Hour})
	ctx := context.Background()
	fetch := func(c *pmapi.Context, name string) error {
		ids, err := c.LookupName(ctx, name)
		if err == nil {
			_, err = c.Fetch(ctx, ids)
		}
		return err
	}
	var clients [2]*pmapi.Context
	for i := range clients {
		c, err := pmapi.Dial(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients[i] = c
	}
	slow.Store(true)
	done := make(chan error, 1)
	go func() { done <- fetch(clients[0], "openmetrics.slow.m") }()
	<-entered
	for range 10 {
		if err := fetch(clients[1], "openmetrics.quick.m"); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-done:
		t.Errorf("the fetch of the slow source did not wait for it: %v", err)
	default:
	}
	close(hangs)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
