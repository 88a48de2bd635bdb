package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Files in the directory of archives.
const (
	lockName   = "record.lock"
	statusName = "record.status"
)

// statusEvery is the interval at which the status is written.
const statusEvery = 5 * time.Second

// staleAfter is the age from which a status counts as that of a recorder that hangs.
const staleAfter = time.Minute

// lockWait is how long a recorder waits for the lock: --status takes it for an instant.
const lockWait = 500 * time.Millisecond

// stateVersion is the version of the format of a status file.
const stateVersion = fileversion.RecordStatus

// maxStatus is the maximum size of a status file.
const maxStatus = 256 << 20

// lockDir locks a directory of archives until the file is closed. It waits for a process that has the lock.
func lockDir(dir string, wait time.Duration) (*os.File, error) {
	f, _, err := safefile.OpenAppend(filepath.Join(dir, lockName), os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: %s; choose another directory with -d", dir, cli.ErrText(err))
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for end := time.Now().Add(wait); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(end); {
		time.Sleep(lockWait / 10)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
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
	Version int          `json:"version,omitempty"` // stateVersion, 1 if it is not there
	PID     int          `json:"pid"`
	Time    time.Time    `json:"time"`
	Hosts   []share.Host `json:"hosts"`
	// Moved is the number of hosts that are not recorded here any more, and whose archives are not all sent and stored.
	Moved int `json:"moved,omitempty"`

	RemoteWrite []send.Status `json:"remotewrite,omitempty"`
	Ship        []ship.Status `json:"ship,omitempty"`
}

// keepStatus writes the status every few seconds, until end is called, which removes it.
func (set *settings) keepStatus(h *hosts, out *send.Recorder, shipper *ship.Shipper) (end func()) {
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
			var stored []ship.Status
			if shipper != nil {
				stored = shipper.Status()
			}
			err := writeStatus(path, h.f.Status(), h.moved(), remote, stored)
			if err != nil && !bad {
				h.f.Say(fleet.Event{Time: time.Now(), Host: "status", Text: "cannot be written", Err: err})
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

func writeStatus(path string, list []fleet.Status, moved int, remote []send.Status, stored []ship.Status) error {
	s := state{Version: stateVersion, PID: os.Getpid(), Time: time.Now(), Hosts: hostStatus(list), Moved: moved, RemoteWrite: remote, Ship: stored}
	b, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	return safefile.ReplaceBytes(path, append(b, '\n'), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1})
}

// hostStatus returns the status of hosts as it is written.
func hostStatus(list []fleet.Status) []share.Host {
	hosts := make([]share.Host, len(list))
	for i, h := range list {
		w := share.Host{
			Name: h.Name, Spec: h.Spec, State: h.State.String(), Archive: h.Archive, Last: h.Written,
			Samples: h.Samples, Missed: h.Missed, Lag: h.Lag.Seconds(), MaxLag: h.MaxLag.Seconds(), Clock: h.Clock.Seconds(),
			Bytes: h.Bytes, Daily: h.Daily, Errors: h.Errors, ErrTime: h.ErrTime,
		}
		if h.Err != nil {
			w.Err = h.Err.Error()
		}
		hosts[i] = w
	}
	return hosts
}

// showStatus prints the status of the recordings in the directory. Its exit status is 1 if the recorder has ended or does not write its status.
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
		err = fileversion.Unmarshal(b, stateVersion, &s)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return env.Fatalf("%s: %s", path, cli.ErrText(err))
	}
	now := time.Now()
	problem := ""
	if lock, err := lockDir(set.dir, 0); err == nil {
		lock.Close()
		problem = fmt.Sprintf("process %d, which recorded, ended without notice; its status is %s old", s.PID, ago(now, s.Time))
	} else if now.Sub(s.Time) > staleAfter {
		problem = fmt.Sprintf("process %d records, and has not written its status for %s", s.PID, ago(now, s.Time))
	}
	code := 0
	if problem != "" {
		code = env.Fatalf("%s: %s", set.dir, problem)
	}
	if set.json {
		s.Version = 0 // of the file
		return max(code, printJSON(env, &s))
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
	if s.Moved > 0 {
		fmt.Fprintf(env.Stdout, "hosts no longer recorded here, with archives still to be sent or stored: %d\n", s.Moved)
	}
	if len(s.Ship) > 0 {
		fmt.Fprintln(env.Stdout)
		shipping.Report(env.Stdout, s.Ship)
	}
	if len(s.RemoteWrite) > 0 {
		fmt.Fprintln(env.Stdout)
		sending.Report(env.Stdout, s.RemoteWrite)
	}
	return code
}

// showFleet prints the status of a fleet.
func (set *settings) showFleet(ctx context.Context, env *cli.Env) int {
	store, err := share.OpenStore(set.fleet, env.Getenv)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	list, err := share.ReadStatus(ctx, store)
	if err != nil && len(list) == 0 {
		return env.Fatalf("%v", err)
	}
	if err != nil {
		env.Errorf("%v", err)
		env.Flush()
	}
	if len(list) == 0 {
		return env.Fatalf("%s: no recorder has this fleet: \"%s record --fleet %[1]s\" starts one", set.fleet, env.Pcp())
	}
	if set.json {
		return printJSON(env, list)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "RECORDER\tSTATE\tHOSTS\tLISTED\tMOVED\tWRITTEN\n")
	for _, r := range list {
		state := "recording"
		if r.Gone {
			state = "gone"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\n", r.ID, state, len(r.Hosts)+r.More, r.Listed, r.Moved, r.Time.In(env.Local()).Format("2006-01-02 15:04:05"))
	}
	w.Flush()
	fmt.Fprintln(env.Stdout)
	type row struct {
		*share.Host
		of *share.Status
	}
	var rows []row
	for i := range list {
		for j := range list[i].Hosts {
			rows = append(rows, row{&list[i].Hosts[j], &list[i]})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	fmt.Fprint(w, "HOST\tRECORDER\tSTATE\tLAST\tSAMPLES\tMISSED\tLAG\tSIZE\tA DAY\tERRORS\n")
	for _, h := range rows {
		state := h.State
		if h.of.Gone {
			state = "gone"
		}
		// Both times are of the recorder's clock.
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%.2fs\t%s\t%s\t%d\n", h.Name, h.of.ID, state, ago(h.of.Time, h.Last), h.Samples, h.Missed, h.Lag,
			cli.Bytes(h.Bytes), cli.Bytes(h.Daily), h.Errors)
	}
	w.Flush()
	for _, h := range rows {
		if h.Err != "" && h.State != fleet.Recording.String() {
			fmt.Fprintf(env.Stdout, "%s, %s ago: %s\n", h.Name, ago(h.of.Time, h.ErrTime), strings.ReplaceAll(h.Err, "\n", " "))
		}
		if text := fleet.ClockText(time.Duration(h.Clock * float64(time.Second))); text != "" {
			fmt.Fprintf(env.Stdout, "%s: %s\n", h.Name, text)
		}
	}
	return 0
}

// printJSON prints a value as JSON.
func printJSON(env *cli.Env, v any) int {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return env.Fatalf("%v", err)
	}
	fmt.Fprintf(env.Stdout, "%s\n", b)
	return 0
}

// ago returns the age of a time in seconds, "-" for the zero time.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return max(0, now.Sub(t)).Round(time.Second).String()
}
