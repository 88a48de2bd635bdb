package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// acctBytes is a record of process pid.
func acctBytes(pid uint32, command string, begin time.Time, elapsed float32, order binary.ByteOrder) []byte {
	b := make([]byte, acctSize)
	b[0], b[1] = acctForked|acctSignal, acctVersion
	if order == binary.BigEndian {
		b[1] |= acctBigEndian
	}
	order.PutUint16(b[2:], 0x8803)
	for at, v := range map[int]uint32{4: 0x10b, 8: 1000, 12: 0, 16: pid, 20: 7, 24: uint32(begin.Unix()), 28: math.Float32bits(elapsed)} {
		order.PutUint32(b[at:], v)
	}
	// 5, 5·8, 8191·8^7, and others
	for i, v := range []uint16{5, 1<<13 | 5, 0xffff, 0, 1, 2, 3, 2<<13 | 1} {
		order.PutUint16(b[32+2*i:], v)
	}
	copy(b[acctCommand:], command)
	return b
}

// An acctTree is an agent whose file of accounting the test writes, with the test's own
// clock.
type acctTree struct {
	tree
	a       *Agent
	path    string
	now     time.Time
	calls   []string // of acct(2)
	refuses bool
}

func newAcctTree(t *testing.T, system bool) *acctTree {
	t.Helper()
	tr := newTree(t)
	at := &acctTree{tree: tr, now: time.Unix(1_700_000_000, 0)}
	cfg := Config{Root: tr.dir, AcctFile: filepath.Join(tr.dir, "pacct"), OwnAcctFile: filepath.Join(tr.dir, "own")}
	at.path = cfg.OwnAcctFile
	at.a = New(cfg) // before the system has a file
	c := at.a.machine.acct
	c.now = func() time.Time { return at.now }
	c.kernel = func(path string) error {
		at.calls = append(at.calls, filepath.Base(path))
		if at.refuses && path != "" {
			return os.ErrPermission
		}
		return nil
	}
	c.growing = func(f *os.File) bool {
		at.append(f.Name(), acctBytes(0, "check", at.now, 0, binary.LittleEndian))
		return true
	}
	if system {
		at.path = cfg.AcctFile
		at.append(at.path, acctBytes(99, "before", at.now, 0, binary.LittleEndian))
	}
	t.Cleanup(func() { at.a.Close() })
	return at
}

func (at *acctTree) append(path string, b []byte) {
	at.t.Helper()
	os.Chmod(path, 0o600)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		at.t.Fatal(err)
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		at.t.Fatal(err)
	}
}

func (at *acctTree) ends(pid uint32, command string) {
	at.append(at.path, acctBytes(pid, command, at.now.Add(-2*time.Second), 150, binary.LittleEndian))
}

func (at *acctTree) want(name, want string) {
	at.t.Helper()
	if got := fmt.Sprint(get(at.t, at.a, root, name)); got != want {
		at.t.Errorf("%s is %s, want %s", name, got, want)
	}
}

func TestAcctValues(t *testing.T) {
	at := newAcctTree(t, true)
	at.want("acct.psinfo.pid", "map[]") // opens the file
	at.ends(4321, "sh")
	at.ends(4322, "sixteen-bytes-xy")
	at.ends(4321, "again")
	at.append(at.path, acctBytes(4323, "big", at.now.Add(-time.Second), 100, binary.BigEndian))
	at.append(at.path, acctBytes(4324, "old", at.now.Add(-100*time.Second), 100, binary.LittleEndian))
	at.append(at.path, acctBytes(1<<31+5, "large", at.now, 100, binary.LittleEndian))
	at.append(at.path, acctBytes(4325, "half", at.now, 100, binary.LittleEndian)[:40])
	for name, want := range map[string]string{
		"acct.psinfo.pid": "4321", "acct.psinfo.tty": "34819", "acct.psinfo.ttyname": `"pts/3"`, "acct.psinfo.exitcode": "267", "acct.psinfo.ppid": "7",
		"acct.psinfo.btime": "1699999998", "acct.psinfo.etime": "1.500000e+00", "acct.psinfo.utime": "5.000000e-02", "acct.psinfo.stime": "4.000000e-01",
		"acct.psinfo.mem": fmt.Sprint(8191 << 21), "acct.psinfo.io": "0", "acct.psinfo.rw": "1", "acct.psinfo.minflt": "2", "acct.psinfo.majflt": "3",
		"acct.psinfo.swaps": "64", "acct.id.uid": "1000", "acct.id.uid_nm": `"ada"`, "acct.id.gid": "0", "acct.id.gid_nm": `"root"`,
		"acct.flag.fork": "1", "acct.flag.su": "0", "acct.flag.core": "0", "acct.flag.xsig": "1",
	} {
		got := get(t, at.a, root, name)
		if got[4321] != want || len(got) != 3 || got[4323] == "" {
			t.Errorf("%s is %v, want %s for process 4321", name, got, want)
		}
	}
	insts, err := at.a.Instances(pmda.WithClient(t.Context(), root), pcp.NewInDom(Domain, acctSerial))
	if err != nil || fmt.Sprint(insts) != "[{4321 sh} {4322 sixteen-bytes-xy} {4323 big}]" {
		t.Errorf("instances %v, %v", insts, err)
	}
	// The half record is completed, and records older than the lifetime are dropped.
	at.append(at.path, acctBytes(4325, "half", at.now, 100, binary.LittleEndian)[40:])
	at.want("acct.psinfo.pid", "map[4321:4321 4322:4322 4323:4323 4325:4325]")
	at.now = at.now.Add(61 * time.Second)
	at.want("acct.psinfo.pid", "map[4325:4325]")
	at.ends(4321, "new")
	at.want("acct.psinfo.pid", "map[4321:4321 4325:4325]")
	if len(at.calls) > 0 {
		t.Errorf("accounting of the system was switched: %q", at.calls)
	}
}

