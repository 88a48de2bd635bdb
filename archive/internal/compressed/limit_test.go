package compressed

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// spooled returns the number of expanded files that this process has open, -1 if
// unknown.
func spooled() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	n := 0
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(to, "/pcp-archive-") {
			n++
		}
	}
	return n
}

// TestExpandBomb opens files of some kilobytes that expand to more than the
// limit: a clear error, and nothing of the expanded bytes is left.
func TestExpandBomb(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	zeros := make([]byte, 1<<20)
	for suffix, compress := range map[string]func(io.Writer) (io.WriteCloser, error){
		".gz": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) },
		".zst": func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
		},
	} {
		path := filepath.Join(dir, "a.0"+suffix)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := compress(f)
		if err != nil {
			t.Fatal(err)
		}
		for range expandFree>>20 + 1 {
			if _, err := w.Write(zeros); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		if n, err := s.ReadAt(b, 8<<20); n != len(b) || err != nil {
			t.Errorf("%s: before the limit: %d bytes, %v", suffix, n, err)
		}
		if n := spooled(); n == 0 {
			t.Errorf("%s: no file that is open is the expanded one, so that this test sees nothing", suffix)
		}
		_, err = s.Size()
		if e, ok := errors.AsType[*LimitError](err); !ok || e.Path != path || e.Limit != expandFree || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%s: size: %v", suffix, err)
		}
		if n, err := s.ReadAt(b, 0); n != 0 || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("%s: behind the limit: %d bytes, %v", suffix, n, err)
		}
		if n := spooled(); n > 0 {
			t.Errorf("%s: %d files are left open", suffix, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(temp); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestExpandLimit reads contents of exactly the limit, and of one byte more;
// repetitive contents must not cause refusal of a file below expandFree.
func TestExpandLimit(t *testing.T) {
	want := bytes.Repeat([]byte("again and again "), spoolLimit/8)
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(want)
	w.Close()
	path := filepath.Join(t.TempDir(), "a.0.gz")
	if err := os.WriteFile(path, z.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if times := len(want) / z.Len(); times < 2*expandDeflate {
		t.Fatalf("the contents are but %d times as long as the file", times)
	}
	for _, limit := range []int64{0, int64(len(want)), int64(len(want)) - 1} {
		src, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s := src.src.(*spool)
		if limit > 0 {
			s.limit.Limit = limit
		}
		got := make([]byte, len(want))
		n, err := s.ReadAt(got, 0)
		size, serr := s.Size()
		if fits := limit != int64(len(want))-1; fits && (err != nil || serr != nil || size != int64(n) || !bytes.Equal(got, want)) ||
			!fits && (n != 0 || !errors.Is(err, syscall.EFBIG) || !errors.Is(serr, syscall.EFBIG)) {
			t.Errorf("limit %d: %d bytes of %d, %v, %v", limit, n, size, err, serr)
		}
		s.Close()
	}
	for size, want := range map[int64]int64{1 << 10: expandFree, 13 << 20: 1300 << 20} {
		f, err := os.Create(filepath.Join(t.TempDir(), "b.0.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if l, err := expandLimit(f, ".gz"); err != nil || l.Limit != want {
			t.Errorf("%d bytes: limit %v, %v, want %d", size, l, err, want)
		}
		f.Close()
	}
}
