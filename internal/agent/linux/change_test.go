package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A tree is a root directory that a test changes.
type tree struct {
	t    testing.TB
	root string
}

func newTree(t testing.TB) tree { return tree{t, t.TempDir()} }

// write replaces the contents of a file in place, as the kernel does.
func (r tree) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// values returns the values of a metric by instance name ("" for a single value).
func values(t testing.TB, a *Agent, name string) map[string]string {
	t.Helper()
	id := a.id(t, name)
	vs := fetchAs(t, a, root, id).Sets[0]
	if vs.Err != 0 {
		t.Fatalf("%s: %v", name, vs.Err)
	}
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	names := map[int32]string{pcp.InNull: ""}
	if desc.InDom != pcp.InDomNull {
		insts, err := a.Instances(pmda.WithClient(t.Context(), root), desc.InDom)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range insts {
			names[i.Inst] = fmt.Sprintf("%d %s", i.Inst, i.Name)
		}
	}
	got := make(map[string]string)
	for _, v := range vs.Values {
		got[names[v.Inst]] = v.As(desc.Type).String()
	}
	return got
}

func want(t testing.TB, a *Agent, name string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, values(t, a, name)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestDevicesComeAndGo checks that an instance keeps its number forever.
func TestDevicesComeAndGo(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	line := func(name string, n int) string {
		return fmt.Sprintf("   8       0 %s %d 0 0 0 0 0 0 0 0 0 0\n", name, n)
	}
	want(t, a, "disk.dev.read", map[string]string{})
	r.write("proc/diskstats", line("sda", 1)+line("sdb", 2)+line("sdb1", 3))
	want(t, a, "disk.dev.read", map[string]string{"0 sda": "1", "1 sdb": "2"})
	want(t, a, "disk.partitions.read", map[string]string{"0 sdb1": "3"})
	want(t, a, "disk.all.read", map[string]string{"": "3"})
	want(t, a, "hinv.ndisk", map[string]string{"": "2"})

	r.write("proc/diskstats", line("sdb", 4)+line("sdc", 5))
	want(t, a, "disk.dev.read", map[string]string{"1 sdb": "4", "2 sdc": "5"})
	want(t, a, "disk.partitions.read", map[string]string{})
	want(t, a, "disk.all.read", map[string]string{"": "9"})

	r.write("proc/diskstats", line("sdc", 6)+line("sda", 7))
	want(t, a, "disk.dev.read", map[string]string{"0 sda": "7", "2 sdc": "6"})
	if vs := fetchAs(t, a, root, a.id(t, "disk.dev.read")).Sets[0]; vs.Values[0].Inst != 0 {
		t.Errorf("instances %v are not in ascending order", vs.Values)
	}

	r.write("proc/diskstats", "")
	want(t, a, "disk.dev.read", map[string]string{})
	want(t, a, "disk.all.read", map[string]string{"": "0"})
	if err := os.Remove(filepath.Join(r.root, "proc/diskstats")); err != nil {
		t.Fatal(err)
	}
	// The file stays open, as files of /proc do; a new agent does not find it.
	want(t, New(Config{Root: r.root}), "disk.all.read", map[string]string{})
}

// TestRenamedVolume renames a device mapper volume.
func TestRenamedVolume(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	r.write("proc/diskstats", " 253 0 dm-0 1 0 0 0 0 0 0 0 0 0 0\n 253 1 dm-1 2 0 0 0 0 0 0 0 0 0 0\n")
	r.write("sys/block/dm-0/dm/name", "one\n")
	want(t, a, "disk.dm.read", map[string]string{"0 one": "1"}) // dm-1 has no name yet
	r.write("sys/block/dm-0/dm/name", "two\n")
	r.write("sys/block/dm-1/dm/name", "one\n")
	want(t, a, "disk.dm.read", map[string]string{"0 one": "2", "1 two": "1"})
	want(t, a, "hinv.map.dmname", map[string]string{"0 one": `"dm-1"`, "1 two": `"dm-0"`})
}

// TestArrays has software RAID devices in each state.
func TestArrays(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	var stats strings.Builder
	for i, md := range []struct{ state, degraded string }{{"clean\n", "0\n"}, {"active\n", "1\n"}, {"inactive\n", ""}, {"clean\n", ""}, {"", ""}} {
		dir := fmt.Sprintf("sys/block/md%d/md/", i)
		if md.state != "" {
			r.write(dir+"array_state", md.state)
		}
		if md.degraded != "" {
			r.write(dir+"degraded", md.degraded)
		}
		fmt.Fprintf(&stats, " 9 %d md%d %d 0 0 0 0 0 0 0 0 0 0\n", i, i, i)
	}
	r.write("proc/diskstats", stats.String())
	r.write("dev/md/x", "")
	os.Remove(filepath.Join(r.root, "dev/md/x"))
	if err := os.Symlink("../md1", filepath.Join(r.root, "dev/md/home")); err != nil {
		t.Fatal(err)
	}
	want(t, a, "disk.md.status", map[string]string{"0 md0": "0", "1 home": "256", "2 md2": "512", "3 md3": "0", "4 md4": "1024"})
	want(t, a, "hinv.map.mdname", map[string]string{"0 md0": `"md0"`, "1 home": `"md1"`, "2 md2": `"md2"`, "3 md3": `"md3"`, "4 md4": `"md4"`})
	want(t, a, "disk.md.read", map[string]string{"0 md0": "0", "1 home": "1", "2 md2": "2", "3 md3": "3", "4 md4": "4"})
}

func TestClassify(t *testing.T) {
	for name, want := range map[string]diskKind{
		"sda": diskWhole, "sda1": diskPart, "hda": diskWhole, "vda12": diskPart, "xvda": diskWhole,
		"nvme0n1": diskWhole, "nvme0n1p2": diskPart, "mmcblk0": diskWhole, "mmcblk0p1": diskPart,
		"mmcblk0boot0": diskWhole, "rbd7": diskWhole, "rbd7p1": diskPart, "nbd0": diskWhole, "nbd0p1": diskPart,
		"md127": diskMD, "md_d0": diskMD, "dm-12": diskDM, "zram0": diskZram, "loop0": diskNone, "ram1": diskNone,
		"sr0": diskNone, "cciss/c0d0": diskWhole, "cciss/c0d0p1": diskPart, "xvm0": diskPart,
	} {
		if got := classify(name); got != want {
			t.Errorf("classify(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestManyProcessors has hundreds of processors, in two nodes, some offline.
func TestManyProcessors(t *testing.T) {
	r := newTree(t)
	const n = 500
	var stat, irq, soft strings.Builder
	stat.WriteString("cpu  0 0 0 0 0 0 0 0 0 0\n")
	irq.WriteString("     ")
	for cpu := range n {
		r.write(fmt.Sprintf("sys/devices/system/node/node%d/cpu%d/x", 8*(cpu%2), cpu), "")
		if cpu%10 == 3 {
			continue
		}
		fmt.Fprintf(&stat, "cpu%d %d 1 2 3 4 5 6 7 8 9\n", cpu, cpu)
		fmt.Fprintf(&irq, "       CPU%d", cpu)
	}
	irq.WriteString("\n  1:")
	for cpu := range n {
		if cpu%10 != 3 {
			fmt.Fprintf(&irq, " %10d", cpu)
		}
	}
	irq.WriteString("   IR-IO-APIC    1-edge      i8042\n")
	soft.WriteString(irq.String())
	r.write("proc/stat", stat.String())
	r.write("proc/interrupts", irq.String())
	a := New(Config{Root: r.root})
	for range 2 {
		want(t, a, "hinv.ncpu", map[string]string{"": "450"})
		want(t, a, "hinv.nnode", map[string]string{"": "2"})
		user := values(t, a, "kernel.percpu.cpu.user")
		if len(user) != 450 || user["499 cpu499"] != "4990" || user["3 cpu3"] != "" {
			t.Errorf("kernel.percpu.cpu.user has %d values: %v", len(user), user)
		}
		// Nodes are numbered as found; the sums are 10 times those of the numbers.
		odd, even := 0, 0
		for cpu := range n {
			if cpu%2 == 1 && cpu%10 != 3 {
				odd += cpu
			} else if cpu%2 == 0 {
				even += cpu
			}
		}
		want(t, a, "kernel.pernode.cpu.user", map[string]string{"0 node0": fmt.Sprint(10 * even), "1 node8": fmt.Sprint(10 * odd)})
		want(t, a, "kernel.all.interrupts.total", map[string]string{"0 1": fmt.Sprint(odd + even)})
		per := values(t, a, "kernel.percpu.interrupts")
		if len(per) != 450 || per["449 1::cpu499"] != "499" {
			t.Errorf("kernel.percpu.interrupts has %d values", len(per))
		}
		if intr := values(t, a, "kernel.percpu.intr"); intr["499 cpu499"] != "499" || intr["0 cpu0"] != "0" {
			t.Errorf("kernel.percpu.intr: %v", intr)
		}
	}
}

// TestInterruptAppears adds a line in the middle.
func TestInterruptAppears(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	r.write("proc/interrupts", "  CPU0 CPU1\n 1: 5 6 one\nLOC: 7 8 Local\n")
	want(t, a, "kernel.percpu.interrupts", map[string]string{"0 1::cpu0": "5", "1 1::cpu1": "6", "2 LOC::cpu0": "7", "3 LOC::cpu1": "8"})
	r.write("proc/interrupts", "  CPU0 CPU1\n 1: 5 6 one\n 2: 9 10 two\nLOC: 7 8 Local\n")
	want(t, a, "kernel.percpu.interrupts", map[string]string{"0 1::cpu0": "5", "1 1::cpu1": "6", "2 LOC::cpu0": "7", "3 LOC::cpu1": "8", "4 2::cpu0": "9", "5 2::cpu1": "10"})
	r.write("proc/interrupts", "  CPU1\n 2: 11 two\n")
	want(t, a, "kernel.percpu.interrupts", map[string]string{"5 2::cpu1": "11"})
	want(t, a, "kernel.percpu.intr", map[string]string{"": "11"}) // cpu1 is not in /proc/stat, which is missing
}

// TestWaitGoesBack checks that the wait time stays steady if the kernel corrects it.
func TestWaitGoesBack(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	for _, f := range []struct{ ticks, want int }{{1000, 10000}, {950, 10000}, {999, 10000}, {1001, 10010}, {100, 1000}} {
		r.write("proc/stat", fmt.Sprintf("cpu  0 0 0 0 %d 0 0\ncpu0 0 0 0 0 %d 0 0\n", f.ticks, f.ticks))
		want(t, a, "kernel.all.cpu.wait.total", map[string]string{"": fmt.Sprint(f.want)})
		want(t, a, "kernel.percpu.cpu.wait.total", map[string]string{"0 cpu0": fmt.Sprint(f.want)})
	}
}

// TestHZ has a kernel whose ticks are not whole milliseconds.
func TestHZ(t *testing.T) {
	r := newTree(t)
	r.write("proc/stat", "cpu  1024 18446744073709551615 0 0\n")
	a := New(Config{Root: r.root, HZ: 1024})
	want(t, a, "kernel.all.cpu.user", map[string]string{"": "1000"})
	want(t, a, "kernel.all.cpu.nice", map[string]string{"": "18014398509481984000"})
	want(t, a, "kernel.all.hz", map[string]string{"": "1024"})
}

// TestNothing has a root without any file: there is nothing to report, and no error.
func TestNothing(t *testing.T) {
	a := New(Config{Root: t.TempDir()})
	var names []string
	var ids []pcp.PMID
	a.Metrics(func(name string, id pcp.PMID) { names, ids = append(names, name), append(ids, id) })
	for range 2 {
		res := fetchAs(t, a, root, ids...)
		for i, vs := range res.Sets {
			if vs.Err != 0 && names[i] != "swap.in" && names[i] != "swap.out" {
				t.Errorf("%s: %v", names[i], vs.Err)
			}
		}
	}
	want(t, a, "mem.physmem", map[string]string{})
	want(t, a, "kernel.percpu.cpu.user", map[string]string{})
}

// TestProfile checks that a fetch returns the instances that the client chose.
func TestProfile(t *testing.T) {
	a := New(Config{Root: "testdata/vm"})
	id := a.id(t, "kernel.all.load")
	indom := pcp.NewInDom(Domain, 2)
	p := new(pcp.Profile)
	if err := p.Del(indom); err != nil {
		t.Fatal(err)
	}
	if err := p.Add(indom, 15, 5); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(t.Context(), []pcp.PMID{id}); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: &pmda.Client{}, Profile: p, PMIDs: []pcp.PMID{id}, Result: res}); err != nil {
		t.Fatal(err)
	}
	if v := res.Sets[0].Values; len(v) != 2 || v[0].Inst != 5 || v[1].Inst != 15 {
		t.Errorf("values %v, want those of 5 and 15", v)
	}
}

// TestOtherDomain serves the agent with another domain.
func TestOtherDomain(t *testing.T) {
	a := New(Config{Root: "testdata/vm", Domain: 61})
	id := pcp.NewPMID(61, 2, 0)
	desc, err := a.Desc(t.Context(), id)
	if err != nil || desc.PMID != id || desc.InDom != pcp.NewInDom(61, 2) {
		t.Errorf("Desc(%v) = %+v, %v", id, desc, err)
	}
	res := fetchAs(t, a, root, id, pcp.NewPMID(60, 2, 0), pcp.NewPMID(61, 2, 1023), pcp.NewPMID(61, 4095, 0))
	if len(res.Sets[0].Values) != 3 {
		t.Errorf("%d values of %v", len(res.Sets[0].Values), id)
	}
	for _, vs := range res.Sets[1:] {
		if vs.Err != pcp.ErrPMID {
			t.Errorf("%v: %v, want %v", vs.PMID, vs.Err, pcp.ErrPMID)
		}
	}
	if _, err := a.Instances(t.Context(), pcp.NewInDom(60, 2)); err == nil {
		t.Error("instances of another domain")
	}
	if got, err := a.NameSpace().Lookup("kernel.all.load"); err != nil || got != id {
		t.Errorf("name space: %v, %v", got, err)
	}
}

// TestForRoot checks that only root gets slabs and serial ports.
func TestForRoot(t *testing.T) {
	a := New(Config{Root: "testdata/vm"})
	user := &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "1000"}}
	for name, n := range map[string]int{"mem.slabinfo.objects.total": 10, "tty.serial.tx": 2} {
		id := a.id(t, name)
		for client, n := range map[*pmda.Client]int{root: n, user: 0, {}: 0} {
			if vs := fetchAs(t, a, client, id).Sets[0]; len(vs.Values) != n {
				t.Errorf("%s: %d values for a client with %v, want %d", name, len(vs.Values), client.Attrs, n)
			}
			desc, err := a.Desc(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if insts, err := a.Instances(pmda.WithClient(t.Context(), client), desc.InDom); err != nil || len(insts) != n {
				t.Errorf("%s: %d instances for a client with %v, %v, want %d", name, len(insts), client.Attrs, err, n)
			}
		}
	}
}

// TestRefreshCovers checks that a fetch returns the values of the last refresh.
func TestRefreshCovers(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	ids := []pcp.PMID{a.id(t, "kernel.all.load"), a.id(t, "kernel.all.uptime")}
	r.write("proc/loadavg", "1.00 0 0 1/2 3\n")
	r.write("proc/uptime", "10.00 20.00\n")
	if err := a.Refresh(t.Context(), ids[:1]); err != nil {
		t.Fatal(err)
	}
	r.write("proc/loadavg", "2.00 0 0 1/2 3\n")
	r.write("proc/uptime", "11.00 20.00\n")
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: res}); err != nil {
		t.Fatal(err)
	}
	if load, up := res.Sets[0].Values[0].Float(), res.Sets[1].Values[0].Double(); load != 1 || up != 11 {
		t.Errorf("load %v, uptime %v, want 1, 11: only the first was refreshed", load, up)
	}
}

