package bonding

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda/column"
)

// A fakeBond is the contents of the files of a bond.
type fakeBond struct {
	name, slaves, active, carrier, up, down, mode string
	failures                                      []string
}

// fakeBonds are a bond of two interfaces, a bond that aggregates by 802.3ad and has no
// active interface, a bond for which the kernel reports almost nothing, and a bond whose
// files are damaged.
var fakeBonds = []fakeBond{
	{"bond0", "eth0 eth1\n", "eth1\n", "1\n", "200\n", "100\n", "active-backup 1\n", []string{"0", "3"}},
	{"bond1", "eth2 eth3 eth4\n", "", "0\n", "0\n", "0\n", "802.3ad 4\n", []string{"7", "0", "4294967290"}},
	{"bond2", "\n", "-", "-", "-", "-", "-", nil},
	{"bond3", "a\x00\xffb\nmore\n", "\n", "x\n", "18446744073709551616\n", "12 13\n", "lonely\n", []string{"1 2", "", "-3", "11"}},
}

// writeTree writes the files of bonds and returns their root. A "-" means a missing file.
func writeTree(t testing.TB, bonds []fakeBond) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{filepath.Dir(root), root} { // for agents that run as PCP's user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string, path ...string) {
		t.Helper()
		if text == "-" {
			return
		}
		file := filepath.Join(append([]string{root}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, b := range bonds {
		names = append(names, b.name)
		for i, text := range []string{b.slaves, b.active, b.carrier, b.up, b.down, b.mode} {
			write(text, "sys/class/net", b.name, "bonding", attributes[i])
		}
		var proc strings.Builder
		proc.WriteString("Ethernet Channel Bonding Driver: v6.1\n\nBonding Mode: x\nMII Status: up\n")
		for _, n := range b.failures {
			proc.WriteString("\nSlave Interface: eth\nMII Status: up\nSpeed: 1000 Mbps\nLink Failure Count: " + n + "\nPermanent HW addr: 00:11\n")
		}
		write(proc.String(), "proc/net/bonding", b.name)
	}
	write(strings.Join(names, " ")+"\n", "sys/class/net/bonding_masters")
	return root
}

func newAgent(t testing.TB, root string) *column.Agent {
	t.Helper()
	a, err := New(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestValues(t *testing.T) {
	a := newAgent(t, writeTree(t, fakeBonds))
	got := agenttest.Read(t, a).String()
	if again := agenttest.Read(t, a).String(); again != got {
		t.Errorf("a second reading differs:\n%s", cmp.Diff(got, again))
	}
	const want = `bonding.active_slave[bond0] "eth1"
bonding.active_slave[bond3] ""
bonding.downdelay[bond0] 100
bonding.downdelay[bond1] 0
bonding.downdelay[bond3] 12
bonding.failures[bond0] 3
bonding.failures[bond1] 1
bonding.failures[bond2] 0
bonding.failures[bond3] 11
bonding.mode.name[bond0] "active-backup"
bonding.mode.name[bond1] "802.3ad"
bonding.mode.name[bond3] "lonely"
bonding.mode.type[bond0] 1
bonding.mode.type[bond1] 4
bonding.slaves[bond0] "eth0 eth1"
bonding.slaves[bond1] "eth2 eth3 eth4"
bonding.slaves[bond2] ""
bonding.slaves[bond3] "a"
bonding.updelay[bond0] 200
bonding.updelay[bond1] 0
bonding.updelay[bond3] 4294967295
bonding.use_carrier[bond0] 1
bonding.use_carrier[bond1] 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	agenttest.HelpTexts(t, a)
}

// TestNone checks that a machine without bonds, or without any files, has no instances
// and no errors, and that bonds whose files are all missing are unknown to the kernel.
func TestNone(t *testing.T) {
	for _, root := range []string{t.TempDir(), writeTree(t, nil)} {
		for name, insts := range agenttest.Read(t, newAgent(t, root)) {
			if len(insts) > 0 {
				t.Errorf("%s has %q", name, insts)
			}
		}
	}
	got := agenttest.Read(t, newAgent(t, writeTree(t, []fakeBond{{"bond0", "-", "-", "-", "-", "-", "-", nil}})))
	want := map[string]string{"!": pcp.ErrAppVersion.Error()}
	if diff := cmp.Diff(want, got["bonding.mode.name"]); diff != "" {
		t.Errorf("bonding.mode.name of a bond without files:\n%s", diff)
	}
}

// TestComeAndGo checks that bonds keep their numbers, and that a bond that comes back is read
// again.
func TestComeAndGo(t *testing.T) {
	root := writeTree(t, fakeBonds[:2])
	a := newAgent(t, root)
	d := pcp.NewInDom(Domain, 0)
	f := func(masters string, want ...pcp.Instance) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "sys/class/net/bonding_masters"), []byte(masters), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := a.Instances(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
			t.Errorf("%q: instances (-want +got):\n%s", masters, diff)
		}
	}
	one, two := pcp.Instance{Inst: 0, Name: "bond0"}, pcp.Instance{Inst: 1, Name: "bond1"}
	f("bond0 bond1\n", one, two)
	f("bond1\n", two)
	f("bond1 bond0", one, two)
	f("bond1 bond1 bond1\n", two)
	f("")
	f("../etc . .. a/b a-name-of-more-than-15-bytes\n")
	f("bond0 team\n", one, pcp.Instance{Inst: 2, Name: "team"})
}

// TestForget adds and removes many thousands of names.
func TestForget(t *testing.T) {
	r := newReader(t.TempDir(), false)
	for i := range 3 * maxBonds {
		r.parseMasters([]byte("b" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)) + "\n"))
		if n := r.blocks[blockBonds].Rows(); n != 1 {
			t.Fatalf("after %d names there are %d bonds", i, n)
		}
	}
	if n := r.names.Len(); n > 2*maxBonds {
		t.Errorf("%d names are known", n)
	}
}

func FuzzMasters(f *testing.F) {
	f.Add([]byte("bond0 bond1\n"))
	f.Add([]byte("bond0  bond0\tx/../y \x00\xff\n bond2"))
	f.Add([]byte("\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReader(dir, false)
		for range 2 {
			r.parseMasters(b)
			list := r.blocks[blockBonds]
			seen := make(map[string]bool)
			for i, name := range list.Names() {
				if name == "" || seen[name] || !validName([]byte(name)) || list.Insts()[i] != int32(i) {
					t.Errorf("instances %d %q", list.Insts(), list.Names())
				}
				seen[name] = true
			}
		}
	})
}

func FuzzAttributes(f *testing.F) {
	for _, b := range fakeBonds {
		f.Add([]byte(b.mode))
		f.Add([]byte(b.slaves))
	}
	f.Add([]byte("Link Failure Count: 18446744073709551615\nLink Failure Count: 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReader("/", false)
		r.parseMasters([]byte("bond0"))
		out := r.blocks[blockAttrs]
		row := out.Add(0)
		for col := range attributes {
			setAttr(out, row, col, b)
		}
		parseFailures(b)
	})
}

// TestAllocs limits the allocations of a fetch of all metrics once the files are open.
func TestAllocs(t *testing.T) {
	r := newReader(writeTree(t, fakeBonds[:2]), false)
	read := func() {
		b, err := r.sources[0].File.Read()
		if err != nil {
			t.Fatal(err)
		}
		r.parseMasters(b)
		if err := r.readAttrs(); err != nil {
			t.Fatal(err)
		}
		if err := r.readFailures(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func BenchmarkFetch(b *testing.B) {
	a := newAgent(b, writeTree(b, fakeBonds))
	var ids []pcp.PMID
	a.Metrics(func(_ string, id pcp.PMID) { ids = append(ids, id) })
	b.ReportAllocs()
	for b.Loop() {
		agenttest.Fetch(b, a, nil, ids...)
	}
}

// TestOracle compares the agent with the Perl script, with replaced names of
// directories.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	if out, err := exec.Command("/usr/bin/perl", "-e", "use PCP::PMDA").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: perl has no PCP::PMDA: %v: %s", err, out)
	}
	text, err := os.ReadFile("/var/lib/pcp/pmdas/bonding/pmdabonding.pl")
	if err != nil {
		t.Skipf("SKIPPED: the real agent is not installed: %v", err)
	}
	root := writeTree(t, fakeBonds[:3])
	script := filepath.Join(root, "pmdabonding.pl")
	replaced := strings.NewReplacer("'/sys/class/net/'", "'"+root+"/sys/class/net/'", "'/proc/net/bonding/'", "'"+root+"/proc/net/bonding/'").Replace(string(text))
	if err := os.WriteFile(script, []byte(replaced), 0o644); err != nil {
		t.Fatal(err)
	}
	real := agenttest.Start(t, "bonding 96 pipe binary /usr/bin/perl "+script, "root {\n\tbonding 96:*:*\n}\n", "bonding")
	a := newAgent(t, root)
	real.Metrics(t, a, nil)
	want, got := real.Read(t, real.Names...), agenttest.Read(t, a)
	if diff := cmp.Diff(want, got); diff != "" || len(want["bonding.slaves"]) != 3 {
		t.Errorf("values (-theirs +ours):\n%s", diff)
	}
}
