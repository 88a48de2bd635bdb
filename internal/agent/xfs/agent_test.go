package xfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/pmda"
)

var (
	_ pmda.Agent      = (*Agent)(nil)
	_ pmda.Refresher  = (*Agent)(nil)
	_ pmda.NameSpacer = (*Agent)(nil)
	_ pmda.Texter     = (*Agent)(nil)
	_ pmda.Storer     = (*Agent)(nil)
)

// values fetches metrics by name and returns their values.
func values(t *testing.T, a *Agent, profile *pcp.Profile, names ...string) string {
	t.Helper()
	var b strings.Builder
	ids := agenttest.Lookup(t, a.NameSpace(), names...)
	res := agenttest.Fetch(t, a, profile, ids...)
	for i, id := range ids {
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s:%s\n", names[i], agenttest.Text(&res.Sets[i], desc.Type))
	}
	return b.String()
}

func TestStats(t *testing.T) {
	dir := t.TempDir()
	tr := testTree{t, dir}
	a := New(Config{Root: dir})
	f := func(want string, names ...string) {
		t.Helper()
		if got := values(t, a, nil, names...); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	f("xfs.write:\nxfs.control.reset: -1=0\n", "xfs.write", "xfs.control.reset")
	tr.write("sys/fs/xfs/stats/stats", "rw 3 4\nlog 4 11 0 0 0\nxpc 5 8589934592 7\nabtb2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n")
	f("xfs.write: -1=3\nxfs.write_bytes: -1=8589934592\nxfs.log.blocks: -1=5\nxfs.log.write_ratio: -1=2.000000e+00\nxfs.btree.alloc_blocks.moves: -1=15\nxfs.dir_ops.lookup: -1=0\n",
		"xfs.write", "xfs.write_bytes", "xfs.log.blocks", "xfs.log.write_ratio", "xfs.btree.alloc_blocks.moves", "xfs.dir_ops.lookup")
	tr.write("proc/fs/xfs/xqmstat", "qm 1 2 3 4 5 6 7 8\n")
	f("xfs.quota.dquots_unused: -1=8\n", "xfs.quota.dquots_unused")
}

// TestLateKernel checks the counters of version 7 of the C agent.
func TestLateKernel(t *testing.T) {
	dir := t.TempDir()
	testTree{t, dir}.write("sys/fs/xfs/stats/stats", "rmapbt_mem 1 2\nrcbagbt 3\nrtrmapbt 4\nrtrmapbt_mem 5\nrtrefcntbt 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\nzoned 21 22 23\nmetafile 24\ndefer_relog 12884901888\ngc xpc 4294967296\n")
	names := []string{
		"xfs.btree.rmap_mem.compare", "xfs.btree.rcbag.lookup", "xfs.btree.rtrmap.lookup", "xfs.btree.rtrmap_mem.lookup", "xfs.btree.rtrefcount.moves",
		"xfs.zoned.zone_reset_calls", "xfs.zoned.bytes", "xfs.metafile.inodes", "xfs.defer_relog", "xfs.btree.reverse_map.lookup",
	}
	want := "2 3 4 5 20 23 4294967296 24 12884901888 0"
	var got []string
	for l := range strings.Lines(values(t, New(Config{Root: dir}), nil, names...)) {
		_, v, _ := strings.Cut(strings.TrimSpace(l), "=")
		got = append(got, v)
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestDevices adds and removes devices of the device mapper.
func TestDevices(t *testing.T) {
	dir := t.TempDir()
	tr := testTree{t, dir}
	a := New(Config{Root: dir, Replaced: true})
	instances := func(want string) {
		t.Helper()
		insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, devicesSerial))
		if got := fmt.Sprint(insts); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	instances("[]")
	tr.write("sys/fs/xfs/dm-0/stats/stats", "rw 1 2\n")
	tr.write("sys/block/dm-0/dm/name", "vg-root\nmore")
	instances("[{0 /dev/mapper/vg-root}]")
	tr.write("sys/fs/xfs/sda/stats/stats", "rw 3 4\n")
	if got, want := values(t, a, nil, "xfs.perdev.write", "xfs.perdev.quota.dquots"), "xfs.perdev.write: 0=1 1=3\nxfs.perdev.quota.dquots: 0=0 1=0\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	only := new(pcp.Profile)
	if err := errors.Join(only.Del(pcp.NewInDom(Domain, devicesSerial)), only.Add(pcp.NewInDom(Domain, devicesSerial), 1)); err != nil {
		t.Fatal(err)
	}
	if got, want := values(t, a, only, "xfs.perdev.read"), "xfs.perdev.read: 1=4\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// The kernel gives the volume another number, and then it is gone.
	for _, move := range [][2]string{{"sys/fs/xfs/dm-0", "sys/fs/xfs/dm-7"}, {"sys/block/dm-0", "sys/block/dm-7"}} {
		if err := os.Rename(filepath.Join(dir, move[0]), filepath.Join(dir, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	tr.write("sys/fs/xfs/dm-7/stats/stats", "rw 5 6\n")
	if got, want := values(t, a, nil, "xfs.perdev.write"), "xfs.perdev.write: 0=5 1=3\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := os.RemoveAll(filepath.Join(dir, "sys/fs/xfs/dm-7")); err != nil {
		t.Fatal(err)
	}
	instances("[{1 /dev/sda}]")
}

// TestListChanges lists devices again between a refresh and its fetch.
func TestListChanges(t *testing.T) {
	dir := newTree(t, "5.10")
	a := New(Config{Root: dir, Replaced: true})
	ids := agenttest.Lookup(t, a.NameSpace(), "xfs.perdev.write")
	before := agenttest.Text(&agenttest.Fetch(t, a, nil, ids...).Sets[0], pcp.TypeU32)
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "sys/fs/xfs/sda1")); err != nil {
		t.Fatal(err)
	}
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, devicesSerial))
	if err != nil || len(insts) != 4 {
		t.Errorf("%v, %v", insts, err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	after := agenttest.Text(&req.Result.Sets[0], pcp.TypeU32)
	for _, v := range strings.Fields(after) {
		if !strings.Contains(before+" ", v+" ") {
			t.Errorf("a device has the value of another: %s, before %s", after, before)
		}
	}
}

// TestQuota replaces the kernel's answers.
func TestQuota(t *testing.T) {
	dir := t.TempDir()
	tr := testTree{t, dir}
	tr.write("proc/mounts", "/dev/none-a / xfs rw 0 0\n/dev/none-a /again xfs rw 0 0\n/dev/none-b  /b   xfs rw,prjquota 0 0\n/dev/mapper/none /c xfs rw 0 0\n"+
		"/dev/none-d /d ext4 rw 0 0\nhost:/x /e xfs rw 0 0\n/dev/none-e\n\n /dev/none-f /f xfs\n/dev/none-g /g xfs ")
	tr.write("etc/projects", "# names\n1:/home\n 2:/srv\n1:/again\n3:/none\nx:/y\n-1\n\n18446744073709551616:/z\n")
	a := New(Config{Root: dir})
	var calls []string
	a.host.quotactl = func(cmd uint32, device string, id uint32, room []byte) error {
		calls = append(calls, fmt.Sprintf("%c%d.%d %s %d", cmd>>16, cmd>>8&0xff, cmd&0xff, device, id))
		put16, put32, put64 := binary.NativeEndian.PutUint16, binary.NativeEndian.PutUint32, binary.NativeEndian.PutUint64
		switch cmd {
		case quotaState:
			switch device {
			case "/dev/none-b":
				put16(room[2:], projectAccounting|projectEnforcement|1)
			case "/dev/mapper/none":
				put16(room[2:], projectEnforcement)
			default:
				return syscall.ESRCH
			}
		case quotaGet:
			if id == 3 {
				return syscall.ENOENT
			}
			for i, at := range [...]int{8, 16, 24, 32, 40, 48} {
				put64(room[at:], 100*uint64(id)+uint64(10*i)|1<<40)
			}
			minus := -5
			put32(room[56:], uint32(minus))
			put32(room[60:], 77)
		}
		return nil
	}
	got := values(t, a, nil, "quota.state.project.accounting", "quota.state.project.enforcement", "quota.project.space.hard", "quota.project.space.soft", "quota.project.space.used",
		"quota.project.space.time_left", "quota.project.files.hard", "quota.project.files.soft", "quota.project.files.used", "quota.project.files.time_left")
	want := `quota.state.project.accounting: 0=0 1=1 2=0 3=0
quota.state.project.enforcement: 0=0 1=1 2=1 3=0
quota.project.space.hard: 0=549755813938 1=549755813988 2=764504178638 3=764504178638
quota.project.space.soft: 0=549755813943 1=549755813993 2=764504178643 3=764504178643
quota.project.space.used: 0=549755813958 1=549755814008 2=764504178658 3=764504178658
quota.project.space.time_left: 0=77 1=77 2=77 3=77
quota.project.files.hard: 0=1099511627896 1=1099511627996 2=1529008357296 3=1529008357296
quota.project.files.soft: 0=1099511627906 1=1099511628006 2=1529008357306 3=1529008357306
quota.project.files.used: 0=1099511627926 1=1099511628026 2=1529008357326 3=1529008357326
quota.project.files.time_left: 0=-5 1=-5 2=-5 3=-5
`
	insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, projectsSerial))
	if s := fmt.Sprint(insts); err != nil || s != "[{0 1:/dev/none-b} {1  2:/dev/none-b} {2 -1:/dev/none-b} {3 18446744073709551616:/dev/none-b}]" {
		t.Errorf("projects %s, %v", s, err)
	}
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	first := strings.Join(calls[:4], ", ")
	if want := "X5.2 /dev/none-a 0, X5.2 /dev/none-b 0, X7.2 /dev/none-b 0, X3.2 /dev/none-b 1"; first != want {
		t.Errorf("calls %s, want %s", first, want)
	}
	if err := os.Remove(filepath.Join(dir, "etc/projects")); err != nil {
		t.Fatal(err)
	}
	if got, want := values(t, a, nil, "quota.state.project.accounting", "quota.project.space.hard"), "quota.state.project.accounting: 0=0 1=1 2=0 3=0\nquota.project.space.hard:\n"; got != want {
		t.Errorf("without projects %s, want %s", got, want)
	}
}

