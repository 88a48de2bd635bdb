//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cpuTime returns the processor time that a process has used, as the scheduler counts it.
func cpuTime(pid int) time.Duration {
	var sum time.Duration
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
	return sum
}

// resident returns the resident set of a process in KiB, proportional its proportional set: a page that others have too counts in part.
func resident(pid int) int     { return procField(pid, "status", "VmRSS:") }
func proportional(pid int) int { return procField(pid, "smaps_rollup", "Pss:") }

// transferred returns the bytes that a process has read and written, sockets included.
func transferred(pid int) (in, out int) {
	return procField(pid, "io", "rchar:"), procField(pid, "io", "wchar:")
}

// procField returns the number after a name in a file of /proc.
func procField(pid int, file, name string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// A measured has the costs between two moments.
type measured struct {
	begin, last time.Time
	cpu         []time.Duration // of each recorder
	in, out     int             // of hosts
	engineCPU   time.Duration
	engineBytes float64

	kills map[string]int // of recorders, the engine and the store

	span      time.Duration
	live      []int64 // MiB
	used      []time.Duration
	rss, pss  []int
	engineRSS int
	ended     time.Duration // how long the recorders took to end
}

// measure begins.
func (b *bench) measure() *measured {
	m := &measured{begin: time.Now(), last: time.Now(), kills: make(map[string]int)}
	for _, r := range b.list {
		m.cpu = append(m.cpu, r.cpu())
	}
	m.in, m.out = b.transferred()
	if b.victor != nil {
		m.engineCPU, m.engineBytes = b.victor.cpu(), b.victor.received(context.Background())
	}
	return m
}

// transferred returns the bytes that hosts received and sent.
func (b *bench) transferred() (in, out int) {
	for _, pid := range b.crowd.pids() {
		i, o := transferred(pid)
		in, out = in+i, out+o
	}
	return in, out
}

// progress prints a line each minute.
func (m *measured) progress(b *bench, at time.Duration) {
	if time.Since(m.last) < time.Minute {
		return
	}
	m.last = time.Now()
	var cpu time.Duration
	pss, used, lag, queue := 0, int64(0), 0.0, 0.0
	for i, r := range b.list {
		cpu += r.cpu() - m.cpu[i]
		pss += proportional(r.pid())
		used += r.live.mib.Load()
		for _, h := range r.state.Hosts {
			lag = max(lag, h.Lag)
		}
		for _, w := range r.state.RemoteWrite {
			queue = max(queue, w.Lag)
		}
	}
	fmt.Printf("%6.0f s: recorders: processor %.1f %%, %.0f KiB a host (%d live), latest sample %.2f s late, engine %.0f s behind\n",
		at.Seconds(), 100*cpu.Seconds()/time.Since(m.begin).Seconds(), float64(pss)/float64(b.hosts), used*1024/int64(b.hosts), lag, queue)
}

// end ends the measurement.
func (m *measured) end(b *bench) {
	m.span = time.Since(m.begin)
	for i, r := range b.list {
		r.look()
		m.used = append(m.used, r.cpu()-m.cpu[i])
		m.live = append(m.live, r.live.mib.Load())
		m.rss, m.pss = append(m.rss, resident(r.pid())), append(m.pss, proportional(r.pid()))
	}
	in, out := b.transferred()
	m.in, m.out = in-m.in, out-m.out
	if b.victor != nil {
		pid := b.victor.cmd.Process.Pid
		m.engineCPU, m.engineBytes, m.engineRSS = b.victor.cpu()-m.engineCPU, b.victor.received(context.Background())-m.engineBytes, resident(pid)
	}
}

func sum[T int | int64 | time.Duration](list []T) (n T) {
	for _, v := range list {
		n += v
	}
	return n
}

// diskSize returns the size of the files whose names match, below a directory.
func diskSize(dir string, match func(path string) bool) (n int64) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && match(path) {
			if st, err := d.Info(); err == nil {
				n += st.Size()
			}
		}
		return nil
	})
	return n
}

