package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

var root = &pmda.Client{ID: 1, Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0", pmda.AttrGroupID: "0"}}

func client(uid, gid int) *pmda.Client {
	return &pmda.Client{ID: 2, Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: fmt.Sprint(uid), pmda.AttrGroupID: fmt.Sprint(gid)}}
}

// get returns the values of a metric by instance, "error: ..." for an error.
func get(t testing.TB, a *Agent, c *pmda.Client, name string) map[int32]string {
	t.Helper()
	id, err := a.LookupName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return values(t, a, &pmda.FetchRequest{Client: c, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)})
}

func values(t testing.TB, a *Agent, req *pmda.FetchRequest) map[int32]string {
	t.Helper()
	if err := a.Refresh(t.Context(), req.PMIDs); err != nil {
		t.Fatal(err)
	}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	out := make(map[int32]string)
	for _, vs := range req.Result.Sets {
		if vs.Err != 0 {
			out[-1] = "error: " + vs.Err.Error()
		}
		for _, v := range vs.Values {
			if out[v.Inst] = v.String(); v.Type() == pcp.TypeString {
				text, _ := v.Text()
				out[v.Inst] = `"` + text + `"`
			}
		}
	}
	return out
}

// TestLongArguments checks that a command's arguments are cut to fit into 4096 bytes with
// the number of the process, a space and a NUL.
func TestLongArguments(t *testing.T) {
	tr := newTree(t)
	tr.process(12345, "long", "S", 0, 1, strings.Repeat("x", 5000))
	tr.process(1234568, "longer", "S", 0, 1, strings.Repeat("x", 4086)+"\x00y\x00")
	a := New(Config{Root: tr.dir})
	got := get(t, a, root, "proc.psinfo.psargs")
	for pid, want := range map[int32]string{12345: strings.Repeat("x", 4096-len("012345 ")-1), 1234568: strings.Repeat("x", 4086)} {
		if got[pid] != strconv.Quote(want) {
			t.Errorf("%d has %d bytes of arguments, want %d", pid, len(got[pid])-2, len(want))
		}
	}
}

