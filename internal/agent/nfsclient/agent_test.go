package nfsclient

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda/column"
)

// A mount is a file system in mountstats.
type mount struct {
	device, point, kind, opts, caps, nfsv4, sec string
	lines                                       []string // from events on
	ops                                         []string
	seed, numbers                               int // of the numbers of an operation
}

// text is the mount as the kernel writes it.
func (m mount) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "device %s mounted on %s with fstype %s\n", m.device, m.point, m.kind)
	if m.opts == "" {
		return b.String()
	}
	fmt.Fprintf(&b, "\topts:\t%s\n\tage:\t%d\n\tcaps:\t%s\n", m.opts, 1000*m.seed, m.caps)
	if m.nfsv4 != "" {
		fmt.Fprintf(&b, "\tnfsv4:\t%s\n", m.nfsv4)
	}
	fmt.Fprintf(&b, "\tsec:\t%s\n", m.sec)
	for _, line := range m.lines {
		fmt.Fprintf(&b, "\t%s\n", line)
	}
	if len(m.ops) > 0 {
		b.WriteString("\tper-op statistics\n")
		for i, op := range m.ops {
			fmt.Fprintf(&b, "\t%12s:", op)
			for j := range m.numbers {
				fmt.Fprintf(&b, " %d", m.seed*1_000_003*(i+1)*(j+1))
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ordinal is a line of numbers: "events:\t1 2 3 …".
func ordinal(head string, n, seed int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range n {
		fmt.Fprintf(&b, " %d", (i+1)*seed)
	}
	return strings.Replace(b.String(), ": ", ":\t", 1)
}

// mounts have all versions and transports, odd names, and file systems that are not NFS.
func mounts() []mount {
	v3 := []string{
		"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD",
		"REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT",
	}
	v4 := []string{
		"NULL", "READ", "WRITE", "OPEN", "OPEN_CONFIRM", "EXCHANGE_ID", "SEQUENCE", "LAYOUTGET", "TEST_STATEID", "SEEK", "CLONE",
		"LOOKUPP", "LAYOUTERROR", "NOT_YET_KNOWN",
	}
	common := func(seed int, xprt string) []string {
		return []string{ordinal("events:", 27, seed) + " ", ordinal("bytes:", 8, seed%(1<<20)*1_000_000_007) + " ", "RPC iostats version: 1.0  p/v: 100003/3 (nfs)", xprt}
	}
	return []mount{
		{device: "proc", point: "/proc", kind: "proc"},
		{
			device: "nas:/music", point: "/music", kind: "nfs statvers=1.1", numbers: 8, seed: 3, ops: v3,
			opts:  "rw,vers=3,rsize=32768,wsize=16384,namlen=255,acregmin=3,acregmax=60,acdirmin=30,acdirmax=61,hard,nolock,proto=tcp,timeo=601,retrans=2,sec=sys,mountaddr=192.0.2.1,mountvers=3,mountport=30000,mountproto=udp,local_lock=all",
			caps:  "caps=0x3fc7,wtmult=4096,dtsize=4096,bsize=0,namlen=255",
			sec:   "flavor=1,pseudoflavor=1",
			lines: common(5, ordinal("xprt: tcp 774", 12, 9)),
		},
		{
			device: `[2001:db8::1]:/with\040blank`, point: `/mnt/a\040b\011"c"` + "\u00e9", kind: "nfs statvers=1.1", numbers: 8, seed: 7, ops: v3[:3],
			opts: "ro,sync,noatime,vers=2,rsize=8192,wsize=8192,bsize=1024,namlen=255,soft,posix,nocto,noac,noacl,nordirplus,nosharecache,noresvport,proto=udp,port=2049,timeo=11,retrans=5,sec=null,mountaddr=,mountproto=tcp6,fsc,migration,lookupcache=none,local_lock=none",
			caps: "", sec: "", lines: common(1<<31, ordinal("xprt: udp 0", 9, 11)),
		},
		{device: "tmpfs", point: "/tmp", kind: "tmpfs"},
		{
			device: "cluster:/", point: "/cluster", kind: "nfs4 statvers=1.1", numbers: 8, seed: 11, ops: v4,
			opts:  "rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,acregmin=3,acregmax=60,acdirmin=30,acdirmax=60,hard,proto=rdma,port=20049,timeo=600,retrans=2,sec=krb5p,clientaddr=192.0.2.7,lookupcache=pos,local_lock=none",
			caps:  "caps=0x7ffffff,wtmult=512,dtsize=1048576,bsize=0,namlen=255",
			nfsv4: "bm0=0xfdffafff,bm1=0xf9be3e,bm2=0x800,acl=0x3,sessions,pnfs=notconfigured",
			sec:   "flavor=6,pseudoflavor=390005",
			lines: common(13, ordinal("xprt: rdma 0", 26, 1<<20)),
		},
		{device: "nothing:/", point: "/empty", kind: "nfs statvers=1.1"},
	}
}

func mountstats() string {
	var b strings.Builder
	for _, m := range mounts() {
		b.WriteString(m.text())
	}
	return b.String()
}

// write makes a file that agents which are PCP's user can read.
func write(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "mountstats")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func newAgent(t testing.TB, path string) *column.Agent {
	t.Helper()
	a, err := New(Config{Mountstats: path})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// want checks some values.
func want(t *testing.T, v agenttest.Values, mount string, values map[string]string) {
	t.Helper()
	for name, text := range values {
		got, ok := v["nfsclient."+name][mount]
		if !ok {
			got = "none"
		}
		if got != text {
			t.Errorf("%s of %s is %s, want %s", name, mount, got, text)
		}
	}
}

func TestValues(t *testing.T) {
	a := newAgent(t, write(t, mountstats()))
	v := agenttest.Read(t, a)
	if diff := cmp.Diff(v, agenttest.Read(t, a)); diff != "" {
		t.Errorf("a second reading differs:\n%s", diff)
	}
	if n := len(v["nfsclient.export"]); n != 4 {
		t.Errorf("there are %d mounts: %q", n, v["nfsclient.export"])
	}
	want(t, v, "/music", map[string]string{
		"export": `"nas:/music"`, "mountpoint": `"/music"`, "options.rsize": "32768", "options.lock": "0", "options.acl": "1", "options.vers": `"3"`,
		"options.mountaddr": `"192.0.2.1"`, "age": "3000", "security": `"flavor=1,pseudoflavor=1"`, "nfsv4": `""`, "events.inoderevalidate": "5",
		"events.pnfswrite": "135", "bytes.write.direct": "20000000140", "pages.write": "40000000280", "xprt.srcport": `"774"`, "xprt.bind_count": "9",
		"xprt.max_slots": "90", "xprt.pending_u": "108", "xprt.reply_waits": "0", "ops.getattr.ops": "6000018", "ops.null.execute": "24000072",
		"ops.null.errors": "0", "ops.seek.ops": "0", "options.clientaddr": "none", "options.readmode": `"rw"`,
	})
	want(t, v, `/mnt/a\040b\011"c"`+"\u00e9", map[string]string{
		"options.sync": "1", "options.atime": "0", "options.resvport": "0", "options.posix": "1", "options.recovery": `"soft"`, "options.mountaddr": `""`,
		"options.fsc": "1", "options.retrans": "5", "options.proto": `"udp"`, "events.dentryrevalidate": "0", "events.inoderevalidate": "2147483648",
		"xprt.sends": "22", "xprt.connect_count": "0", "xprt.pending_u": "99", "xprt.max_slots": "77", "ops.setattr.rtt": "147000441", "ops.read.ops": "0",
	})
	want(t, v, "/cluster", map[string]string{
		"options.vers": `"4.2"`, "options.sec": `"krb5p"`, "xprt.read_chunks": "10485760", "xprt.reply_waits": "27262976", "xprt.max_slots": "0",
		"ops.layouterror.ops": "143000429", "nfsv4": `"bm0=0xfdffafff,bm1=0xf9be3e,bm2=0x800,acl=0x3,sessions,pnfs=notconfigured"`, "ops.rmdir.ops": "0",
	})
	want(t, v, "/empty", map[string]string{"options.timeo": "0", "options.atime": "1", "options.mountaddr": "none", "options.readmode": "none", "options.string": "none", "age": "0"})
	agenttest.HelpTexts(t, a)
}

// TestRoot checks that the file of a root directory is read, and that a machine without it has no
// values.
func TestRoot(t *testing.T) {
	root := t.TempDir()
	a, err := New(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	for name, insts := range agenttest.Read(t, a) {
		if len(insts) > 0 {
			t.Errorf("without a file %s has %q", name, insts)
		}
	}
	dir := filepath.Join(root, "proc/self")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mountstats"), []byte(mountstats()), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := agenttest.Read(t, a); len(got["nfsclient.age"]) != 4 {
		t.Errorf("mounts %q", got["nfsclient.age"])
	}
}

// TestErrors checks operations with the ninth number, of newer kernels.
func TestErrors(t *testing.T) {
	m := mounts()[1]
	m.numbers = 9
	v := agenttest.Read(t, newAgent(t, write(t, m.text())))
	want(t, v, "/music", map[string]string{"ops.null.errors": "27000081", "ops.commit.errors": fmt.Sprint(3 * 1_000_003 * 22 * 9)})
}

// TestDamaged has lines that are cut off or invalid.
func TestDamaged(t *testing.T) {
	const head = "device a:/ mounted on /a with fstype nfs statvers=1.1\n"
	f := func(text string, values map[string]string) {
		t.Helper()
		want(t, agenttest.Read(t, newAgent(t, write(t, head+text))), "/a", values)
	}
	f("\tevents:\t1 2 x 4\n\tage:\told\n", map[string]string{"events.dentryrevalidate": "2", "events.datainvalidate": "0", "age": "0"})
	f("\topts:\trw,rsize=,wsize=12x,=,,vers=,noac,nodiratime,proto\n", map[string]string{"options.diratime": "0", "options.atime": "1", "options.rsize": "0", "options.wsize": "0", "options.vers": `""`, "options.ac": "0", "options.proto": "none"})
	f("\txprt:\ttcp\n\txprt:\tlocal 1 2 3\n", map[string]string{"xprt.srcport": `""`, "xprt.bind_count": "0"})
	f("\txprt:\ttcp 1 2\n\txprt:\ttcp 3 4\n", map[string]string{"xprt.srcport": `"3"`, "xprt.bind_count": "4"})
	f("\tper-op statistics\n\tREAD: 1 2 3\n\tWRITE: 1 2 3 4 5 6 7 8\nnothing\n\tOPEN: 1 1 1 1 1 1 1 1\n\tage:\t7\n", map[string]string{
		"ops.read.ops": "0", "ops.write.execute": "8", "ops.open.ops": "0", "age": "7",
	})
	f("\tage:\t1\ndevice b:/ mounted on /a with fstype nfs4 statvers=1.1\n", map[string]string{"export": `"b:/"`, "age": "0"})
	f("device x mounted on /x with fstype nfsd\n\tage:\t5\n", map[string]string{"age": "0"})
	f("device cut off\n\tage:\t5", map[string]string{"age": "5"})
	f("device b:/ mounted on  with fstype nfs statvers=1.1\n\tage:\t5\n", map[string]string{"age": "0"})
}

// TestLimit checks that a file with too many mounts is refused, and that names are dropped in
// the end.
func TestLimit(t *testing.T) {
	r := newReader("mountstats")
	var b strings.Builder
	for i := range maxMounts + 1 {
		fmt.Fprintf(&b, "device s:/ mounted on /%d with fstype nfs statvers=1.1\n", i)
	}
	if err := r.parse([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "mountstats: more than 8192 file systems") {
		t.Errorf("parse = %v", err)
	}
	for i := range maxNames + 10 {
		if err := r.parse(fmt.Appendf(nil, "device s:/ mounted on /x%d with fstype nfs statvers=1.1\n", i)); err != nil {
			t.Fatal(err)
		}
		if n := r.names.Len(); n > maxNames+1 {
			t.Fatalf("%d names are known", n)
		}
	}
}

func FuzzMountstats(f *testing.F) {
	f.Add([]byte(mountstats()))
	for _, m := range mounts() {
		f.Add([]byte(m.text()))
	}
	f.Add([]byte("device a mounted on b with fstype nfs statvers=\n\topts:\tnoac=,=\n\tper-op statistics\n:1\n\tREAD:\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReader("mountstats")
		for range 2 {
			if err := r.parse(b); err != nil && strings.Count(string(b), "device") <= maxMounts {
				t.Fatal(err)
			}
			mounts, ops := r.blocks[blockMounts], r.blocks[blockOps]
			if len(mounts.Names()) != mounts.Rows() || ops.Rows() != mounts.Rows() {
				t.Errorf("%d names, %d and %d rows", len(mounts.Names()), mounts.Rows(), ops.Rows())
			}
			seen := make(map[string]bool)
			for _, name := range mounts.Names() {
				if name == "" || seen[name] {
					t.Errorf("names %q", mounts.Names())
				}
				seen[name] = true
			}
		}
	})
}

// TestAllocs limits the allocations of a reading.
func TestAllocs(t *testing.T) {
	r := newReader(write(t, mountstats()))
	read := func() {
		if err := r.read(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func BenchmarkRead(b *testing.B) {
	text := mountstats()
	r := newReader(write(b, text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.read(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOracle compares the agent with the Python script.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	const script = "/var/lib/pcp/pmdas/nfsclient/pmdanfsclient.python"
	if out, err := exec.Command("/usr/bin/python3", "-c", "import cpmda").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: Python has no modules of PCP: %v: %s", err, out)
	}
	if _, err := os.Stat(script); err != nil {
		t.Skipf("SKIPPED: the real agent is not installed: %v", err)
	}
	path := write(t, mountstats())
	real := agenttest.Start(t, "nfsclient 62 pipe binary /usr/bin/python3 "+script, "root {\n\tnfsclient 62:*:*\n}\n", "nfsclient", "NFSCLIENT_MOUNTSTATS_PATH="+path)
	a := newAgent(t, path)
	real.Metrics(t, a, nil)
	theirs, got := real.Read(t, real.Names...), agenttest.Read(t, a)
	// In the real agent options that are not switched off are off too; it ignores nodiratime and the number
	// of slots.
	differ := []string{"nfsclient.xprt.max_slots"}
	for _, name := range []string{"atime", "diratime", "cto", "ac", "lock", "acl", "rdirplus", "sharecache", "resvport"} {
		differ = append(differ, "nfsclient.options."+name)
	}
	if diff := cmp.Diff(theirs.Without(differ...), got.Without(differ...)); diff != "" || len(theirs["nfsclient.export"]) != 4 {
		t.Errorf("values (-theirs +ours):\n%s", diff)
	}
}
