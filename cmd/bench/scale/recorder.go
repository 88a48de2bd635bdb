//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/scale/hosts"
)

// A recorder is a pcp record, and those that were killed in its place.
type recorder struct {
	number int
	hosts  []int
	dir    string
	args   []string
	pcp    string

	cmd   *exec.Cmd
	kills []time.Time
	spent time.Duration // by those that were killed
	state state
	peak  int // KiB
	live  *live
	lag   float64
}

// newRecorder returns the recorder of some hosts.
func (b *bench) newRecorder(number int, config string) (*recorder, error) {
	r := &recorder{number: number, pcp: b.pcp, dir: filepath.Join(b.dir, fmt.Sprintf("r%d", number))}
	var list strings.Builder
	first, step := number, b.recorders
	if b.fleet {
		first, step = 0, 1
	}
	for i := first; i < b.hosts; i += step {
		r.hosts = append(r.hosts, i)
		fmt.Fprintf(&list, "%s name=%s\n", b.crowd.address(i), hosts.Name(i))
	}
	file := r.dir + ".hosts"
	if err := os.WriteFile(file, []byte(list.String()), 0o666); err != nil {
		return nil, err
	}
	r.args = []string{"record", "-f", file, "-c", config, "-t", fmt.Sprint(b.interval.Seconds(), "sec"), "-d", r.dir}
	if b.fleet {
		r.args = append(r.args, "--fleet", filepath.Join(b.dir, "fleet"), "--fleet-id", fmt.Sprintf("r%d", number))
	}
	if b.victor != nil {
		r.args = append(r.args, "--remote-write", b.victor.url())
	}
	if b.store != nil {
		r.args = append(r.args, "--ship", b.store.dir.String(), "--lifecycle", "off")
	}
	return r, nil
}