func TestValues(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir, PageSize: 4096})
	for name, want := range map[string]map[int32]string{
		"proc.nprocs":              {-1: "7"},
		"proc.psinfo.pid":          {1: "1", 2: "2", 77: "77", 500: "500", 600: "600", 700: "700", 1234567: "1234567"},
		"proc.psinfo.psargs":       {1: `"/sbin/init --user"`, 2: `"(kthreadd)"`, 77: `"sh -c two words"`, 500: `"(zed)"`, 600: `"<exiting>"`, 700: `"/usr/bin/threads"`, 1234567: `"caf` + "\xe9\n" + ` x"`},
		"proc.psinfo.cmd":          {1: `"init"`, 2: `"kthreadd"`, 77: `"a) R (b c"`, 500: `"zed"`, 700: `"threads"`, 1234567: `"caf` + "\xe9\n" + `x"`},
		"proc.psinfo.sname":        {1: `"S"`, 2: `"S"`, 77: `"R"`, 500: `"Z"`, 700: `"T"`, 1234567: `"D"`},
		"proc.psinfo.ttyname":      {1: `"?"`, 2: `"?"`, 77: `"pts/3"`, 500: `"?"`, 700: `"?"`, 1234567: `"?"`},
		"proc.psinfo.tty_pgrp":     {},
		"proc.runq.runnable":       {-1: "1"},
		"proc.runq.sleeping":       {-1: "1"},
		"proc.runq.swapped":        {-1: "1"},
		"proc.runq.defunct":        {-1: "1"},
		"proc.runq.stopped":        {-1: "1"},
		"proc.runq.blocked":        {-1: "1"},
		"proc.runq.unknown":        {-1: "1"},
		"proc.runq.kernel":         {-1: "0"},
		"proc.autogroup.enabled":   {-1: "1"},
		"proc.control.all.threads": {-1: "0"},
		"proc.namespaces.envid":    {-1: "error: " + pcp.ErrAppVersion.Error()},
	} {
		if got := get(t, a, root, name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	// All others, of one process.
	for name, want := range map[string]string{
		"proc.psinfo.ppid": "11", "proc.psinfo.pgrp": "12", "proc.psinfo.session": "13", "proc.psinfo.tty": "34819",
		"proc.psinfo.flags": "4194304", "proc.psinfo.minflt": "21", "proc.psinfo.cmin_flt": "22", "proc.psinfo.maj_flt": "23",
		"proc.psinfo.cmaj_flt": "24", "proc.psinfo.utime": "1250", "proc.psinfo.stime": "1260", "proc.psinfo.cutime": "1270",
		"proc.psinfo.cstime": "1280", "proc.psinfo.priority": "20", "proc.psinfo.nice": "-5", "proc.psinfo.it_real_value": "0",
		"proc.psinfo.start_time": "30000", "proc.psinfo.vsize": "4000", "proc.psinfo.rss": "220", "proc.psinfo.rss_rlim": "18014398509481983",
		"proc.psinfo.signal": "1", "proc.psinfo.blocked": "2", "proc.psinfo.sigignore": "3", "proc.psinfo.sigcatch": "4", "proc.psinfo.wchan": "1",
		"proc.psinfo.exit_signal": "17", "proc.psinfo.processor": "6", "proc.psinfo.rt_priority": "40", "proc.psinfo.policy": "2",
		"proc.psinfo.policy_s": `"RR"`, "proc.psinfo.delayacct_blkio_time": "1500", "proc.psinfo.guest_time": "1600", "proc.psinfo.cguest_time": "1700",
		"proc.psinfo.start_code": "1409703936",
		"proc.id.uid":            "1000", "proc.id.euid": "0", "proc.id.suid": "7", "proc.id.fsgid": "1000",
		"proc.id.uid_nm": `"ada"`, "proc.id.euid_nm": `"root"`, "proc.id.suid_nm": `""`, "proc.id.gid_nm": `"users"`,
		"proc.psinfo.signal_s": `"0000000000000001"`, "proc.psinfo.sigcatch_s": `"0000000000000008"`, "proc.psinfo.cpusallowed": `"0-1,4"`,
		"proc.namespaces.pid": `"77,1"`, "proc.namespaces.sid": `"76,0"`, "proc.psinfo.ngid": "5", "proc.psinfo.tgid": "77",
		"proc.psinfo.threads": "3", "proc.psinfo.vctxsw": "225", "proc.psinfo.nvctxsw": "56",
		"proc.memory.vmpeak": "30", "proc.memory.vmreal": "108", "proc.memory.vmnonlib": "102", "proc.memory.vmpte": "7",
		"proc.memory.size": "400", "proc.memory.rss": "200", "proc.memory.datrss": "160", "proc.memory.dirty": "0",
		"proc.memory.maps":        "\"00400000-00401000 r--p 00000000 08:01 1 /bin/x\n7fff-8000 rw-p 0 0:0 0 [stack]\"",
		"proc.schedstat.cpu_time": "1000000001", "proc.schedstat.run_delay": "2000000002", "proc.schedstat.pcount": "33",
		"proc.io.rchar": "11", "proc.io.syscw": "14", "proc.io.cancelled_write_bytes": "17",
		"proc.smaps.rss": "1860", "proc.smaps.pss_anon": "92", "proc.smaps.locked": "7", "proc.smaps.swap": "0",
		"proc.fd.count": "3", "proc.psinfo.oom_score": "666", "proc.psinfo.exe": `"/bin/x y"`, "proc.psinfo.cwd": `"/home"`,
		"proc.psinfo.wchan_s": `"do_wait"`, "proc.psinfo.environ": `"A=1 B=two words"`, "proc.psinfo.labels": `"unconfined_u:r"`,
		"proc.numa_maps.hugepage": `"node0:0.00,node3:4.00"`, "proc.numa_maps.heap": `"node0:2.00,node3:0.00"`,
		"proc.numa_maps.stack": `"node0:0.00,node3:0.00"`, "proc.numa_maps.private": `"node0:0.00,node3:0.00"`,
		"proc.fdinfo.drm_memory_vram": "17", "proc.fdinfo.drm_memory_cpu": "3072", "proc.fdinfo.amd_requested_vram": "4", "proc.fdinfo.drm_shared_gtt": "0",
		"proc.smaps.pss_dirty": "0",
		"proc.autogroup.id":    "23", "proc.autogroup.nice": "-3",
		"proc.psinfo.cgroups": `"cpu,cpuacct:/a:b;:/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"`,
		"proc.id.container":   `"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`,
	} {
		if got := get(t, a, root, name)[77]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := get(t, a, root, "proc.memory.vmrss")[2]; got != "0" {
		t.Errorf("memory of a thread of the kernel: %q", got)
	}
	if got := get(t, a, root, "proc.smaps.rss")[2]; got != "" {
		t.Errorf("smaps of a thread of the kernel: %q", got)
	}
	insts, err := a.Instances(pmda.WithClient(t.Context(), root), pcp.NewInDom(Domain, 9))
	want := []pcp.Instance{
		{Inst: 1, Name: "000001 /sbin/init"},
		{Inst: 2, Name: "000002 (kthreadd)"},
		{Inst: 77, Name: "000077 sh"},
		{Inst: 500, Name: "000500 (zed)"},
		{Inst: 600, Name: "000600 <exiting>"},
		{Inst: 700, Name: "000700 /usr/bin/threads"},
		{Inst: 1234567, Name: "1234567 caf\xe9\n"},
	}
	if err != nil || !slices.Equal(insts, want) {
		t.Errorf("instances %q, %v", insts, err)
	}
}

func TestLookupInstance(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	ctx, indom := pmda.WithClient(t.Context(), root), pcp.NewInDom(Domain, 9)
	for name, want := range map[string]int32{
		"77": 77, "000077": 77, "0077": 77, "000077 sh": 77, "1234567": 1234567, "1": 1, "7": -1, "": -1, "0": -1, "77x": -1, "sh": -1, "000078": -1,
	} {
		inst, err := a.LookupInstance(ctx, indom, name)
		if want < 0 && !errors.Is(err, pcp.ErrInst) || want >= 0 && (err != nil || inst != want) {
			t.Errorf("%q is %d, %v, want %d", name, inst, err, want)
		}
	}
	if name, err := a.InstanceName(ctx, indom, 77); err != nil || name != "000077 sh" {
		t.Errorf("instance 77 is %q, %v", name, err)
	}
	if _, err := a.InstanceName(ctx, indom, 78); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("instance 78: %v", err)
	}
}

// TestOnlyWhatIsWanted checks that a profile keeps files of other processes unread.
func TestOnlyWhatIsWanted(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	id, err := a.LookupName(t.Context(), "proc.psinfo.cmd")
	if err != nil {
		t.Fatal(err)
	}
	profile := &pcp.Profile{State: pcp.ProfileExclude}
	if err := profile.Add(pcp.NewInDom(Domain, 9), 77); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Profile: profile, Result: new(pcp.Result)}
	if got := values(t, a, req); len(got) != 1 || got[77] == "" {
		t.Errorf("values %v", got)
	}
	// A file changed within the round shows which values were read before.
	tr.write("proc/1/stat", statLine(1, "later", "S", 0, 1))
	tr.write("proc/77/stat", statLine(77, "later", "S", 0, 1))
	all := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, v := range all.Result.Sets[0].Values {
		if s, _ := v.Text(); v.Inst == 1 && s != "later" || v.Inst == 77 && s == "later" {
			t.Errorf("process %d is called %q", v.Inst, s)
		}
	}
}

