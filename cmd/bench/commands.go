//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// suiteArchives is where the QA suite has its archives.
const suiteArchives = "/var/lib/pcp/testsuite/archives/"

// commandStarts measures commands of pcp from start to end, the real ones, which are programs in Python, and ours: those that
// print once use our collector, and the others read a few samples of an archive of the suite.
func (b *bench) commandStarts(ctx context.Context) error {
	header := true
	for _, line := range []string{
		"pcp-free", "pcp-uptime", "pcp-ipcs -l", "pcp-numastat", "pcp-netstat", "pcp-zoneinfo",
		"pmiostat -s 2 -a pmiostat_mark", "pcp-mpstat -s 2 -a pcp-mpstat", "pcp-tapestat -s 2 -a pcp-tapestat-archive", "pcp-ss -a pcp-ss",
	} {
		words := strings.Fields(line)
		label := "command." + strings.TrimPrefix(words[0], "pcp-")
		if !b.wants(label) {
			continue
		}
		env := append(os.Environ(), "PCP_DERIVED_CONFIG=", "PCP_HOST=unix:"+b.ours.sock)
		last := len(words) - 1
		if archive := suiteArchives + words[last]; last > 0 && words[last][0] != '-' {
			if found, _ := filepath.Glob(archive + ".meta*"); len(found) == 0 {
				continue
			}
			words = words[:last]
			if words[last-1] == "-a" {
				words = words[:last-1]
			}
			env = append(os.Environ(), "PCP_DERIVED_CONFIG=", "PCP_ARCHIVE="+archive)
		}
		if header {
			fmt.Printf("\n%-20s %9s %10s %10s %7s\n", "start of a command", "tool", "median", "p95", "ratio")
			header = false
		}
		if err := b.commandStart(ctx, label, env, words); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) commandStart(ctx context.Context, label string, env, words []string) error {
	paths, sides := map[*server]string{b.ours: filepath.Join(b.links, words[0])}, []*server{b.ours}
	for _, dir := range []string{"/usr/lib/pcp/bin", "/usr/bin"} {
		path := filepath.Join(dir, words[0])
		if _, err := os.Stat(path); err == nil && b.real != nil && len(sides) == 1 { // 6.0.3 does not have all commands
			paths[b.real], sides = path, b.sides()
		}
	}
	times := map[*server][]time.Duration{}
	for range b.runs {
		for _, s := range sides { // in turn, so that a busy moment meets both
			cmd := exec.CommandContext(ctx, paths[s], words[1:]...)
			cmd.Env = env
			start := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", paths[s], err, out)
			}
			times[s] = append(times[s], time.Since(start))
		}
	}
	var theirs time.Duration
	for _, s := range sides {
		t := times[s]
		slices.Sort(t)
		fmt.Printf("%-20s %9s %10s %10s", label, s.name, short(t[len(t)/2]), short(t[len(t)*95/100]))
		if s == b.real {
			theirs = t[len(t)/2]
		} else if theirs > 0 {
			fmt.Printf(" %7.2f", float64(theirs)/float64(t[len(t)/2]))
		}
		fmt.Println()
	}
	return nil
}
