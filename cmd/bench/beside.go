//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// nodeExporter and atopProgram are programs of others that answer the same questions, as Debian has them.
const (
	nodeExporter = "prometheus-node-exporter"
	atopProgram  = "atop"
)

// scrapedNames are the metrics that have the values of node_exporter's collectors.
var scrapedNames = []string{
	"kernel.all", "kernel.percpu.cpu", "kernel.percpu.interrupts", "mem.util", "mem.vmstat", "mem.numa", "swap", "disk.dev", "disk.all",
	"network.interface", "network.ip", "network.icmp", "network.tcp", "network.udp", "network.udplite", "network.sockstat", "network.softnet",
	"filesys", "vfs", "hinv.ncpu", "hinv.cpu.clock",
}

// others measures programs of others beside ours: a scrape of the kernel's metrics beside node_exporter, and a recording of all
// processes beside atop.
func (b *bench) others(ctx context.Context) error {
	if b.wants("beside.scrape") {
		if err := b.besideExporter(ctx); err != nil {
			return fmt.Errorf("beside.scrape: %w", err)
		}
	}
	if b.wants("beside.processes") {
		if err := b.besideAtop(ctx); err != nil {
			return fmt.Errorf("beside.processes: %w", err)
		}
	}
	return ctx.Err()
}

// A scraped is the result of one run.
type scraped struct {
	cpu    time.Duration // of a scrape
	series int
}

// besideExporter scrapes node_exporter, and pmproxy over a collector of ours, in turn.
func (b *bench) besideExporter(ctx context.Context) error {
	program, err := exec.LookPath(nodeExporter)
	if err != nil {
		fmt.Printf("\nbeside.scrape is left out: %v\n", err)
		return nil
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	theirs := &webServer{name: "node_exporter", addr: net.JoinHostPort("127.0.0.1", port)}
	theirs.cmd = exec.CommandContext(ctx, program, "--web.listen-address="+theirs.addr, "--log.level=error")
	if _, err := theirs.start(); err != nil {
		return err
	}
	defer theirs.stop()

	collector, err := startCollector(ctx, "ours", filepath.Join(b.links, "pmcd"), filepath.Join(filepath.Dir(b.ours.dir), "scrape-ours"), []string{ownLine, linuxLine})
	if err != nil {
		return err
	}
	defer collector.stop()
	proxy, err := filepath.Abs(filepath.Join(b.links, "pmproxy"))
	if err != nil {
		return err
	}
	ours, err := startProxy(ctx, collector.dir, "ours", proxy)
	if err != nil {
		return err
	}
	defer ours.stop()
	query := url.Values{"hostspec": {collector.tcp}, "names": {strings.Join(scrapedNames, ",")}}.Encode()

	sides := []struct {
		name, url string
		pids      func() []int
		runs      []scraped
	}{
		{name: theirs.name, url: "http://" + theirs.addr + "/metrics", pids: func() []int { return family(theirs.cmd.Process.Pid) }},
		{name: ours.name, url: "http://" + ours.addr + "/metrics?" + query, pids: func() []int { return append(family(ours.cmd.Process.Pid), collector.pids()...) }},
	}
	for range 5 {
		for i := range sides {
			s := &sides[i]
			r, err := scrapeFor(ctx, s.url, s.pids, b.time/5)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.runs = append(s.runs, r)
		}
	}
	fmt.Printf("\n%-16s %-14s %8s %12s %12s %10s\n", "beside.scrape", "side", "series", "CPU/scrape", "CPU/1000", "pss")
	each := make(map[string]float64)
	for _, s := range sides {
		cpu, series := middle(s.runs, func(r scraped) float64 { return float64(r.cpu) }), s.runs[0].series
		each[s.name] = cpu / float64(series) * 1000
		_, pss := memory(s.pids())
		fmt.Printf("%-16s %-14s %8d %12s %12s %7d KB\n", "", s.name, series, short(time.Duration(cpu)), short(time.Duration(each[s.name])), pss)
	}
	fmt.Printf("%-16s node_exporter/ours for a series: %.2f\n", "", each[theirs.name]/each[ours.name])
	return nil
}

// scrapeFor scrapes a page again and again.
func scrapeFor(ctx context.Context, page string, pids func() []int, length time.Duration) (scraped, error) {
	client := http.Client{Timeout: 60 * time.Second, Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	var r scraped
	n := 0
	before := cpuTime(pids())
	for begin := time.Now(); n == 0 || time.Since(begin) < length; n++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return r, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return r, err
		}
		r.series, err = countSeries(resp)
		if err != nil {
			return r, err
		}
	}
	r.cpu = (cpuTime(pids()) - before) / time.Duration(n)
	return r, nil
}

// countSeries reads an answer, and returns the number of its lines that are values.
func countSeries(resp *http.Response) (int, error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
		return 0, fmt.Errorf("%s: %s", resp.Status, text)
	}
	n := 0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 0 && line[0] != '#' {
			n++
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errors.New("the answer has no series")
	}
	return n, nil
}

// besideSleepers and besideInterval are what atop and ours record.
const (
	besideSleepers = 500
	besideInterval = time.Second
)

