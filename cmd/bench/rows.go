//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/bench/harness"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/wire"
)

// Agents are the lines of pmcd.conf of a collector, as each implementation is configured by its packages: C has its agents as
// processes, and ours are in the collector.
type agents struct {
	name       string
	real, ours []string
}

// workloads returns the table of all workloads.
func (c *compare) workloads() []harness.Workload {
	own := agents{"own", []string{ownLine}, []string{ownLine}}
	linux := agents{"linux", []string{ownLine, "linux 60 pipe binary PMDAS/linux/pmdalinux"}, []string{ownLine, linuxLine}}
	proc := agents{"proc", []string{ownLine, procLine}, []string{ownLine, ourProcLine}}
	trip := harness.Goal{C: 1.3}
	list := []harness.Workload{
		{Name: "trip.own", Unit: "fetch", Goal: trip, Open: c.trips(own, "pmcd.control.timeout")},
		{Name: "trip.linux", Unit: "fetch", Goal: trip, Open: c.trips(linux, "kernel.all.load")},
		{Name: "trip.connect", Unit: "connection", Goal: trip, Open: c.sessions(own, connectAndLeave)},
		{Name: "trip.context", Unit: "context", Goal: trip, Open: c.sessions(own, newContext)},
		{Name: "linux.fifty", Unit: "fetch", Goal: harness.Goal{C: 2}, Open: c.trips(linux, fifty...)},
		{Name: "linux.all", Unit: "fetch", Goal: harness.Goal{C: 2}, Open: c.fetches(linux, all, readLinux)},
		{Name: "start.pminfo", Unit: "run", Goal: harness.Goal{Wall: 3 * time.Millisecond, RSS: 9 << 20}, Open: c.live("pminfo", "-f", "kernel.all.load")},
		{Name: "web.metrics", Unit: "scrape", Goal: harness.Goal{CPU: 30 * time.Millisecond}, Open: c.scrapes(false)},
		{Name: "web.metrics.gzip", Unit: "scrape", Open: c.scrapes(true)},
	}
	for _, n := range []int{500, 1000, 5000} {
		for _, cl := range []cluster{allFiles(), {label: "stat", metric: "proc.psinfo.utime", files: []string{"stat"}}} {
			list = append(list, harness.Workload{
				Name: fmt.Sprintf("processes.%d.%s", n, cl.label), Unit: "fetch", Goal: harness.Goal{C: 1 / 0.6, Floor: 1.1},
				Open: c.amongProcesses(n, c.fetches(proc, []string{cl.metric}, c.readProcesses(cl.files))),
			})
		}
	}
	for _, line := range []string{ // tools that C has in Python
		"pcp-free", "pcp-uptime", "pcp-ipcs -l", "pcp-numastat", "pcp-netstat", "pcp-zoneinfo",
	} {
		words := strings.Fields(line)
		name := "start." + strings.TrimPrefix(words[0], "pcp-")
		list = append(list, harness.Workload{Name: name, Unit: "run", Goal: harness.Goal{C: 1}, Open: c.live(words[0], words[1:]...)})
	}
	for _, line := range []string{
		"pmiostat -s 2 pmiostat_mark", "pcp-mpstat -s 2 pcp-mpstat", "pcp-tapestat -s 2 pcp-tapestat-archive", "pcp-ss pcp-ss",
	} {
		words := strings.Fields(line)
		name, last := "start."+strings.TrimPrefix(words[0], "pcp-"), len(words)-1
		list = append(list, harness.Workload{Name: name, Unit: "run", Goal: harness.Goal{C: 1}, Open: c.suite(words[last], words[0], words[1:last]...)})
	}
	return append(list, c.archived()...)
}

// started are collectors that run, and a note about those that do not.
type started struct {
	servers []*server
	note    string
}

// allFiles is the cluster of all metrics of processes.
func allFiles() cluster { return clusters[0] }

// start returns the collectors of all sides with the same agents, which run until the end. A C collector or one of an older commit that
// cannot be started is missing, with a note.
func (c *compare) start(ctx context.Context, a agents) (servers []*server, note string, err error) {
	if started, ok := c.collectors[a.name]; ok {
		return started.servers, started.note, nil
	}
	var notes []string
	for _, side := range sides() {
		path, lines := "", a.ours
		if side == harness.C {
			path, lines = realPMCD, a.real
			if _, err := os.Stat(path); err != nil {
				continue
			}
		} else if path, err = c.tool(side, "pmcd"); err != nil {
			return nil, "", err
		} else if path == "" {
			continue
		}
		s, err := startCollector(ctx, side, path, filepath.Join(c.dir, a.name+"-"+side), lines)
		if err != nil && side == harness.Now {
			for _, s := range servers {
				s.stop()
			}
			return nil, "", err
		}
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		servers = append(servers, s)
	}
	started := started{servers, strings.Join(notes, "; ")}
	c.collectors[a.name] = started
	return started.servers, started.note, nil
}

