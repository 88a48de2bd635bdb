package xfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A testTree is a directory with files of a kernel.
type testTree struct {
	t   testing.TB
	dir string
}

func (tr testTree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

// words are the lines of kernels, with the number of their numbers and the first kernel
// that has them.
var words = []struct {
	word  string
	n     int
	since int
}{
	{"extent_alloc", 4, 2},
	{"abt", 4, 2},
	{"blk_map", 7, 2},
	{"bmbt", 4, 2},
	{"dir", 4, 2},
	{"trans", 3, 2},
	{"ig", 7, 2},
	{"log", 5, 2},
	{"push_ail", 10, 2},
	{"xstrat", 2, 2},
	{"rw", 2, 2},
	{"attr", 4, 2},
	{"icluster", 3, 2},
	{"vnodes", 8, 2},
	{"buf", 9, 2},
	{"abtb2", 15, 3},
	{"abtc2", 15, 3},
	{"bmbt2", 15, 3},
	{"ibt2", 15, 3},
	{"fibt2", 15, 4},
	{"rmapbt", 15, 5},
	{"refcntbt", 15, 5},
	{"rmapbt_mem", 15, 6},
	{"rcbagbt", 15, 6},
	{"rtrmapbt", 15, 6},
	{"rtrmapbt_mem", 15, 6},
	{"rtrefcntbt", 15, 6},
	{"qm", 8, 4},
	{"zoned", 3, 6},
	{"metafile", 1, 6},
	{"xpc", 3, 2},
	{"defer_relog", 1, 6},
	{"gc xpc", 1, 6},
}

// statsOf returns a file of counters as a kernel of the given age writes it: 2, 3, 4, 5 or 6.
// Each number is different, and some are larger than 32 bits.
func statsOf(kernel, seed int) string {
	var b strings.Builder
	n := seed
	for _, w := range words {
		if kernel < w.since {
			continue
		}
		b.WriteString(w.word)
		for range w.n {
			n += 1 + n%7
			v := uint64(n)
			if strings.HasSuffix(w.word, "xpc") {
				v = v<<32 + 5
			}
			fmt.Fprintf(&b, " %d", v)
		}
		b.WriteByte('\n')
	}
	b.WriteString("debug 0\n")
	return b.String()
}

// trees are the files of machines, by name.
var testTrees = map[string]func(testTree){
	"none": func(testTree) {},
	"2.6": func(tr testTree) {
		tr.write("proc/fs/xfs/stat", statsOf(2, 10))
		tr.write("proc/fs/xfs/xqmstat", "qm 1 2 3 4 5 6 7 8\n")
	},
	"3.10":   func(tr testTree) { tr.write("proc/fs/xfs/stat", statsOf(3, 20)) },
	"xqm":    func(tr testTree) { tr.write("proc/fs/xfs/xqmstat", "qm 1 2 3 4 5 6 7 8\n") },
	"4.4":    func(tr testTree) { tr.write("sys/fs/xfs/stats/stats", statsOf(4, 30)); devicesOf(tr, 4) },
	"5.10":   func(tr testTree) { tr.write("sys/fs/xfs/stats/stats", statsOf(5, 40)); devicesOf(tr, 5) },
	"6.18":   func(tr testTree) { tr.write("sys/fs/xfs/stats/stats", statsOf(6, 50)); devicesOf(tr, 6) },
	"empty":  func(tr testTree) { tr.write("sys/fs/xfs/stats/stats", "") },
	"folder": func(tr testTree) { tr.write("sys/fs/xfs/stats/stats/x", "") },
	"odd": func(tr testTree) {
		tr.write("sys/fs/xfs/stats/stats", oddStats)
		tr.write("proc/fs/xfs/xqmstat", "qmx 1\nqm9 8 7\nqm 18446744073709551616 -1 +2\n")
		tr.write("sys/fs/xfs/sdb/stats/stats", oddStats)
		tr.write("sys/fs/xfs/.hidden/stats/stats", statsOf(5, 1))
		tr.write("sys/fs/xfs/no-file/stats/other", "")
		tr.write("sys/fs/xfs/folder/stats/stats/x", "")
		tr.write("sys/fs/xfs/two words/stats/stats", "rw 1 2\n")
		tr.write("sys/fs/xfs/two others/stats/stats", "rw 3 4\n")
		tr.write("sys/fs/xfs/caf\xe9\n/stats/stats", "rw 5 6\n")
		tr.write("sys/fs/xfs/sdz/stats/stats", "\x00")
		tr.write("sys/fs/xfs/zero/stats/stats", "")
		tr.write("sys/block/zero/dm/name", "")
	},
}

// oddStats has texts that no kernel writes.
var oddStats = "extent_alloc 1 2 x 4\nabt\nabt 5\nabt \nblk_map\t1 2\nblk_map 1 \t\v\f 2 3\n" +
	"log 3 7 4294967295 4294967296 -1\nlog 9\n push_ail 1 2\npush_ail 18446744073709551615 18446744073709551616 99999999999999999999999 -99999999999999999999999 +5 --5\n" +
	"xpc18446744073709551615 -2 18446744073709551617\nxpcx 1 2 3\nig 1 2\x003 4 5\nig\x00 6\n" + "trans 1 2 3 4 5 6 7\r\n" +
	"dir " + strings.Repeat(" ", 5000) + "1 2 3 4\n" + "buf " + strings.Repeat("1", 4092) + "attr 1 2 3 4\nrmapbt 1 2\nrmapbt_mem 7 8 9\nabtb2  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\nqm 1 2 3 4 5 6 7 8 9\nvnodes 1"

func devicesOf(tr testTree, kernel int) {
	for i, name := range []string{"sda1", "dm-0", "loop0", "md127"} {
		tr.write("sys/fs/xfs/"+name+"/stats/stats", statsOf(kernel, 100*i))
	}
	tr.write("sys/fs/xfs/"+"dm-1/stats/stats", statsOf(kernel, 777))
	tr.write("sys/block/loop0/dm/name", "")
}

// newTree makes the tree called name.
func newTree(t testing.TB, name string) string {
	t.Helper()
	tr := testTree{t, t.TempDir()}
	testTrees[name](tr)
	return tr.dir
}
