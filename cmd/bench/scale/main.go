//go:build linux

// Command scale measures the cost of recording many hosts in one process, compared
// with a pmlogger for each. See README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type bench struct {
	pcp      string
	hosts    int
	metrics  int
	interval time.Duration
	time     time.Duration
	real     int
	keep     string // directory for archives, "" for a temporary one
}

func main() {
	if os.Getenv(simEnv) != "" {
		simMain()
		return
	}
	var b bench
	flag.StringVar(&b.pcp, "pcp", "bin/pcp", "our binary")
	flag.IntVar(&b.hosts, "hosts", 1000, "how many hosts are recorded")
	flag.IntVar(&b.metrics, "metrics", 300, "how many metrics a host has")
	flag.DurationVar(&b.interval, "interval", 10*time.Second, "time between two samples")
	flag.DurationVar(&b.time, "time", time.Minute, "how long they are recorded; the long form is 10m")
	flag.IntVar(&b.real, "real", 10, "how many pmloggers of the C implementation are measured beside them")
	flag.StringVar(&b.keep, "dir", "", "keep the archives there")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) error {
	dir := b.keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "scale"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	port, stop, err := b.simulate(ctx)
	if err != nil {
		return err
	}
	defer stop()
	config := filepath.Join(dir, "config")
	text := fmt.Sprintf("log mandatory on every %d msec { sim }\n", b.interval.Milliseconds())
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		return err
	}
	fmt.Printf("%d hosts of %d metrics every %v, for %v\n", b.hosts, b.metrics, b.interval, b.time)
	if err := b.ours(ctx, dir, config, port); err != nil {
		return err
	}
	if err := b.theirs(ctx, dir, config, port); err != nil {
		fmt.Println("the C implementation is left out:", err)
	}
	return nil
}

// simulate starts the hosts, in a process of their own, and returns their port.
func (b *bench) simulate(ctx context.Context) (port string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), simEnv+"="+strconv.Itoa(b.metrics))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	}
	if _, err := fmt.Fscanln(out, &port); err != nil {
		stop()
		return "", nil, fmt.Errorf("simulated hosts: %w", err)
	}
	return port, stop, nil
}

// address is that of a host: each has one of its own on the loopback interface.
func address(i int, port string) string {
	return fmt.Sprintf("127.1.%d.%d:%s", i/250, i%250+1, port)
}

// ours records all hosts with pcp record.
func (b *bench) ours(ctx context.Context, dir, config, port string) error {
	var list strings.Builder
	for i := range b.hosts {
		fmt.Fprintf(&list, "%s name=host%05d\n", address(i, port), i)
	}
	hosts, archives := filepath.Join(dir, "hosts"), filepath.Join(dir, "ours")
	if err := os.WriteFile(hosts, []byte(list.String()), 0o666); err != nil {
		return err
	}
	var out bytes.Buffer
	cmd := exec.Command(b.pcp, "record", "-f", hosts, "-c", config, "-t", fmt.Sprint(b.interval.Seconds(), "sec"), "-d", archives)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Process.Kill()
	status := filepath.Join(archives, "record.status")
	pid := cmd.Process.Pid
	var s state
	for s.recording() < b.hosts {
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		if time.Since(begin) > 5*time.Minute {
			return fmt.Errorf("only %d hosts are recorded after 5 minutes: %.2000s", s.recording(), &out)
		}
		s.read(status)
	}
	started := cpuTime(pid)
	fmt.Printf("all recorded after %.1f s, with %.2f s of processor time; resident %d KiB, %.0f KiB a host\n",
		time.Since(begin).Seconds(), started.Seconds(), resident(pid), float64(resident(pid))/float64(b.hosts))
	first := s.total()
	s.forget()
	begin = time.Now()
	for time.Since(begin) < b.time {
		if err := sleep(ctx, min(time.Minute, b.time-time.Since(begin))); err != nil {
			return err
		}
		fmt.Printf("%6.0f s: resident %d KiB, processor %.2f %%\n", time.Since(begin).Seconds(), resident(pid),
			100*(cpuTime(pid)-started).Seconds()/time.Since(begin).Seconds())
	}
	if err := sleep(ctx, 6*time.Second); err != nil { // the status is written every 5 s
		return err
	}
	if err := s.read(status); err != nil {
		return err
	}
	n := s.total()
	used := cpuTime(pid) - started
	fmt.Printf("ours: %d hosts, %d samples, %d missed, %d errors; worst lag %.3f s, median %.4f s; processor %.2f %%, %.2f ms a sample; resident %.0f KiB a host, at most %.0f\n",
		len(s.Hosts), n.samples-first.samples, n.missed, n.errors, n.maxLag, n.lag, 100*used.Seconds()/time.Since(begin).Seconds(),
		used.Seconds()*1000/float64(max(1, n.samples-first.samples)), float64(resident(pid))/float64(b.hosts), float64(peak(pid))/float64(b.hosts))
	cmd.Process.Signal(syscall.SIGINT)
	begin = time.Now()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("pcp record: %w: %.2000s", err, &out)
	}
	fmt.Printf("all archives ended after %.1f s\n", time.Since(begin).Seconds())
	return nil
}