// TestAcctMany ends more processes than the agent keeps.
func TestAcctMany(t *testing.T) {
	at := newAcctTree(t, true)
	at.want("acct.psinfo.pid", "map[]")
	var b []byte
	for pid := range uint32(maxEnded + 700) {
		b = append(b, acctBytes(pid+1, "x", at.now, 0, binary.LittleEndian)...)
	}
	at.append(at.path, b)
	got := get(t, at.a, root, "acct.psinfo.pid")
	if len(got) != maxEnded || got[700] != "" || got[701] != "701" || len(at.a.machine.acct.known) != maxEnded {
		t.Errorf("%d processes, %q", len(got), got[700])
	}
	at.ends(1_000_000, "last")
	got = get(t, at.a, root, "acct.psinfo.pid")
	if len(got) != maxEnded || got[701] != "" || got[1_000_000] == "" {
		t.Errorf("%d processes after one more", len(got))
	}
}

// TestAcctDamaged replaces the file, cuts it, and fills it with something else.
func TestAcctDamaged(t *testing.T) {
	at := newAcctTree(t, true)
	at.want("acct.psinfo.pid", "map[]")
	at.ends(10, "x")
	at.append(at.path, make([]byte, acctSize))
	at.ends(11, "y")
	at.want("acct.psinfo.pid", "map[10:10]")
	at.ends(12, "z") // the file was opened again, at its end
	at.want("acct.psinfo.pid", "map[10:10 12:12]")
	if err := os.Truncate(at.path, 0); err != nil {
		t.Fatal(err)
	}
	at.want("acct.psinfo.pid", "map[10:10 12:12]")
	at.ends(13, "z")
	at.want("acct.psinfo.pid", "map[10:10 12:12 13:13]")
	// A file of another version is not read.
	if err := os.Truncate(at.path, 0); err != nil {
		t.Fatal(err)
	}
	at.append(at.path, []byte{0, 2})
	at.want("acct.psinfo.pid", "map[]")
}

// TestAcctOwn has root switch accounting on, and checks the file and the calls of acct(2).
func TestAcctOwn(t *testing.T) {
	at := newAcctTree(t, false)
	at.want("acct.psinfo.pid", "map[]")
	if fmt.Sprint(at.calls) != "[]" {
		t.Errorf("acct(2) is called unasked: %q", at.calls)
	}
	enable := func(on uint32) {
		t.Helper()
		if err := store(t, at.a, root, "acct.control.enable_acct", pcp.Uint32Value(on)); err != nil {
			t.Fatal(err)
		}
	}
	enable(1)
	at.ends(10, "x")
	at.want("acct.psinfo.pid", "map[10:10]")
	enable(2) // is no change
	if fmt.Sprintf("%q", at.calls) != `["own"]` {
		t.Errorf("calls of acct(2): %q", at.calls)
	}
	// The file becomes too large.
	if err := store(t, at.a, root, "acct.control.file_size_threshold", pcp.Uint64Value(100)); err != nil {
		t.Fatal(err)
	}
	c := at.a.machine.acct
	c.mu.Lock()
	c.limitSize()
	c.mu.Unlock()
	if info, err := os.Stat(at.path); err != nil || info.Size() != acctSize || fmt.Sprintf("%q", at.calls) != `["own" "." "own"]` {
		t.Errorf("after the limit: %v, %v, calls %q", info, err, at.calls)
	}
	at.ends(11, "y")
	at.want("acct.psinfo.pid", "map[10:10 11:11]")
	enable(0)
	if _, err := os.Stat(at.path); !errors.Is(err, os.ErrNotExist) || fmt.Sprintf("%q", at.calls) != `["own" "." "own" "."]` {
		t.Errorf("after 0 is stored: %v, calls %q", err, at.calls)
	}
	at.want("acct.psinfo.pid", "map[]")
	enable(1)
	at.a.Close()
	if _, err := os.Stat(at.path); !errors.Is(err, os.ErrNotExist) || at.calls[len(at.calls)-1] != "." {
		t.Errorf("after Close: %v, calls %q", err, at.calls)
	}
	at.want("acct.psinfo.pid", "map[]")
	if at.calls[len(at.calls)-1] != "." {
		t.Errorf("after Close it is switched on again: %q", at.calls)
	}
}

