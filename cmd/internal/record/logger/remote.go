package logger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// The local state of a recording to a URL.
const (
	spoolName   = "spool"  // of the archive
	spoolVolume = 16 << 20 // bytes of a volume without -v
	spoolMax    = 1 << 30  // maximum bytes of volumes queued for the server
	finishTime  = 10 * time.Second
)

// A remote is the pmproxy that receives a recording, by way of files in a temporary directory.
type remote struct {
	cfg push.Config
	dir string
	w   io.Writer

	left    []string       // directories of earlier recordings
	lefters sync.WaitGroup // push these

	p      *push.Pusher
	cancel context.CancelFunc
	done   chan struct{} // closed when the archive is complete
	ended  chan struct{} // closed when pushing has ended
	err    error         // why it ended before the archive was complete
}

// toURL pushes a recording.
func (set *settings) toURL(arg string) error {
	set.cfg.URL = arg
	set.remote = &remote{cfg: push.Config{URL: arg}, done: make(chan struct{}), ended: make(chan struct{})}
	p, err := push.New(set.remote.cfg)
	if err == nil {
		p.Close()
	}
	return err
}

// open creates the directory, and asks the server whether it accepts archives. A server that does not answer may do
// so later.
func (rem *remote) open(ctx context.Context, env *cli.Env, set *settings) error {
	rem.w = set.cfg.Log
	u, err := url.Parse(rem.cfg.URL)
	if err != nil {
		return err
	}
	if u.Scheme == "https" {
		if rem.cfg.TLS, err = push.TLS(u.Hostname(), env.Config(), env.Getenv); err != nil {
			return err
		}
	}
	if set.token != "" {
		if rem.cfg.Token, err = push.ReadToken(set.token); err != nil {
			return err
		}
	}
	last := ""
	rem.cfg.Warn = func(err error) {
		if text := err.Error(); text != last { // once
			last = text
			fmt.Fprintf(rem.w, "%s: %s; trying again\n", env.ProgName(), text)
		}
	}
	rem.cfg.Back = func() {
		last = ""
		fmt.Fprintf(rem.w, "%s: %s takes requests again\n", env.ProgName(), rem.cfg.URL)
	}
	if rem.p, err = push.New(rem.cfg); err != nil {
		return err
	}
	if err := rem.p.Ping(ctx); err != nil {
		if !push.Passing(err) {
			return err
		}
		rem.cfg.Warn(err)
	}
	tmp := env.Config().Get("PCP_TMPFILE_DIR")
	prefix := fmt.Sprintf("pmlogger-%.8x-", sha256.Sum256([]byte(rem.cfg.URL)))
	rem.left = leftovers(tmp, prefix)
	if rem.dir, err = os.MkdirTemp(tmp, prefix); err != nil {
		return err
	}
	set.cfg.Archive = filepath.Join(rem.dir, spoolName)
	if set.cfg.Volume == (pmlogger.Size{}) {
		set.cfg.Volume.Bytes = spoolVolume
	}
	fmt.Fprintf(rem.w, "Pushing to %s, by way of %s\n", rem.cfg.URL, set.cfg.Archive)
	return nil
}

func (rem *remote) base() string { return filepath.Join(rem.dir, spoolName) }

// leftovers lists the directories of earlier recordings to the same URL that were killed, or could not reach it: those of this user
// that no recorder writes.
func leftovers(tmp, prefix string) (list []string) {
	entries, err := os.ReadDir(tmp)
	if err != nil {
		return nil // MkdirTemp reports it
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), prefix) || !info.IsDir() || !private(info) {
			continue
		}
		dir := filepath.Join(tmp, e.Name())
		if written, err := archive.Written(filepath.Join(dir, spoolName)); err != nil || written {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, spoolName+".meta")); err == nil && info.Size() > 0 {
			list = append(list, dir)
		}
	}
	return list
}

// pushLeft pushes the archives of earlier recordings, and removes those that the server has.
func (rem *remote) pushLeft(ctx context.Context) {
	done := make(chan struct{})
	close(done)
	for _, dir := range rem.left {
		base := filepath.Join(dir, spoolName)
		p, err := push.New(rem.quiet())
		if err != nil {
			return // start has reported it
		}
		err = p.Drain(ctx, push.Spool{Base: base, Done: done})
		left, lerr := p.Left(base)
		p.Close()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil || lerr != nil || left > 0:
			fmt.Fprintf(rem.w, "Warning: the earlier recording %s is not pushed: %v\n", base, errors.Join(err, lerr))
		default:
			os.RemoveAll(dir)
			fmt.Fprintf(rem.w, "Pushed the earlier recording %s\n", base)
		}
	}
}

// quiet is the configuration for earlier recordings, whose failures are those of the current one.
func (rem *remote) quiet() push.Config {
	cfg := rem.cfg
	cfg.Warn, cfg.Back = nil, nil
	return cfg
}

// start begins pushing.
func (rem *remote) start() {
	ctx, cancel := context.WithCancel(context.Background())
	rem.cancel = cancel
	rem.lefters.Go(func() { rem.pushLeft(ctx) })
	go func() {
		defer close(rem.ended)
		rem.err = rem.p.Drain(ctx, push.Spool{
			Base: rem.base(), Done: rem.done, Max: spoolMax,
			Dropped: func(volume int, bytes int64) {
				fmt.Fprintf(rem.w, "Warning: volume %d of %d bytes is lost: more than %d bytes wait for %s\n", volume, bytes, spoolMax, rem.cfg.URL)
			},
		})
	}()
}

// watch ends a recording if the server rejects it.
func (rem *remote) watch(ctx context.Context, end context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
	case <-rem.ended:
		if rem.err != nil {
			end(fmt.Errorf("remote push recording terminated: %w", rem.err))
		}
	}
}

// finish pushes the rest of an archive that is complete, and reports whether the server has all of it. If not, the
// files stay.
func (rem *remote) finish() bool {
	close(rem.done)
	limit := time.AfterFunc(finishTime, rem.cancel)
	<-rem.ended
	limit.Stop()
	left, err := rem.p.Left(rem.base())
	switch {
	case err != nil:
		fmt.Fprintf(rem.w, "Warning: %v\n", err)
	case left == 0:
		os.RemoveAll(rem.dir) // here, since on SIGUSR2 another program replaces this one
		return true
	default:
		fmt.Fprintf(rem.w, "Warning: %d bytes did not reach %s; the next pmlogger to this URL, or \"pmlogpush\", sends them there from %s\n", left, rem.cfg.URL, rem.base())
	}
	rem.dir = "" // it stays
	return false
}

// remove removes the directory, unless it has files that are still needed.
func (rem *remote) remove() {
	if rem.cancel != nil {
		rem.cancel()
		<-rem.ended
		rem.lefters.Wait()
	}
	rem.p.Close()
	if rem.dir != "" {
		os.RemoveAll(rem.dir)
	}
}
