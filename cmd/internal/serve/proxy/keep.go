package proxy

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

const (
	// restTime is the time without changes after which files of pushed archives are compressed. Their client can still
	// push more: then they are expanded.
	restTime = time.Hour
	// keepEvery is the time between looks at all pushed archives.
	keepEvery = 10 * time.Minute
)

// A keeper compresses pushed archives, and removes old ones.
type keeper struct {
	dir   string // with a directory for each host
	keep  time.Duration
	rest  time.Duration
	log   *slog.Logger
	hosts map[string]*janitor.Janitor
}

// start runs the keeper until the result is closed.
func (k *keeper) start() io.Closer {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	return closer(func() error {
		cancel()
		<-done
		return nil
	})
}

// A closer is an io.Closer.
type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// run works until ctx is done.
func (k *keeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		k.tidy(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(keepEvery):
		}
	}
}

// tidy looks at all hosts once.
func (k *keeper) tidy(ctx context.Context) {
	entries, err := os.ReadDir(k.dir)
	if err != nil {
		return // made with the first archive
	}
	for _, e := range entries {
		if ctx.Err() != nil || !e.IsDir() {
			continue
		}
		j := k.hosts[e.Name()]
		if j == nil {
			j, err = janitor.New(janitor.Config{
				Dir: filepath.Join(k.dir, e.Name()), CompressAfter: k.rest, Policy: janitor.Policy{MaxAge: k.keep}, Log: k.log,
			})
			if err != nil {
				k.log.Error("pushed archives are not maintained", "host", e.Name(), "err", err)
				continue
			}
			k.hosts[e.Name()] = j
		}
		if err := k.host(ctx, j, e.Name()); err != nil {
			k.log.Warn("pushed archives are not maintained", "host", e.Name(), "err", err)
		}
	}
}

// host looks at the archives of a host, unless another program does.
func (k *keeper) host(ctx context.Context, j *janitor.Janitor, name string) error {
	dir := filepath.Join(k.dir, name)
	unlock, err := janitor.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	err = janitor.Recover(ctx, dir, single, func(what, path string) { k.log.Info(what, "path", path) })
	j.Tidy(ctx)
	return err
}

// single reports whether an archive does not have a file both compressed and as it was. Only such pairs are left by interrupted
// compression. The other archives are their clients', who may push more.
func single(a *janitor.Archive) bool {
	seen := map[int]bool{}
	for _, f := range a.Files {
		if seen[f.Volume] {
			return false
		}
		seen[f.Volume] = true
	}
	return true
}
