//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime returns the processor time that the processes have used so far, as
// the scheduler counts it: nanoseconds, not ticks.
func cpuTime(pids []int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				continue // the thread has ended
			}
			first, _, _ := bytes.Cut(b, []byte(" "))
			ns, _ := strconv.ParseInt(string(first), 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// memory returns the resident set, and of it the proportional share, of the
// processes in KiB. The second counts a page that several share once.
func memory(pids []int) (rss, pss int) {
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 2 {
				continue
			}
			n, _ := strconv.Atoi(f[1])
			switch f[0] {
			case "Rss:":
				rss += n
			case "Pss:":
				pss += n
			}
		}
	}
	return rss, pss
}

// family returns pid and all processes below it.
func family(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			for _, s := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(s); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return pids
}
