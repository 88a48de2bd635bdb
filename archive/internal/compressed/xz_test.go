package compressed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/ulikunitz/xz"

	"github.com/go-pcp/pcp"
)

// xzContents returns n bytes, some of which compress well.
func xzContents(n int) []byte {
	rnd := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, 0, n+100)
	for len(b) < n {
		if rnd.IntN(50) == 0 {
			for range 64 {
				b = append(b, byte(rnd.Uint32()))
			}
		}
		b = fmt.Appendf(b, "disk.dev.read %d %d;", rnd.IntN(100), len(b)/1000)
	}
	return b[:n]
}

// xzStreams compresses each part as a separate stream; block is the size of its
// blocks, 0 for one.
func xzStreams(t testing.TB, block int, check byte, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, part := range parts {
		w, err := xz.WriterConfig{BlockSize: int64(block), CheckSum: check, NoCheckSum: check == xz.None, DictCap: 1 << 16}.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func openXZ(t testing.TB, z []byte) (*xzFile, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "z.xz")
	if err := os.WriteFile(path, z, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	index, err := readXZIndex(f, int64(len(z)))
	if err != nil {
		return nil, err
	}
	return newXZ(f, index, new(Memory)), nil
}

// readXZ reads in steps, in a direction.
func readXZ(r io.ReaderAt, size, step int, back bool) ([]byte, error) {
	b := make([]byte, size)
	for n := 0; n < size; n += step {
		at, k := n, min(step, size-n)
		if back {
			at = size - n - k
		}
		if got, err := r.ReadAt(b[at:at+k], int64(at)); got != k || err != nil && err != io.EOF {
			return nil, fmt.Errorf("%d of %d bytes at %d: %w", got, k, at, err)
		}
	}
	return b, nil
}

// TestXZ reads files of several streams, blocks and checks in every order.
func TestXZ(t *testing.T) {
	want := xzContents(4 << 20)
	a, b := want[:1<<20], want[1<<20:]
	for block, check := range map[int]byte{300_000: xz.CRC64, 1 << 20: xz.CRC32, 2 << 20: xz.None, 8 << 20: xz.SHA256} {
		z := xzStreams(t, block, check, a, nil, b)
		for _, step := range []int{512 << 10, 9999} {
			for _, back := range []bool{false, true} {
				x, err := openXZ(t, z)
				if err != nil {
					t.Fatal(err)
				}
				got, err := readXZ(x, len(want), step, back)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("check %d, blocks of %d, steps of %d, back %v: differs, %v", check, block, step, back, err)
				}
				if len(x.held) > x.most {
					t.Errorf("%d blocks in memory", len(x.held))
				}
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		x, err := openXZ(t, z)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(&xzStream{xzIndex: x.xzIndex})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("check %d, blocks of %d, as a stream: differs, %v", check, block, err)
		}
		x.Close()
	}
}

// TestXZStreamMemory checks that a stream has a buffer for the dictionary, not
// for the block.
func TestXZStreamMemory(t *testing.T) {
	want := xzContents(8 << 20)
	x, err := openXZ(t, xzStreams(t, 0, xz.CRC64, want))
	if err != nil {
		t.Fatal(err)
	}
	s := &xzStream{xzIndex: x.xzIndex}
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatal("differs", err)
	}
	if len(s.buf) > 5<<20 {
		t.Errorf("buffer of %d bytes", len(s.buf))
	}
}

// TestXZRandom runs several readers at the same time, in order and not.
func TestXZRandom(t *testing.T) {
	want := xzContents(4 << 20)
	x, err := openXZ(t, xzStreams(t, 500_000, xz.CRC32, want))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			b := make([]byte, 400_000)
			for range 30 {
				off := rnd.Int64N(int64(len(want)) + 1000)
				for range rnd.IntN(6) {
					k := rnd.IntN(len(b))
					n, err := x.ReadAt(b[:k], off)
					if exp := want[min(off, int64(len(want))):min(off+int64(k), int64(len(want)))]; !bytes.Equal(b[:n], exp) || (err == nil) != (n == k) {
						t.Errorf("%d bytes at %d: %d, %v", k, off, n, err)
						return
					}
					off += int64(n)
				}
			}
		})
	}
	wg.Wait()
	// Close while blocks are decoded ahead.
	if _, err := readXZ(x, 3<<20, 512<<10, false); err != nil {
		t.Error(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := x.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("reads after Close")
	}
}

// TestXZLazy checks that the start of a block costs little.
func TestXZLazy(t *testing.T) {
	x, err := openXZ(t, xzStreams(t, 0, xz.CRC64, xzContents(4<<20)))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.ReadAt(make([]byte, 100), 0); err != nil {
		t.Fatal(err)
	}
	if n := len(x.held[0].data); n > 2*xzStep {
		t.Errorf("%d bytes decoded", n)
	}
}