func TestComeAndGo(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	get(t, a, root, "proc.psinfo.cmd")
	if err := os.RemoveAll(filepath.Join(tr.dir, "proc/77")); err != nil {
		t.Fatal(err)
	}
	tr.process(3, "new", "S", 0, 1, "new\x00")
	got := get(t, a, root, "proc.psinfo.cmd")
	if got[77] != "" || got[3] != `"new"` || got[1] != `"init"` {
		t.Errorf("values %v", got)
	}
	if got := get(t, a, root, "proc.nprocs")[-1]; got != "7" {
		t.Errorf("%s processes", got)
	}
}

// TestAccess checks the values for clients without a known user, and for those of another
// user.
func TestAccess(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	denied := "error: " + pcp.ErrPermission.Error()
	for _, c := range []*pmda.Client{{}, {Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "x"}}, {Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "12345"}}} {
		for name := range a.NameSpace().All() {
			id, _ := a.LookupName(t.Context(), name)
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			got := get(t, a, c, name)
			if of := ofProcesses(desc.InDom); of && (len(got) != 1 || got[-1] != denied) || desc.InDom == pcp.InDomNull && got[-1] == "" {
				t.Errorf("%s: %v for client %v", name, got, c.Attrs)
			}
		}
		ctx := pmda.WithClient(t.Context(), c)
		if insts, err := a.Instances(ctx, pcp.NewInDom(Domain, 9)); !errors.Is(err, pcp.ErrPermission) {
			t.Errorf("instances %v, %v", insts, err)
		}
		if sets, err := a.Labels(ctx, uint32(pcp.NewInDom(Domain, 9)), pcp.LabelInstances); len(sets) > 0 || err != nil {
			t.Errorf("labels %v, %v", sets, err)
		}
		if err := store(t, a, c, "proc.control.all.threads", pcp.Uint32Value(1)); !errors.Is(err, pcp.ErrPermission) {
			t.Errorf("store: %v", err)
		}
	}
	open := New(Config{Root: tr.dir, AllAccess: true})
	if got := get(t, open, &pmda.Client{}, "proc.io.rchar"); got[77] != "11" {
		t.Errorf("with all access: %v", got)
	}
}