// recordedNames are metrics with the values that atop records of each process, and of the system.
var recordedNames = []string{
	"proc.psinfo.pid", "proc.psinfo.ppid", "proc.psinfo.cmd", "proc.psinfo.psargs", "proc.psinfo.sname", "proc.psinfo.start_time",
	"proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.priority", "proc.psinfo.nice", "proc.psinfo.rt_priority", "proc.psinfo.policy",
	"proc.psinfo.threads", "proc.psinfo.minflt", "proc.psinfo.maj_flt", "proc.psinfo.processor", "proc.psinfo.vsize", "proc.psinfo.rss",
	"proc.memory.vmdata", "proc.memory.vmstack", "proc.memory.vmexe", "proc.memory.vmlib", "proc.memory.vmlock", "proc.memory.vmswap",
	"proc.io.read_bytes", "proc.io.write_bytes", "proc.io.cancelled_write_bytes", "proc.schedstat.run_delay",
	"proc.id.uid", "proc.id.gid", "proc.id.euid", "proc.id.egid", "proc.psinfo.vctxsw", "proc.psinfo.nvctxsw", "proc.psinfo.cgroups",
	"kernel.all", "kernel.percpu.cpu", "mem.util", "mem.vmstat", "swap", "disk.dev", "network.interface", "network.tcp", "network.udp",
}

// besideAtop records all processes of the machine each second by atop -w, and by pmlogger from a collector of ours, one after the other.
func (b *bench) besideAtop(ctx context.Context) error {
	program, err := exec.LookPath(atopProgram)
	if err != nil {
		fmt.Printf("\nbeside.processes is left out: %v\n", err)
		return nil
	}
	stop, err := sleepers(ctx, besideSleepers)
	if err != nil {
		fmt.Printf("\nbeside.processes is left out: %v\n", err)
		return nil
	}
	defer stop()
	dir, err := os.MkdirTemp("", "beside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	collector, err := startCollector(ctx, "ours", filepath.Join(b.links, "pmcd"), filepath.Join(filepath.Dir(b.ours.dir), "processes-ours"), []string{ownLine, linuxLine, ourProcLine})
	if err != nil {
		return err
	}
	defer collector.stop()
	config := filepath.Join(dir, "config")
	text := "log mandatory on 1 sec {\n\t" + strings.Join(recordedNames, "\n\t") + "\n}\n"
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	pmlogger, err := filepath.Abs(filepath.Join(b.links, "pmlogger"))
	if err != nil {
		return err
	}
	ours := exec.CommandContext(ctx, pmlogger, "-h", "unix:"+collector.sock, "-c", config, "-l", filepath.Join(dir, "log"), filepath.Join(dir, "ours"))
	ours.Env = append(os.Environ(), "PCP_TMP_DIR="+dir, "PCP_RUN_DIR="+dir)
	theirs := exec.CommandContext(ctx, program, "-w", filepath.Join(dir, "theirs"), "1")

	fmt.Printf("\n%-16s %-6s %10s %14s %14s %14s\n", "beside.processes", "side", "processes", "CPU/sample", "bytes/sample", "as zstd")
	for _, side := range []struct {
		name, file string
		cmd        *exec.Cmd
		more       func() []int
	}{
		{"atop", "theirs", theirs, func() []int { return nil }},
		{"ours", "ours.0", ours, collector.pids},
	} {
		cpu, size, samples, err := recordFor(ctx, side.cmd, filepath.Join(dir, side.file), side.more, max(4*b.time, 10*time.Second))
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		packed := "" // atop has compressed it
		if side.name == "ours" {
			plain, _, zstd, err := sizes(ctx, filepath.Join(dir, "ours"))
			if err != nil {
				return err
			}
			packed = fmt.Sprintf("%.0f", size/samples*float64(zstd)/float64(plain))
		}
		fmt.Printf("%-16s %-6s %10d %14s %14.0f %14s\n", "", side.name, besideSleepers, short(time.Duration(cpu/samples)), size/samples, packed)
	}
	return nil
}

// recordFor runs a recorder, and returns its processor time in nanoseconds, the bytes that it adds to a file, and the number of its samples.
func recordFor(ctx context.Context, cmd *exec.Cmd, file string, more func() []int, length time.Duration) (cpu, size, samples float64, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return 0, 0, 0, err
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait() // the C programs end with the signal
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out.Bytes())
		}
	}()
	if err := pause(ctx, 3*time.Second); err != nil {
		return 0, 0, 0, err
	}
	pids := func() []int { return append(family(cmd.Process.Pid), more()...) }
	begin, cpu0, size0 := time.Now(), cpuTime(pids()), fileSize(file)
	if err := pause(ctx, length); err != nil {
		return 0, 0, 0, err
	}
	if syscall.Kill(cmd.Process.Pid, 0) != nil {
		return 0, 0, 0, errors.New("it has ended")
	}
	samples = time.Since(begin).Seconds() / besideInterval.Seconds()
	cpu, size = float64(cpuTime(pids())-cpu0), float64(fileSize(file)-size0)
	if size <= 0 {
		return 0, 0, 0, fmt.Errorf("%s does not grow", file)
	}
	return cpu, size, samples, nil
}