// TestAcctRefused has the kernel refuse: the store succeeds, as in C, metrics have no values,
// and the agent tries again after the interval.
func TestAcctRefused(t *testing.T) {
	at := newAcctTree(t, false)
	at.refuses = true
	if err := store(t, at.a, root, "acct.control.enable_acct", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	at.want("acct.psinfo.pid", "map[]")
	at.want("acct.psinfo.pid", "map[]")
	if len(at.calls) != 1 {
		t.Errorf("calls of acct(2): %q", at.calls)
	}
	if _, err := os.Stat(at.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is left behind: %v", err)
	}
	at.now = at.now.Add(61 * time.Second)
	at.refuses = false
	at.want("acct.psinfo.pid", "map[]")
	at.ends(10, "x")
	at.want("acct.psinfo.pid", "map[10:10]")
}

// TestAcctLink checks that the target of a link in place of the agent's own file is not
// truncated.
func TestAcctLink(t *testing.T) {
	at := newAcctTree(t, false)
	at.write("precious", "text")
	if err := os.Symlink(filepath.Join(at.dir, "precious"), at.path); err != nil {
		t.Fatal(err)
	}
	if err := store(t, at.a, root, "acct.control.enable_acct", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(at.dir, "precious")); string(b) != "text" || len(at.calls) > 0 {
		t.Errorf("the file has %q, %v; calls %q", b, err, at.calls)
	}
}

func TestAcctControl(t *testing.T) {
	at := newAcctTree(t, false)
	for name, want := range map[string]string{
		"open_retry_interval": "60", "check_acct_interval": "600", "file_size_threshold": "10485760", "lifetime": "60", "refresh": "600", "enable_acct": "0",
	} {
		at.want("acct.control."+name, "map[-1:"+want+"]")
		if err := store(t, at.a, client(1000, 1000), "acct.control."+name, pcp.Uint32Value(7)); !errors.Is(err, pcp.ErrPermission) {
			t.Errorf("another user stores into %s: %v", name, err)
		}
		if name == "enable_acct" {
			continue
		}
		if err := store(t, at.a, root, "acct.control."+name, pcp.Uint32Value(7)); err != nil {
			t.Errorf("root stores into %s: %v", name, err)
		}
		at.want("acct.control."+name, "map[-1:7]")
	}
	if err := store(t, at.a, root, "acct.control.refresh", pcp.Uint32Value(0)); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("an interval of 0: %v", err)
	}
	if err := store(t, at.a, root, "acct.psinfo.pid", pcp.Uint32Value(0)); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("store into a value: %v", err)
	}
}

func FuzzAcct(f *testing.F) {
	f.Add(acctBytes(1, "sh", time.Unix(1_700_000_000, 0), 150, binary.LittleEndian), uint16(100))
	f.Add(acctBytes(1<<32-1, "sixteen-bytes-xy", time.Unix(1<<32-1, 0), float32(math.NaN()), binary.BigEndian), uint16(0))
	f.Add([]byte{0, 3}, uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, hz uint16) {
		r, ok := parseAcct(b)
		if ok != (len(b) >= acctSize && b[1]&0x0f == acctVersion) || len(r.command) > 16 {
			t.Errorf("%+v, %t", r, ok)
		}
		if end := r.end(max(1, uint64(hz))); end < int64(r.begin) || end > int64(r.begin)+math.MaxUint32 {
			t.Errorf("it began at %d and ended at %d", r.begin, end)
		}
	})
}
