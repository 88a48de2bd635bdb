//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// theirs records a few hosts with a pmlogger of the C implementation each.
func (b *bench) theirs(ctx context.Context, config string) error {
	const program = "/usr/lib/pcp/bin/pmlogger"
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("the C implementation is left out: %w", err)
	}
	var cmds []*exec.Cmd
	defer func() {
		for _, cmd := range cmds {
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
		}
	}()
	for i := range b.real {
		base := filepath.Join(b.dir, "theirs", fmt.Sprintf("host%05d", i))
		if err := os.MkdirAll(base, 0o777); err != nil {
			return err
		}
		cmd := exec.Command(program, "-h", b.crowd.address(i), "-c", config, "-l", filepath.Join(base, "log"), filepath.Join(base, "archive"))
		cmd.Env = append(os.Environ(), "PCP_TMP_DIR="+base, "PCP_RUN_DIR="+base)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			return err
		}
		cmds = append(cmds, cmd)
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
	wait := min(b.duration, 6*b.interval)
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
