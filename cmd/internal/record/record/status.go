package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Files in the directory of archives.
const (
	lockName   = "record.lock"
	statusName = "record.status"
)

// statusEvery is the interval at which the status is written.
const statusEvery = 5 * time.Second

// maxStatus is the maximum size of a status file.
const maxStatus = 256 << 20

// lockDir locks a directory of archives until the file is closed.
func lockDir(dir string) (*os.File, error) {
	f, _, err := safefile.OpenAppend(filepath.Join(dir, lockName), os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %s; choose another directory with -d", dir, cli.ErrText(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: another \"pcp record\" records there; add hosts to its list, or choose another directory with -d", dir)
		}
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f, nil
}

// A state is the file with the status of hosts.
type state struct {
	PID   int          `json:"pid"`
	Time  time.Time    `json:"time"`
	Hosts []hostStatus `json:"hosts"`

	RemoteWrite []send.Status `json:"remotewrite,omitempty"`
}

// A hostStatus is a fleet.Status as it is written.
type hostStatus struct {
	Name    string    `json:"name"`
	Spec    string    `json:"spec"`
	State   string    `json:"state"`
	Archive string    `json:"archive,omitempty"`
	Last    time.Time `json:"last,omitzero"` // when a sample was written
	Samples uint64    `json:"samples"`
	Missed  uint64    `json:"missed"`
	Lag     float64   `json:"lag"` // seconds
	MaxLag  float64   `json:"maxlag"`
	Clock   float64   `json:"clock,omitempty"` // seconds by which the clock of the host is ahead
	Bytes   int64     `json:"bytes"`
	Daily   int64     `json:"daily"`
	Errors  uint64    `json:"errors"`
	Err     string    `json:"error,omitempty"`
	ErrTime time.Time `json:"errortime,omitzero"`
}

// keepStatus writes the status every few seconds, until end is called, which removes it.
func (set *settings) keepStatus(f *fleet.Fleet, out *send.Recorder) (end func()) {
	path := filepath.Join(set.dir, statusName)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(statusEvery)
		defer tick.Stop()
		bad := false
		for {
			var remote []send.Status
			if out != nil {
				remote = out.Status()
			}
			err := writeStatus(path, f.Status(), remote)
			if err != nil && !bad {
				f.Say(fleet.Event{Time: time.Now(), Host: "status", Text: "cannot be written", Err: err})
			}
			bad = err != nil
			select {
			case <-quit:
				os.Remove(path)
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func writeStatus(path string, list []fleet.Status, remote []send.Status) error {
	s := state{PID: os.Getpid(), Time: time.Now(), Hosts: make([]hostStatus, len(list)), RemoteWrite: remote}
	for i, h := range list {
		w := hostStatus{
			Name: h.Name, Spec: h.Spec, State: h.State.String(), Archive: h.Archive, Last: h.Written,
			Samples: h.Samples, Missed: h.Missed, Lag: h.Lag.Seconds(), MaxLag: h.MaxLag.Seconds(), Clock: h.Clock.Seconds(),
			Bytes: h.Bytes, Daily: h.Daily, Errors: h.Errors, ErrTime: h.ErrTime,
		}
		if h.Err != nil {
			w.Err = h.Err.Error()
		}
		s.Hosts[i] = w
	}
	b, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	return safefile.ReplaceBytes(path, append(b, '\n'), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
}

// showStatus prints the status of the recordings in the directory.
func (set *settings) showStatus(env *cli.Env) int {
	path := filepath.Join(set.dir, statusName)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return env.Fatalf("nothing is recorded to %s now: \"%s record\" starts it, -d names another directory", set.dir, env.Pcp())
	}
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is not a file")
	}
	if err == nil && st.Size() > maxStatus {
		err = fmt.Errorf("larger than %d bytes", maxStatus)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	var s state
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return env.Fatalf("%s: %s", path, cli.ErrText(err))
	}
	now := time.Now()
	if lock, err := lockDir(set.dir); err == nil {
		lock.Close()
		fmt.Fprintf(env.Stdout, "The process that recorded has ended without notice. This is how it was %s ago.\n\n", ago(now, s.Time))
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "HOST\tSTATE\tLAST\tSAMPLES\tMISSED\tLAG\tSIZE\tA DAY\tERRORS\n")
	for _, h := range s.Hosts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%.2fs\t%s\t%s\t%d\n", h.Name, h.State, ago(now, h.Last), h.Samples, h.Missed, h.Lag,
			cli.Bytes(h.Bytes), cli.Bytes(h.Daily), h.Errors)
	}
	w.Flush()
	for _, h := range s.Hosts {
		if h.Err != "" && h.State != fleet.Recording.String() {
			fmt.Fprintf(env.Stdout, "%s, %s ago: %s\n", h.Name, ago(now, h.ErrTime), strings.ReplaceAll(h.Err, "\n", " "))
		}
	}
	for _, h := range s.Hosts {
		if text := fleet.ClockText(time.Duration(h.Clock * float64(time.Second))); text != "" {
			fmt.Fprintf(env.Stdout, "%s: %s\n", h.Name, text)
		}
	}
	if len(s.RemoteWrite) > 0 {
		fmt.Fprintln(env.Stdout)
		sending.Report(env.Stdout, s.RemoteWrite)
	}
	return 0
}

// ago returns the age of a time in seconds, "-" for the zero time.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return max(0, now.Sub(t)).Round(time.Second).String()
}
