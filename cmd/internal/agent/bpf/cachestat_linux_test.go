package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPageCache has a control group read a file that is not in the cache, read it again in parts of several sizes, and write another.
func TestPageCache(t *testing.T) {
	a := start(t, "cachestat")
	dir, name := needGroup(t)
	file := diskFile(t)
	const megabytes, slack = 16, 400 // the slack is for the files of the programs that run
	pages := uint64(megabytes<<20) / uint64(os.Getpagesize())
	if out, err := exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1M", "conv=fsync", fmt.Sprint("count=", megabytes)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	drop := func() {
		t.Helper()
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
	before := make(map[string]uint64)
	try := func(what, line string, hits, misses, added uint64) {
		t.Helper()
		inGroup(t, dir, line)
		for metric, want := range map[string]uint64{"hits": hits, "misses": misses, "added": added} {
			now := number(t, fetch(t, a, "bpf.cachestat.cgroup."+metric), name)
			got := now - before[metric]
			before[metric] = now
			t.Logf("%s: %s %d, want %d", what, metric, got, want)
			if got+slack < want || got > want+slack {
				t.Errorf("%s: %d %s, want %d", what, got, metric, want)
			}
		}
	}
	drop()
	try("not in the cache", "dd bs=64k of=/dev/null if="+file, 0, pages, pages)
	try("again", "dd bs=64k of=/dev/null if="+file, pages, 0, 0)
	try("in one part", "dd bs=64M of=/dev/null if="+file, pages, 0, 0)
	drop()
	try("not in the cache, in one part", "dd bs=64M of=/dev/null if="+file, 0, pages, pages)
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
	try("written", "dd bs=1M if=/dev/zero conv=notrunc,fsync of="+file+fmt.Sprint(" count=", megabytes), 0, 0, pages)
	try("read after the write", "dd bs=64k of=/dev/null if="+file, pages, 0, 0)
	for _, metric := range []string{"hits", "misses", "added"} {
		if got := number(t, fetch(t, a, "bpf.cachestat."+metric), ""); got < before[metric] {
			t.Errorf("%s: the host has %d, and the group %d", metric, got, before[metric])
		}
	}
}

// TestCacheCounts checks that hits do not fall while a large read turns out to miss its pages.
func TestCacheCounts(t *testing.T) {
	var c cacheCounts
	for _, f := range []struct{ reads, misses, hits uint64 }{
		{100, 40, 60},
		{1100, 50, 1050},
		{1100, 1040, 1050}, // the read has gone on
		{3100, 1040, 2060},
		{10, 3, 7}, // the counts have begun again
		{10, 30, 7},
	} {
		if got := c.next([numCache]uint64{cacheReads: f.reads, cacheMisses: f.misses, cacheAdded: 5}); got != [numCacheColumns]uint64{f.hits, f.misses, 5} {
			t.Errorf("%d pages read, %d misses: %v, want %d hits", f.reads, f.misses, got, f.hits)
		}
	}
}