// TestQuotactl asks this kernel about a missing device.
func TestQuotactl(t *testing.T) {
	room := make([]byte, quotaRoom)
	if err := quotactl(quotaState, "/dev/no such device", 0, room); err == nil {
		t.Error("there is a quota")
	}
	if err := quotactl(quotaState, "a\x00b", 0, nil); err == nil {
		t.Error("there is a quota")
	}
}

func TestTexts(t *testing.T) {
	a := New(Config{})
	for _, id := range nameless {
		if text, err := a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp); text != "" || !errors.Is(err, pcp.ErrText) {
			t.Errorf("%v: %q, %v", id, text, err)
		}
	}
	ids := agenttest.Lookup(t, a.NameSpace(), "xfs.buffer.get", "xfs.perdev.buffer.get")
	var texts [2]string
	for i, id := range ids {
		texts[i], _ = a.Text(t.Context(), uint32(id), pcp.TextPMID|pcp.TextHelp)
	}
	if texts[0] == "" || texts[0] != texts[1] {
		t.Errorf("texts %q", texts)
	}
	if got, want := wrap(strings.Repeat("x", 100)+" "+strings.Repeat("yy ", 30)+"z"), strings.Repeat("x", 100)+"\n"+strings.TrimSuffix(strings.Repeat("yy ", 26), " ")+"\nyy yy yy yy z"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStoreFails stores where nothing can be written.
