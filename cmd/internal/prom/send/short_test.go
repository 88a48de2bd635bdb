package send

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send/sendtest"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestShort records a host for so short a time that its archive has ended when the sending begins. It is sent; an archive from the time before
// the recorder is not.
func TestShort(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	g := &grower{t: t, dir: t.TempDir(), at: sendtest.Start()}
	d := Dir{Path: g.dir, Name: "www"}
	g.begin()
	g.add(1, "a.b")
	before := time.Now().Add(-time.Hour)
	g.want()
	age(t, g.base, before)
	r := leaver(t, f, Dir{Path: t.TempDir(), Name: "other"}, 300*time.Millisecond, func(string, error) {})
	g.im = nil
	g.begin()
	g.add(2, "a.c")
	want := g.want()
	for k := range want {
		if strings.Contains(k, "a_b") || strings.Contains(k, "a.b") {
			delete(want, k)
		}
	}
	r.Set([]Dir{d})
	r.Leave([]Dir{d})
	await.Until(t, "all is settled", func() bool { return r.Done(d) })
	r.Drain(time.Minute)
	sendtest.Exact(t, f.contents(), want)
}

// age sets the times of the files of an archive.
func age(t *testing.T, base string, at time.Time) {
	t.Helper()
	files, err := filepath.Glob(base + ".*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
}
