package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
)

// eachDir runs a test with directories of each kind.
func eachDir(t *testing.T, f func(t *testing.T, d *Dir)) {
	for _, kind := range []string{"S3 with MD5", "S3 with SHA-256", "file system"} {
		t.Run(kind, func(t *testing.T) {
			if kind == "file system" {
				d, err := OpenDir(t.TempDir(), os.Getenv)
				if err != nil {
					t.Fatal(err)
				}
				f(t, d)
				return
			}
			srv := objectstest.Start(t, kind == "S3 with SHA-256")
			d, err := OpenDir("s3://"+objectstest.Bucket+"/a dir/b", srv.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			f(t, d)
		})
	}
}

// local writes a local file and opens it.
func local(t testing.TB, data []byte) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "local"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestDir writes, reads, lists and removes files.
func TestDir(t *testing.T) { eachDir(t, testDir) }

func testDir(t *testing.T, d *Dir) {
	ctx := t.Context()
	if _, _, err := d.Read(ctx, "h/none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), d.Address("h/none")) {
		t.Errorf("a missing file: %v", err)
	}
	if list, err := d.List(ctx, "h"); err != nil || len(list) != 0 {
		t.Errorf("a missing directory: %v, %v", list, err)
	}
	if err := d.Remove(ctx, "h/none"); err != nil {
		t.Errorf("removing a missing file: %v", err)
	}
	v1, err := d.Write(ctx, "h/x y+z%", []byte("one"), IfAbsent())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Condition{IfAbsent(), IfVersion(""), IfVersion(`"0123456789abcdef0123456789abcdef"`)} {
		if _, err := d.Write(ctx, "h/x y+z%", []byte("two"), c); !errors.Is(err, ErrConflict) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := d.Write(ctx, "h/none", []byte("two"), IfVersion(v1)); !errors.Is(err, ErrConflict) {
		t.Errorf("IfVersion of a missing file: %v", err)
	}
	if got, v, err := d.Read(ctx, "h/x y+z%"); err != nil || string(got) != "one" || v != v1 {
		t.Errorf("%q, %q, not %q, %v", got, v, v1, err)
	}
	v2, err := d.Write(ctx, "h/x y+z%", []byte("two"), IfVersion(v1))
	if err != nil || v2 == v1 {
		t.Errorf("%q, %v", v2, err)
	}
	if _, err := d.Write(ctx, "h/x y+z%", []byte("three"), IfVersion(v1)); !errors.Is(err, ErrConflict) {
		t.Errorf("an old version: %v", err)
	}
	if _, err := d.Write(ctx, "h/deep/er", nil, Condition{}); err != nil {
		t.Error(err)
	}
	sub, err := d.Sub("h")
	if err != nil {
		t.Fatal(err)
	}
	list, err := sub.List(ctx, ".")
	if err != nil || len(list) != 2 || list[0].Name != "deep" || !list[0].Dir || list[1].Name != "x y+z%" || list[1].Size != 3 || time.Since(list[1].Time).Abs() > time.Minute {
		t.Errorf("%+v, %v", list, err)
	}
	if err := errors.Join(d.Remove(ctx, "h/x y+z%"), d.CheckConditions(ctx, "check")); err != nil {
		t.Error(err)
	}
	if list, err := d.List(ctx, "."); err != nil || len(list) != 1 || list[0].Name != "h" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{"", "/x", "../x", "a//b", "a/../b", ".x", "a/.x", "a\\b", "a\x00"} {
		if _, err := d.Write(ctx, name, nil, Condition{}); err == nil || !strings.Contains(err.Error(), "not the name of a file") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := d.Write(ctx, "big", make([]byte, maxSmall+1), Condition{}); err == nil {
		t.Error("a file of more than 16 MiB was written")
	}
}

// TestDirAddresses checks addresses that cannot be written.
func TestDirAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"": "no directory", "https://x/y": "can be written", "s3://": "s3://BUCKET", "s3://b/../c": "..", "s3://b/./c": "..",
	} {
		if _, err := OpenDir(address, environment{}.get); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestCheck reports what does not pass by itself, and nothing else.
func TestCheck(t *testing.T) {
	eachDir(t, func(t *testing.T, d *Dir) {
		for _, name := range []string{"", "sub/check"} {
			if err := d.Check(t.Context(), name); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		if list, err := d.List(t.Context(), "sub"); err != nil || len(list) > 0 {
			t.Errorf("it leaves %v, %v", list, err)
		}
	})
	srv := objectstest.Start(t, false)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(address, reading, writing string) {
		t.Helper()
		d, err := OpenDir(address, srv.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"": reading, "a/check": writing} {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			err := d.Check(ctx, name)
			cancel()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: %v, want %q", address, name, err, want)
			}
		}
	}
	check("s3://nosuch/x", "NoSuchBucket", "NoSuchBucket")
	check(file, "not a directory", "not a directory")
	check(filepath.Join(dir, "new"), "", "")
	status := 0
	srv.Before(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && status == http.StatusForbidden {
			return false
		}
		w.WriteHeader(status)
		return true
	})
	status = http.StatusForbidden
	check("s3://"+objectstest.Bucket, "", "403 Forbidden")
	for _, status = range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		check("s3://"+objectstest.Bucket, "", "")
	}
}

// TestUpload uploads files of several sizes, and verifies them.
func TestUpload(t *testing.T) { eachDir(t, testUpload) }

func testUpload(t *testing.T, d *Dir) {
	for _, size := range []int{0, 1, partSize, 2*partSize + 5} {
		want := contents(t, size)
		f := local(t, want)
		sums, err := d.Upload(t.Context(), "h/big", f)
		if err != nil || sums.Size != int64(size) {
			t.Fatalf("%d bytes: %+v, %v", size, sums, err)
		}
		if got := stored(t, d, "h/big"); !bytes.Equal(got, want) {
			t.Errorf("%d bytes are stored as %d others", len(want), len(got))
		}
		if err := d.Verify(t.Context(), "h/big", sums); err != nil {
			t.Error(err)
		}
		other := local(t, append(bytes.Clone(want), 'x'))
		if size > 0 {
			other = local(t, append(want[:size-1:size-1], ^want[size-1]))
		}
		sums, err = Sum(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Verify(t.Context(), "h/big", sums); !errors.Is(err, ErrDiffers) {
			t.Errorf("another file of %d bytes: %v", size, err)
		}
		if err := d.Verify(t.Context(), "h/none", sums); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
	}
}

// stored reads a file of any kind of directory.
func stored(t *testing.T, d *Dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(d.Address(name))
	if s, ok := d.back.(*s3); ok {
		bucket, key, _ := s.parse(d.Address(name))
		resp, e := s.do(t.Context(), http.MethodGet, bucket, key, nil, nil, nil)
		if e != nil {
			t.Fatal(e)
		}
		defer resp.Body.Close()
		b, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDirFaults lets requests of each kind fail once, before or after they were served, and for ever.
func TestDirFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		match func(*http.Request) bool
	}{
		{"write", func(r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/small")
		}},
		{"part", func(r *http.Request) bool { return r.URL.Query().Has("partNumber") }},
		{"start", func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploads") }},
		{"completion", func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }},
		{"head", func(r *http.Request) bool { return r.Method == http.MethodHead }},
		{"read", func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/small")
		}},
	} {
		for _, when := range []string{"busy", "no connection", "lost answer", "for ever"} {
			t.Run(c.name+"/"+when, func(t *testing.T) {
				t.Parallel()
				srv := objectstest.Start(t, false)
				d, err := OpenDir("s3://bucket/x", srv.Getenv)
				if err != nil {
					t.Fatal(err)
				}
				var hits atomic.Int64
				srv.Before(func(w http.ResponseWriter, r *http.Request) bool {
					if !c.match(r) {
						return false
					}
					switch n := hits.Add(1); {
					case when == "for ever" || when == "busy" && n == 1:
						w.WriteHeader(http.StatusServiceUnavailable)
						return true
					case when == "no connection" && n == 1:
						panic(http.ErrAbortHandler)
					case when == "lost answer" && n == 1:
						srv.Serve(nowhere{http.Header{}}, r)
						panic(http.ErrAbortHandler)
					}
					return false
				})
				want := contents(t, partSize+100)
				_, err1 := d.Upload(t.Context(), "big", local(t, want))
				version, err2 := d.Write(t.Context(), "small", []byte("1"), IfAbsent())
				var err3, err4 error
				if err2 == nil {
					_, err3 = d.Write(t.Context(), "small", []byte("2"), IfVersion(version))
					_, _, err4 = d.Read(t.Context(), "small")
				}
				err = errors.Join(err1, err2, err3, err4)
				if hits.Load() == 0 {
					t.Fatal("no request failed")
				}
				if when == "for ever" {
					if err == nil || !strings.Contains(err.Error(), "503") {
						t.Errorf("%v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				srv.Before(nil)
				if !bytes.Equal(stored(t, d, "big"), want) || string(stored(t, d, "small")) != "2" {
					t.Error("the stored files differ")
				}
			})
		}
	}
}

// nowhere is a ResponseWriter whose answer is lost.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header       { return n.h }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// TestDamaged lets a server store other bytes than it was sent: Upload reports it.
func TestDamaged(t *testing.T) {
	srv := objectstest.Start(t, false)
	d, err := OpenDir("s3://bucket", srv.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	srv.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			srv.Damage(r)
		}
		return false
	})
	if _, err := d.Upload(t.Context(), "a", local(t, contents(t, 1000))); !errors.Is(err, ErrDiffers) {
		t.Errorf("%v", err)
	}
}

// TestIgnored checks that a store without conditional writes is found out.
func TestIgnored(t *testing.T) {
	for _, header := range []string{"If-None-Match", "If-Match"} {
		srv := objectstest.Start(t, false)
		d, err := OpenDir("s3://bucket", srv.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		srv.Before(func(_ http.ResponseWriter, r *http.Request) bool {
			r.Header.Del(header)
			return false
		})
		if err := d.CheckConditions(t.Context(), "check"); err == nil || !strings.Contains(err.Error(), "ignores") {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestAbandoned kills an upload of parts: the next upload ends it.
func TestAbandoned(t *testing.T) {
	srv := objectstest.Start(t, false)
	d, err := OpenDir("s3://bucket", srv.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var aborted atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	srv.Before(func(w http.ResponseWriter, r *http.Request) bool {
		switch q := r.URL.Query(); {
		case r.Method == http.MethodDelete && q.Has("uploadId"):
			if aborted.Add(1) == 1 {
				w.WriteHeader(http.StatusForbidden) // as if the process had been killed
				return true
			}
		case q.Get("partNumber") == "2" && ctx.Err() == nil:
			cancel()
		}
		return false
	})
	f := local(t, contents(t, 2*partSize))
	if _, err := d.Upload(ctx, "a", f); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if _, err := d.Upload(t.Context(), "a", f); err != nil || aborted.Load() != 2 {
		t.Errorf("%v, %d requests to end an upload", err, aborted.Load())
	}
}

// TestShared lets writers count together: with conditions, no step is lost.
func TestShared(t *testing.T) { eachDir(t, testShared) }

func testShared(t *testing.T, d *Dir) {
	const writers, steps = 4, 25
	var wg sync.WaitGroup
	var conflicts atomic.Int64
	for range writers {
		wg.Go(func() {
			for done := 0; done < steps; {
				data, version, err := d.Read(t.Context(), "counter")
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(data))
				_, err = d.Write(t.Context(), "counter", fmt.Append(nil, n+1), IfVersion(version))
				switch {
				case err == nil:
					done++
				case errors.Is(err, ErrConflict):
					conflicts.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if data, _, err := d.Read(t.Context(), "counter"); err != nil || string(data) != fmt.Sprint(writers*steps) {
		t.Errorf("%s, %v", data, err)
	}
	t.Logf("%d conflicts", conflicts.Load())
}

// TestLeftovers checks that files of processes that were killed are hidden and vanish, and the modes of directories.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	d, err := OpenDir(filepath.Join(dir, "new"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(t.Context(), "h/x", nil, Condition{}); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "new", "h", newPrefix+"1")
	if err := errors.Join(os.WriteFile(old, nil, 0o600), os.Chtimes(old, time.Time{}, time.Now().Add(-2*newAge))); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(t.Context(), "h"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]fs.FileMode{"new/h": 0o750, "new/h/x": 0o640} {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
}