// print prints the table.
func (m *measured) print(b *bench, c *checked) {
	n := float64(b.hosts)
	rate := float64(b.crowd.values) / b.interval.Seconds() * n // values a second
	row := func(name, format string, args ...any) {
		fmt.Printf("| %s | %s |\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Println("| | |\n| --- | --- |")
	row("hosts, values a second", "%d, %.0f", b.hosts, rate)
	row("processor time of a host in recorders", "%.2f ms a sample, %.3f %% of a processor", sum(m.used).Seconds()*1000/(n*m.span.Seconds()/b.interval.Seconds()), 100*sum(m.used).Seconds()/m.span.Seconds()/n)
	row("memory of a host in recorders", "%.0f KiB proportional, %.0f KiB resident, %.0f KiB live, %.0f KiB at most", float64(sum(m.pss))/n, float64(sum(m.rss))/n, float64(sum(m.live))*1024/n, float64(peakOf(b.list))/n)
	for i, r := range b.list {
		row(fmt.Sprintf("memory of recorder %d at the end", i), "%.0f MiB resident, %d MiB live, %.0f MiB at most", float64(m.rss[i])/1024, m.live[i], float64(r.peak)/1024)
	}
	arch := diskSize(b.dir, func(p string) bool { return strings.Contains(p, "/r") && strings.Contains(filepath.Base(p), "20") })
	row("disk, before compression", "%.2f B a value", float64(arch)/float64(max(1, c.values)))
	row("network, hosts to recorders", "%.0f B a sample, %.2f B a value", float64(m.out)/(n*m.span.Seconds()/b.interval.Seconds()), float64(m.out)/rate/m.span.Seconds())
	if b.victor != nil {
		row("network, recorders to the engine", "%.2f B a value", m.engineBytes/rate/m.span.Seconds())
		row("engine", "processor %.1f %%, %.0f MB resident, disk %.2f B a value", 100*m.engineCPU.Seconds()/m.span.Seconds(), float64(m.engineRSS)/1024,
			float64(diskSize(b.victor.dir, func(string) bool { return true }))/float64(max(1, c.engine.values)))
	}
	lag := 0.0
	for _, r := range b.list {
		lag = max(lag, r.lag)
	}
	row("latest sample", "%.2f s late", lag)
	row("kills", "%d of recorders, %d of the engine, %d of the store", m.kills["recorder"], m.kills["engine"], m.kills["store"])
	if len(c.gaps) > 0 {
		g := slices.Clone(c.gaps)
		row("gap at a kill", "%.1f s at most, median %.1f s, for an interval of %v and %v without a recorder", g[len(g)-1].Seconds(), g[len(g)/2].Seconds(), b.interval, b.down)
	}
	row("samples", "%d answered, %d in %d archives, %d answered when their recorder was killed or left the host", c.served, c.recorded, c.archives, c.lost)
	row("lost or duplicate samples", "%d missing, %d twice, %d that no host served", c.missing, c.twice, c.foreign)
	if b.victor != nil {
		e := c.engine
		row("values in the engine", "%d of %d; %d lost, %d twice, %d that no archive has, %d differ; all are right of %d hosts", e.values, c.values, e.lost, e.twice, e.foreign, e.differ, b.hosts-e.hosts)
	}
	if s := c.stored; s != nil {
		row("archives in the store", "%d, %d of them by the recorders before they ended, %.2f B a value; %d are missing, %d that no recorder has", s.archives, s.soon, s.per, s.lacking, s.foreign)
		row("samples in the store", "%d (%d values) of %d; %d lost, %d twice", s.samples, s.values, c.recorded, s.lost, s.twice)
	}
	row("all archives ended after", "%.1f s", m.ended.Seconds())
}

func peakOf(list []*recorder) (n int) {
	for _, r := range list {
		n += r.peak
	}
	return n
}
