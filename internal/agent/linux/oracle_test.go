package linux_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/linux"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// groups are the subtrees that the agent must report completely.
var groups = []string{"kernel", "mem", "swap", "swapdev", "disk", "network", "filesys", "tmpfs", "vfs", "ipc", "nfs", "nfs3", "nfs4", "rpc", "tape", "fchost", "tty", "zram", "hinv", "pmda", "sysfs"}

// real is a new collector with the real agent, without instance caches.
type real struct {
	*pmapi.Context
	names []string // of the groups, derived metrics left out
	ids   []pcp.PMID
}

func startReal(t testing.TB, env ...string) *real {
	t.Helper()
	return startRealFor(t, func(d *oracle.PMCD) string { return d.TCP }, env...)
}

// startRealFor is startReal with a choice of how to reach the collector.
func startRealFor(t testing.TB, address func(*oracle.PMCD) string, env ...string) *real {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux"}, Env: env})
	c, err := pmapi.Dial(t.Context(), address(d))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &real{Context: c}
	for _, g := range groups {
		for name, err := range c.Traverse(t.Context(), g) {
			if err != nil {
				t.Fatalf("%s: %v", g, err)
			}
			r.names = append(r.names, name)
		}
	}
	ids, err := c.LookupName(t.Context(), r.names...)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if id.Domain() == linux.Domain {
			r.names[len(r.ids)] = r.names[i]
			r.ids = append(r.ids, id)
		}
	}
	r.names = r.names[:len(r.ids)]
	return r
}

func fetchOurs(t testing.TB, a *linux.Agent, ids []pcp.PMID) *pcp.Result {
	t.Helper()
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: res}); err != nil {
		t.Fatal(err)
	}
	return res
}

// TestOracleDescriptors compares names, PMIDs and descriptors with the real agent.
func TestOracleDescriptors(t *testing.T) {
	r := startReal(t)
	a := linux.New(linux.Config{})
	ours := make(map[string]pcp.PMID)
	a.Metrics(func(name string, id pcp.PMID) { ours[name] = id })
	for i, name := range r.names {
		id, ok := ours[name]
		if !ok {
			t.Errorf("%s (%v) is missing", name, r.ids[i])
			continue
		}
		delete(ours, name)
		want, err := r.LookupDesc(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := a.Desc(t.Context(), id)
		if err != nil || got != want || id != r.ids[i] {
			t.Errorf("%s: %v %+v, %v, want %v %+v", name, id, got, err, r.ids[i], want)
		}
	}
	newer := newer(t)
	for name, id := range ours {
		if _, err := r.LookupName(t.Context(), name); err != nil && newer[name] == "" {
			t.Errorf("%s (%v) is not a metric of the real agent, nor in testdata/newer.txt", name, id)
		}
	}
}

// TestOracleInstances compares the members of instance domains with a real agent
// that starts without caches, as ours does.
func TestOracleInstances(t *testing.T) {
	r := startReal(t)
	a := linux.New(linux.Config{})
	seen := make(map[pcp.InDom]bool)
	for i, id := range r.ids {
		desc, err := a.Desc(t.Context(), id)
		if err != nil || desc.InDom == pcp.InDomNull || seen[desc.InDom] {
			continue
		}
		seen[desc.InDom] = true
		if s := desc.InDom.Serial(); s == 12 || s == 35 {
			continue // slabs and serial ports: the real agent gives their names to root only
		}
		var diff string
		for range tries {
			want, err := r.GetInDom(t.Context(), desc.InDom)
			if err != nil && !errors.Is(err, pcp.ErrInDom) {
				diff = err.Error()
				continue
			}
			got, err := a.Instances(t.Context(), desc.InDom)
			if err != nil {
				diff = err.Error()
				continue
			}
			if slices.Equal(got, want) {
				diff = ""
				break
			}
			diff = fmt.Sprintf("got  %v\nwant %v", got, want)
			// Ours has different numbers for things that came and went unseen.
			a = linux.New(linux.Config{})
		}
		if diff != "" {
			t.Errorf("%v of %s:\n%s", desc.InDom, r.names[i], diff)
		}
	}
}

// tries is how often the two sides may differ by chance, as the machine changes
// between the readings.
const tries = 10

// TestOracleValues fetches each metric from both sides, ours before and after
// the real one, and wants the real value between the two, with a tolerance for
// the kind of metric.
func TestOracleValues(t *testing.T) {
	r := startReal(t)
	a := linux.New(linux.Config{})
	for i, id := range r.ids {
		name := r.names[i]
		if reason := differs[name]; reason != "" {
			t.Logf("%s: not compared: %s", name, reason)
			continue
		}
		ids := []pcp.PMID{id}
		var diff string
		for range tries {
			before := fetchOurs(t, a, ids).Clone()
			res, err := r.Fetch(t.Context(), ids)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			after := fetchOurs(t, a, ids).Clone()
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				diff = err.Error()
				break
			}
			if diff = compare(name, desc, &before.Sets[0], &res.Sets[0], &after.Sets[0]); diff == "" {
				break
			}
		}
		if diff != "" {
			t.Errorf("%s (%v): %s", name, id, diff)
		}
	}
}

