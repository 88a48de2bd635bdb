//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/creack/pty"
)

// topProcesses is the number of processes that pcp top must show.
const topProcesses = 2000

// top measures pcp top with 2,000 processes that sleep: the processor time of its screen when drawn
// each second, and that of the collector for it. The C side has no counterpart.
func (b *bench) top(ctx context.Context) error {
	views := []string{"overview", "processes"}
	wanted := views[:0:0]
	for _, view := range views {
		if b.wants("top." + view) {
			wanted = append(wanted, view)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	stop, err := sleepers(ctx, topProcesses)
	if err != nil {
		fmt.Printf("\npcp top is left out: %v\n", err)
		return nil
	}
	defer stop()
	fmt.Printf("\n%-14s %9s %8s %9s %10s %9s %9s\n", "pcp top", "processes", "seconds", "written", "rss", "its cpu", "collector")
	for _, view := range wanted {
		if err := b.topView(ctx, view); err != nil {
			return fmt.Errorf("pcp top, %s: %w", view, err)
		}
	}
	return nil
}

// topView runs a view in a terminal of 120 by 40, first for a while in which it starts.
func (b *bench) topView(ctx context.Context, view string) error {
	cmd := exec.CommandContext(ctx, b.pcp, "top", "-h", "unix:"+b.ours.sock, "-t", "1", "--view", view)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	term, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		return err
	}
	defer term.Close()
	written := make(chan int64, 1)
	go func() {
		n, _ := io.Copy(io.Discard, term) // which ends with an error when the program does
		written <- n
	}()
	own := []int{cmd.Process.Pid}
	wait := func(d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
		}
		if _, err := os.Stat(filepath.Join("/proc", fmt.Sprint(own[0]), "exe")); err != nil {
			return fmt.Errorf("it has ended: %w", err)
		}
		return nil
	}
	err = wait(3 * time.Second)
	its, collector, begin := cpuTime(own), cpuTime(b.ours.pids()), time.Now()
	if err == nil {
		err = wait(max(10*time.Second, b.time))
	}
	took := time.Since(begin)
	its, collector = cpuTime(own)-its, cpuTime(b.ours.pids())-collector
	rss, _ := memory(own)
	if _, werr := term.Write([]byte("q")); werr != nil || err != nil {
		cmd.Process.Kill()
	}
	werr := cmd.Wait()
	if err == nil {
		err = werr
	}
	if err != nil {
		return err
	}
	share := func(d time.Duration) string { return fmt.Sprintf("%.2f %%", 100*d.Seconds()/took.Seconds()) }
	fmt.Printf("%-14s %9d %8.1f %7dkB %7dMiB %9s %9s\n", "top."+view, topProcesses, took.Seconds(), <-written>>10, rss>>10, share(its), share(collector))
	return nil
}