func (r *recorder) start() error {
	r.cmd = exec.Command(r.pcp, r.args...)
	out, err := os.OpenFile(r.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer out.Close()
	r.live = &live{to: os.Stderr}
	r.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	r.cmd.Stdout, r.cmd.Stderr = out, r.live
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return r.cmd.Start()
}

// A live reads the reports of garbage collections from the messages of a process, and writes the others.
type live struct {
	to   io.Writer
	rest []byte
	mib  atomic.Int64 // in use after the last collection
}

// collected is a report. Its third number of MiB is of the memory that is still in use.
var collected = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB, `) })

func (l *live) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		if m := collected().FindSubmatch(line); m != nil {
			n, _ := strconv.Atoi(string(m[1]))
			l.mib.Store(int64(n))
		} else if _, err := fmt.Fprintf(l.to, "%s\n", line); err != nil {
			return 0, err
		}
	}
}

// log returns the name of the file with the output of all its processes.
func (r *recorder) log() string { return r.dir + ".log" }

func (r *recorder) pid() int { return r.cmd.Process.Pid }

// cpu returns the processor time so far.
func (r *recorder) cpu() time.Duration { return r.spent + cpuTime(r.pid()) }

// look reads the status and the memory of the process.
func (r *recorder) look() {
	var s state
	if b, err := os.ReadFile(filepath.Join(r.dir, "record.status")); err == nil && json.Unmarshal(b, &s) == nil && s.PID == r.pid() {
		r.state = s
	}
	for i := range r.state.Hosts {
		r.lag = max(r.lag, r.state.Hosts[i].MaxLag)
	}
	r.peak = max(r.peak, proportional(r.pid()))
}

// kill kills the process.
func (r *recorder) kill() {
	r.look()
	r.spent += cpuTime(r.pid())
	r.kills = append(r.kills, time.Now())
	r.cmd.Process.Kill()
	r.cmd.Wait()
	r.state = state{}
}

// A state is the status that pcp record writes.
type state struct {
	PID   int `json:"pid"`
	Hosts []struct {
		State   string  `json:"state"`
		Samples uint64  `json:"samples"`
		Missed  uint64  `json:"missed"`
		Errors  uint64  `json:"errors"`
		Lag     float64 `json:"lag"`
		MaxLag  float64 `json:"maxlag"`
	} `json:"hosts"`
	RemoteWrite []struct {
		Sent     uint64  `json:"sent"`
		Rejected uint64  `json:"rejected"`
		Lag      float64 `json:"lag"`
		Err      string  `json:"error"`
	} `json:"remotewrite"`
}

// recording returns the number of hosts with samples.
func (s *state) recording() (n int) {
	for _, h := range s.Hosts {
		if h.State == "recording" && h.Samples > 0 {
			n++
		}
	}
	return n
}

// record runs the recorders, and kills one of them once in a while.
func (b *bench) record(ctx context.Context, config string) error {
	defer func() {
		for _, r := range b.list {
			if r.cmd != nil {
				r.cmd.Process.Kill()
			}
		}
	}()
	begin := time.Now()
	for i := range b.recorders {
		r, err := b.newRecorder(i, config)
		if err == nil {
			err = r.start()
		}
		if err != nil {
			return err
		}
		b.list = append(b.list, r)
	}
	all := func() (n int) {
		for _, r := range b.list {
			r.look()
			n += r.state.recording()
		}
		return n
	}
	for n := all(); n < b.hosts; n = all() {
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		if time.Since(begin) > 10*time.Minute {
			return fmt.Errorf("only %d hosts are recorded after 10 minutes, see %s (with -dir)", n, b.list[0].log())
		}
	}
	fmt.Printf("all hosts are recorded after %.0f s\n", time.Since(begin).Seconds())
	m := b.measure()
	if err := b.attack(ctx, m); err != nil {
		return err
	}
	return b.finish(ctx, m)
}

// attack waits for the duration, and kills recorders, the engine and the store in turn.
func (b *bench) attack(ctx context.Context, m *measured) error {
	begin := time.Now()
	next, turn, victim := b.kill, 0, 0
	for time.Since(begin) < b.duration {
		if err := sleep(ctx, min(5*time.Second, b.duration-time.Since(begin))); err != nil {
			return err
		}
		for _, r := range b.list {
			r.look()
		}
		if b.kill > 0 && time.Since(begin) >= next && time.Since(begin) < b.duration-b.down-b.interval {
			what := b.victims[turn%len(b.victims)]
			turn++
			next += b.kill
			m.kills[what]++
			fmt.Printf("%6.0f s: %s killed\n", time.Since(begin).Seconds(), what)
			var again func() error
			switch what {
			case "engine":
				b.victor.kill()
				again = func() error { return b.victor.start(ctx) }
			case "store":
				b.store.stop()
				again = b.store.start
			default:
				r := b.list[victim%len(b.list)]
				victim++
				r.kill()
				again = r.start
			}
			if err := sleep(ctx, b.down); err != nil {
				return err
			}
			if err := again(); err != nil {
				return err
			}
		}
		m.progress(b, time.Since(begin))
	}
	m.end(b)
	return nil
}

// finish ends the recorders, checks the samples, and prints the table.
func (b *bench) finish(ctx context.Context, m *measured) error {
	// When the hosts are gone, the recorders send the rest.
	if err := b.crowd.stop(); err != nil {
		return err
	}
	end := time.Now()
	for rest := b.victor != nil; rest; {
		if err := sleep(ctx, 6*time.Second); err != nil { // the status is written every 5 s
			return err
		}
		rest = false
		for _, r := range b.list {
			r.look()
			for _, w := range r.state.RemoteWrite {
				rest = rest || w.Lag > 0
			}
		}
		if time.Since(end) > 10*time.Minute {
			return errors.New("the recorders do not send the rest of the samples in 10 minutes")
		}
	}
	begin := time.Now()
	for _, r := range b.list {
		r.kills = append(r.kills, end)
		r.cmd.Process.Signal(syscall.SIGINT)
	}
	var failed error
	for _, r := range b.list {
		if err := r.cmd.Wait(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("pcp record: %w, see %s (with -dir)", err, r.log()))
		}
		r.cmd = nil
	}
	if failed != nil {
		return failed
	}
	m.ended = time.Since(begin)
	c, err := b.check(ctx)
	if err != nil {
		return err
	}
	if b.store != nil {
		if c.stored, err = b.store.finish(ctx, b, c); err != nil {
			return err
		}
	}
	m.print(b, c)
	return c.verdict()
}
