package proc

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// named returns the values of a metric by the names of instances.
func named(t testing.TB, a *Agent, c *pmda.Client, name string) map[string]string {
	t.Helper()
	vs := get(t, a, c, name)
	id, _ := a.LookupName(t.Context(), name)
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	if v, ok := vs[-1]; ok {
		out[""] = v
		return out
	}
	insts, err := a.Instances(pmda.WithClient(t.Context(), c), desc.InDom)
	if err != nil {
		t.Fatal(err)
	}
	for _, inst := range insts {
		if v, ok := vs[inst.Inst]; ok {
			out[inst.Name] = v
		}
	}
	return out
}

// TestGroupValues checks all metrics of a group of each version.
func TestGroupValues(t *testing.T) {
	common := map[string]string{
		"cgroup.subsys.count": "6", "cgroup.subsys.hierarchy net_cls": "5", "cgroup.subsys.num_cgroups memory": "19",
		"cgroup.subsys.enabled memory": "0", "cgroup.subsys.enabled cpu": "1",
	}
	for _, tt := range []struct {
		version string
		want    map[string]string
		none    []string
	}{
		{"1", map[string]string{
			"cgroup.mounts.count": "7", "cgroup.mounts.subsys /sys/fs/cgroup/cpu,cpuacct": `"cpu,cpuacct"`, "cgroup.mounts.subsys /sys/fs/cgroup/systemd": `"?"`,
			"cgroup.cpuset.cpus /init.scope": `"0-1,9"`, "cgroup.cpuset.mems /init.scope": `"0"`, "cgroup.cpuset.mems /user.slice/user-1000.slice/session-3.scope": `""`,
			"cgroup.cpuacct.stat.user /": "100", "cgroup.cpuacct.stat.system /": "200", "cgroup.cpuacct.usage /two words": "305",
			"cgroup.cpuacct.usage_percpu /::cpu1": "20", "cgroup.cpuacct.usage_percpu /x::y::cpu0": "22", "cgroup.cpusched.shares /": "1024", "cgroup.cpusched.periods /user.slice": "2",
			"cgroup.cpusched.throttled /user.slice": "2", "cgroup.cpusched.throttled_time /": "3", "cgroup.cpusched.cfs_period /user.slice": "100000",
			"cgroup.cpusched.cfs_quota /init.scope": "50000", "cgroup.cpusched.cfs_quota /user.slice": "", "cgroup.cpusched.cfs_period /": "",
			"cgroup.memory.stat.cache /init.scope": "4096", "cgroup.memory.stat.total.unevictable /": "30", "cgroup.memory.stat.recent.scanned_file /": "34", "cgroup.memory.stat.anon /": "",
			"cgroup.memory.usage /new\nline": "5007", "cgroup.memory.limit /": "9223372036854771712", "cgroup.memory.failcnt /": "0", "cgroup.memory.current /": "",
			"cgroup.netclass.classid /caf\xe9": "1048587", "cgroup.cpuset.id.container /docker/" + containerID: `"` + containerID + `"`, "cgroup.cpuacct.id.container /docker": `""`,
			"cgroup.memory.id.container /machine.slice/libpod-" + containerID + ".scope": `"` + containerID + `"`, "cgroup.blkio.id.container /docker/docker-containerd": `""`,
			"cgroup.blkio.all.io_merged.read /init.scope": "2010", "cgroup.blkio.all.io_merged.total /": "5", "cgroup.blkio.all.throttle.io_serviced.write /": "701", "cgroup.blkio.all.sectors /init.scope": "5",
			"cgroup.blkio.all.time /": "90", "cgroup.blkio.dev.time /::sda": "80", "cgroup.blkio.dev.time /::sda1": "10", "cgroup.blkio.dev.sectors /init.scope::sda": "4", "cgroup.blkio.dev.io_queued.async /init.scope::dm-0": "1113",
			"cgroup.blkio.dev.io_queued.async /::dm-0": "0", "cgroup.blkio.dev.io_merged.read /user.slice::loop0": "", "cgroup.blkio.all.throttle.io_serviced.total /user.slice/user-1000.slice/session-3.scope": "0",
			"cgroup.memory.usage /system.slice/under_score.service": "5019", "cgroup.memory.usage /.hidden": "",
			"cgroup.pids.current /init.scope": "3", "cgroup.pids.max /init.scope": "200", "cgroup.pids.max /user.slice": "", "cgroup.pids.peak /user.slice": "52", "cgroup.pids.events.max /user.slice": "14", "cgroup.pids.current /": "",
			"cgroup.pids.id.container /docker/" + containerID: `"` + containerID + `"`,
		}, []string{"cgroup.cpu.stat.user", "cgroup.io.stat.rbytes", "cgroup.pressure.cpu.some.total"}},
		{"2", map[string]string{
			"cgroup.mounts.count": "1", "cgroup.mounts.subsys /sys/fs/cgroup/unified": `"?"`,
			"cgroup.cpu.stat.usage /": "1000", "cgroup.cpu.stat.user /two words": "1000", "cgroup.cpu.stat.system /": "5", "cgroup.cpu.stat.user /system.slice/under_score.service": "1014",
			"cgroup.pressure.cpu.some.avg10sec /user.slice": "2.500000e+00", "cgroup.pressure.memory.some.avg1min /": "2.500000e-01", "cgroup.pressure.memory.full.avg5min /": "9.999000e+01", "cgroup.pressure.io.some.total /user.slice": "22",
			"cgroup.pressure.io.full.total /user.slice": "12", "cgroup.pressure.irq.full.total /init.scope": "1", "cgroup.pressure.irq.full.avg5min /init.scope": "3.000000e-02", "cgroup.pressure.irq.full.total /": "",
			"cgroup.io.stat.rbytes /init.scope::sda": "4096", "cgroup.io.stat.dios /init.scope::dm-0": "6", "cgroup.io.stat.rbytes /init.scope::sda1": "", "cgroup.io.stat.wios /x::y::sda": "4",
			"cgroup.memory.current /init.scope": "8192", "cgroup.memory.stat.anon /init.scope": "2", "cgroup.memory.stat.slab /init.scope": "25", "cgroup.memory.stat.thp_collapse_alloc /init.scope": "27", "cgroup.memory.current /": "",
			"cgroup.cpuset.cpus /": `""`, "cgroup.cpuacct.stat.user /": "0", "cgroup.cpuacct.usage /": "",
			"cgroup.pids.current /init.scope": "3", "cgroup.pids.max /init.scope": "200", "cgroup.pids.max /user.slice": "", "cgroup.pids.peak /user.slice": "52", "cgroup.pids.events.max /user.slice": "14", "cgroup.pids.current /": "",
			"cgroup.pids.id.container /docker/" + containerID: `"` + containerID + `"`,
		}, []string{"cgroup.cpusched.shares", "cgroup.blkio.all.time", "cgroup.blkio.dev.time", "cgroup.netclass.classid", "cgroup.cpuacct.usage_percpu", "cgroup.memory.usage"}},
	} {
		a := New(Config{Root: newGroupTree(t, tt.version).dir})
		maps.Copy(tt.want, common)
		for what, want := range tt.want {
			metric, inst, _ := strings.Cut(what, " ")
			vs := named(t, a, root, metric)
			if got, ok := vs[inst]; got != want || ok != (want != "") {
				t.Errorf("version %s: %s of %q is %q, want %q", tt.version, metric, inst, got, want)
			}
		}
		for _, metric := range tt.none {
			if vs := named(t, a, root, metric); len(vs) != 0 {
				t.Errorf("version %s: %s is %v", tt.version, metric, vs)
			}
		}
	}
}

