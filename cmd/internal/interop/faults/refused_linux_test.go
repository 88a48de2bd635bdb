package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSameArchive starts a second pmlogger with the name of the archive that the first one writes.
func TestSameArchive(t *testing.T) {
	t.Parallel()
	shared := newSite(t, "")
	c := startPMCD(shared)
	c.await("the collector serves", func() error { return fetches(shared, time.Time{}) })
	s := newSite(t, fmt.Sprint("127.0.0.1:", shared.port))
	d := daemons[1]
	p := d.up(s)
	other := newSite(t, s.source)
	q := other.start(nil, "pmlogger", "-U", "root", "-h", s.source, "-c", other.write("log.conf", logConf), "-l", other.dir+"/log/pmlogger.log", filepath.Join(s.archives(), "a"))
	q.refused("the same archive", "/log/pmlogger/a.index", "exist")
	d.well(s, p, "beside it")
	d.over(s, p)
	c.stop()
}

// TestFewFiles has pcp record refuse more hosts than it may have files open for.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	var hosts strings.Builder
	for i := range 40 {
		fmt.Fprintf(&hosts, "127.0.0.1:1 name=h%d\n", i)
	}
	p := s.start([]limit{{"n", 64}}, "pcp", "record", "-d", s.archives(), "-f", s.write("hosts", hosts.String()))
	p.refused("40 hosts", "40 hosts need about 250 open files, but the limit is 64")
}

// TestPushFull pushes an archive to a pmproxy whose disk is full, and again when there is space:
// then it accepts all of it.
func TestPushFull(t *testing.T) {
	t.Parallel()
	s := newSite(t, "127.0.0.1:1")
	s.mount(8 << 20)
	p := startProxy(s)
	p.await("it answers", func() error { return s.get(s.port, "/logger/ping", nil, nil) })
	base := filepath.Join(s.conf, "20200101")
	if err := writeRecords(base, "host", 20000); err != nil {
		t.Fatal(err)
	}
	push := func() *process {
		return s.start(nil, "pmlogpush", "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), base)
	}
	s.fill()
	if q := push(); q.ends("a push to a full disk") == 0 {
		t.Errorf("a push to a full disk succeeds: %s", q.out)
	} else {
		t.Logf("refused: %s", q.out)
	}
	s.empty()
	if q := push(); q.ends("a push to a disk with space") != 0 {
		t.Errorf("a push to a disk with space: %s", q.out)
	}
	for _, ext := range []string{".0", ".meta", ".index"} {
		want, err := os.ReadFile(base + ext)
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(s.dir, "log/pmproxy/host/*"+ext))
		if len(files) != 1 {
			t.Errorf("files %s: %q", ext, files)
			continue
		}
		if got, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want the %d of %s", files[0], len(got), err, len(want), base+ext)
		}
	}
	p.stop()
}
