package dm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda/column"
)

// The output of dmsetup status: a cache, a cache that has failed, odd names, and damaged lines.
const (
	cacheText = "vg-home: 0 1677721600 cache 8 10162/262144 128 39839/3276800 1087840 821795 116320 2057235 7 39835 3 1 writeback 2 migration_threshold 2048 smq 0 rw -\n" +
		"odd name+\xc3\xa9: 10 1034 cache 8 1/2 64 3/4 5 6 7 8 9 10 11 2 metadata2 writethrough 0\n"
	damagedCache = "broken: 0 2048 cache Fail\ncut: 0 4096 cache 8 5/6 16\nother: 0 1 linear\nnothing\n:\n: 0 1\nx: -1 2 cache\n"
	poolText     = "pool: 5 409605 thin-pool 3 13/65536 7/3200 - rw no_discard_passdown queue_if_no_space - 1024\n" +
		"held: 0 100 thin-pool 18446744073709551615 1/2 3/4 77 ro discard_passdown error_if_no_space\n"
	thinText = "vg-lv3: 0 8388608 thin 7000704 8388607\nvg-lv2: 0 8388608 thin 0 -\n"
)

// shared makes a directory that other users can read.
func shared(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeVDO writes the files of two volumes, of which one lacks some files.
func writeVDO(t testing.TB, dir string) string {
	t.Helper()
	for i, m := range vdoMetrics {
		if m.file != "" {
			write(t, filepath.Join(dir, "vdo0/statistics", m.file), fmt.Sprintf("%d\n", 1000+i))
			if i%3 > 0 {
				write(t, filepath.Join(dir, "vdo1/statistics", m.file), fmt.Sprintf("%d\n", 7*i))
			}
		}
	}
	for name, text := range map[string]string{
		"vdo0/statistics/mode": "normal\n", "vdo0/statistics/write_policy": "sync\n", "vdo0/statistics/recovery_percentage": "12.5\n",
		"vdo0/statistics/physical_blocks": "5000\n", "vdo0/statistics/logical_blocks_used": "4000\n", "vdo0/statistics/journal_blocks_started": "9000\n",
		"vdo0/statistics/journal_blocks_written": "8000\n", "vdo0/statistics/journal_blocks_committed": "7000\n",
		"vdo0/statistics/journal_entries_started": "9000\n", "vdo0/statistics/journal_entries_written": "8000\n", "vdo0/statistics/journal_entries_committed": "7000\n",
		"no-volume/other": "1\n", ".hidden/statistics/mode": "x\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// newAgent returns an agent whose commands print the given texts.
func newAgent(t testing.TB, cache, pool, thin string) *column.Agent {
	t.Helper()
	dir := shared(t)
	a, err := New(Config{
		Root: dir, Cache: "cat " + write(t, dir+"/cache", cache), ThinPool: "cat " + write(t, dir+"/pool", pool), Thin: "cat " + write(t, dir+"/thin", thin),
		VDO: writeVDO(t, filepath.Join(dir, "kvdo")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func want(t *testing.T, v agenttest.Values, inst string, values map[string]string) {
	t.Helper()
	for name, text := range values {
		got, ok := v[name][inst]
		if !ok {
			got = "none"
		}
		if got != text {
			t.Errorf("%s of %s is %s, want %s", name, inst, got, text)
		}
	}
}

func TestValues(t *testing.T) {
	a := newAgent(t, cacheText+damagedCache, poolText, thinText)
	v := agenttest.Read(t, a)
	if diff := cmp.Diff(v, agenttest.Read(t, a)); diff != "" {
		t.Errorf("a second reading differs:\n%s", diff)
	}
	want(t, v, "vg-home", map[string]string{
		"dmcache.size": "1677721600", "dmcache.metadata.block_size": "8", "dmcache.metadata.used": "40648", "dmcache.metadata.total": "1048576",
		"dmcache.cache.used": "2549696", "dmcache.cache.total": "209715200", "dmcache.read_hits": "1087840", "dmcache.write_misses": "2057235",
		"dmcache.demotions": "7", "dmcache.promotions": "39835", "dmcache.dirty": "192", "dmcache.io_mode_code": "1", "dmcache.io_mode": `"writeback"`,
	})
	want(t, v, "odd name+\u00e9", map[string]string{"dmcache.size": "1024", "dmcache.io_mode": `"metadata2"`})
	want(t, v, "broken", map[string]string{"dmcache.size": "none"})
	want(t, v, "cut", map[string]string{"dmcache.size": "4096", "dmcache.metadata.used": "20", "dmcache.cache.block_size": "16", "dmcache.cache.used": "none", "dmcache.io_mode": "none"})
	want(t, v, "pool", map[string]string{
		"dmthin.pool.size": "409600", "dmthin.pool.transaction_id": "3", "dmthin.pool.metadata.total": "65536", "dmthin.pool.data.used": "7", "dmthin.pool.held_root": `"-"`,
		"dmthin.pool.read_mode": `"rw"`, "dmthin.pool.discard_passdown": `"no_discard_passdown"`, "dmthin.pool.no_space_mode": `"queue_if_no_space"`,
	})
	want(t, v, "vg-lv2", map[string]string{"dmthin.vol.size": "8388608", "dmthin.vol.num_mapped_sectors": "0", "dmthin.vol.highest_mapped_sector": "none"})
	want(t, v, "vdo0", map[string]string{
		"vdo.dev.mode": `"normal"`, "vdo.dev.recovery_percentage": "12.5", "vdo.dev.journal_blocks.batching": "1000", "vdo.dev.allocator.slab_count": "1000",
	})
	if n := len(v["vdo.dev.mode"]); n > 2 {
		t.Errorf("modes %q", v["vdo.dev.mode"])
	}
	agenttest.HelpTexts(t, a)
}

// TestNone checks that a machine without a device mapper, a command that fails and a missing command have no
// values.
func TestNone(t *testing.T) {
	for _, cfg := range []Config{{}, {Cache: "/nowhere/dmsetup", Thin: "false", ThinPool: "  "}} {
		cfg.Root = t.TempDir()
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for name, insts := range agenttest.Read(t, a) {
			if len(insts) > 0 {
				t.Errorf("%s has %q", name, insts)
			}
		}
	}
	if _, err := run("cat /dev/zero"); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a command without end: %v", err)
	}
}

// A fakeControl has devices that answer messages.
type fakeControl map[string]string // by device and message

func (f fakeControl) devices() ([]string, error) { return []string{"none", "vg-a", "vg-b"}, nil }

func (f fakeControl) message(device, text string) ([]byte, error) {
	answer, ok := f[device+" "+text]
	if !ok {
		return nil, errors.New("no answer")
	}
	return []byte(answer), nil
}

func TestStats(t *testing.T) {
	k := fakeControl{
		"vg-a @stats_list":    "0: 0+100 100 dmstats - histogram:1,5\n2: 100+100 50 dmstats - precise_timestamps histogram:1500,2000000000\n",
		"vg-a @stats_print 0": "0+100 1 2 4 5 6 7 8 9 10 11 12 13 14 3:4:5\n",
		"vg-a @stats_print 2": "100+50 1 1 2 1 1 1 2 1 1 1 1 1 1 1:2:3\n150+50 1 1 2 1 1 1 2 1 1 1 1 1 1 1:2:3\ndamaged\n",
		"vg-b @stats_list":    "",
	}
	list := [2]column.Family{statsFamily(nil), histogramFamily(nil)}
	r := &statsReader{control: k, blocks: list[0].Sources[0].Blocks}
	if err := r.readCounters(); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, c := range r.blocks[0].Cells() {
		got = append(got, c.Bits)
	}
	const ms = nsecPerMsec
	if diff := cmp.Diff([]uint64{3, 4, 4, 5*ms + 2, 8, 9, 6, 9*ms + 2, 12, 11*ms + 2, 12*ms + 2, 13*ms + 2, 14*ms + 2}, got); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	h := &statsReader{control: k, blocks: list[1].Sources[0].Blocks}
	if err := h.readHistograms(); err != nil {
		t.Fatal(err)
	}
	out := h.blocks[0]
	var text strings.Builder
	for row, name := range out.Names() {
		n, _ := out.Get(row, 0)
		bins, _ := out.Get(row, 1)
		fmt.Fprintf(&text, "%s=%d/%d ", name, n, bins)
	}
	if want := "vg-a:0:0s=3/3 vg-a:0:1ms=4/3 vg-a:0:5ms=5/3 vg-a:2:0s=2/3 vg-a:2:1500ns=4/3 vg-a:2:2s=6/3 "; text.String() != want {
		t.Errorf("histograms %s, want %s", text.String(), want)
	}
}

// dmNames is a list of devices in the kernel's form.
func dmNames(names ...string) []byte {
	var b []byte
	for i, name := range names {
		e := binary.NativeEndian.AppendUint64(nil, uint64(i+1))
		e = append(append(append(e, 0, 0, 0, 0), name...), 0)
		e = append(e, make([]byte, -len(e)&7)...)
		if i < len(names)-1 {
			binary.NativeEndian.PutUint32(e[8:], uint32(len(e)))
		}
		b = append(b, e...)
	}
	return b
}

// dmTargets is the status of targets in the kernel's form.
func dmTargets(kinds ...string) []byte {
	var b []byte
	for i, kind := range kinds {
		e := binary.NativeEndian.AppendUint64(nil, uint64(100*i))
		e = binary.NativeEndian.AppendUint64(e, 100)
		e = append(e, make([]byte, 24)...)
		copy(e[24:], kind)
		e = append(append(e, "status of "+kind...), 0)
		e = append(e, make([]byte, -len(e)&7)...)
		binary.NativeEndian.PutUint32(e[20:], uint32(len(b)+len(e)))
		b = append(b, e...)
	}
	return b
}

func TestAnswers(t *testing.T) {
	if got, err := parseNames(dmNames("a", "vg-home", "x")); err != nil || strings.Join(got, " ") != "a vg-home x" {
		t.Errorf("parseNames = %q, %v", got, err)
	}
	text, err := appendStatus(nil, "dev", "cache", dmTargets("linear", "cache", "cache"), 3)
	if want := "dev: 100 100 cache status of cache\ndev: 200 100 cache status of cache\n"; err != nil || string(text) != want {
		t.Errorf("appendStatus = %q, %v, want %q", text, err, want)
	}
	if _, err := appendStatus(nil, "dev", "cache", dmTargets("cache"), 2); !errors.Is(err, errFormat) {
		t.Errorf("a target too many: %v", err)
	}
	b := make([]byte, firstBuffer)
	if err := header(b, strings.Repeat("x", dmNameLen), 0, nil); err == nil {
		t.Error("a name of 128 bytes is taken")
	}
	if err := header(b, "dev", flagNoFlush, []byte("data")); err != nil {
		t.Fatal(err)
	}
	if data, _, flags, err := answer(b); err != nil || flags != flagNoFlush || cString(data) != "data" || cString(b[dmNameAt:]) != "dev" {
		t.Errorf("answer = %.10q, %x, %v", data, flags, err)
	}
	binary.NativeEndian.PutUint32(b[16:], 1<<31)
	if _, _, _, err := answer(b); !errors.Is(err, errFormat) {
		t.Errorf("data beyond the end: %v", err)
	}
	if got, want := ioctlNumber(dmListDevs), uintptr(0xc138fd02); got != want {
		t.Errorf("ioctl %x, want %x", got, want)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(dmNames("a", "b"), uint8(1))
	f.Add(dmTargets("cache", "thin"), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, targets uint8) {
		if names, err := parseNames(b); err == nil {
			for _, name := range names {
				if name == "" || len(name) > dmNameLen {
					t.Errorf("names %q", names)
				}
			}
		}
		if _, err := appendStatus(nil, "d", "cache", b, int(targets)); err != nil && !errors.Is(err, errFormat) {
			t.Error(err)
		}
		if _, _, _, err := answer(b); err != nil && !errors.Is(err, errFormat) {
			t.Error(err)
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(cacheText + damagedCache))
	f.Add([]byte(strings.ReplaceAll(poolText+thinText, "thin-pool", "cache")))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte, *column.Block, int){parseCache, parsePool, parseVolume} {
			r := &statusReader{kind: "cache", parse: parse}
			r.blocks = column.NewBlocks(cacheMetrics, column.Layout{Cols: len(cacheMetrics), Lists: true, InDom: &column.InDom{}})
			for range 2 {
				if err := r.parseStatus(b); err != nil && len(b) < maxDevices {
					t.Fatal(err)
				}
				if out := r.blocks[0]; len(out.Names()) != out.Rows() {
					t.Errorf("%d names of %d rows", len(out.Names()), out.Rows())
				}
			}
		}
	})
}

func FuzzStats(f *testing.F) {
	f.Add([]byte("0: 0+1 1 p - histogram:1,2,3\n"), []byte("0+1 1 2 3 4 5 6 7 8 9 10 11 12 13 1:2:3:4\n"))
	f.Fuzz(func(t *testing.T, list, print []byte) {
		regions, err := parseRegions(list)
		if err != nil && len(list) < 2*maxRegions {
			t.Fatal(err)
		}
		for i := range regions {
			var sums [areaNumbers]uint64
			regions[i].addAreas(print, &sums, make([]uint64, len(regions[i].bounds)+1))
		}
	})
}

// TestAllocs limits the allocations of parsing the status of a type.
func TestAllocs(t *testing.T) {
	r := &statusReader{kind: "cache", parse: parseCache}
	r.blocks = column.NewBlocks(cacheMetrics, column.Layout{Cols: len(cacheMetrics), Lists: true, InDom: &column.InDom{}})
	text := []byte(cacheText)
	read := func() {
		if err := r.parseStatus(text); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func BenchmarkStatus(b *testing.B) {
	r := &statusReader{kind: "cache", parse: parseCache}
	r.blocks = column.NewBlocks(cacheMetrics, column.Layout{Cols: len(cacheMetrics), Lists: true, InDom: &column.InDom{}})
	text := []byte(cacheText)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.parseStatus(text); err != nil {
			b.Fatal(err)
		}
	}
}

const (
	dso   = "/var/lib/pcp/pmdas/dm/pmda_dm.so"
	names = "root {\n\tdmcache\n\tdmthin\n\tdmstats\n\tvdo\n}\n#define DM 129\n#include \"/var/lib/pcp/pmdas/dm/pmns.dmcache\"\n" +
		"#include \"/var/lib/pcp/pmdas/dm/pmns.dmthin\"\n#include \"/var/lib/pcp/pmdas/dm/pmns.dmstats\"\n#include \"/var/lib/pcp/pmdas/dm/pmns.vdo\"\n"
)

func needDSO(t *testing.T) {
	t.Helper()
	oracle.Require(t)
	if _, err := os.Stat(dso); err != nil {
		t.Skipf("SKIPPED: the real agent is not installed: %v", err)
	}
}

// TestOracle compares names, descriptors and the values of VDO volumes with the real agent.
func TestOracle(t *testing.T) {
	needDSO(t)
	dir := writeVDO(t, filepath.Join(shared(t), "kvdo"))
	real := agenttest.Start(t, "dm 129 dso dm_init "+dso, names, "dmcache dmthin dmstats vdo", "DM_VDO_STATSPATH="+dir)
	a, err := New(Config{Root: t.TempDir(), VDO: dir})
	if err != nil {
		t.Fatal(err)
	}
	real.Metrics(t, a, nil)
	// The real agent has no value at all in a fetch of caches for which dmsetup fails.
	list := slices.DeleteFunc(slices.Clone(real.Names), func(name string) bool { return !strings.HasPrefix(name, "vdo.") })
	theirs, ours := real.Read(t, list...), agenttest.Read(t, a)
	maps.DeleteFunc(ours, func(name string, _ map[string]string) bool { return !strings.HasPrefix(name, "vdo.") })
	if diff := cmp.Diff(theirs, ours); diff != "" || len(theirs) < 100 {
		t.Errorf("values of %d metrics (-theirs +ours):\n%s", len(theirs), diff)
	}
}

var instLine = regexp.MustCompile(`^ +inst \[\d+ or "(.*)"\] value (.*)$`)

// TestOracleStatus compares caches and thin volumes with the real agent, which looks for
// /dev/mapper/control first: it gets one in a separate mount name space.
func TestOracleStatus(t *testing.T) {
	needDSO(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can mount a /dev")
	}
	const mount = "mount -t tmpfs dev /dev && mkdir /dev/mapper && : >/dev/mapper/control && mknod /dev/null c 1 3"
	if out, err := exec.Command("unshare", "-m", "sh", "-c", mount).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no mount name spaces here: %v: %s", err, out)
	}
	dir := shared(t)
	const volumes = "vg-lv3: 0 8388608 thin 7000704 8388607\nvg-lv2: 0 8388608 thin 6832768 8388607\n"
	env := []string{
		"DM_SETUP_CACHE=cat " + write(t, dir+"/cache", cacheText), "DM_SETUP_THINPOOL=cat " + write(t, dir+"/pool", poolText),
		"DM_SETUP_THIN=cat " + write(t, dir+"/thin", volumes), "DM_VDO_STATSPATH=" + dir + "/none",
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", mount+` && exec "$0" "$@"`, oracle.Path("pminfo"), "-L", "-K", "clear", "-K", "add,129,"+dso+",dm_init",
		"-n", write(t, dir+"/root", names), "-f", "dmcache", "dmthin")
	cmd.Env = append(oracle.Env(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pminfo: %v: %s", err, out)
	}
	theirs, metric := make(agenttest.Values), ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "dm") {
			metric = line
			theirs[metric] = make(map[string]string)
		} else if m := instLine.FindStringSubmatch(line); m != nil && metric != "" {
			theirs[metric][m[1]] = m[2]
		}
	}
	a := newAgent(t, cacheText, poolText, volumes)
	ours := agenttest.Read(t, a)
	for name := range ours {
		if !strings.HasPrefix(name, "dmcache") && !strings.HasPrefix(name, "dmthin") {
			delete(ours, name)
		}
	}
	if diff := cmp.Diff(theirs, ours); diff != "" || len(theirs) < 29 {
		t.Errorf("values of %d metrics (-theirs +ours):\n%s\n%s", len(theirs), diff, out[:min(len(out), 500)])
	}
}