// TestOracleForRoot compares the values for root only: the collector identifies
// clients by its Unix socket.
func TestOracleForRoot(t *testing.T) {
	r := startRealFor(t, func(d *oracle.PMCD) string { return d.Unix })
	a := linux.New(linux.Config{})
	root := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0"}}
	for _, name := range []string{"mem.slabinfo.objects.size", "mem.slabinfo.slabs.pages_per_slab", "mem.slabinfo.slabs.objects_per_slab", "tty.serial.irq"} {
		ids, err := r.LookupName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		desc, err := a.Desc(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		var diff string
		for range tries {
			want, err := r.Fetch(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Refresh(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			got := new(pcp.Result)
			if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: root, PMIDs: ids, Result: got}); err != nil {
				t.Fatal(err)
			}
			if diff = compare("", desc, &got.Sets[0], &want.Sets[0], &got.Sets[0]); diff == "" {
				break
			}
		}
		if diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// differs are the metrics whose values are not those of the real agent.
var differs = map[string]string{
	"pmda.version":             "the version is of the program that the agent is part of",
	"fchost.in.bytes":          "the real agent has it and out.frames the wrong way round",
	"fchost.out.frames":        "the real agent has it and in.bytes the wrong way round",
	"rpc.server.nettcpconn":    "the real agent reports nettcpcnt for it",
	"mem.numa.util.mapped":     "the real agent takes the line of FilePmdMapped for it",
	"mem.numa.util.pageTables": "the real agent takes the line of SecPageTables for it",
}

func compare(name string, desc pcp.Desc, before, real, after *pcp.ValueSet) string {
	if before.Err != real.Err {
		return fmt.Sprintf("error %d, want %d", before.Err, real.Err)
	}
	if len(before.Values) != len(real.Values) {
		return fmt.Sprintf("%d values, want %d: %v, want %v", len(before.Values), len(real.Values), before.Values, real.Values)
	}
	if len(after.Values) != len(before.Values) {
		return "instances changed"
	}
	for i := range real.Values {
		b, r, a := before.Values[i], real.Values[i].As(desc.Type), after.Values[i]
		if b.Inst != r.Inst {
			return fmt.Sprintf("instance %d, want %d", b.Inst, r.Inst)
		}
		if b.Type() != desc.Type {
			return fmt.Sprintf("instance %d: type %v", b.Inst, b.Type())
		}
		if desc.Type == pcp.TypeString {
			if string(b.Bytes()) != string(r.Bytes()) {
				return fmt.Sprintf("instance %d: %q, want %q", b.Inst, b.Bytes(), r.Bytes())
			}
			continue
		}
		lo, want, hi := number(b), number(r), number(a)
		if lo > hi {
			lo, hi = hi, lo
		}
		slop := tolerance(name, desc, want)
		if want < lo-slop || want > hi+slop {
			return fmt.Sprintf("instance %d: %v..%v, want %v", b.Inst, lo, hi, want)
		}
	}
	return ""
}

func number(v pcp.Value) float64 {
	switch v.Type() {
	case pcp.Type32:
		return float64(v.Int32())
	case pcp.TypeU32:
		return float64(v.Uint32())
	case pcp.Type64:
		return float64(v.Int64())
	case pcp.TypeFloat:
		return float64(v.Float())
	case pcp.TypeDouble:
		return v.Double()
	}
	return float64(v.Uint64())
}

// tolerance returns by how much the real value may differ from ours: nothing for
// counters, which only grow, and for discrete values. Some values go up and down
// between our two readings, so we may miss a value that was there for a moment.
// Without a name nothing is tolerated.
func tolerance(name string, desc pcp.Desc, v float64) float64 {
	switch {
	case name == "":
		return 0
	case strings.Contains(name, "vmstat.nr_"), strings.HasPrefix(name, "mem.zoneinfo"):
		// Some are called counters, but they are amounts of memory.
		return v/20 + 4096
	case name == "hinv.cpu.clock":
		return v // changes with the load
	case desc.Sem == pcp.SemDiscrete, desc.Sem == pcp.SemCounter:
		return 0
	case strings.HasPrefix(name, "kernel.all.load"), strings.HasPrefix(name, "kernel.all.pressure"):
		return 2 // decays, and may jump up at any time
	case strings.HasPrefix(name, "mem."), strings.HasPrefix(name, "filesys."), strings.HasPrefix(name, "tmpfs."):
		return v/20 + 4096
	case strings.HasPrefix(name, "vfs."), strings.HasPrefix(name, "network.sockstat."), strings.HasPrefix(name, "network.tcp"),
		strings.HasPrefix(name, "network.unix"):
		return 32 + v/20 // files and sockets come and go
	case name == "kernel.all.lastpid":
		return v // starts again at the minimum
	case name == "kernel.all.entropy.avail":
		return 256
	case strings.HasPrefix(name, "kernel.all."), strings.HasSuffix(name, ".inflight"):
		return 32 // tasks and requests come and go
	}
	return 0
}

// A fixture is a tree of testdata for both agents.
type fixture struct {
	tree    string
	ncpu    int
	differs map[string]string // beginnings of names of metrics not compared, and why
}

const askIPC = "the real agent asks the kernel"

const noFile = "there is no such file: the real agent reports 0, or what was missing"

var fixtures = []fixture{
	{"vm", 2, map[string]string{
		"ipc.shm.tot": askIPC, "ipc.shm.rss": askIPC, "ipc.shm.swp": askIPC, "ipc.shm.used_ids": askIPC,
		"ipc.sem.used_sem": askIPC, "ipc.sem.tot_sem": askIPC,
		"ipc.msg.used_queues": askIPC, "ipc.msg.tot_": askIPC,
		"kernel.uname":                "the real agent asks the kernel",
		"pmda.uname":                  "the real agent asks the kernel",
		"filesys":                     "the real agent asks the file systems of the machine",
		"tmpfs":                       "the real agent asks the file systems of the machine",
		"disk.wwid.capacity":          "the real agent does not read what it needs",
		"network.interface.speed":     "the real agent asks the kernel if /sys lacks one of the interfaces",
		"network.interface.baudrate":  "the real agent asks the kernel if /sys lacks one of the interfaces",
		"network.interface.duplex":    "the real agent asks the kernel if /sys lacks one of the interfaces",
		"network.interface.inet_addr": "the real agent asks the kernel, ours has nothing to ask below another root",
		// The order of a directory determines the numbers of interfaces.
		"network.interface.ipv6": "numbered after the IPv4 addresses, which ours has not",
		"network.interface.hw":   "numbered after the IPv4 addresses, which ours has not",
	}},
	{"old", 1, map[string]string{
		"ipc":                        askIPC,
		"kernel.uname":               "the real agent asks the kernel",
		"pmda.uname":                 "the real agent asks the kernel",
		"hinv.machine":               "the real agent asks the kernel",
		"kernel.all.running":         "not in the file: the real agent reports 0",
		"kernel.all.blocked":         "not in the file: the real agent reports 0",
		"kernel.all.entropy":         noFile,
		"kernel.percpu.sirq":         noFile,
		"hinv.nfilesys":              noFile,
		"mem.vmstat.thp_split":       "the real agent takes what is missing for -1",
		"disk.partitions":            "what old kernels do not count for partitions is an error to the real agent",
		"network.interface.mtu":      "the real agent asks the kernel",
		"network.interface.speed":    "the real agent asks the kernel",
		"network.interface.baudrate": "the real agent asks the kernel",
		"network.interface.up":       "the real agent asks the kernel",
		"network.interface.running":  "the real agent asks the kernel",
		"network.interface.type":     "the real agent asks the kernel",
		"network.interface.inet":     "the real agent asks the kernel",
		"network.sockstat":           noFile, "network.ip": noFile, "network.icmp": noFile, "network.tcp": noFile,
		"network.udp": noFile, "network.softnet": noFile, "network.rawconn": noFile, "network.unix": noFile,
		"network.mptcp": noFile, "vfs": noFile,
	}},
}

func (f *fixture) why(name string) string {
	if reason := differs[name]; reason != "" {
		return reason
	}
	for prefix, reason := range f.differs {
		if strings.HasPrefix(name, prefix) {
			return reason
		}
	}
	return ""
}

// TestOracleFixtures has the real agent read the same trees as ours; values must
// be equal. It covers devices that the test's machine lacks.
func TestOracleFixtures(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.tree, func(t *testing.T) {
			root, err := filepath.Abs(filepath.Join("testdata", f.tree))
			if err != nil {
				t.Fatal(err)
			}
			r := startReal(t, "LINUX_STATSPATH="+root, "LINUX_NCPUS="+strconv.Itoa(f.ncpu), "LINUX_HERTZ=100", "LINUX_PAGESIZE=4096")
			a := linux.New(linux.Config{Root: root, HZ: 100, PageSize: 4096})
			for i, id := range r.ids {
				if reason := f.why(r.names[i]); reason != "" {
					continue
				}
				ids := []pcp.PMID{id}
				got := fetchOurs(t, a, ids)
				want, err := r.Fetch(t.Context(), ids)
				// The real agent may crash on such a tree; its collector starts
				// it again.
				for try := 0; err == nil && want.Sets[0].Err == pcp.ErrIPC && try < 3; try++ {
					want, err = r.Fetch(t.Context(), ids)
				}
				if err != nil {
					t.Fatal(err)
				}
				desc, err := a.Desc(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if diff := compare("", desc, &got.Sets[0], &want.Sets[0], &got.Sets[0]); diff != "" {
					t.Errorf("%s (%v): %s", r.names[i], id, diff)
				}
			}
		})
	}
}