// theirs records a few hosts with a pmlogger each.
func (b *bench) theirs(ctx context.Context, dir, config, port string) error {
	const program = "/usr/lib/pcp/bin/pmlogger"
	if _, err := os.Stat(program); err != nil {
		return err
	}
	var cmds []*exec.Cmd
	defer func() {
		for _, cmd := range cmds {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	}()
	for i := range b.real {
		base := filepath.Join(dir, "theirs", fmt.Sprintf("host%05d", i))
		if err := os.MkdirAll(base, 0o777); err != nil {
			return err
		}
		cmd := exec.Command(program, "-h", address(i, port), "-c", config, "-l", filepath.Join(base, "log"), filepath.Join(base, "archive"))
		cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+base, "PCP_RUN_DIR="+base)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			return err
		}
		cmds = append(cmds, cmd)
	}
	if len(cmds) == 0 {
		return errors.New("none is wanted")
	}
	if err := sleep(ctx, 2*b.interval); err != nil {
		return err
	}
	cpu := func() (sum time.Duration) {
		for _, cmd := range cmds {
			sum += cpuTime(cmd.Process.Pid)
		}
		return sum
	}
	started, begin := cpu(), time.Now()
	wait := min(b.time, 6*b.interval)
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	rss := 0
	for _, cmd := range cmds {
		rss += resident(cmd.Process.Pid)
	}
	n := float64(len(cmds))
	used := cpu() - started
	samples := n * float64(wait) / float64(b.interval)
	fmt.Printf("C: %d pmloggers; resident %.0f KiB a host; processor %.2f %% for each, %.2f ms a sample\n", len(cmds), float64(rss)/n,
		100*used.Seconds()/time.Since(begin).Seconds()/n, used.Seconds()*1000/samples)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A state is the status that pcp record writes.
type state struct {
	Hosts []struct {
		State   string  `json:"state"`
		Samples uint64  `json:"samples"`
		Missed  uint64  `json:"missed"`
		Errors  uint64  `json:"errors"`
		Lag     float64 `json:"lag"`
		MaxLag  float64 `json:"maxlag"`
	} `json:"hosts"`
}

func (s *state) read(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.forget()
	return json.Unmarshal(b, s)
}

func (s *state) forget() { *s = state{} }

func (s *state) recording() (n int) {
	for _, h := range s.Hosts {
		if h.State == "recording" && h.Samples > 0 {
			n++
		}
	}
	return n
}

type totals struct {
	samples, missed, errors uint64
	lag, maxLag             float64
}

func (s *state) total() (t totals) {
	var lags []float64
	for _, h := range s.Hosts {
		t.samples += h.Samples
		t.missed += h.Missed
		t.errors += h.Errors
		t.maxLag = max(t.maxLag, h.MaxLag)
		lags = append(lags, h.Lag)
	}
	t.lag = median(lags)
	return t
}
