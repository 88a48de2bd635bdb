package up

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmapi"
)

// Default limits of the recording.
var defaultKeep = janitor.Policy{MaxAge: 7 * day, MaxBytes: 1 << 30}

const (
	day       = 24 * time.Hour
	holdBytes = 1 << 20 // in memory, while the file system is full
)

// A recording records the metrics of the collector of this process to archives below its
// state directory. It is an ordinary client of its socket.
type recording struct {
	env *cli.Env
	set *settings
	log *slog.Logger

	mu      sync.Mutex
	stopped bool
	fleet   *fleet.Fleet
	host    string             // its name there
	cancel  context.CancelFunc // nil if it does not run
	done    chan struct{}
}

// dir returns the directory of the archives of a host.
func (set *settings) archives(host string) string {
	return filepath.Join(set.dir, "pmlogger", fleet.DefaultName(host))
}

// caps returns the limits of the recording, and whether processes are included.
func (set *settings) caps() string {
	what := "including processes"
	if set.noProcesses {
		what = "without processes"
	}
	return fmt.Sprintf("keeps %d days or %s, %s", set.keep.MaxAge/day, cli.Bytes(set.keep.MaxBytes), what)
}

// start records until stop is called. Errors are logged; the collector continues.
func (r *recording) start(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return
	}
	dir := r.set.archives(host)
	// Arguments of processes are private to their user. The recorder will find any error again.
	_ = safefile.MkdirAll(dir, 0o700, nil)
	configure := fleet.GeneratedProcesses
	if r.set.noProcesses {
		configure = fleet.Generated
	}
	keep := r.set.keep
	shipper, err := r.set.ship.Open(r.env, &keep, r.shipped)
	if err != nil {
		r.say("Not shipped: %s", cli.ErrText(err))
	}
	none := config.NewLookup(func(string) (string, bool) { return "", false }) // proxies are for other clients
	f, err := fleet.New(fleet.Config{
		Configure: configure,
		Dialer:    pmapi.Dialer{Config: none, Socket: r.set.socket},
		Interval:  10 * time.Second,
		Location:  r.env.Local(),
		Turns:     1, // the processors are the collector's
		Event:     r.event,
		Recorder:  pmlogger.Config{Hold: holdBytes},
		Janitor:   &janitor.Config{Daily: true, MakeRoom: true, RotateBytes: keep.MaxBytes / 8, Policy: keep},
	})
	if err == nil {
		err = f.Set([]fleet.Host{{Spec: "unix:", Name: fleet.DefaultName(host), Dir: dir}})
	}
	if err != nil {
		r.say("Not recorded: %s", cli.ErrText(err))
		return
	}
	var out *send.Recorder
	if len(r.set.targets) > 0 {
		out = send.NewRecorder(send.Config{Targets: r.set.targets, Agent: "pcp-up/" + r.env.Version, Event: r.sent})
		out.Set([]send.Dir{{Path: dir, Name: host}})
	}
	pusher, err := r.startPush(dir, host)
	if err != nil {
		r.say("Not pushed: %s", cli.ErrText(err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.fleet, r.host = f, fleet.DefaultName(host)
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		var ships sync.WaitGroup
		if shipper != nil {
			shipper.Set([]ship.Host{{Name: fleet.DefaultName(host), Path: dir}})
			ships.Go(func() { shipper.Run(ctx) })
		}
		if err := f.Run(ctx); err != nil {
			r.log.Error("recording ended", "err", err)
		}
		const most = sending.Patience - time.Second // less than patience
		var ends sync.WaitGroup
		defer ends.Wait()
		if shipper != nil {
			ends.Go(func() {
				ships.Wait()
				ctx, cancel := context.WithTimeout(context.Background(), most)
				defer cancel()
				shipper.Finish(ctx)
			})
		}
		if pusher != nil {
			ends.Go(func() {
				pusher.Drain(most)
				s := pusher.Status()
				r.log.Info("push", "to", s.Receiver, "bytes", s.Sent, "archives", s.Archives, "waiting", s.Waiting, "refused", s.Refused, "lost", s.Lost)
			})
		}
		if out != nil {
			out.Drain(most)
			for _, s := range out.Status() {
				r.log.Info("remote write", "to", s.URL, "sent", s.Sent, "rejected", s.Rejected, "lost", s.Lost)
			}
		}
	}()
}

// renew begins a new archive, with the metrics that the collector has now.
func (r *recording) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fleet != nil && !r.stopped {
		r.fleet.Restart(r.host)
	}
}

// patience is the time limit for ending an archive.
const patience = 5 * time.Second

// stop ends the archive, while the collector still serves.
func (r *recording) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.cancel == nil {
		return
	}
	r.cancel()
	select {
	case <-r.done:
		r.cancel = nil
	case <-time.After(patience):
		r.log.Error("the archive does not end in time")
	}
}

// wait waits until recording has ended, when the collector is gone.
func (r *recording) wait() {
	r.stop()
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if done != nil {
		<-done
	}
}

// event logs the news for the user: how much is recorded, and errors that prevent
// recording.
func (r *recording) event(e fleet.Event) {
	switch {
	case e.Daily > 0:
		r.say("Recording about %s a day before compression, measured on the first samples.", cli.Bytes(e.Daily))
	case e.Err != nil && errors.Is(e.Err, syscall.EMFILE):
		r.say("Recording: %s: %v; allow about 128 (ulimit -n)", e.Text, e.Err)
	case e.Err != nil && (errors.Is(e.Err, fs.ErrPermission) || errors.Is(e.Err, fs.ErrNotExist)):
		r.say("Not recorded: %v; it is tried again each minute. --no-record turns it off.", e.Err)
	case e.Err != nil:
		r.say("Recording: %s: %v", e.Text, e.Err)
	}
	if e.Err != nil {
		r.log.Warn("recording: "+e.Text, "err", e.Err)
		return
	}
	r.log.Info("recording: " + e.Text)
}

// shipped reports news of archives that are stored.
func (r *recording) shipped(_, text string, err error) { r.sent(text, err) }

// sent reports news of remote write, or of archives that are stored.
func (r *recording) sent(text string, err error) {
	if err != nil {
		r.say("Recording: %s: %v", text, err)
		r.log.Warn("recording: "+text, "err", err)
		return
	}
	r.say("Recording: %s.", text)
	r.log.Info("recording: " + text)
}

func (r *recording) say(format string, args ...any) {
	fmt.Fprintf(r.env.Stdout, format+"\n", args...)
	if err := r.env.FlushOut(); err != nil {
		r.log.Error("cannot write to the terminal", "err", err)
	}
}