func TestStoreFails(t *testing.T) {
	a := New(Config{Root: t.TempDir()})
	res := new(pcp.Result)
	res.AddSet(pcp.NewPMID(Domain, clusterAll, itemReset))
	if err := a.Store(t.Context(), nil, res); !errors.Is(err, pcp.ErrInst) {
		t.Errorf("no value: %v", err)
	}
	res.Add(pcp.Uint32Value(1))
	if err := a.Store(t.Context(), nil, res); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("no file: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	dir := newTree(t, "3.10")
	b := Builtin()
	a, err := b.Open(builtin.Env{Domain: 77, Config: config.New(func(name string) string {
		if name == "XFS_STATSPATH" {
			return dir + "/."
		}
		return ""
	})})
	if err != nil {
		t.Fatal(err)
	}
	if set := agenttest.Fetch(t, a, nil, pcp.NewPMID(77, clusterAll, 0)).Sets[0]; len(set.Values) != 1 {
		t.Errorf("values %v", set)
	}
}

// TestAllocs limits the allocations of a refresh and a fetch.
func TestAllocs(t *testing.T) {
	a := New(Config{Root: newTree(t, "6.18")})
	var all, devices []pcp.PMID
	for name, id := range a.NameSpace().All() {
		switch {
		case strings.HasPrefix(name, "xfs.perdev"):
			devices = append(devices, id)
		case strings.HasPrefix(name, "xfs."):
			all = append(all, id)
		}
	}
	for _, c := range []struct {
		what string
		ids  []pcp.PMID
		most float64
	}{{"all file systems", all, 1}, {"5 devices", devices, 80}} {
		once := agenttest.Refresh(t, a, c.ids)
		once()
		if n := testing.AllocsPerRun(20, once); n > c.most {
			t.Errorf("%s: %v allocations, want %v", c.what, n, c.most)
		}
	}
}

func BenchmarkStats(b *testing.B) {
	a := New(Config{Root: newTree(b, "6.18")})
	var all, devices []pcp.PMID
	for name, id := range a.NameSpace().All() {
		if strings.HasPrefix(name, "xfs.perdev") {
			devices = append(devices, id)
		} else if strings.HasPrefix(name, "xfs.") {
			all = append(all, id)
		}
	}
	for name, ids := range map[string][]pcp.PMID{"all": all, "devices": devices, "one": all[:1]} {
		b.Run(name, func(b *testing.B) {
			once := agenttest.Refresh(b, a, ids)
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	p, text := testParser(), []byte(statsOf(6, 50))
	row := p.block.Row(0)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		p.parse(text, row)
	}
}