// TestGroupsOfBothVersions checks which hierarchy counts if both versions are mounted.
func TestGroupsOfBothVersions(t *testing.T) {
	tr := newGroupTree(t, "hybrid", "", "/a")
	a := New(Config{Root: tr.dir})
	want := named(t, a, root, "cgroup.memory.usage")
	if len(want) != 2 || want["/a"] != "5001" {
		t.Errorf("usage of memory %v", want)
	}
	if vs := named(t, a, root, "cgroup.cpu.stat.user"); len(vs) != 0 {
		t.Errorf("version 2: %v", vs)
	}
	// Version 2 mounted last changes nothing.
	tr.common("cgroup /sys/fs/cgroup/mem cgroup rw,memory 0 0", "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0", "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0")
	if vs := named(t, a, root, "cgroup.memory.usage"); !maps.Equal(vs, want) {
		t.Errorf("usage of memory %v, want %v", vs, want)
	}
	// For a controller that version 1 lacks, version 2 counts.
	tr.common("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0", "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0")
	if vs := named(t, a, root, "cgroup.memory.current"); len(vs) != 1 || vs["/a"] != "8192" {
		t.Errorf("memory in use %v", vs)
	}
	// No hierarchy, and no files that list hierarchies.
	for _, file := range []string{"proc/mounts", "proc/cgroups"} {
		if err := os.Remove(filepath.Join(tr.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	a = New(Config{Root: tr.dir})
	for name := range a.NameSpace().All() {
		if !strings.HasPrefix(name, "cgroup.") {
			continue
		}
		if vs := named(t, a, root, name); len(vs) != 0 && fmt.Sprint(vs) != "map[:0]" {
			t.Errorf("%s without hierarchies: %v", name, vs)
		}
	}
}

// TestGroupMountName has a hierarchy below a directory whose name the kernel escapes.
func TestGroupMountName(t *testing.T) {
	tr := tree{t, t.TempDir()}
	tr.common(`cgroup2 /a\040b\011\134 cgroup2 rw 0 0`)
	tr.group2(1, "a b\t\\")
	a := New(Config{Root: tr.dir})
	if vs := named(t, a, root, "cgroup.cpu.stat.usage"); len(vs) != 1 || vs["/"] != "1001" {
		t.Errorf("processor time %v", vs)
	}
	if vs := named(t, a, root, "cgroup.mounts.subsys"); vs[`/a\040b\011\134`] != `"?"` {
		t.Errorf("mounts %v", vs)
	}
}

// TestGroupsComeAndGo checks that numbers stay with names, and the report about a group that
// ends between listing and reading.
func TestGroupsComeAndGo(t *testing.T) {
	tr := newGroupTree(t, "2", "", "/a", "/a/b", "/c")
	a := New(Config{Root: tr.dir})
	indom := pcp.NewInDom(Domain, group2Serial)
	ctx := pmda.WithClient(t.Context(), root)
	numbers := func() map[string]int32 {
		t.Helper()
		insts, err := a.Instances(ctx, indom)
		if err != nil {
			t.Fatal(err)
		}
		m := make(map[string]int32)
		for _, inst := range insts {
			m[inst.Name] = inst.Inst
		}
		return m
	}
	before := numbers()
	if len(before) != 4 {
		t.Fatalf("groups %v", before)
	}
	remove := func(path string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(tr.dir, "sys/fs/cgroup/unified", path)); err != nil {
			t.Fatal(err)
		}
	}
	remove("a")
	tr.group2(7, "sys/fs/cgroup/unified/new")
	if got := numbers(); len(got) != 3 || got["/c"] != before["/c"] || got["/new"] != 4 {
		t.Errorf("groups %v, before %v", got, before)
	}
	tr.group2(1, "sys/fs/cgroup/unified/a")
	if got := numbers(); len(got) != 4 || got["/a"] != before["/a"] {
		t.Errorf("groups %v, before %v", got, before)
	}
	// One ends between two fetches of the same round.
	id, _ := a.LookupName(ctx, "cgroup.cpu.stat.user")
	req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result), Profile: &pcp.Profile{State: pcp.ProfileExclude}}
	if err := req.Profile.Add(indom, before["/c"]); err != nil {
		t.Fatal(err)
	}
	if got := values(t, a, req); len(got) != 1 {
		t.Errorf("values %v", got)
	}
	remove("a")
	all := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(ctx, all); err != nil || len(all.Result.Sets[0].Values) != 3 {
		t.Errorf("values %v, %v", all.Result.Sets, err)
	}
}

