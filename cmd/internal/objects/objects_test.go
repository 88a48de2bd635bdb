package objects

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/go-pcp/pcp/internal/storage"
)

// contents returns bytes that do not repeat.
func contents(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// An environment has the variables of one test.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// s3Server starts a server of S3 with the files, and registers it. Each request goes through before, if it is not nil; the request
// is not served if before returns true.
func s3Server(t testing.TB, files map[string][]byte, before func(http.ResponseWriter, *http.Request) bool) (env environment, requests *atomic.Int64) {
	t.Helper()
	back := s3mem.New()
	if err := back.CreateBucket("archives"); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if _, err := back.PutObject("archives", name, nil, bytes.NewReader(b), int64(len(b)), nil); err != nil {
			t.Fatal(err)
		}
	}
	fake := gofakes3.New(back).Server()
	requests = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if before == nil || !before(w, r) {
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	env = environment{
		"AWS_ENDPOINT_URL": srv.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"PCP_OBJECT_CACHE": t.TempDir(),
	}
	Register(env.get)
	return env, requests
}

// TestS3 reads files of a bucket in several ways.
func TestS3(t *testing.T) {
	want := contents(t, 5*blockSize+123)
	files := map[string][]byte{"www/a b+c%.0": want, "www/empty": nil, "www/deep/er/x": {1}, "top": {2}}
	for i := range 1500 { // more than one page
		files[fmt.Sprintf("many/%04d", i)] = []byte{3}
	}
	env, requests := s3Server(t, files, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
			t.Errorf("%s %s is not signed", r.Method, r.URL)
		}
		return false
	})
	list, err := storage.ReadDir("s3://archives/www")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		i, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(e.Name(), " ", e.IsDir(), " ", i.Size()))
	}
	if got, want := strings.Join(names, ","), fmt.Sprintf("a b+c%%.0 false %d,deep true 0,empty false 0", len(want)); got != want {
		t.Errorf("%s\nwanted\n%s", got, want)
	}
	if list, err := storage.ReadDir("s3://archives/many/"); err != nil || len(list) != 1500 {
		t.Errorf("%d entries, %v", len(list), err)
	}
	if list, err := storage.ReadDir("s3://archives"); err != nil || len(list) != 3 {
		t.Errorf("the bucket has %d entries, %v", len(list), err)
	}
	for _, name := range []string{"s3://archives/www/none", "s3://archives/none/x", "s3://other/x"} {
		if _, err := storage.Stat(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	open := func() storage.File {
		s, _ := storage.Of("s3://archives")
		f, err := s.Open("s3://archives/www/a b+c%.0")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	if err := iotest.TestReader(io.NewSectionReader(f, 0, int64(len(want))), want); err != nil {
		t.Error(err)
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes in order, %v", len(got), err)
	}
	if n, err := f.ReadAt(make([]byte, 10), int64(len(want))-5); n != 5 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	// Another process reads from the cache on the disk, after it has looked whether the file is the same.
	Register(env.get)
	before := requests.Load()
	f = open()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes from the cache, %v", len(got), err)
	}
	if n := requests.Load() - before; n != 1 {
		t.Errorf("%d requests, not one for the listing", n)
	}
}

// TestFewRequests reads a file in order and at random, and counts the requests.
func TestFewRequests(t *testing.T) {
	want := contents(t, 64*blockSize)
	env, requests := s3Server(t, map[string][]byte{"a": want}, nil)
	for _, c := range []struct {
		name  string
		step  int
		bytes int
		most  int64
	}{{"in order", 1 << 12, 1 << 12, 12}, {"one block in four", 4 * blockSize, 100, 18}, {"at once", len(want), len(want), 6}} {
		env["PCP_OBJECT_CACHE"] = t.TempDir()
		Register(env.get)
		s, _ := storage.Of("s3://")
		f, err := s.Open("s3://archives/a")
		if err != nil {
			t.Fatal(err)
		}
		requests.Store(0)
		for off := 0; off < len(want); off += c.step {
			b := make([]byte, c.bytes)
			if n, err := f.ReadAt(b, int64(off)); err != nil || !bytes.Equal(b[:n], want[off:off+c.bytes]) {
				t.Fatalf("%s: at %d: %d bytes, %v", c.name, off, n, err)
			}
		}
		if n := requests.Load(); n > c.most {
			t.Errorf("%s: %d requests, more than %d", c.name, n, c.most)
		}
	}
}

// TestPrefix checks that the files of one archive are found without a listing of the whole directory, and that a listing serves for
// all names that it covers.
func TestPrefix(t *testing.T) {
	files := map[string][]byte{"h/20260101.meta": {1}, "h/20260101.0": {2}, "h/20260102/x": {3}}
	for i := range 2500 {
		files[fmt.Sprintf("h/2025%04d.meta", i)] = []byte{4}
	}
	_, requests := s3Server(t, files, nil)
	for _, c := range []struct {
		name string
		size int64 // -1 if it does not exist
		more int64 // requests
	}{
		{"20260101.meta", 1, 1},
		{"20260101.meta", 1, 0},
		{"20260101.meta.xz", -1, 0},
		{"20260101.0", 1, 1},
		{"20260102", 0, 1},
		{"20260103.0", -1, 1},
	} {
		before := requests.Load()
		i, err := storage.Stat("s3://archives/h/" + c.name)
		if n := requests.Load() - before; n != c.more {
			t.Errorf("%s: %d requests, want %d", c.name, n, c.more)
		}
		if (err != nil) != (c.size < 0) || err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && i.Size() != c.size {
			t.Errorf("%s: %v, %v", c.name, i, err)
		}
	}
	list, err := storage.ReadDirPrefix("s3://archives/h", "2026010")
	if err != nil || len(list) != 3 || list[2].Name() != "20260102" {
		t.Errorf("%v, %v", list, err)
	}
	before := requests.Load()
	if list, err = storage.ReadDirPrefix("s3://archives/h", "20260101."); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if n := requests.Load() - before; n != 0 {
		t.Errorf("%d requests for what is known", n)
	}
	if list, err = storage.ReadDirPrefix("s3://archives/h", "none"); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestFaults lets a server fail in several ways, and checks that reading succeeds in the end, or fails with a reason.
func TestFaults(t *testing.T) {
	want := contents(t, 3*blockSize)
	answer := func(status int, body string) func(w http.ResponseWriter, r *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	short := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(want)-1, len(want)))
		w.Header().Set("Content-Length", fmt.Sprint(len(want)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(want[:1000])
	}
	for _, c := range []struct {
		name  string
		fault func(http.ResponseWriter, *http.Request)
		times int64
		want  string // in the error
	}{
		{"busy once", answer(503, "<Error><Code>SlowDown</Code><Message>wait</Message></Error>"), 1, ""},
		{"busy for ever", answer(503, "<Error><Code>SlowDown</Code><Message>wait</Message></Error>"), 1 << 30, "503 Service Unavailable: SlowDown: wait"},
		{"refused", answer(403, "<Error><Code>AccessDenied</Code></Error>"), 1 << 30, "403 Forbidden: AccessDenied"},
		{"cut once", short, 1, ""},
		{"cut for ever", short, 1 << 30, "end before byte"},
		{"wrong range", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 9999999-/*")
			w.WriteHeader(http.StatusPartialContent)
		}, 1 << 30, "with the range"},
		{"replaced", answer(412, ""), 1 << 30, "replaced"},
		{"no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var left atomic.Int64
			left.Store(c.times)
			s3Server(t, map[string][]byte{"a": want}, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("Range") == "" || left.Add(-1) < 0 {
					return false
				}
				c.fault(w, r)
				return true
			})
			s, _ := storage.Of("s3://")
			f, err := s.Open("s3://archives/a")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(f)
			if c.want == "" && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s3://archives/a")) {
				t.Errorf("%v, without %q", err, c.want)
			}
		})
	}
}

// TestReplaced replaces a file while it is read.
func TestReplaced(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		dir := t.TempDir()
		name := filepath.Join(dir, "a.0")
		if err := os.WriteFile(name, contents(t, 40*blockSize), 0o644); err != nil {
			t.Fatal(err)
		}
		var version atomic.Int64
		files := http.FileServer(http.Dir(dir))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, version.Load()))
			if !ranges {
				r.Header.Del("Range")
			}
			files.ServeHTTP(w, r)
		}))
		defer srv.Close()
		Register(environment{"PCP_OBJECT_CACHE": t.TempDir()}.get)
		s, _ := storage.Of(srv.URL)
		f, err := s.Open(srv.URL + "/a.0")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		version.Add(1)
		if _, err := f.ReadAt(b, 39*blockSize); !errors.Is(err, errReplaced) {
			t.Errorf("with ranges %v: %v", ranges, err)
		}
	}
}

// TestWeb reads directories of web servers that answer requests for parts of files, or not.
func TestWeb(t *testing.T) {
	dir := t.TempDir()
	want := contents(t, 9*blockSize+7)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "host"), 0o755), os.WriteFile(filepath.Join(dir, "host", "a b&c.0"), want, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, ranges := range []bool{true, false} {
		var sent atomic.Int64
		files := http.FileServer(http.Dir(dir))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent.Add(1)
			if !ranges {
				r.Header.Del("Range")
			}
			files.ServeHTTP(w, r)
		}))
		defer srv.Close()
		Register(environment{"PCP_OBJECT_CACHE": t.TempDir()}.get)
		list, err := storage.ReadDir(srv.URL)
		if err != nil || len(list) != 1 || list[0].Name() != "host" || !list[0].IsDir() {
			t.Fatalf("%v, %v", list, err)
		}
		list, err = storage.ReadDir(srv.URL + "/host")
		if err != nil || len(list) != 1 || list[0].Name() != "a b&c.0" {
			t.Fatalf("%v, %v", list, err)
		}
		if i, err := list[0].Info(); err != nil || i.Size() != int64(len(want)) {
			t.Errorf("%v, %v", i, err)
		}
		s, _ := storage.Of(srv.URL)
		f, err := s.Open(srv.URL + "/host/a b&c.0")
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		sent.Store(0)
		for _, off := range []int64{8 * blockSize, 5, 3*blockSize - 50} {
			if _, err := f.ReadAt(b, off); err != nil || !bytes.Equal(b, want[off:off+100]) {
				t.Errorf("ranges %v, at %d: %v", ranges, off, err)
			}
		}
		if n := sent.Load(); !ranges && n != 1 {
			t.Errorf("the file was sent %d times", n)
		}
		if _, err := storage.ReadDir(srv.URL + "/none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing directory: %v", err)
		}
	}
}

// TestCache checks the bound of the cache, that several processes share it, and that damaged blocks are read again.
func TestCache(t *testing.T) {
	want := contents(t, 64*blockSize)
	env, requests := s3Server(t, map[string][]byte{"a": want}, nil)
	env["PCP_OBJECT_CACHE_SIZE"] = fmt.Sprint(16 * blockSize)
	Register(env.get)
	s, _ := storage.Of("s3://")
	f, err := s.Open("s3://archives/a")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			got, err := io.ReadAll(io.NewSectionReader(f, int64(part)*16*blockSize, 16*blockSize))
			if err != nil || !bytes.Equal(got, want[part*16*blockSize:][:16*blockSize]) {
				t.Errorf("part %d: %d bytes, %v", part, len(got), err)
			}
		})
	}
	wg.Wait()
	total, damaged := int64(0), 0
	filepath.WalkDir(env["PCP_OBJECT_CACHE"], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		total += int64(len(b))
		switch damaged++; damaged % 3 {
		case 0:
			b = b[:len(b)/2]
		case 1:
			b[len(b)/3] ^= 1
		default:
			b = nil
		}
		return os.WriteFile(path, b, 0o600)
	})
	if total > 18*(blockSize+headSize) || damaged < 8 {
		t.Errorf("the cache has %d bytes in %d blocks", total, damaged)
	}
	Register(env.get)
	requests.Store(0)
	s, _ = storage.Of("s3://")
	if f, err = s.Open("s3://archives/a"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after damage: %d bytes, %v", len(got), err)
	}
	if requests.Load() < 4 {
		t.Error("damaged blocks were used")
	}
}

// TestConfiguration checks the messages for mistakes in the environment.
func TestConfiguration(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "credentials")
	if err := os.WriteFile(file, []byte("# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n[other]\nAWS_ACCESS_KEY_ID=C\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  environment
		want string
	}{
		{environment{"AWS_ENDPOINT_URL": "localhost:9000"}, "AWS_ENDPOINT_URL=localhost:9000 is not"},
		{environment{"PCP_OBJECT_CACHE_SIZE": "much"}, "PCP_OBJECT_CACHE_SIZE=much is not"},
		{environment{"PCP_OBJECT_CACHE_SIZE": "9999999T"}, "is not a number of bytes"},
		{environment{"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none")}, "none: no such file"},
		{environment{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "third"}, `no profile "third"`},
	} {
		c.env["PCP_OBJECT_CACHE"] = "off"
		Register(c.env.get)
		if _, err := storage.Stat("s3://b/x"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.env, err)
		}
	}
	for profile, want := range map[string]string{"default": "A B", "other": "C "} {
		creds, err := credentials(file, profile)
		if got := creds.AccessKeyID + " " + creds.SecretAccessKey; err != nil || got != want {
			t.Errorf("%s: %q, %v", profile, got, err)
		}
	}
	Register(environment{"PCP_OBJECT_CACHE": "off"}.get)
	for _, name := range []string{"s3:///x", "s3://", "s3://a b/x"} {
		if _, err := storage.Stat(name); err == nil || !strings.Contains(err.Error(), "not of the form s3://BUCKET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
