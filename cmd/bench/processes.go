//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/bench/harness"
	"github.com/go-pcp/pcp/wire"
)

const procLine = "proc 3 pipe binary PMDAS/proc/pmdaproc -d 3"

// ourProcLine has our agent in the collector: the pair's other agent is a process.
const ourProcLine = "proc 3 dso proc_init PMDAS/proc/pmda_proc.so"

// A cluster is the file of each process that is read for some metrics, for the floor.
type cluster struct {
	label  string
	metric string   // or a subtree
	files  []string // below /proc/PID
}

// clusters are all of proc's, by one metric of each, and all metrics at once.
var clusters = []cluster{
	{"all", "proc", []string{
		"stat", "status", "statm", "maps", "schedstat", "io", "smaps_rollup", "fd", "cgroup", "attr/current", "wchan", "environ", "oom_score", "exe", "cwd", "autogroup",
	}},
	{"pid", "proc.psinfo.pid", nil},
	{"stat", "proc.psinfo.utime", []string{"stat"}},
	{"runq", "proc.runq.runnable", []string{"stat"}},
	{"status", "proc.memory.vmrss", []string{"status"}},
	{"statm", "proc.memory.rss", []string{"statm"}},
	{"maps", "proc.memory.maps", []string{"maps"}},
	{"schedstat", "proc.schedstat.run_delay", []string{"schedstat"}},
	{"io", "proc.io.rchar", []string{"io"}},
	{"smaps", "proc.smaps.rss", []string{"smaps_rollup"}},
	{"fd", "proc.fd.count", []string{"fd"}},
	{"cgroup", "proc.psinfo.cgroups", []string{"cgroup"}},
	{"label", "proc.psinfo.labels", []string{"attr/current"}},
	{"wchan", "proc.psinfo.wchan_s", []string{"wchan"}},
	{"environ", "proc.psinfo.environ", []string{"environ"}},
	{"oom", "proc.psinfo.oom_score", []string{"oom_score"}},
	{"exe", "proc.psinfo.exe", []string{"exe"}},
	{"cwd", "proc.psinfo.cwd", []string{"cwd"}},
	{"autogroup", "proc.autogroup.id", []string{"autogroup"}},
}

// autogroupSwitch contains 1 if there are groups: without them no agent opens the files.
const autogroupSwitch = "/proc/sys/kernel/sched_autogroup_enabled"

