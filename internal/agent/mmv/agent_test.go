package mmv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/mmv"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	file "github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmda"
)

// sample returns a small file with all kinds of records.
func sample(t testing.TB, opt file.Options) []byte {
	t.Helper()
	opt.Dir, opt.Fixed, opt.Persist = t.TempDir(), true, true
	reg, err := file.New("s", opt)
	if err != nil {
		t.Fatal(err)
	}
	dom := reg.InDom(file.InDomDef{Serial: 5, OneLine: "one", Instances: []string{"a", "b"}})
	vec := reg.CounterVec(file.Metric{Name: "count", Item: 1, InDom: dom, OneLine: "short", Help: "longer"})
	level := reg.Gauge(file.Metric{Name: "level", Item: 2})
	text := reg.String(file.Metric{Name: "text", Item: 3})
	busy := reg.Elapsed(file.Metric{Name: "busy", Item: 4})
	_ = busy
	if err := dom.AddInstanceLabel("a", file.Label{Name: "x", Value: "y"}); err != nil {
		t.Fatal(err)
	}
	if err := reg.Start(); err != nil {
		t.Fatal(err)
	}
	vec.With("b").Add(7)
	level.Set(2.5)
	text.Set("hello")
	if err := reg.Err(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(opt.Dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	reg.Close()
	return b
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fetch refreshes and fetches.
func fetch(t testing.TB, a *mmv.Agent, ids ...pcp.PMID) []pcp.ValueSet {
	t.Helper()
	if err := a.Refresh(context.Background(), ids); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	if err := a.Fetch(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	if err := pmda.CheckResult(req); err != nil {
		t.Fatal(err)
	}
	return req.Result.Sets
}

// notice makes the agent check its files, which only a fetch guarantees: a
// look-up soon after another may skip that.
func notice(t testing.TB, a *mmv.Agent) {
	t.Helper()
	if err := a.Refresh(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// show returns the values of metrics as text, by name.
func show(t testing.TB, a *mmv.Agent, names ...string) string {
	t.Helper()
	notice(t, a)
	var b strings.Builder
	for _, name := range names {
		id, err := a.LookupName(t.Context(), name)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", name, err)
			continue
		}
		set := fetch(t, a, id)[0]
		fmt.Fprintf(&b, "%s %v", name, id)
		if set.Err != 0 {
			fmt.Fprintf(&b, " %v", set.Err)
		}
		for _, v := range set.Values {
			if v.Type() == pcp.TypeDouble {
				fmt.Fprintf(&b, " %d:%v", v.Inst, v.Double())
			} else {
				fmt.Fprintf(&b, " %d:%v", v.Inst, v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// metrics returns the existing names, without controls.
func metrics(t testing.TB, a *mmv.Agent) (names []string) {
	t.Helper()
	notice(t, a)
	kids, err := a.Children(t.Context(), "mmv", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kids {
		if !strings.HasPrefix(k.Name, "mmv.control.") {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

func want(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// everything makes every call that a collector can make.
func everything(t testing.TB, a *mmv.Agent) {
	t.Helper()
	notice(t, a)
	ctx := t.Context()
	ids := all(t, a)
	for _, set := range fetch(t, a, ids...) {
		desc, err := a.Desc(ctx, set.PMID)
		if err != nil {
			continue // its name was refused
		}
		a.Text(ctx, uint32(desc.PMID), pcp.TextPMID|pcp.TextOneLine)
		a.Text(ctx, uint32(desc.PMID), pcp.TextPMID|pcp.TextHelp)
		a.Names(ctx, desc.PMID)
		for _, kind := range []pcp.LabelFlags{pcp.LabelDomain, pcp.LabelCluster, pcp.LabelItem} {
			a.Labels(ctx, uint32(desc.PMID), kind)
		}
		if desc.InDom != pcp.InDomNull {
			a.Text(ctx, uint32(desc.InDom), pcp.TextInDom|pcp.TextHelp)
			a.Labels(ctx, uint32(desc.InDom), pcp.LabelInDom)
			a.Labels(ctx, uint32(desc.InDom), pcp.LabelInstances)
			insts, _ := a.Instances(ctx, desc.InDom)
			for _, in := range insts {
				a.LookupInstance(ctx, desc.InDom, in.Name)
				a.InstanceName(ctx, desc.InDom, in.Inst)
			}
		}
		for _, v := range set.Values {
			_ = v.String()
		}
	}
}

// TestFiles adds, changes and removes files.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mmv")
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	want(t, "no folder", metrics(t, a), []string(nil))
	if names, labels := a.Changes(); names || labels {
		t.Error("changes before anything happened")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	want(t, "empty folder", show(t, a, "mmv.s.level", "mmv.control.files"), "mmv.s.level: Unknown metric name\nmmv.control.files 70.0.2 -1:0\n")

	write(t, dir+"/s", sample(t, file.Options{Cluster: 9}))
	want(t, "new file", show(t, a, "mmv.s.level", "mmv.s.count", "mmv.s.text", "mmv.s.busy", "mmv.control.files"),
		"mmv.s.level 70.9.2 -1:2.5\nmmv.s.count 70.9.1 0:0 1:7\nmmv.s.text 70.9.3 -1:\"hello\"\nmmv.s.busy 70.9.4 -1:0\nmmv.control.files 70.0.2 -1:1\n")
	if names, labels := a.Changes(); !names || !labels {
		t.Errorf("new file: changes %v %v", names, labels)
	}
	if names, _ := a.Changes(); names {
		t.Error("changes without a reason")
	}

	// In place: the same inode and name, other definitions.
	write(t, dir+"/s", sample(t, file.Options{Cluster: 10}))
	want(t, "rewritten", show(t, a, "mmv.s.level"), "mmv.s.level 70.10.2 -1:2.5\n")

	// Replaced by another.
	write(t, dir+"/.new", sample(t, file.Options{Cluster: 11}))
	if err := os.Rename(dir+"/.new", dir+"/s"); err != nil {
		t.Fatal(err)
	}
	want(t, "replaced", show(t, a, "mmv.s.level"), "mmv.s.level 70.11.2 -1:2.5\n")

	// Files without metrics.
	write(t, dir+"/.hidden", sample(t, file.Options{}))
	for _, err := range []error{
		os.Mkdir(dir+"/folder", 0o755), syscall.Mkfifo(dir+"/fifo", 0o644),
		os.Symlink("nowhere", dir+"/dangling"), os.Symlink("loop", dir+"/loop"), os.Symlink("s", dir+"/link"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want(t, "others", metrics(t, a), []string{
		"mmv.link.busy", "mmv.link.count", "mmv.link.level", "mmv.link.text", "mmv.s.busy", "mmv.s.count", "mmv.s.level", "mmv.s.text",
	})
	os.Remove(dir + "/link")
	os.Remove(dir + "/s")
	want(t, "gone", show(t, a, "mmv.s.level", "mmv.control.files"), "mmv.s.level: Unknown metric name\nmmv.control.files 70.0.2 -1:0\n")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, "folder gone", metrics(t, a), []string(nil))
}

// TestDamage changes bytes of a file, and cuts it at some length, next to an
// undamaged file: every byte of its head and some of the rest, or all with
// PCP_TEST_LONG set.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/good", sample(t, file.Options{Cluster: 5}))
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	const good = "mmv.good.level 70.5.2 -1:2.5\nmmv.good.count 70.5.1 0:0 1:7\nmmv.good.text 70.5.3 -1:\"hello\"\n"
	check := func(what string) {
		t.Helper()
		everything(t, a)
		if got := show(t, a, "mmv.good.level", "mmv.good.count", "mmv.good.text"); got != good {
			t.Fatalf("%s: %s", what, got)
		}
	}
	b := sample(t, file.Options{Cluster: 6, Labels: []file.Label{{Name: "of", Value: "all"}}})
	path := dir + "/bad"
	some := func(i int) bool { return i < 400 || i%7 == 0 || longtest.Enabled() }
	for i := range b {
		if !some(i) {
			continue
		}
		x := []byte{0x01, 0x80, 0xff}[i%3]
		d := bytes.Clone(b)
		d[i] ^= x
		os.Remove(path)
		write(t, path, d)
		check(fmt.Sprintf("byte %d ^ %#x", i, x))
	}
	for n := range b {
		if !some(n) {
			continue
		}
		os.Remove(path)
		write(t, path, b[:n])
		check(fmt.Sprintf("cut to %d", n))
	}
	// Cut while the agent has it open, and complete again.
	write(t, path, b)
	for n := len(b); n >= 0; n -= 37 {
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("truncated to %d", n))
	}
	write(t, path, b)
	os.Remove(dir + "/x")
	write(t, dir+"/x", nil) // so that the folder changes
	want(t, "whole again", show(t, a, "mmv.bad.level", "mmv.bad.text"), "mmv.bad.level 70.6.2 -1:2.5\nmmv.bad.text 70.6.3 -1:\"hello\"\n")
}

// TestLog checks the messages about files that cannot be used, and that each is
// logged once.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	log := new(logBuffer)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}, Log: log.logger()})
	ok := sample(t, file.Options{Cluster: 3})
	ne := binary.NativeEndian
	f := func(text string, change func(b []byte) []byte) {
		t.Helper()
		b := change(bytes.Clone(ok))
		os.Remove(dir + "/f")
		write(t, dir+"/f", b)
		for range 3 {
			everything(t, a)
		}
		if n := log.count("mmv: " + text + "\n"); n != 1 {
			t.Errorf("%q is in the log %d times:\n%s", text, n, log.String())
		}
	}
	put := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { ne.PutUint32(b[at:], v); return b }
	}
	toc := func(typ uint32) int {
		for at := 40; ; at += 16 {
			if ne.Uint32(ok[at:]) == typ {
				return at
			}
		}
	}
	size := len(ok)
	f("f: size 12 too small, expecting at least 40", func(b []byte) []byte { return b[:12] })
	f(`f: magic "XMV" not "MMV" as expected`, func(b []byte) []byte { b[0] = 'X'; return b })
	f("f: version 4 unsupported (current is 1)", put(4, 4))
	f(fmt.Sprintf("f: generation in flux, g1=%d g2=1", ne.Uint64(ok[8:])), func(b []byte) []byte { ne.PutUint64(b[16:], 1); return b })
	f("f: bad header.doc 1, expecting at least 2", put(24, 1))
	f(fmt.Sprintf("f: bad total size %d, expecting 16040", size), put(24, 1000))
	f("f: choose_cluster failed", put(36, 4096))
	f("f: bad TOC type (9)", put(toc(5), 9))
	f("f: metrics count: 1024 > 1023", put(toc(3)+4, 1024))
	f(fmt.Sprintf("f: metrics offset: %d < %d", size, uint64(ne.Uint64(ok[toc(3)+8:]))+1000*48), put(toc(3)+4, 1000))
	f(fmt.Sprintf("f: values offset: %d < %d", size, uint64(ne.Uint64(ok[toc(4)+8:]))+1000*32), put(toc(4)+4, 1000))
	f("f: labels count: 256 > 255", put(toc(6)+4, 256))
	first := int(ne.Uint64(ok[toc(3)+8:]))
	item := func(k int) int { return first + 48*k + 8 }
	f("duplicate item 1 - [0] and [1] mmv.f.level, second will be ignored", put(item(1), 1))
	f("invalid item 1024 (mmv.f.count) in f, ignored", put(item(0), 1024))
	name := int(ne.Uint64(ok[first:]))
	f("invalid metric[0] name in f (@-), ignored", func(b []byte) []byte { copy(b[name:], "co-nt"); return b })
	f("invalid metric[0] name start in f, ignored", func(b []byte) []byte { b[name] = 0; return b })
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	f(fmt.Sprintf("f: owning process PID %d vanished", gone.Process.Pid), func(b []byte) []byte {
		put(28, uint32(file.FlagProcess))(b)
		return put(32, uint32(gone.Process.Pid))(b)
	})
	if n := log.count("\n"); n > 60 {
		t.Errorf("%d lines of log", n)
	}
}

// TestFlux has an unfinished file.
func TestFlux(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/s"
	ok := sample(t, file.Options{Cluster: 3})
	write(t, path, ok)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	now := time.Now()
	a.SetClock(func() time.Time { return now })
	const level = "mmv.s.level 70.3.2 -1:2.5\n"
	want(t, "settled", show(t, a, "mmv.s.level"), level)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := binary.NativeEndian.Uint64(ok[8:])
	put := func(at int64, v uint64) {
		t.Helper()
		if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, v), at); err != nil {
			t.Fatal(err)
		}
	}
	reload := func() int32 { return fetch(t, a, pcp.NewPMID(70, 0, 0))[0].Values[0].Int32() }
	put(8, g+1)
	want(t, "in flux", show(t, a, "mmv.s.level"), level)
	want(t, "reload in flux", reload(), int32(1))
	put(16, g+1)
	want(t, "settled again", show(t, a, "mmv.s.level"), level)
	want(t, "reload", reload(), int32(0))
	put(16, 0)
	want(t, "in flux again", show(t, a, "mmv.s.level"), level)
	now = now.Add(1200 * time.Millisecond)
	want(t, "in flux for long", show(t, a, "mmv.s.level"), "mmv.s.level: Unknown metric name\n")
	put(16, g+1)
	fetch(t, a, pcp.NewPMID(70, 0, 0))
	want(t, "settled at last", show(t, a, "mmv.s.level"), level)
	// No data yet.
	put(8, 0)
	put(16, 0)
	want(t, "begun anew", show(t, a, "mmv.s.level"), level)
	put(16, g+2)
	put(8, g+2)
	want(t, "done", show(t, a, "mmv.s.level"), level)
}

// TestProcess ends the owner of a file.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	owner := exec.Command("sleep", "100")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	b := sample(t, file.Options{Cluster: 3})
	binary.NativeEndian.PutUint32(b[28:], uint32(file.FlagProcess))
	binary.NativeEndian.PutUint32(b[32:], uint32(owner.Process.Pid))
	write(t, dir+"/s", b)
	log := new(logBuffer)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}, Log: log.logger()})
	ids := all(t, a)
	want(t, "alive", len(ids), 4)
	a.Changes()
	owner.Process.Kill()
	owner.Wait()
	want(t, "gone", fetch(t, a, ids...)[0].Err, pcp.ErrPMID)
	if names, _ := a.Changes(); !names {
		t.Error("no change of names")
	}
	fetch(t, a, ids...)
	want(t, "log lines", log.count(fmt.Sprintf("mmv: s: owning process PID %d vanished", owner.Process.Pid)), 1)
}

// TestForeign serves a file of the other byte order.
func TestForeign(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("written for little-endian machines")
	}
	// header, three sections, one metric of version 1, one value
	be := binary.BigEndian
	b := make([]byte, 40+2*16+104+32)
	copy(b, "MMV\x00")
	be.PutUint32(b[4:], 1)
	be.PutUint64(b[8:], 77)
	be.PutUint64(b[16:], 77)
	be.PutUint32(b[24:], 2)
	be.PutUint32(b[36:], 8)
	be.PutUint32(b[40:], 3)
	be.PutUint32(b[44:], 1)
	be.PutUint64(b[48:], 72)
	be.PutUint32(b[56:], 4)
	be.PutUint32(b[60:], 1)
	be.PutUint64(b[64:], 176)
	copy(b[72:], "n")
	be.PutUint32(b[72+64:], 6)
	be.PutUint32(b[72+68:], uint32(file.TypeI32))
	be.PutUint32(b[72+72:], uint32(pcp.SemInstant))
	be.PutUint32(b[176:], 0xfffffff6)
	be.PutUint64(b[176+16:], 72)
	dir := t.TempDir()
	write(t, dir+"/far", b)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	want(t, "value", show(t, a, "mmv.far.n"), "mmv.far.n 70.8.6 -1:-10\n")
	be.PutUint64(b[8:], 78)
	write(t, dir+"/far", b)
	want(t, "in flux", show(t, a, "mmv.far.n"), "mmv.far.n 70.8.6 -1:-10\n")
}

// TestSentinel checks values that mean no value.
func TestSentinel(t *testing.T) {
	dir := t.TempDir()
	for _, sentinel := range []bool{false, true} {
		reg, err := file.New(fmt.Sprintf("s%v", sentinel), file.Options{Dir: dir, Cluster: 2, Sentinel: sentinel})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close()
		reg.Counter(file.Metric{Name: "n"}).Add(math.MaxUint64)
		reg.Gauge(file.Metric{Name: "f"}).Set(math.NaN())
		reg.String(file.Metric{Name: "t"})
	}
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	want(t, "no sentinels", show(t, a, "mmv.sfalse.n", "mmv.sfalse.f", "mmv.sfalse.t"), "mmv.sfalse.n 70.2.1 -1:18446744073709551615\nmmv.sfalse.f 70.2.2 -1:NaN\nmmv.sfalse.t 70.2.3 -1:\"\"\n")
	os.Remove(dir + "/sfalse") // they share the cluster
	want(t, "sentinels", show(t, a, "mmv.strue.n", "mmv.strue.f", "mmv.strue.t"), "mmv.strue.n 70.2.1\nmmv.strue.f 70.2.2\nmmv.strue.t 70.2.3\n")
}

// TestElapsed reads a section of time that is open.
func TestElapsed(t *testing.T) {
	dir := t.TempDir()
	reg, err := file.New("e", file.Options{Dir: dir, Cluster: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	e := reg.Elapsed(file.Metric{Name: "busy"})
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	read := func() int64 { return fetch(t, a, pcp.NewPMID(70, 2, 1))[0].Values[0].Int64() }
	want(t, "at first", read(), int64(0))
	begin := time.Now()
	e.Start()
	time.Sleep(20 * time.Millisecond)
	// The wall clock may be set meanwhile.
	if got := read(); got < 10_000 || got > time.Since(begin).Microseconds()+1e6 {
		t.Errorf("open for %v: %d", time.Since(begin), got)
	}
}

// TestSettings serves other folders with another name.
func TestSettings(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, one+"/b", sample(t, file.Options{}))
	write(t, one+"/both", sample(t, file.Options{Cluster: 4}))
	write(t, two+"/a", sample(t, file.Options{}))
	write(t, two+"/both", sample(t, file.Options{Cluster: 5}))
	a := newAgent(t, mmv.Config{Dirs: []string{one, two}, Prefix: "pmproxy", Domain: 4})
	want(t, "names", show(t, a, "pmproxy.b.level", "pmproxy.both.level", "pmproxy.a.level", "mmv.a.level", "pmproxy.control.files"),
		"pmproxy.b.level 4.1.2 -1:2.5\npmproxy.both.level 4.4.2 -1:2.5\npmproxy.a.level 4.2.2 -1:2.5\nmmv.a.level: Unknown metric name\npmproxy.control.files 4.0.2 -1:3\n")
	desc, err := a.Desc(t.Context(), pcp.NewPMID(4, 1, 1))
	want(t, "indom", desc.InDom, pcp.NewInDom(4, 1<<11|5))
	want(t, "error", err, nil)
	if domain, ok := a.NameSpace().DynamicRoot("pmproxy.x"); !ok || domain != 4 {
		t.Errorf("dynamic root %d %v", domain, ok)
	}
	for _, cfg := range []mmv.Config{{Domain: 1000}, {Prefix: "a-b"}} {
		if _, err := mmv.New(cfg); err == nil {
			t.Errorf("New(%+v) accepts that", cfg)
		}
	}
	cfg := config.New(func(name string) string {
		return map[string]string{"PCP_TMP_DIR": "/tmp/pcp", "HOME": "/home/me"}[name]
	})
	want(t, "default of another", mmv.DefaultDirs(cfg, "pmproxy"), []string{"/tmp/pcp/pmproxy"})
	want(t, "default", mmv.DefaultDirs(cfg, "mmv"), []string{"/tmp/pcp/mmv", "/home/me/.local/state/pcp/mmv"})
}

// TestStore stores into the controls, and fails for all others.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/s", sample(t, file.Options{Cluster: 3}))
	log := new(logBuffer)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}, Log: log.logger()})
	store := func(id pcp.PMID, values ...pcp.Value) error {
		res := &pcp.Result{Sets: []pcp.ValueSet{{PMID: id, Values: values}}}
		return a.Store(t.Context(), &pmda.Client{}, res)
	}
	control := func(item int) pcp.PMID { return pcp.NewPMID(70, 0, item) }
	one := pcp.Int32Value(1)
	want(t, "files", store(control(2), one), error(pcp.ErrPermission))
	want(t, "metric", store(pcp.NewPMID(70, 3, 2), pcp.DoubleValue(1)), error(pcp.ErrPermission))
	want(t, "nothing", store(control(0)), error(pcp.ErrBadStore))
	want(t, "two", store(control(0), one, one), error(pcp.ErrBadStore))
	if err := store(control(0), pcp.StringValue("x")); err == nil {
		t.Error("text is accepted")
	}
	want(t, "debug", store(control(1), pcp.Int32Value(5)), nil)
	want(t, "debug value", fetch(t, a, control(1))[0].Values[0].Int32(), int32(5))
	want(t, "reload", store(control(0), one), nil)
	want(t, "reload value", fetch(t, a, control(0))[0].Values[0].Int32(), int32(0))
	if log.count("after reload") != 1 {
		t.Errorf("log:\n%s", log.String())
	}
	want(t, "no such control", fetch(t, a, control(3))[0].Err, pcp.ErrPMID)
}

// TestPermission has a file that the agent may read only later.
func TestPermission(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/s", sample(t, file.Options{Cluster: 3}))
	write(t, dir+"/t", sample(t, file.Options{Cluster: 4}))
	os.Chmod(dir+"/s", 0)
	log := new(logBuffer)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}, Log: log.logger()})
	as := func(f func()) { f() }
	if os.Geteuid() == 0 {
		as = asNobody(t)
		for p := dir; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
			os.Chmod(p, 0o755)
		}
	}
	as(func() {
		want(t, "closed", show(t, a, "mmv.s.level", "mmv.t.level"), "mmv.s.level: Unknown metric name\nmmv.t.level 70.4.2 -1:2.5\n")
		fetch(t, a)
	})
	want(t, "log lines", log.count("mmv: s: failed to open: Permission denied"), 1)
	os.Chmod(dir+"/s", 0o644)
	write(t, dir+"/u", nil) // the folder changes; a mode alone is noticed a second later
	as(func() {
		want(t, "open", show(t, a, "mmv.s.level", "mmv.t.level"), "mmv.s.level 70.3.2 -1:2.5\nmmv.t.level 70.4.2 -1:2.5\n")
	})
}