// TestRegister adds and removes more names than a register keeps.
func TestRegister(t *testing.T) {
	r := &register{entries: make(map[string]*entry)}
	for i := range 3 * forgetFrom {
		r.begin()
		for _, name := range []string{"stays", fmt.Sprint(i)} {
			if e := r.lookup([]byte(name)); !e.first(r) || e.first(r) || name == "stays" && e.inst != 0 || name != "stays" && e.inst != int32(i+1) {
				t.Fatalf("%s is %+v", name, e)
			}
		}
		r.end()
	}
	if n := len(r.entries); n > 2*forgetFrom {
		t.Errorf("%d names are kept", n)
	}
}

func TestGroupLabels(t *testing.T) {
	a := New(Config{Root: newGroupTree(t, "1", "", `/q"uo\te`, "/caf\xe9", "/x::y").dir})
	ctx := pmda.WithClient(t.Context(), &pmda.Client{}) // unknown client
	for serial, want := range map[int]string{
		cpusetSerial: "cpu", cpuacctSerial: "cpu", cpuacctCPUSerial: "cpu", cpuschedSerial: "cpu", memorySerial: "memory", netclassSerial: "interface", pidsSerial: "",
		blkioSerial: "block", blkioDiskSerial: "block", group2DiskSerial: "block", group2Serial: "", mountsSerial: "", controllersSerial: "",
	} {
		indom := uint32(pcp.NewInDom(Domain, serial))
		sets, err := a.Labels(ctx, indom, pcp.LabelInDom)
		if want == "" && (len(sets) != 0 || err != nil) || want != "" && (err != nil || len(sets) != 1 || string(sets[0].JSON) != `{"device_type":"`+want+`"}`) {
			t.Errorf("labels of domain %d: %v, %v", serial, sets, err)
		}
	}
	for serial, want := range map[int][]string{
		memorySerial:     {`{"cgroup":"/"}`, `{"cgroup":"/caf\ufffd"}`, `{"cgroup":"/q\"uo\\te"}`, `{"cgroup":"/x::y"}`},
		cpuacctCPUSerial: {`{"cgroup":"/","cpu":"0"}`, `{"cgroup":"/x::y","cpu":"1"}`},
		blkioDiskSerial:  {`{"cgroup":"/","device_name":"sda"}`, `{"cgroup":"/x::y","device_name":"dm-0"}`},
	} {
		sets, err := a.Labels(ctx, uint32(pcp.NewInDom(Domain, serial)), pcp.LabelInstances)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, set := range sets {
			got = append(got, string(set.JSON))
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("labels of domain %d: %s, want %s", serial, got, w)
			}
		}
	}
}