// processes measures the cost of reading processes: a metric of each cluster, and all,
// from 100, 1,000 and 10,000 processes that sleep, and 100 clients at once. The floor,
// for comparison with the two collectors, is a loop that only reads the same files, each
// opened for the reading, and each kept open.
func (b *bench) processes(ctx context.Context) error {
	if text, err := os.ReadFile(autogroupSwitch); err != nil || strings.TrimSpace(string(text)) != "1" {
		clusters = slices.DeleteFunc(slices.Clone(clusters), func(c cluster) bool { return c.label == "autogroup" })
		clusters[0].files = slices.DeleteFunc(slices.Clone(clusters[0].files), func(f string) bool { return f == "autogroup" })
	}
	for _, n := range []int{100, 1000, 10000} {
		if err := b.processesOf(ctx, n); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *bench) processesOf(ctx context.Context, n int) error {
	var wanted []cluster
	for _, c := range clusters {
		if b.wants(fmt.Sprintf("processes.%d.%s", n, c.label)) {
			wanted = append(wanted, c)
		}
	}
	crowd := b.wants(fmt.Sprintf("processes.%d.crowd", n))
	if len(wanted) == 0 && !crowd {
		return nil
	}
	stop, err := sleepers(ctx, n)
	if err != nil {
		fmt.Printf("\n%d processes are left out: %v\n", n, err)
		return nil
	}
	defer stop()
	p, err := b.startPair(ctx, fmt.Sprint("processes", n), []string{ownLine, procLine}, []string{ownLine, ourProcLine})
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Printf("\n%-10s %6s %8s %10s %10s %10s %10s %8s %8s %8s %9s\n", "processes", "", "metrics",
		"C cpu", "ours cpu", "opened", "kept", "ours/C", "/opened", "/kept", "ours rss")
	for _, c := range wanted {
		if err := b.oneCluster(ctx, p, n, c); err != nil {
			fmt.Printf("%-10s %6d failed: %v\n", c.label, n, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if crowd {
		return b.crowd(ctx, p, n)
	}
	return nil
}

// A reading is the cost of one fetch.
type reading struct{ cpu, wall time.Duration }

func (b *bench) oneCluster(ctx context.Context, p *pair, n int, c cluster) error {
	found, err := pmids(ctx, p.ours, []string{c.metric})
	if err != nil {
		return err
	}
	if p.real != nil { // ours has some that are newer
		if theirs, err := pmids(ctx, p.real, []string{c.metric}); err == nil {
			maps.DeleteFunc(found, func(name string, id pcp.PMID) bool { return theirs[name] != id })
		}
	}
	ids := sorted(found)
	all := make(map[string][]reading)
	var failed error // of the C side, which is then left out
	for range rounds {
		for _, s := range p.sides() {
			if s == p.real && failed != nil {
				continue
			}
			r, err := fetchFor(s, ids, b.time/rounds)
			if err != nil && s == p.real {
				failed = err
				delete(all, s.name)
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all[s.name] = append(all[s.name], r)
		}
		for _, keep := range []bool{false, true} {
			f := floor{files: c.files, keep: keep}
			r, err := f.readFor(b.time / rounds)
			f.close()
			if errors.Is(err, unix.EMFILE) {
				continue
			}
			if err != nil {
				return fmt.Errorf("floor: %w", err)
			}
			all[f.name()] = append(all[f.name()], r)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	cpu := func(r reading) float64 { return float64(r.cpu) }
	time1 := func(name string) string {
		if len(all[name]) == 0 {
			return "-"
		}
		return short(time.Duration(middle(all[name], cpu)))
	}
	over := func(name string) string {
		if len(all[name]) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.2f", ratio(all[name], all["ours"], cpu))
	}
	rss, _ := memory(p.ours.pids())
	fmt.Printf("%-10s %6d %8d %10s %10s %10s %10s %8s %8s %8s %5.0f MiB", c.label, n, len(ids),
		time1("C"), time1("ours"), time1("opened"), time1("kept"), over("C"), over("opened"), over("kept"), float64(rss)/1024)
	if failed != nil {
		fmt.Printf("  C: %v", failed)
	}
	fmt.Println()
	return nil
}

func sorted(found map[string]pcp.PMID) []pcp.PMID {
	var ids []pcp.PMID
	for _, id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// fetchFor fetches again and again, three times at least, and returns the means. The socket is
// a local one, by which the collector knows the user.
func fetchFor(s *server, ids []pcp.PMID, length time.Duration) (reading, error) {
	fd, err := dialRaw(s.sock)
	if err != nil {
		return reading{}, err
	}
	defer unix.Close(fd)
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
	buf := make([]byte, 256<<10)
	if _, err := firstValues(fd, request); err != nil {
		return reading{}, err
	}
	before, begin, fetches := cpuTime(s.pids()), time.Now(), 0
	for time.Since(begin) < length || fetches < 3 {
		if err := writeAll(fd, request); err != nil {
			return reading{}, err
		}
		if err := skipReply(fd, buf, len(ids)); err != nil {
			return reading{}, err
		}
		fetches++
	}
	took := time.Since(begin)
	return reading{(cpuTime(s.pids()) - before) / time.Duration(fetches), took / time.Duration(fetches)}, nil
}

// firstValues sends a request and returns the number of values in the reply.
func firstValues(fd int, request []byte) (int, error) {
	if err := writeAll(fd, request); err != nil {
		return 0, err
	}
	r := wire.NewReader(fdReader(fd))
	r.Max = 1 << 30
	for {
		h, body, err := r.Next()
		if err != nil {
			return 0, err
		}
		if h.Type == wire.TypeError {
			var e wire.Error
			if err := e.DecodeBody(body); err != nil || e.Code < 0 {
				return 0, errors.Join(err, e.Code)
			}
			continue // news of changed names
		}
		res := wire.Result{HighRes: true}
		if err := res.DecodeBody(body); err != nil {
			return 0, err
		}
		values := 0
		for _, vs := range res.Sets {
			values += len(vs.Values)
		}
		return values, nil
	}
}

// skipReply reads a reply with so many metrics.
func skipReply(fd int, buf []byte, metrics int) error {
	var head [wire.HeaderSize + 4]byte
	if _, err := io.ReadFull(fdReader(fd), head[:]); err != nil {
		return err
	}
	h, _ := wire.ParseHeader(head[:wire.HeaderSize])
	if n := binary.BigEndian.Uint32(head[wire.HeaderSize:]); h.Type != wire.TypeHighResResult || n != uint32(metrics) {
		return fmt.Errorf("a reply of type %#x with %d metrics", uint32(h.Type), n)
	}
	for left := int(h.Len) - len(head); left > 0; {
		n, err := fdReader(fd).Read(buf[:min(left, len(buf))])
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// crowd measures 100 clients that ask for proc.psinfo.utime of all processes, each
// again as soon as it has its reply, compared with one client. The cost of a fetch shows whether
// they share readings.
func (b *bench) crowd(ctx context.Context, p *pair, n int) error {
	ids := []pcp.PMID{pcp.NewPMID(3, 8, 13)}
	for _, clients := range []int{1, 100} {
		all, err := inTurn(ctx, p.sides(), func(s *server) (reading, error) { return together(s, ids, clients, b.time/rounds) })
		if err != nil { // as where the C one answers its clients in turn, and the last gives up
			fmt.Printf("%-10s %6d %8d  failed: %v\n", fmt.Sprintf("%d at once", clients), n, len(ids), err)
			continue
		}
		fmt.Printf("%-10s %6d %8d", fmt.Sprintf("%d at once", clients), n, len(ids))
		for _, s := range p.sides() {
			cpu := func(r reading) float64 { return float64(r.cpu) }
			fmt.Printf(" %10s", short(time.Duration(middle(all[s], cpu))))
			if s == p.ours && p.real != nil {
				fmt.Printf(" %32.3f", ratio(all[p.real], all[s], cpu))
			}
		}
		rss, _ := memory(p.ours.pids())
		fmt.Printf("   resident %.0f MiB\n", float64(rss)/1024)
	}
	return nil
}

// together has clients fetch at the same time, and returns the means of a fetch.
func together(s *server, ids []pcp.PMID, clients int, length time.Duration) (reading, error) {
	request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fetches := 0
	before, begin := cpuTime(s.pids()), time.Now()
	for range clients {
		fd, err := dialAgain(s.sock)
		if err != nil {
			return reading{}, err
		}
		wg.Go(func() {
			defer unix.Close(fd)
			buf := make([]byte, 256<<10)
			_, err := firstValues(fd, request)
			done := 1
			for err == nil && time.Since(begin) < length {
				if err = writeAll(fd, request); err == nil {
					err = skipReply(fd, buf, len(ids))
				}
				done++
			}
			mu.Lock()
			defer mu.Unlock()
			fetches += done
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	took := time.Since(begin)
	return reading{(cpuTime(s.pids()) - before) / time.Duration(fetches), took / time.Duration(fetches)}, failed
}

// A floor reads files of all processes, and does nothing with them.
type floor struct {
	files []string
	keep  bool
	whole bool // read to the end: most files of processes are read in one piece
	fds   map[string]int
	buf   []byte
	names []string
}

func (f *floor) name() string {
	if f.keep {
		return "kept"
	}
	return "opened"
}

// readFor reads again and again, three times at least, on one thread, and returns its
// processor time.
func (f *floor) readFor(length time.Duration) (reading, error) {
	f.buf, f.fds = make([]byte, 1<<20), make(map[string]int)
	if err := f.readAll(); err != nil {
		return reading{}, err
	}
	times := time.Duration(0)
	sample, err := harness.OnThread(func() error {
		for begin := time.Now(); time.Since(begin) < length || times < 3; times++ {
			if err := f.readAll(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return reading{}, err
	}
	return reading{sample.CPU / times, sample.Wall / times}, nil
}

// readAll lists the processes and reads the files of each.
func (f *floor) readAll() error {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	f.names = f.names[:0]
	for {
		n, err := unix.ReadDirent(dir, f.buf)
		if n <= 0 || err != nil {
			break
		}
		_, _, f.names = unix.ParseDirent(f.buf[:n], -1, f.names)
	}
	for _, name := range f.names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		for _, file := range f.files {
			if err := f.read("/proc/"+name+"/"+file, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *floor) read(path, file string) error {
	if file == "exe" || file == "cwd" {
		_, _ = unix.Readlink(path, f.buf) // a kernel thread has no such link
		return nil
	}
	fd, open := f.fds[path]
	if !open {
		var err error
		if fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); errors.Is(err, unix.EMFILE) {
			return err
		} else if err != nil {
			return nil // the process has ended
		}
		if f.keep {
			f.fds[path] = fd
		} else {
			defer unix.Close(fd)
		}
	}
	if file == "fd" {
		if f.keep {
			_, _ = unix.Seek(fd, 0, 0)
		}
		for {
			if n, err := unix.ReadDirent(fd, f.buf); n <= 0 || err != nil {
				return nil
			}
		}
	}
	for off := int64(0); ; {
		n, err := unix.Pread(fd, f.buf, off)
		if n <= 0 || err != nil || !f.whole && file != "maps" {
			return nil
		}
		off += int64(n)
	}
}

func (f *floor) close() {
	for _, fd := range f.fds {
		unix.Close(fd)
	}
}

// sleeperSource is a program that starts the requested number of processes, prints how
// many it could start, and ends when its input ends. The processes end with it.
const sleeperSource = `#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
	int n = atoi(argv[1]), started;
	char end;
	pid_t parent = getpid();
	for (started = 0; started < n; started++) {
		pid_t pid = fork();
		if (pid < 0)
			break;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0);
			for (;;)
				pause();
		}
	}
	printf("%d\n", started);
	fflush(stdout);
	while (read(0, &end, 1) > 0)
		;
	return 0;
}
`

// sleepers starts n processes that sleep until stop is called, or this program ends in any
// way. They are one static program, forked; without a compiler they are left out.
func sleepers(ctx context.Context, n int) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "sleepers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "sleepers.c"), filepath.Join(dir, "sleepers")
	if err := os.WriteFile(source, []byte(sleeperSource), 0o644); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "cc", "-O1", "-static", "-o", program, source).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc: %w: %s", err, out)
	}
	cmd := exec.Command(program, strconv.Itoa(n))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	started, _ := strconv.Atoi(strings.TrimSpace(line))
	if err == nil && started < n {
		err = fmt.Errorf("only %d could be started", started)
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}