// TestPrivate checks a view of an agent that cannot become the client's user.
func TestPrivate(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	if err := a.hot.set("true"); err != nil {
		t.Fatal(err)
	}
	v := a.viewOn(viewKey{identity: identity{uid: 7, gid: 7}}, true)
	secret := []string{
		"proc.psinfo.environ", "proc.psinfo.exe", "proc.psinfo.cwd", "proc.memory.maps", "proc.psinfo.wchan_s", "proc.fd.count",
		"proc.psinfo.start_code", "proc.psinfo.end_code", "proc.psinfo.start_stack", "proc.psinfo.esp", "proc.psinfo.eip", "proc.psinfo.wchan",
	}
	for name := range a.NameSpace().All() {
		id, _ := a.LookupName(t.Context(), name)
		if a.control(id) != nil || isAcct(id) || strings.HasPrefix(name, "cgroup.") {
			continue
		}
		req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
		if err := v.engine.Fetch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		set := req.Result.Sets[0]
		name = strings.TrimPrefix(name, "hot")
		private := slices.Contains(secret, name) || strings.HasPrefix(name, "proc.io.") || strings.HasPrefix(name, "proc.smaps.") ||
			strings.HasPrefix(name, "proc.fdinfo.") || strings.HasPrefix(name, "proc.numa_maps.") || strings.HasPrefix(name, "proc.delayacct.")
		shown := slices.ContainsFunc(set.Values, func(v pcp.Value) bool {
			s, isText := v.Text()
			return !isText || s != ""
		})
		if private && shown {
			t.Errorf("%s: %v", name, set.Values)
		}
		if !private && set.Err == 0 && len(set.Values) == 0 && name != "proc.psinfo.tty_pgrp" {
			t.Errorf("%s: no values", name)
		}
	}
}

func store(t testing.TB, a *Agent, c *pmda.Client, name string, v pcp.Value) error {
	t.Helper()
	id, err := a.LookupName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	res.AddSet(id)
	res.Add(v)
	return a.Store(t.Context(), c, res)
}

