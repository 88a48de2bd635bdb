package logger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// named returns a label with another host.
func named(t *testing.T, label []byte, host string) []byte {
	t.Helper()
	l, err := archive.DecodeLabel(label)
	if err != nil {
		t.Fatal(err)
	}
	l.Host = host
	return l.Append(nil)
}

// TestHostTokens has tokens for hosts. With the token of one host, a client cannot write archives of another: neither
// by its label nor by the number of its archive.
func TestHostTokens(t *testing.T) {
	h, dir := serve(t, Config{})
	want := makeArchive(t, 3)
	client := func(name string, hosts ...string) rest.Peer {
		return rest.Peer{User: name, Address: "192.0.2.1", Push: &rest.PushRight{Hosts: hosts}}
	}
	a, b, web := client("a", "a"), client("b", "b"), client("web", "www*.example.com", "cdn")
	f := func(p rest.Peer, host string, status int) int {
		t.Helper()
		return post(t, h, p, "/logger/label?resume=true", named(t, want.label, host), status).Archive
	}
	id := strconv.Itoa(f(a, "a", 200))
	post(t, h, a, "/logger/meta/"+id, want.meta, 200)
	f(a, "b", 403)
	f(b, "a", 403)
	f(b, "b", 200)
	f(web, "www1.example.com", 200)
	f(web, "cdn", 200)
	f(web, "www.example.org", 403)
	f(web, "a", 403)
	for _, path := range []string{"meta/" + id, "index/" + id, "volume/0/" + id, "end/" + id} {
		post(t, h, b, "/logger/"+path, want.v0, 410)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a", "20231114.22.13.meta")); err != nil || !bytes.Equal(got[len(want.label):], want.meta) {
		t.Errorf("the archive of a has %d bytes of metadata, %v", len(got), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 4 {
		t.Errorf("directories: %v", list)
	}
	// The server's own list holds for tokens too.
	h, _ = serve(t, Config{Hosts: []string{"b"}})
	f(a, "a", 403)
	f(b, "b", 200)
}

// TestHostQuota fills the quotas of hosts. A full one refuses, keeps its files, and does not affect others. When
// archives are removed there is room again.
func TestHostQuota(t *testing.T) {
	want := makeArchive(t, 3)
	size := int64(len(want.label))
	h, dir := serve(t, Config{MaxHost: 3*size + int64(len(want.meta))})
	begin := func(p rest.Peer, host string) string {
		t.Helper()
		return strconv.Itoa(post(t, h, p, "/logger/label", named(t, want.label, host), 200).Archive)
	}
	big := rest.Peer{User: "big", Push: &rest.PushRight{Hosts: []string{"big"}, Quota: 1 << 20}}
	for _, c := range []struct {
		peer   rest.Peer
		host   string
		status int
	}{{trusted, "small", 507}, {big, "big", 200}} {
		id := begin(c.peer, c.host)
		post(t, h, c.peer, "/logger/volume/0/"+id, nil, 200)
		post(t, h, c.peer, "/logger/meta/"+id, want.meta, 200)
		a := post(t, h, c.peer, "/logger/index/"+id, want.index, c.status)
		if c.status != 200 && !strings.Contains(a.Message, "by host "+c.host) {
			t.Error(a.Message)
		}
	}
	for name, n := range sizes(t, dir) {
		if strings.HasPrefix(name, "small/") && n != size && n != size+int64(len(want.meta)) {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
	post(t, h, trusted, "/logger/label", named(t, want.label, "small"), 507)
	if err := os.RemoveAll(filepath.Join(dir, "small")); err != nil {
		t.Fatal(err)
	}
	h.hosts["small"].counted = time.Now().Add(-recount)
	begin(trusted, "small")
}

// TestEnd ends an archive. Later requests are refused, and the archive can be resumed.
func TestEnd(t *testing.T) {
	h, dir := serve(t, Config{})
	want := makeArchive(t, 3)
	n := len(want.label)
	id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
	post(t, h, trusted, "/logger/meta/"+id, want.meta, 200)
	post(t, h, trusted, "/logger/volume/0/"+id, append(bytes.Clone(want.v0), 0, 0, 0), 200)
	if a := post(t, h, trusted, "/logger/end/"+id, nil, 200); a.Meta != n+len(want.meta) || a.Bytes != n+len(want.v0) || a.Index != n {
		t.Errorf("the sizes at the end: %+v", a)
	}
	post(t, h, trusted, "/logger/meta/"+id, nil, 410)
	post(t, h, trusted, "/logger/end/"+id, nil, 410)
	if len(h.pushes) != 0 || h.waiting.Load() != 0 {
		t.Errorf("%d archives, %d bytes wait", len(h.pushes), h.waiting.Load())
	}
	if a := post(t, h, trusted, "/logger/label?resume=true", want.label, 200); a.Meta != n+len(want.meta) || a.Bytes != n+len(want.v0) {
		t.Errorf("resumed: %+v", a)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*", "*.meta")); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
}

// TestPacked compresses the files of an archive between two pushes. A client that has nothing more leaves them
// compressed; later records are appended, in one archive.
func TestPacked(t *testing.T) {
	for _, format := range []janitor.Format{janitor.Zstd, janitor.XZ} {
		want := makeArchive(t, 3)
		n := len(want.label)
		h, dir := serve(t, Config{})
		base := filepath.Join(dir, "www.example.com", "20231114.22.13")
		pack := func() {
			t.Helper()
			for _, end := range []string{".meta", ".0"} {
				if _, err := janitor.Compress(context.Background(), base+end, format); err != nil {
					t.Fatal(err)
				}
			}
		}
		id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
		cut := len(want.v0) / 2 / 4 * 4
		post(t, h, trusted, "/logger/meta/"+id, want.meta, 200)
		post(t, h, trusted, "/logger/volume/0/"+id, want.v0[:cut], 200)
		pack() // while it is pushed
		post(t, h, trusted, fmt.Sprintf("/logger/volume/0/%s?offset=%d", id, n+cut), want.v0[cut:], 410)
		a := post(t, h, trusted, "/logger/label?resume=true", want.label, 200)
		if a.Meta != n+len(want.meta) || a.Volume != 0 || a.Bytes > n+cut {
			t.Fatalf("%v: compressed: %+v", format, a)
		}
		id = strconv.Itoa(a.Archive)
		post(t, h, trusted, fmt.Sprintf("/logger/meta/%s?offset=%d", id, n), want.meta, 200)
		if _, err := os.Stat(base + ".meta" + format.Suffix()); err != nil {
			t.Errorf("%v: it was expanded for nothing: %v", format, err)
		}
		post(t, h, trusted, fmt.Sprintf("/logger/volume/0/%s?offset=%d", id, a.Bytes), want.v0[a.Bytes-n:], 200)
		post(t, h, trusted, "/logger/end/"+id, nil, 200)
		a = post(t, h, trusted, "/logger/label?resume=true", want.label, 200)
		id = strconv.Itoa(a.Archive)
		post(t, h, trusted, fmt.Sprintf("/logger/volume/1/%s?offset=%d", id, n), want.v1, 200)
		post(t, h, trusted, fmt.Sprintf("/logger/index/%s?offset=%d", id, n), want.index, 200)
		h.Close()
		if list, _ := os.ReadDir(filepath.Dir(base)); len(list) != 4 {
			t.Errorf("%v: files %v", format, list)
		}
		m, err := archive.OpenFile(base + ".meta" + format.Suffix())
		if err != nil {
			t.Fatal(err)
		}
		meta := make([]byte, n+len(want.meta))
		if _, err := m.ReadAt(meta, 0); err != nil || !bytes.Equal(meta[n:], want.meta) {
			t.Errorf("%v: the metadata differ, %v", format, err)
		}
		m.Close()
		for end, b := range map[string][]byte{".0": want.v0, ".1": want.v1, ".index": want.index} {
			if got, err := os.ReadFile(base + end); err != nil || !bytes.Equal(got[n:], b) {
				t.Errorf("%v: %s has %d bytes, want %d, %v", format, end, len(got)-n, len(b), err)
			}
		}
	}
}

// TestKilledEarly has files that a receiver leaves if it is killed between the creation of a file and the end of its
// label. The archive is resumed.
func TestKilledEarly(t *testing.T) {
	want := makeArchive(t, 3)
	n := len(want.label)
	for _, c := range []struct {
		change func(base string) error
		volume bool
	}{
		{func(base string) error { return errors.Join(os.Truncate(base+".meta", 0), os.Remove(base+".index")) }, false},
		{func(base string) error { return os.Remove(base + ".index") }, false},
		{func(base string) error { return os.Truncate(base+".index", 0) }, false},
		{func(base string) error { return os.Truncate(base+".0", 0) }, true},
		{func(base string) error { return os.Truncate(base+".0", 100) }, true},
	} {
		h, dir := serve(t, Config{})
		id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
		if c.volume {
			post(t, h, trusted, "/logger/volume/0/"+id, nil, 200)
		}
		h.Close()
		base := filepath.Join(dir, "www.example.com", "20231114.22.13")
		if err := c.change(base); err != nil {
			t.Fatal(err)
		}
		h, err := New(Config{Dir: dir, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close() })
		a := post(t, h, trusted, "/logger/label?resume=true", want.label, 200)
		if a.Meta != n || a.Index != n {
			t.Errorf("resumed: %+v", a)
		}
		for path, b := range map[string][]byte{"meta": want.meta, "index": want.index, "volume/0": want.v0} {
			post(t, h, trusted, fmt.Sprintf("/logger/%s/%d?offset=%d", path, a.Archive, n), b, 200)
		}
		post(t, h, trusted, fmt.Sprintf("/logger/volume/1/%d?offset=%d", a.Archive, n), want.v1, 200)
		if got := readParts(t, base); !bytes.Equal(got.meta, want.meta) || !bytes.Equal(got.index, want.index) || !bytes.Equal(got.v0, want.v0) || !bytes.Equal(got.v1, want.v1) {
			t.Error("the files differ")
		}
		for _, end := range []string{".meta", ".index", ".0"} {
			b, err := os.ReadFile(base + end)
			if err != nil {
				t.Fatal(err)
			}
			l, err := archive.DecodeLabel(b)
			if err != nil || l.PID != 7 {
				t.Errorf("%s: label %+v, %v", end, l, err)
			}
		}
		if list, _ := os.ReadDir(filepath.Dir(base)); len(list) != 4 {
			t.Errorf("files %v", list)
		}
	}
}

// TestBeginTogether has many clients begin the same archive. There is one archive.
func TestBeginTogether(t *testing.T) {
	h, dir := serve(t, Config{})
	want := makeArchive(t, 3)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if w := do(h, trusted, "POST", "/logger/label?resume=true", want.label); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	if list, _ := filepath.Glob(filepath.Join(dir, "*", "*.meta")); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
}
