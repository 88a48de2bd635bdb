package zstdframes_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/go-pcp/pcp/internal/zstdframes"
)

// compress returns contents of n bytes, and compressed.
func compress(t testing.TB, n int) (want, file []byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	want = make([]byte, n)
	for i := range want {
		want[i] = byte(rnd.IntN(7))
	}
	var b bytes.Buffer
	w, err := zstdframes.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	for rest := want; len(rest) > 0; {
		k := min(len(rest), 1+rnd.IntN(1<<20))
		if _, err := w.Write(rest[:k]); err != nil {
			t.Fatal(err)
		}
		rest = rest[k:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Close() == nil {
		t.Error("a second Close succeeds")
	}
	return want, b.Bytes()
}

// TestWriter compresses contents of several lengths, and reads them as a whole and by their frames.
func TestWriter(t *testing.T) {
	for _, n := range []int{0, 1, zstdframes.PieceSize, zstdframes.PieceSize + 1, 3*zstdframes.PieceSize - 5} {
		want, file := compress(t, n)
		d, err := zstd.NewReader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(d)
		defer d.Close()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: read as a whole, they are %d, %v", n, len(got), err)
		}
		table, err := zstdframes.ReadTable(bytes.NewReader(file), int64(len(file)))
		if err != nil || table.Total != int64(n) || len(table.Frames) != max(1, (n+zstdframes.PieceSize-1)/zstdframes.PieceSize) {
			t.Fatalf("%d bytes: %+v, %v", n, table, err)
		}
		for i, f := range table.Frames {
			got, err := d.DecodeAll(file[f.Off:f.Off+f.Size], nil)
			if err != nil || !bytes.Equal(got, want[f.Start:f.Start+f.Length]) {
				t.Errorf("%d bytes: frame %d: %d bytes, %v", n, i, len(got), err)
			}
			if f.Length > 0 && (table.Find(f.Start) != i || table.Find(f.Start+f.Length-1) != i) {
				t.Errorf("frame %d is not found", i)
			}
		}
		if table.Find(-1) != -1 || table.Find(int64(n)) != -1 {
			t.Error("there is a frame outside of the contents")
		}
	}
}

// A limited writer fails after some bytes.
type limited struct{ left int }

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

// TestWriteFails checks that an error of the other writer is returned, at the latest by Close.
func TestWriteFails(t *testing.T) {
	for _, room := range []int{0, 100} {
		w, err := zstdframes.NewWriter(&limited{room})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Write(make([]byte, zstdframes.PieceSize))
		if cerr := w.Close(); cerr == nil {
			t.Errorf("with room for %d bytes: %v, %v", room, err, cerr)
		}
	}
}

// TestNoTable checks that a table that does not fit its file is not used.
func TestNoTable(t *testing.T) {
	_, file := compress(t, zstdframes.PieceSize+10)
	change := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(file)) }
	end := len(file)
	for name, b := range map[string][]byte{
		"empty":             nil,
		"short":             file[:10],
		"cut":               file[:end-1],
		"longer":            append([]byte{0}, file...),
		"more frames":       change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[end-9:], 1<<31); return b }),
		"fewer frames":      change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[end-9:], 1); return b }),
		"reserved":          change(func(b []byte) []byte { b[end-5] = 4; return b }),
		"with checksums":    change(func(b []byte) []byte { b[end-5] = 0x80; return b }),
		"another magic":     change(func(b []byte) []byte { b[end-1]++; return b }),
		"a frame too large": change(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[end-13:], zstdframes.Most+1); return b }),
	} {
		if table, err := zstdframes.ReadTable(bytes.NewReader(b), int64(len(b))); err != zstdframes.ErrNoTable {
			t.Errorf("%s: %v, %v", name, table, err)
		}
	}
	if _, err := zstdframes.ReadTable(bytes.NewReader(file[:20]), int64(end)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is shorter than its size: %v", err)
	}
}

// FuzzReadTable reads tables at the end of arbitrary bytes.
func FuzzReadTable(f *testing.F) {
	_, file := compress(f, 1000)
	f.Add(file)
	f.Add(file[len(file)-33:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := zstdframes.ReadTable(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		off, start := int64(0), int64(0)
		for i, fr := range table.Frames {
			if fr.Off != off || fr.Start != start || fr.Size < 0 || fr.Length < 0 || fr.Length > zstdframes.Most {
				t.Fatalf("frame %d: %+v", i, fr)
			}
			off, start = off+fr.Size, start+fr.Length
		}
		if off > int64(len(b)) || start != table.Total {
			t.Fatalf("frames of %d bytes in %d, contents of %d and not %d", off, len(b), start, table.Total)
		}
	})
}