// shared returns the PMIDs that all collectors have for the names.
func shared(ctx context.Context, servers []*server, names []string) ([]pcp.PMID, error) {
	var found map[string]pcp.PMID
	for _, s := range servers {
		its, err := pmids(ctx, s, names)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = its
			continue
		}
		maps.DeleteFunc(found, func(name string, id pcp.PMID) bool { return its[name] != id })
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no metric of %v is on all sides", names)
	}
	return sorted(found), nil
}

// trips measures a fetch over TCP. The floor is a server that sends the bytes of a reply for the bytes of a request.
func (c *compare) trips(a agents, names ...string) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		servers, note, err := c.start(ctx, a)
		if err != nil {
			return nil, "", nil, err
		}
		ids, err := shared(ctx, servers, names)
		if err != nil {
			return nil, "", nil, err
		}
		request := wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: ids})
		floor, err := c.replay(ctx, servers[len(servers)-1].tcp, func(addr string) error {
			fd, err := dialRaw(addr)
			if err != nil {
				return err
			}
			defer closeRaw(fd)
			_, err = fetchOnce(fd, request)
			if err == nil {
				_, err = fetchOnce(fd, request)
			}
			return err
		})
		if err != nil {
			return nil, "", nil, err
		}
		var list []harness.Side
		for _, s := range append(servers[:len(servers):len(servers)], floor) {
			list = append(list, harness.Side{Name: s.name, Measure: func(context.Context) (harness.Sample, error) {
				r, err := runLoad(s, load{Clients: 1, Time: c.time, PMIDs: ids})
				if err != nil {
					return harness.Sample{}, err
				}
				return harness.Sample{CPU: r.cpu, Wall: r.Elapsed / time.Duration(r.Fetches)}, nil
			}})
		}
		return list, note, floor.stop, nil
	}
}

// fetches measures a fetch over the Unix socket, by which the collector knows the user. The floor reads files.
func (c *compare) fetches(a agents, names []string, floor func(context.Context) (harness.Sample, error)) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		servers, note, err := c.start(ctx, a)
		if err != nil {
			return nil, "", nil, err
		}
		ids, err := shared(ctx, servers, names)
		if err != nil {
			return nil, "", nil, err
		}
		var list []harness.Side
		for _, s := range servers {
			list = append(list, harness.Side{Name: s.name, Measure: func(context.Context) (harness.Sample, error) {
				r, err := fetchFor(s, ids, c.time)
				return harness.Sample{CPU: r.cpu, Wall: r.wall}, err
			}})
		}
		return append(list, harness.Side{Name: harness.Floor, Measure: floor}), note, func() {}, nil
	}
}

// sessions measures clients that come and leave, one after the other. The floor is a server that sends the recorded bytes.
func (c *compare) sessions(a agents, session func(ctx context.Context, addr string) error) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		servers, note, err := c.start(ctx, a)
		if err != nil {
			return nil, "", nil, err
		}
		floor, err := c.replay(ctx, servers[len(servers)-1].tcp, func(addr string) error { return session(ctx, addr) })
		if err != nil {
			return nil, "", nil, err
		}
		var list []harness.Side
		for _, s := range append(servers[:len(servers):len(servers)], floor) {
			list = append(list, harness.Side{Name: s.name, Measure: c.repeat(s.pids, func(ctx context.Context) error { return session(ctx, s.tcp) })})
		}
		return list, note, floor.stop, nil
	}
}

// connectAndLeave is a client that connects, shakes hands, fetches a metric of the collector itself, and leaves.
func connectAndLeave(_ context.Context, addr string) error {
	fd, err := dialRaw(addr)
	if err != nil {
		return err
	}
	defer closeRaw(fd)
	_, err = fetchOnce(fd, wire.Append(nil, wire.FromAnon, &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{pcp.NewPMID(2, 0, 4)}}))
	return err
}

// newContext is a client that makes a context, looks a metric up, fetches it, and leaves.
func newContext(ctx context.Context, addr string) error {
	c, err := pmapi.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "pmcd.control.timeout")
	if err != nil {
		return err
	}
	_, err = c.Fetch(ctx, ids)
	return err
}