func TestControl(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	other := client(0, 0)
	if err := store(t, a, root, "proc.control.perclient.threads", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	if mine, theirs := get(t, a, root, "proc.nprocs")[-1], get(t, a, other, "proc.nprocs")[-1]; mine != "8" || theirs != "7" {
		t.Errorf("%s with threads, %s for another client", mine, theirs)
	}
	if got := get(t, a, root, "proc.control.perclient.threads")[-1]; got != "1" {
		t.Errorf("the client finds %s", got)
	}
	if got := get(t, a, root, "proc.psinfo.cmd"); got[700] != `"threads"` {
		t.Errorf("commands %v", got)
	}
	if err := store(t, a, root, "proc.control.perclient.cgroups", pcp.StringValue("/sys/fs/cgroup/../cgroup/box")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "proc.psinfo.pid"); fmt.Sprint(got) != "map[1:1 77:77 78:78]" {
		t.Errorf("processes of the group: %v", got)
	}
	if got := get(t, a, root, "proc.control.perclient.cgroups")[-1]; got != `"/sys/fs/cgroup/box"` {
		t.Errorf("the client finds %s", got)
	}
	// The agent does not wait for a pipe without a writer.
	if err := syscall.Mkfifo(filepath.Join(tr.dir, "sys/fs/cgroup/cgroup.threads"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := store(t, a, root, "proc.control.perclient.cgroups", pcp.StringValue("/sys/fs/cgroup")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "proc.psinfo.pid"); len(got) != 0 {
		t.Errorf("processes of a pipe: %v", got)
	}
	a.EndContext(root)
	if got := get(t, a, root, "proc.nprocs")[-1]; got != "7" {
		t.Errorf("%s processes for a new client", got)
	}
	for _, c := range []struct {
		name string
		v    pcp.Value
		err  error
	}{
		{"proc.control.all.threads", pcp.Uint32Value(2), pcp.ErrBadStore},
		{"proc.control.perclient.threads", pcp.Uint32Value(7), pcp.ErrBadStore},
		{"proc.control.perclient.cgroups", pcp.StringValue(""), pcp.ErrBadStore},
		{"proc.psinfo.nice", pcp.Int32Value(1), pcp.ErrPermission},
	} {
		if err := store(t, a, root, c.name, c.v); !errors.Is(err, c.err) {
			t.Errorf("store into %s: %v", c.name, err)
		}
	}
	if err := store(t, a, root, "proc.control.all.threads", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, other, "proc.nprocs")[-1]; got != "8" {
		t.Errorf("%s for another client", got)
	}
}

// TestFromGroup configures the agent to list one control group from the start.
func TestFromGroup(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir, CGroup: "sys/fs/cgroup/box/"})
	if got := get(t, a, root, "proc.psinfo.pid"); fmt.Sprint(got) != "map[1:1 77:77]" {
		t.Errorf("processes of the group: %v", got)
	}
	if got := get(t, a, root, "proc.control.perclient.cgroups")[-1]; got != `"/sys/fs/cgroup/box"` {
		t.Errorf("the client finds %s", got)
	}
	if err := store(t, a, root, "proc.control.perclient.cgroups", pcp.StringValue("/none")); err != nil {
		t.Fatal(err)
	}
	if got, other := get(t, a, root, "proc.nprocs")[-1], get(t, a, client(0, 0), "proc.nprocs")[-1]; got != "0" || other != "2" {
		t.Errorf("%s processes of another group, %s for another client", got, other)
	}
	spec := Builtin()
	i := slices.IndexFunc(spec.Program.Options, func(o pmda.Option) bool { return o.Short == 'r' })
	made, err := spec.Open(builtin.Env{Config: config.New(func(string) string { return "" }), Settings: []builtin.Setting{{Option: spec.Program.Options[i], Arg: "/x"}}})
	if err != nil || made.(*Agent).cfg.CGroup != "/x" {
		t.Errorf("with -r: %+v, %v", made, err)
	}
}

// A box is the only container, that of a process.
type box int

func (b box) ProcessID(container string) (int, error) {
	if container != "box" {
		return 0, pcp.ErrNoContainer
	}
	return int(b), nil
}

func TestContainer(t *testing.T) {
	tr := newTree(t)
	tr.write("proc/1/cgroup", "3:cpu:/\n0::/box/a\n")
	tr.write("proc/77/cgroup", "3:cpu:/\n0::/box/a/below\n")
	tr.write("proc/2/cgroup", "3:cpu:/\n0::/box/ab\n")
	tr.write("proc/500/cgroup", "3:cpu:/\n0::/\n")
	a := New(Config{Root: tr.dir, Containers: box(1)})
	in := func(name string) *pmda.Client {
		return &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0", pmda.AttrGroupID: "0", pmda.AttrContainer: name}}
	}
	if got := get(t, a, in("box"), "proc.psinfo.pid"); fmt.Sprint(got) != "map[1:1 77:77]" {
		t.Errorf("processes of the container: %v", got)
	}
	id, _ := a.LookupName(t.Context(), "proc.psinfo.pid")
	for _, c := range []struct {
		a    *Agent
		name string
	}{{a, "none"}, {New(Config{Root: tr.dir}), "box"}, {New(Config{Root: tr.dir, Containers: box(500)}), "box"}} {
		err := c.a.Fetch(t.Context(), &pmda.FetchRequest{Client: in(c.name), PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)})
		if !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("container %s: %v", c.name, err)
		}
		if _, err := c.a.Instances(pmda.WithClient(t.Context(), in(c.name)), pcp.NewInDom(Domain, 9)); !errors.Is(err, pcp.ErrNoContainer) {
			t.Errorf("instances in container %s: %v", c.name, err)
		}
	}
}