// TestStringsStay checks that returned strings do not change.
func TestStringsStay(t *testing.T) {
	r := newTree(t)
	a := New(Config{Root: r.root})
	r.write("proc/diskstats", "   8       0 sda 1 0 0 0 0 0 0 0 0 0 0\n")
	r.write("sys/block/sda/queue/scheduler", "[none] bfq\n")
	id := a.id(t, "disk.dev.scheduler")
	first := fetchAs(t, a, root, id).Sets[0].Values[0]
	r.write("sys/block/sda/queue/scheduler", "none [bfq]\n")
	second := fetchAs(t, a, root, id).Sets[0].Values[0]
	if string(first.Bytes()) != "none" || string(second.Bytes()) != "bfq" {
		t.Errorf("%s, then %s", first.Bytes(), second.Bytes())
	}
}

// TestHungFileSystem checks a file system that does not answer for a while.
func TestHungFileSystem(t *testing.T) {
	r := newTree(t)
	r.write("proc/self/mounts", "/dev/a /a ext4 rw 0 0\n/dev/b /b ext4 rw 0 0\n/dev/c /c ext4 rw 0 0\n")
	a := New(Config{Root: r.root, StatfsTimeout: 2 * time.Second}) // long, for file systems that do not hang
	hang, asked := make(chan struct{}), make(chan string, 100)
	a.host.statfs = func(path string) (fsStat, error) {
		asked <- filepath.Base(path)
		if filepath.Base(path) == "b" {
			<-hang
		}
		return fsStat{blockSize: 1024, blocks: 7}, nil
	}
	want(t, a, "filesys.capacity", map[string]string{"0 /dev/a": "7"})
	want(t, a, "filesys.capacity", map[string]string{"0 /dev/a": "7", "2 /dev/c": "7"})
	want(t, a, "filesys.mountdir", map[string]string{"0 /dev/a": `"/a"`, "1 /dev/b": `"/b"`, "2 /dev/c": `"/c"`})
	close(hang)
	all := map[string]string{"0 /dev/a": "7", "1 /dev/b": "7", "2 /dev/c": "7"}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if cmp.Equal(all, values(t, a, "filesys.capacity")) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the file system is not asked again after it has answered")
		}
	}
	n := 0
	for len(asked) > 0 {
		if <-asked == "b" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("the file system that hung was asked %d times, want 2", n)
	}
}