// TestXZTrim reads to the end twice: dropped blocks are decoded again, and then
// kept.
func TestXZTrim(t *testing.T) {
	want := xzContents(3 << 20)
	x, err := openXZ(t, xzStreams(t, 1<<20, xz.CRC64, want))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for _, held := range []int{0, 1} {
		if got, err := readXZ(x, len(want), 512<<10, false); err != nil || !bytes.Equal(got, want) {
			t.Fatal("differs", err)
		}
		if len(x.held) != held {
			t.Errorf("%d blocks in memory, want %d", len(x.held), held)
		}
		if _, err := x.ReadAt(make([]byte, 10), int64(len(want)-10)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestXZDamaged changes every byte of a small file: accepted bytes must be the
// original ones.
func TestXZDamaged(t *testing.T) {
	want := xzContents(3000)
	z := xzStreams(t, 1000, xz.CRC32, want)
	try := func(z []byte) (good bool) {
		index, err := readXZIndex(bytes.NewReader(z), int64(len(z)))
		if err == nil {
			x := newXZ(nil, index, new(Memory))
			var b, s []byte
			b, err = readXZ(x, int(min(x.total, 1<<20)), 100, false)
			s, serr := io.ReadAll(io.LimitReader(&xzStream{xzIndex: index}, 1<<20))
			if (err == nil) != (serr == nil) {
				t.Errorf("by block: %v; as a stream: %v", err, serr)
			}
			if err == nil && (!bytes.Equal(b, s) || !bytes.HasSuffix(want, b)) {
				t.Errorf("%q, want %q", b, want)
			}
		}
		if err != nil && !errors.Is(err, pcp.ErrLogRec) && !errors.Is(err, pcp.ErrNYI) {
			t.Errorf("%v carries no code", err)
		}
		return err == nil
	}
	if !try(z) {
		t.Fatal("not even the whole file")
	}
	for n := range z {
		if try(z[:n]) && n > 0 {
			t.Errorf("%d of %d bytes are accepted", n, len(z))
		}
	}
	for i := range z {
		for _, bits := range []byte{0x01, 0x80, 0x5a} {
			bad := bytes.Clone(z)
			bad[i] ^= bits
			try(bad)
		}
	}
}

func FuzzXZ(f *testing.F) {
	want := xzContents(700)
	f.Add(xzStreams(f, 300, xz.CRC64, want))
	f.Add(xzStreams(f, 0, xz.SHA256, want, nil, want[:10]))
	f.Add(xzStreams(f, 0, xz.None, want))
	f.Fuzz(func(t *testing.T, z []byte) {
		index, err := readXZIndex(bytes.NewReader(z), int64(len(z)))
		if err != nil || index.largest() > 1<<20 || index.total > 4<<20 {
			return
		}
		b, err := readXZ(newXZ(nil, index, new(Memory)), int(index.total), 1000, false)
		s, serr := io.ReadAll(&xzStream{xzIndex: index})
		if (err == nil) != (serr == nil) || err == nil && !bytes.Equal(b, s) {
			t.Fatalf("by block %d bytes, %v; as a stream %d, %v", len(b), err, len(s), serr)
		}
	})
}

// TestReadAhead closes spools that are expanded ahead at any moment, and checks
// that errors appear at their place.
func TestReadAhead(t *testing.T) {
	want := xzContents(6 << 20)
	for _, n := range []int{0, 100, 1<<20 + 1, 3 << 20, 6 << 20} {
		broken := errors.New("broken")
		r := io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken))
		stopped := 0
		s := &spool{r: r, in: io.NopCloser(r), total: -1, stop: func() { stopped++ }}
		if got, err := readXZ(s, n, 300_000, false); err != nil || !bytes.Equal(got, want[:n]) {
			t.Errorf("%d bytes: differs, %v", n, err)
		}
		if n == len(want) {
			if k, err := s.ReadAt(make([]byte, 10), int64(n-5)); k != 5 || !errors.Is(err, broken) {
				t.Errorf("at the end: %d bytes, %v", k, err)
			}
		}
		if err := s.Close(); err != nil || stopped != 1 {
			t.Errorf("after %d bytes: %v, stopped %d times", n, err, stopped)
		}
	}
}

// BenchmarkXZ reads a file of two blocks in order; MB are of the contents.
func BenchmarkXZ(b *testing.B) {
	want := xzContents(16 << 20)
	z := xzStreams(b, 8<<20, xz.CRC64, want)
	index, err := readXZIndex(bytes.NewReader(z), int64(len(z)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(want)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readXZ(newXZ(nil, index, new(Memory)), len(want), 512<<10, false); err != nil {
			b.Fatal(err)
		}
	}
}