// TestGroupContainer checks the values for a client in a container.
func TestGroupContainer(t *testing.T) {
	tr := newGroupTree(t, "2", "", "/box", "/box/a", "/box/a/below", "/box/ab")
	tr.write("proc/1/cgroup", "0::/box/a\n")
	tr.write("proc/2/cgroup", "0::/\n")
	a := New(Config{Root: tr.dir, Containers: box(1)})
	in := func(attrs map[pmda.AttrKey]string, name string) *pmda.Client {
		attrs = maps.Clone(attrs)
		attrs[pmda.AttrContainer] = name
		return &pmda.Client{Attrs: attrs}
	}
	for _, c := range []*pmda.Client{in(root.Attrs, "box"), in(map[pmda.AttrKey]string{}, "box")} {
		for metric, want := range map[string]string{
			"cgroup.cpu.stat.user":      "map[/box/a:997 /box/a/below:998]",
			"cgroup.memory.stat.anon":   "map[/box/a:3 /box/a/below:4]",
			"cgroup.io.stat.rbytes":     "map[/box/a/below::dm-0:1 /box/a/below::sda:12288 /box/a::dm-0:1 /box/a::sda:8192]",
			"cgroup.subsys.count":       "map[:6]",
			"cgroup.cpuacct.stat.user":  "map[/box/a:0 /box/a/below:0]",
			"cgroup.blkio.dev.time":     "map[]",
			"cgroup.cpuset.mems":        `map[/box/a:"" /box/a/below:""]`,
			"cgroup.cpusched.cfs_quota": "map[]",
		} {
			if got := fmt.Sprint(named(t, a, c, metric)); got != want {
				t.Errorf("%s in the container: %s, want %s", metric, got, want)
			}
		}
	}
	if vs := named(t, a, root, "cgroup.cpu.stat.user"); len(vs) != 5 {
		t.Errorf("outside: %v", vs)
	}
	id, _ := a.LookupName(t.Context(), "cgroup.cpu.stat.user")
	for _, c := range []*pmda.Client{in(root.Attrs, "none"), in(map[pmda.AttrKey]string{}, "none")} {
		err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: c, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)})
		if !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("no such container: %v", err)
		}
		if _, err := a.Instances(pmda.WithClient(t.Context(), c), pcp.NewInDom(Domain, memorySerial)); !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("instances of no such container: %v", err)
		}
	}
}

