package compressed

import (
	"bytes"
	"io"
	"math/rand"
	"os/exec"
	"testing"
	"testing/iotest"

	"github.com/go-pcp/pcp/archive/internal/compressed/lzwtest"
)

// lzwInputs make codes wider, fill the table, and have codes that begin with the
// previous one.
func lzwInputs() [][]byte {
	rnd := rand.New(rand.NewSource(1))
	random := func(n, of int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Intn(of))
		}
		return b
	}
	return [][]byte{
		{},
		{0},
		[]byte("aaa"), random(600, 256), random(80000, 256), random(50000, 4),
		bytes.Repeat([]byte("a"), 20000), append(random(9000, 3), random(9000, 256)...),
	}
}

// TestLZW expands data that it compressed, which gzip(1) expands to the same.
func TestLZW(t *testing.T) {
	gzip, err := exec.LookPath("gzip")
	if err != nil {
		t.Log("SKIPPED: there is no gzip to compare with")
	}
	for i, want := range lzwInputs() {
		for _, width := range []uint{10, 13, 16} {
			for _, anew := range []int{0, 5, 2000} {
				b := lzwtest.Append(nil, want, width, anew)
				if i == 0 {
					b = b[:3]
				}
				z, err := newLZW(bytes.NewReader(b))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
					t.Errorf("input %d, %d bits, anew after %d: %d bytes, want %d: %v", i, width, anew, len(got), len(want), err)
				}
				if gzip == "" {
					continue
				}
				cmd := exec.Command(gzip, "-dc")
				cmd.Stdin = bytes.NewReader(b)
				if got, err := cmd.Output(); err != nil || !bytes.Equal(got, want) {
					t.Errorf("input %d, %d bits, anew after %d: of gzip %d bytes, want %d: %v", i, width, anew, len(got), len(want), err)
				}
			}
		}
	}
}

func TestLZWDamaged(t *testing.T) {
	for _, b := range []string{
		"", "\x1f", "\x1f\x9d", "\x1f\x8b\x90", "\x1f\x9d\x89", "\x1f\x9d\x91", "\x1f\x9d\xb0",
	} {
		if _, err := newLZW(bytes.NewReader([]byte(b))); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
	for _, b := range []string{
		"\x1f\x9d\x90\x01\x03",     // the first code is 257
		"\x1f\x9d\x90\x61\x06\x06", // the second is 259, which does not exist yet
		"\x1f\x9d\x10\x00\x01",     // the first is 256, which is invalid here
	} {
		z, err := newLZW(bytes.NewReader([]byte(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err == nil {
			t.Errorf("%q is %q", b, got)
		}
	}
}

// FuzzLZW checks that the size of reads makes no difference.
func FuzzLZW(f *testing.F) {
	for _, b := range lzwInputs() {
		f.Add(lzwtest.Append(nil, b[:min(len(b), 3000)], 10, 300))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 20
		read := func(r io.Reader, small bool) ([]byte, error) {
			z, err := newLZW(r)
			if err != nil {
				return nil, err
			}
			var limited io.Reader = io.LimitReader(z, most)
			if small {
				limited = iotest.OneByteReader(limited)
			}
			return io.ReadAll(limited)
		}
		whole, err := read(bytes.NewReader(b), false)
		parts, perr := read(iotest.HalfReader(bytes.NewReader(b)), true)
		if !bytes.Equal(whole, parts) || (err == nil) != (perr == nil) {
			t.Errorf("%d bytes, %v; in parts %d bytes, %v", len(whole), err, len(parts), perr)
		}
	})
}

func BenchmarkLZW(b *testing.B) {
	inputs := lzwInputs()
	in := inputs[5]
	z := lzwtest.Append(nil, in, lzwMaxWidth, 70000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := newLZW(bytes.NewReader(z))
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != int64(len(in)) {
			b.Fatal(n, err)
		}
	}
}