// TestMany serves thousands of files, and leaves no descriptor open.
func TestMany(t *testing.T) {
	dir := t.TempDir()
	const files = 4096
	b := sample(t, file.Options{})
	for i := range files {
		write(t, fmt.Sprintf("%s/f%d", dir, i), b)
	}
	before := descriptors(t)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	a, err := mmv.New(mmv.Config{Dirs: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	ids := all(t, a)
	// The clusters are used up by then.
	want(t, "metrics", len(ids), 4*file.MaxCluster)
	for _, set := range fetch(t, a, ids...) {
		if set.Err != 0 || len(set.Values) == 0 {
			t.Fatalf("%v: %v, %d values", set.PMID, set.Err, len(set.Values))
		}
	}
	if n := descriptors(t) - before; uint64(n) > limit.Cur/4+16 {
		t.Errorf("%d descriptors of %d are in use", n, limit.Cur)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	want(t, "gone", metrics(t, a), []string(nil))
	if n := descriptors(t); n > before {
		t.Errorf("%d descriptors are left open", n-before)
	}
	a.Close()
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

// TestLive reads while a program counts, adds instances and sets texts.
func TestLive(t *testing.T) {
	dir := t.TempDir()
	reg, err := file.New("live", file.Options{Dir: dir, Cluster: 6, MaxValues: 20000})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	count := reg.Counter(file.Metric{Name: "count"})
	vec := reg.CounterVec(file.Metric{Name: "vec"})
	text := reg.String(file.Metric{Name: "text"})
	long := func(c byte) string { return strings.Repeat(string(c), 200) }
	text.Set(long('a'))
	vec.With("first").Inc()
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	// A writer that has to wait leaves the file in flux meanwhile.
	now := time.Now()
	a.SetClock(func() time.Time { return now })
	ids := []pcp.PMID{pcp.NewPMID(70, 6, 1), pcp.NewPMID(70, 6, 2), pcp.NewPMID(70, 6, 3)}

	var writers sync.WaitGroup
	const instances = 2000
	stop := make(chan struct{})
	writers.Go(func() {
		for i := range instances {
			vec.With(fmt.Sprintf("i%d", i)).Inc()
		}
	})
	writers.Go(func() {
		for i := byte(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text.Set(long('a' + i%26))
			count.Inc()
		}
	})
	last, seen := uint64(0), 0
	for end := time.Now().Add(time.Minute); seen <= instances; {
		if time.Now().After(end) {
			t.Fatalf("%d instances after a minute", seen)
		}
		sets := fetch(t, a, ids...)
		if len(sets[0].Values) != 1 || len(sets[2].Values) != 1 {
			t.Fatalf("there is a gap: %d values, %v; text: %d values, %v", len(sets[0].Values), sets[0].Err, len(sets[2].Values), sets[2].Err)
		}
		if v := sets[0].Values[0].Uint64(); v < last {
			t.Fatalf("count went from %d to %d", last, v)
		} else {
			last = v
		}
		if n := len(sets[1].Values); n < seen {
			t.Fatalf("instances went from %d to %d", seen, n)
		} else {
			seen = n
		}
		for _, v := range sets[1].Values {
			if v.Uint64() > 1 {
				t.Fatalf("instance %d has %d", v.Inst, v.Uint64())
			}
		}
		if s := sets[2].Values[0].Bytes(); len(s) != 200 || string(s) != long(s[0]) {
			t.Fatalf("torn text %q", s)
		}
	}
	close(stop)
	writers.Wait()
	sum := uint64(0)
	for _, v := range fetch(t, a, ids[1])[0].Values {
		sum += v.Uint64()
	}
	want(t, "total", sum, uint64(instances+1))
}

// TestProfile asks for two instances of many.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	tenThousand(t, dir)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	id := pcp.NewPMID(70, 1, 4)
	desc, err := a.Desc(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	profile := &pcp.Profile{State: pcp.ProfileExclude}
	if err := profile.Add(desc.InDom, 7, 999); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(t.Context(), []pcp.PMID{id}); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, Profile: profile, PMIDs: []pcp.PMID{id}, Result: new(pcp.Result)}
	if err := a.Fetch(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(req.Result.Sets[0].Values)
	want(t, "values", got, fmt.Sprint([]pcp.Value{pcp.Uint64Value(4).WithInst(7), pcp.Uint64Value(0).WithInst(999)}))
}

// TestAllocs checks that a fetch allocates no more for many values than for one.
func TestAllocs(t *testing.T) {
	dir := t.TempDir()
	tenThousand(t, dir)
	a := newAgent(t, mmv.Config{Dirs: []string{dir}})
	ids := all(t, a)
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	n := testing.AllocsPerRun(20, func() {
		req.Result.Reset()
		a.Refresh(context.Background(), ids)
		a.Fetch(context.Background(), req)
	})
	if n > 10 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzLoad has an agent serve the fuzzer's files.
func FuzzLoad(f *testing.F) {
	f.Add(sample(f, file.Options{Cluster: 3}))
	f.Add(sample(f, file.Options{NoPrefix: true, Sentinel: true}))
	f.Add(parfait(file.Version2).file(0))
	f.Add(hornet().file(0))
	dir := f.TempDir()
	a := newAgent(f, mmv.Config{Dirs: []string{dir}})
	f.Fuzz(func(t *testing.T, b []byte) {
		os.Remove(dir + "/f")
		write(t, dir+"/f", b)
		everything(t, a)
	})
}
