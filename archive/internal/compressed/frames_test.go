package compressed

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/zstdframes"
)

// framed writes a file of five frames, and returns its contents and its table.
func framed(t *testing.T, path string) ([]byte, *zstdframes.Table) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	want := make([]byte, 4*zstdframes.PieceSize+1234)
	for i := range want {
		want[i] = byte(rnd.IntN(5)) + byte(i>>16)
	}
	var b bytes.Buffer
	w, err := zstdframes.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(want)
	if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	table, err := zstdframes.ReadTable(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return want, table
}

// TestFrames reads a file in frames in order, backwards, at random, and from several goroutines, which must not
// keep more frames than their limit.
func TestFrames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.0.zst")
	want, _ := framed(t, path)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x, ok := f.src.(*framesFile)
	if !ok {
		t.Fatalf("it is read as a %T", f.src)
	}
	if n, err := f.Size(); err != nil || n != int64(len(want)) {
		t.Errorf("Size() = %d, %v", n, err)
	}
	if err := iotest.TestReader(io.NewSectionReader(f, 100, 5000), want[100:5100]); err != nil {
		t.Error(err)
	}
	read := func(off, n int) {
		b := make([]byte, n)
		k, err := f.ReadAt(b, int64(off))
		end := min(len(want), off+n)
		if (err != nil) != (off+n > len(want)) || err != nil && err != io.EOF || !bytes.Equal(b[:k], want[off:end]) {
			t.Errorf("at %d: %d of %d bytes, %v", off, k, n, err)
		}
	}
	const step = 300 << 10
	for off := 0; off < len(want); off += step {
		read(off, step)
	}
	for off := len(want) - 1; off >= 0; off -= step {
		read(off, step)
	}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(5, seed))
			for range 30 {
				read(rnd.IntN(len(want)), 1+rnd.IntN(2<<20))
			}
		})
	}
	wg.Wait()
	if len(x.held) > framesMost {
		t.Errorf("%d frames are in memory", len(x.held))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("it can be read after Close")
	}
}

// TestDamagedFrame damages a frame: the others can be read, and with OpenDamaged also the start of the damaged one. A file without its
// table is read from its start.
func TestDamagedFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.0.zst")
	want, table := framed(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := table.Frames[1]
	b[bad.Off+bad.Size*3/4] ^= 0x55
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, len(want))
	n, err := f.ReadAt(got, 0)
	if int64(n) != bad.Start || !errors.Is(err, pcp.ErrLogRec) || !bytes.Equal(got[:n], want[:n]) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := f.ReadAt(got[bad.Start+bad.Length:], bad.Start+bad.Length); err != nil {
		t.Errorf("behind the damage: %d bytes, %v", n, err)
	}
	d, err := OpenDamaged(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if n, err := d.Readable(); n != int64(len(want)) || err != nil {
		t.Errorf("Readable() = %d, %v", n, err)
	}
	part := make([]byte, 64<<10)
	if n, err := d.ReadAt(part, bad.Start); n != len(part) || err != nil || !bytes.Equal(part, want[bad.Start:][:n]) {
		t.Errorf("the start of the damaged frame: %d bytes, %v", n, err)
	}
	if n, err := d.ReadAt(part, bad.Start+bad.Length-100); err == nil {
		t.Errorf("its end: %d bytes", n)
	}
	if next := d.NextBlock(bad.Start + 5); next != bad.Start+bad.Length {
		t.Errorf("NextBlock() = %d, want %d", next, bad.Start+bad.Length)
	}
	if err := os.WriteFile(path, b[:bad.Off], 0o600); err != nil {
		t.Fatal(err)
	}
	cut, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	if n, err := cut.ReadAt(part, 1000); n != len(part) || err != nil || !bytes.Equal(part, want[1000:][:n]) {
		t.Errorf("without the table: %d bytes, %v", n, err)
	}
}
