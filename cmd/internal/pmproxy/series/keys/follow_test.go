package keys_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
)

// TestFollow loads an archive while it grows, and once only.
func TestFollow(t *testing.T) {
	server := keystest.Start(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.meta"), make([]byte, 200), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.0"), bytes.Repeat([]byte("bad"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var log bytes.Buffer
	store, err := keys.Open(t.Context(), keys.Config{Servers: []string{server.Address}, Log: slog.New(slog.NewTextHandler(&locked{&mu, &log}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		store.Follow(ctx, keys.FollowOptions{Dirs: func() []string { return []string{dir, dir + "/none"} }, Interval: 20 * time.Millisecond})
	})
	defer done.Wait()
	defer cancel()
	im, err := importer.Start(filepath.Join(dir, "now"), importer.Options{Host: "this", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("some.metric", importer.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Hour)
	for n := 1; n <= 5; n++ {
		if err := m.PutUint(uint64(n)); err != nil {
			t.Fatal(err)
		}
		if err := im.Write(begin.Add(time.Duration(n) * time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := im.Flush(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			ids, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: "some.metric"})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for sample, err := range store.Values(ctx, ids, series.Window{}) {
				if got++; err != nil || sample.Values[0].Value.Uint32() != uint32(got) {
					t.Fatalf("value %d: %v, %v", got, sample, err)
				}
			}
			if got == n {
				break
			}
			if got > n || time.Now().After(deadline) {
				mu.Lock()
				defer mu.Unlock()
				t.Fatalf("%d values, want %d\n%s", got, n, &log)
			}
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if n := bytes.Count(log.Bytes(), []byte("archive is not loaded")); n != 1 {
		t.Errorf("the archive that cannot be read is logged %d times:\n%s", n, &log)
	}
}

type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// TestFollowNew follows an archive whose files have no labels yet when they are found. That is not a fault for a while: it is loaded when it has them.
func TestFollowNew(t *testing.T) {
	server := keystest.Start(t)
	made, dir := filepath.Join(t.TempDir(), "new"), t.TempDir()
	im, err := importer.Start(made, importer.Options{Host: "this", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("new.metric", importer.Spec{})
	if err == nil {
		err = m.PutUint(1)
	}
	if err == nil {
		err = im.Write(time.Now())
	}
	if err = errors.Join(err, im.End()); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".meta", ".0", ".index"} {
		if err := os.WriteFile(filepath.Join(dir, "new"+suffix), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var log bytes.Buffer
	store, err := keys.Open(t.Context(), keys.Config{Servers: []string{server.Address}, Log: slog.New(slog.NewTextHandler(&locked{&mu, &log}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	looks := make(chan bool)
	done.Go(func() {
		store.Follow(ctx, keys.FollowOptions{Dirs: func() []string {
			select {
			case looks <- true:
			case <-ctx.Done():
			}
			return []string{dir}
		}, Interval: time.Millisecond})
	})
	defer done.Wait()
	defer cancel()
	<-looks
	<-looks // it has tried to load the archive
	for _, suffix := range []string{".0", ".index", ".meta"} {
		b, err := os.ReadFile(made + suffix)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "new"+suffix), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		<-looks
		ids, err := store.Select(ctx, series.Matcher{Field: series.MetricName, Value: "new.metric"})
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) > 0 {
			return
		}
	}
	mu.Lock()
	defer mu.Unlock()
	t.Errorf("it is not loaded after 100 looks:\n%s", &log)
}
