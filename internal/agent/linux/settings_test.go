package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// TestBandwidth writes, damages, replaces and removes an administrator's file.
func TestBandwidth(t *testing.T) {
	tree := t.TempDir()
	for _, node := range []string{"node0", "node2"} {
		if err := os.MkdirAll(filepath.Join(tree, nodeDir, node, "cpu"+node[4:]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(tree, "bandwidth.conf")
	a := New(Config{Root: tree, Bandwidth: path})
	id := a.id(t, "mem.numa.max_bandwidth")
	stamp := time.Now()
	f := func(text, want string) {
		t.Helper()
		stamp = stamp.Add(time.Second)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, stamp, stamp); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, v := range fetchAs(t, a, root, id).Sets[0].Values {
			got = append(got, fmt.Sprintf("%d=%g", v.Inst, v.Double()))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
	f("", "")
	f("# measured\n\nVersion:1.0\n\nnode0:1024.5\nnode2: 2048\n", "0=1024.5 1=2048")
	f("", "0=1024.5 1=2048")
	f("Version:1.0\nnode2:7\nnode9:1\nnode0:3\n", "1=7") // up to the first mistake
	f("node0:1\nVersion:1.0\n", "")
	f("Version:2\nnode0:1\n", "")
	f("Version:1.0\nnode0:0\nnode2:x\n", "")
	f("Version:1.0\nnode0:5\nnode2\n", "0=5")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f("", "")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	f("", "")
}

// TestMDAdm asks a program for the status of an array, which the C agent reports in
// the form of wait(2).
func TestMDAdm(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("proc/diskstats", "   9       7 md7 1 0 8 0 0 0 0 0 0 0 0\n")
	write("sys/block/md7/md/array_state", "clean\n")
	write("sys/block/md7/md/degraded", "1\n")
	f := func(program string, want int32) {
		t.Helper()
		a := New(Config{Root: dir, MDAdm: program})
		vs := fetchAs(t, a, root, a.id(t, "disk.md.status")).Sets[0]
		if len(vs.Values) != 1 || vs.Values[0].As(pcp.Type32).Int32() != want {
			t.Errorf("with program %q the status is %v, want %d", program, vs.Values, want)
		}
	}
	f("", 256) // a disk is missing
	f(write("mdadm", "#!/bin/sh\n[ \"$*\" = '--detail --test /dev/md7' ] && exit 3\nexit 9\n"), 768)
	f(write("sound", "#!/bin/sh\nexit 0\n"), 0)
	f(filepath.Join(dir, "none"), -1)
}

// TestAllAccess checks that AllAccess gives other users the values that otherwise only
// root may read.
func TestAllAccess(t *testing.T) {
	for _, all := range []bool{false, true} {
		a := New(Config{Root: "testdata/odd", AllAccess: all})
		vs := fetchAs(t, a, new(pmda.Client), a.id(t, "mem.slabinfo.objects.size")).Sets[0]
		if (len(vs.Values) > 0) != all {
			t.Errorf("AllAccess %v: %d values, error %v", all, len(vs.Values), vs.Err)
		}
	}
}