// TestGroupFiles checks that a profile keeps files of other groups unread, and a metric those of
// other metrics.
func TestGroupFiles(t *testing.T) {
	tr := newGroupTree(t, "1", "", "/a", "/b")
	a := New(Config{Root: tr.dir})
	vs, names := get(t, a, root, "cgroup.memory.usage"), named(t, a, root, "cgroup.memory.usage")
	if len(vs) != 3 || len(names) != 3 {
		t.Fatalf("values %v", names)
	}
	insts, err := a.Instances(pmda.WithClient(t.Context(), root), pcp.NewInDom(Domain, memorySerial))
	if err != nil {
		t.Fatal(err)
	}
	profile := &pcp.Profile{State: pcp.ProfileExclude}
	if err := profile.Add(pcp.NewInDom(Domain, memorySerial), insts[0].Inst); err != nil {
		t.Fatal(err)
	}
	usage, _ := a.LookupName(t.Context(), "cgroup.memory.usage")
	limit, _ := a.LookupName(t.Context(), "cgroup.memory.limit")
	req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{usage}, Profile: profile, Result: new(pcp.Result)}
	if got := values(t, a, req); len(got) != 1 {
		t.Fatalf("values %v", got)
	}
	for _, name := range []string{"", "/a", "/b"} { // a file changed within the round shows which values were read before
		for _, file := range []string{"usage_in_bytes", "limit_in_bytes"} {
			tr.write("sys/fs/cgroup/mem"+name+"/memory."+file, "77\n")
		}
	}
	all := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{usage, limit}, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for i, set := range all.Result.Sets {
		for _, v := range set.Values {
			if early := i == 0 && v.Inst == insts[0].Inst; early == (v.Uint64() == 77) {
				t.Errorf("%v of %d is %d", set.PMID, v.Inst, v.Uint64())
			}
		}
	}
}