// TestViews has more kinds of clients than the agent keeps views.
func TestViews(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	for i := range 3 * maxViews {
		c := &pmda.Client{ID: i, Attrs: root.Attrs}
		if err := store(t, a, c, "proc.control.perclient.cgroups", pcp.StringValue(fmt.Sprint("/none/", i))); err != nil {
			t.Fatal(err)
		}
		if got := get(t, a, c, "proc.nprocs")[-1]; got != "0" || len(a.views) > maxViews {
			t.Errorf("%s processes, %d views", got, len(a.views))
		}
	}
}

func TestMetadata(t *testing.T) {
	a := New(Config{Domain: 99})
	ctx := context.Background()
	for name, id := range a.NameSpace().All() {
		if id.Domain() != 99 {
			t.Errorf("%s is %v", name, id)
		}
		if text, err := a.Text(ctx, uint32(id), pcp.TextPMID|pcp.TextOneLine); err != nil || text == "" {
			t.Errorf("%s: help %q, %v", name, text, err)
		}
	}
	children, err := a.Children(ctx, "proc", false)
	var names []string
	for _, c := range children {
		names = append(names, c.Name)
	}
	if want := "nprocs psinfo memory runq id io schedstat fd namespaces smaps autogroup fdinfo delayacct numa_maps control"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("children %v, %v", names, err)
	}
	if names, err := a.Names(ctx, pcp.NewPMID(99, 8, 1)); err != nil || len(names) != 1 || names[0] != "proc.psinfo.cmd" {
		t.Errorf("names %v, %v", names, err)
	}
}

// TestSteady checks that there are almost no allocations once a tree of processes has
// been read.
func TestSteady(t *testing.T) {
	tr := newTree(t)
	a := New(Config{Root: tr.dir})
	var ids []pcp.PMID
	for _, name := range []string{"proc.psinfo.utime", "proc.psinfo.cmd", "proc.id.uid_nm", "proc.io.rchar", "proc.psinfo.cgroups"} {
		id, _ := a.LookupName(t.Context(), name)
		ids = append(ids, id)
	}
	req := &pmda.FetchRequest{Client: root, PMIDs: ids, Result: new(pcp.Result)}
	fetch := func() {
		req.Result.Reset()
		if err := a.Refresh(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		if err := a.Fetch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	// A path or two for each file, and the names of the directory.
	if n := testing.AllocsPerRun(20, fetch); n > 100 {
		t.Errorf("%.0f allocations for 4 files of 7 processes", n)
	}
}