// amongProcesses opens a workload while n processes sleep.
func (c *compare) amongProcesses(n int, open opener) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		end, err := sleepers(ctx, n)
		if err != nil {
			return nil, "", nil, err
		}
		list, note, stop, err := open(ctx)
		if err != nil {
			end()
			return nil, "", nil, err
		}
		return list, note, func() { stop(); end() }, nil
	}
}

// readProcesses is the floor of a fetch of metrics of processes: it opens, reads and closes the files of each.
func (c *compare) readProcesses(files []string) func(context.Context) (harness.Sample, error) {
	return func(context.Context) (harness.Sample, error) {
		f := floor{files: files}
		defer f.close()
		r, err := f.readFor(c.time)
		return harness.Sample{CPU: r.cpu, Wall: r.wall}, err
	}
}

// linuxFiles are the files that the metrics of [all] are read from, as a trace of a collector shows them.
var linuxFiles = []string{
	"/proc/buddyinfo", "/proc/cpuinfo", "/proc/diskstats", "/proc/interrupts", "/proc/loadavg", "/proc/meminfo", "/proc/partitions", "/proc/pressure/*",
	"/proc/self/mounts", "/proc/self/net/dev", "/proc/self/net/if_inet6", "/proc/slabinfo", "/proc/softirqs", "/proc/stat", "/proc/uptime", "/proc/vmstat", "/proc/zoneinfo",
	"/proc/sys/kernel/pid_max", "/proc/sys/kernel/pty/nr", "/proc/sys/kernel/random/entropy_avail", "/proc/sys/kernel/random/poolsize",
	"/sys/block/*/queue/scheduler", "/sys/block/zram*/io_stat", "/sys/block/zram*/mm_stat",
	"/sys/class/net/*/address", "/sys/class/net/*/duplex", "/sys/class/net/*/flags", "/sys/class/net/*/mtu", "/sys/class/net/*/operstate", "/sys/class/net/*/speed", "/sys/class/net/*/type",
	"/sys/devices/system/cpu/cpu*/online", "/sys/devices/system/node/node*/meminfo", "/sys/devices/system/node/node*/numastat",
	"/sys/kernel/mm/ksm/full_scans", "/sys/kernel/mm/ksm/merge_across_nodes", "/sys/kernel/mm/ksm/pages_*", "/sys/kernel/mm/ksm/run", "/sys/kernel/mm/ksm/sleep_millisecs",
}

// readLinux is the floor of a fetch of all linux metrics: it opens, reads and closes their files, twenty times.
func readLinux(context.Context) (harness.Sample, error) {
	var paths []string
	for _, pattern := range linuxFiles {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return harness.Sample{}, err
		}
		paths = append(paths, found...)
	}
	f := floor{buf: make([]byte, 1<<20), whole: true}
	const times = 20
	sample, err := harness.OnThread(func() error {
		for range times {
			for _, p := range paths {
				if err := f.read(p, filepath.Base(p)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return harness.Sample{CPU: sample.CPU / times, Wall: sample.Wall / times}, err
}

// live measures a command that asks a collector of ours.
func (c *compare) live(tool string, args ...string) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		s, err := c.all(ctx)
		if err != nil {
			return nil, "", nil, err
		}
		list, _, stop, err := c.command(command{tool: tool, args: args, env: []string{"PCP_HOST=unix:" + s.sock}}, doNothing)(ctx)
		return list, "", stop, err // values differ from one moment to the next
	}
}

// all returns a collector of ours with all agents.
func (c *compare) all(ctx context.Context) (*server, error) {
	if c.everything == nil {
		s, err := startOurs(ctx, c.pcp, filepath.Join(c.dir, "everything"))
		if err != nil {
			return nil, err
		}
		c.everything = s
	}
	return c.everything, nil
}

// suiteArchives is where the QA suite has its archives.
const suiteArchives = "/var/lib/pcp/testsuite/archives/"

// suite measures a command that reads an archive of the suite.
func (c *compare) suite(name, tool string, args ...string) opener {
	return func(ctx context.Context) ([]harness.Side, string, func(), error) {
		base := suiteArchives + name
		files, err := archiveFiles(base)
		if err != nil {
			return nil, "", nil, errors.Join(err, errors.New("make oracle installs the suite"))
		}
		return c.command(command{tool: tool, args: args, env: []string{"PCP_ARCHIVE=" + base}}, harness.ReadFiles(files))(ctx)
	}
}