// TestGroupSums checks that sums over devices are the same whether devices are requested or not.
func TestGroupSums(t *testing.T) {
	tr := newGroupTree(t, "1")
	a := New(Config{Root: tr.dir})
	for name, id := range a.NameSpace().All() {
		if !strings.HasPrefix(name, "cgroup.blkio.all.") {
			continue
		}
		dev, err := a.LookupName(t.Context(), strings.Replace(name, ".all.", ".dev.", 1))
		if err != nil {
			t.Fatal(err)
		}
		alone := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
		both := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{dev, id}, Result: new(pcp.Result)}
		for _, req := range []*pmda.FetchRequest{alone, both} {
			if err := errors.Join(a.Refresh(t.Context(), req.PMIDs), a.Fetch(t.Context(), req)); err != nil {
				t.Fatal(err)
			}
		}
		got, want := byInst(both.Result.Sets[1]), byInst(alone.Result.Sets[0])
		if !maps.Equal(got, want) || len(want) != len(oddGroups)-2 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func byInst(set pcp.ValueSet) map[int32]uint64 {
	m := make(map[int32]uint64)
	for _, v := range set.Values {
		m[v.Inst] = v.Uint64()
	}
	return m
}

func TestUnescapeUnit(t *testing.T) {
	for in, want := range map[string]string{
		"/a": "/a", `/a\x2db`: "/a-b", `\x41\x5A`: "AZ", `/\x2`: `/\x2`, `/\x`: `/\x`, `\`: `\`, `/a\xzz\x2d`: `/a\xzz-`, `/\x00`: `/\x00`, `/a\b`: `/a\b`, `\\x41`: `\A`, `\xe9`: "\xe9",
	} {
		if got := unescapeUnit(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// TestGroupDirectories has directories that cannot be followed: links, pipes, too many.
func TestGroupDirectories(t *testing.T) {
	tr := newGroupTree(t, "2", "", "/a")
	for _, link := range []struct{ target, name string }{{"/", "root"}, {".", "loop"}, {"a", "other"}} {
		if err := os.Symlink(link.target, filepath.Join(tr.dir, "sys/fs/cgroup/unified", link.name)); err != nil {
			t.Fatal(err)
		}
	}
	a := New(Config{Root: tr.dir})
	if vs := named(t, a, root, "cgroup.cpu.stat.user"); len(vs) != 2 {
		t.Errorf("values %v", vs)
	}
}

// unitTree makes a tree of n groups.
func unitTree(t testing.TB, version string, n int) tree {
	groups := []string{"", "/system.slice"}
	for i := len(groups); i < n; i++ {
		groups = append(groups, fmt.Sprintf("/system.slice/unit-%d.service", i))
	}
	return newGroupTree(t, version, groups...)
}

// steadyGroups returns a function that fetches metrics of a tree.
func steadyGroups(t testing.TB, tr tree, metrics ...string) func() *pcp.Result {
	a := New(Config{Root: tr.dir})
	var ids []pcp.PMID
	for _, name := range metrics {
		id, err := a.LookupName(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	req := &pmda.FetchRequest{Client: root, PMIDs: ids, Result: new(pcp.Result)}
	return func() *pcp.Result {
		req.Result.Reset()
		if err := errors.Join(a.Refresh(t.Context(), ids), a.Fetch(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		return req.Result
	}
}

// TestSteadyGroups limits the allocations of a fetch of unchanged groups to paths of files and
// directories.
func TestSteadyGroups(t *testing.T) {
	const n = 40
	trees := map[string]tree{"1": unitTree(t, "1", n), "2": unitTree(t, "2", n)}
	for _, tt := range []struct {
		version string
		files   int // for each group
		metrics []string
	}{
		{"2", 1, []string{"cgroup.cpu.stat.user", "cgroup.cpu.stat.system"}},
		{"2", 3, []string{"cgroup.memory.stat.anon", "cgroup.memory.current"}}, // and whether there is one
		{"2", 1, []string{"cgroup.io.stat.rbytes"}},
		{"2", 2, []string{"cgroup.pressure.cpu.some.avg10sec", "cgroup.pressure.io.full.total"}},
		{"1", 1, []string{"cgroup.cpuset.cpus"}},
		{"1", 1, []string{"cgroup.cpuacct.usage_percpu"}},
		{"1", 1, []string{"cgroup.blkio.all.time"}},
		{"1", 10, []string{"cgroup.blkio.dev.time", "cgroup.blkio.all.time"}},
	} {
		fetch := steadyGroups(t, trees[tt.version], tt.metrics...)
		for i, set := range fetch().Sets {
			if len(set.Values) < n-1 {
				t.Fatalf("%s: %d values, %v", tt.metrics[i], len(set.Values), set.Err)
			}
		}
		// Two strings for a path, for Go and for the kernel, for each file and directory.
		got := testing.AllocsPerRun(10, func() { fetch() })
		for range 4 { // the runtime and what other tests left allocate too
			got = min(got, testing.AllocsPerRun(10, func() { fetch() }))
		}
		if got > float64(n*2*(tt.files+1)+20) {
			t.Errorf("%v: %.0f allocations for %d groups", tt.metrics, got, n)
		}
	}
}

func BenchmarkGroups(b *testing.B) {
	trees := map[string]tree{"1": unitTree(b, "1", 500), "2": unitTree(b, "2", 500)}
	for _, bb := range []struct{ version, metric string }{
		{"2", "cgroup.cpu.stat.user"},
		{"2", "cgroup.memory.stat.anon"},
		{"2", "cgroup.io.stat.rbytes"},
		{"2", "cgroup.pressure.cpu.some.avg10sec"},
		{"1", "cgroup.blkio.dev.time"},
		{"1", "cgroup.blkio.all.time"},
	} {
		b.Run(bb.metric, func(b *testing.B) {
			fetch := steadyGroups(b, trees[bb.version], bb.metric)
			fetch()
			b.ReportAllocs()
			for b.Loop() {
				fetch()
			}
		})
	}
}

// TestContainerLabels checks the labels that a container gives its control groups and processes, from a file of docker.
func TestContainerLabels(t *testing.T) {
	group := "/docker/" + containerID
	tr := newGroupTree(t, "2", "", "/docker", group)
	tr.write("var/lib/docker/containers/"+containerID+"/config.v2.json", `{"Name":"/blog","Config":{"Image":"blog:3"}}`)
	tr.write("proc/1/cgroup", "0::"+group+"\n")
	tr.write("proc/1/stat", "1 (init) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n")
	a := New(Config{Root: tr.dir, AllAccess: true})
	has := func(serial int, want string) {
		t.Helper()
		indom := pcp.NewInDom(Domain, serial)
		if _, err := a.Instances(t.Context(), indom); err != nil {
			t.Fatal(err)
		}
		sets, err := a.Labels(t.Context(), uint32(indom), pcp.LabelInstances)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sets {
			got = append(got, s.JSON)
		}
		if !slices.Contains(got, want) {
			t.Errorf("labels of domain %d: %q, want %s", serial, got, want)
		}
	}
	const labels = `"container":"blog","image":"blog:3","runtime":"docker"`
	has(group2Serial, `{"cgroup":"`+group+`",`+labels+`}`)
	has(group2Serial, `{"cgroup":"/docker"}`)
	has(group2DiskSerial, `{"cgroup":"`+group+`","container":"blog","device_name":"sda","image":"blog:3","runtime":"docker"}`)
	has(serial, `{"container":"blog","image":"blog:3","pid":1,"runtime":"docker"}`)
}