// TestText checks that each metric and instance domain has a line of help.
func TestText(t *testing.T) {
	a := New(Config{})
	a.Metrics(func(name string, id pcp.PMID) {
		text, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextOneLine)
		if err != nil || text == "" || strings.Contains(text, "\n") || len(text) > 100 {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if desc.InDom == pcp.InDomNull {
			return
		}
		if text, err := a.Text(t.Context(), uint32(desc.InDom), pcp.TextInDom|pcp.TextOneLine); err != nil || text == "" {
			t.Errorf("%v of %s: %q, %v", desc.InDom, name, text, err)
		}
	})
}

// TestTextOfUnknown checks that unknown identifiers give the error of the C agent.
func TestTextOfUnknown(t *testing.T) {
	a := New(Config{})
	for ident, kind := range map[uint32]pcp.TextKind{
		uint32(pcp.NewPMID(60, 999, 1)): pcp.TextPMID, uint32(pcp.NewInDom(60, 999)): pcp.TextInDom,
	} {
		if text, err := a.Text(t.Context(), ident, kind|pcp.TextOneLine); !errors.Is(err, pcp.ErrText) {
			t.Errorf("text of %v %#x: %q, %v, want %v", kind, ident, text, err, pcp.ErrText)
		}
	}
}

// TestLabelsOfPlainInstances wants an empty set for each instance of a domain
// whose instances have no labels, as from the C agent.
func TestLabelsOfPlainInstances(t *testing.T) {
	a := New(Config{})
	load := pcp.NewInDom(60, 2) // the averages of the last 1, 5 and 15 minutes
	sets, err := a.Labels(t.Context(), uint32(load), pcp.LabelInstances)
	if err != nil || len(sets) != 3 {
		t.Fatalf("labels of %v: %+v, %v", load, sets, err)
	}
	for i, want := range []int32{1, 5, 15} {
		if s := sets[i]; s.Inst != want || s.JSON != "" || len(s.Index) != 0 || s.Err != 0 {
			t.Errorf("set %d is %+v, want an empty one of %d", i, s, want)
		}
	}
}
