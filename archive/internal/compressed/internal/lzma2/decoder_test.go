package lzma2_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/ulikunitz/xz/lzma"

	"github.com/go-pcp/pcp/archive/internal/compressed/internal/lzma2"
)

// contents returns contents of different kinds.
func contents() map[string][]byte {
	rnd := rand.New(rand.NewChaCha8([32]byte{1}))
	noise := make([]byte, 180_000)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	var text strings.Builder
	for text.Len() < 200_000 {
		fmt.Fprintf(&text, "kernel.percpu.cpu.user %d inst [%d or \"cpu%d\"] value %d\n", rnd.IntN(1000), rnd.IntN(64), rnd.IntN(64), rnd.IntN(1e6))
	}
	// Records as in a volume of an archive: counters that go up.
	var records []byte
	for n := range uint32(800) {
		records = binary.BigEndian.AppendUint32(records, 500)
		for k := range uint32(60) {
			records = binary.BigEndian.AppendUint32(records, k)
			records = binary.BigEndian.AppendUint32(records, n*k*7+rnd.Uint32()%16)
		}
	}
	mixed := bytes.Join([][]byte{[]byte(text.String()[:70_000]), noise[:70_000], make([]byte, 100_000), records[:100_000], noise[60_000:150_000]}, nil)
	m := map[string][]byte{
		"nothing": {},
		"byte":    {'x'},
		"text":    []byte(text.String()),
		"noise":   noise,
		"zeros":   make([]byte, lzma2.MaxChunk+5000),
		"records": records,
		"mixed":   mixed,
		"periods": bytes.Repeat([]byte("abcdefg"), 30_000),
		"64K":     noise[:1<<16],
		"64K+1":   noise[:1<<16+1],
	}
	for i := range 20 {
		m[fmt.Sprintf("short %d", i)] = []byte(text.String()[:i*3+2])
	}
	return m
}

// compress compresses with the library that the tests compare with.
func compress(t testing.TB, b []byte, c lzma.Writer2Config) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := c.NewWriter2(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// xz compresses with the program of that name; it returns nil if there is none.
func xz(t testing.TB, b []byte, options string) []byte {
	t.Helper()
	path, err := exec.LookPath("xz")
	if err != nil {
		return nil
	}
	cmd := exec.Command(path, "-c", "--format=raw", "--lzma2="+options)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("xz --lzma2=%s: %v", options, err)
	}
	return out
}

// decode decodes n bytes, in steps.
func decode(d *lzma2.Decoder, z []byte, dict, n, step int) ([]byte, error) {
	d.Reset(bytes.NewReader(z), dict)
	buf := make([]byte, n)
	for got := 0; got < n; {
		more, err := d.Decode(buf, got, got+step)
		if err != nil {
			return buf[:more], err
		}
		if more <= got {
			return buf[:more], fmt.Errorf("%d bytes after %d", more, got)
		}
		got = more
	}
	return buf, d.End()
}

func check(t *testing.T, name string, z, want []byte, dict int) {
	t.Helper()
	var d lzma2.Decoder
	for _, step := range []int{len(want) + 1, 1 << 16, 777} {
		if got, err := decode(&d, z, dict, len(want), step); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s in steps of %d: %d bytes, %v; want %d", name, step, len(got), err, len(want))
		}
	}
	if _, err := decode(&d, z, dict, len(want)+1, len(want)+1); err == nil {
		t.Errorf("%s: more than there is", name)
	}
	if len(want) > 0 {
		if _, err := decode(&d, z, dict, len(want)-1, len(want)); err == nil {
			t.Errorf("%s: less than there is", name)
		}
	}
	if _, err := decode(&d, append(bytes.Clone(z), 0), dict, len(want), len(want)+1); err == nil {
		t.Errorf("%s: a byte after the end is no error", name)
	}
}

func TestDecode(t *testing.T) {
	for name, b := range contents() {
		check(t, name, compress(t, b, lzma.Writer2Config{DictCap: 1 << 16}), b, 1<<16)
	}
	b := contents()["mixed"]
	for _, p := range []lzma.Properties{{LC: 0, LP: 0, PB: 0}, {LC: 4, LP: 0, PB: 4}, {LC: 0, LP: 4, PB: 1}, {LC: 2, LP: 2, PB: 3}, {LC: 3, LP: 1, PB: 2}} {
		check(t, fmt.Sprint(p), compress(t, b, lzma.Writer2Config{Properties: &p, DictCap: 1 << 16}), b, 1<<16)
	}
}

func TestDecodeProgram(t *testing.T) {
	if xz(t, nil, "preset=0") == nil {
		t.Skip("SKIPPED: the program xz is not installed")
	}
	all := contents()
	for preset := range 10 {
		for _, name := range []string{"text", "records", "mixed"} {
			b := all[name][:60_000]
			for _, extreme := range []string{"", "e"} {
				options := fmt.Sprintf("preset=%d%s,dict=1MiB", preset, extreme)
				check(t, name+" "+options, xz(t, b, options), b, 1<<20)
			}
		}
	}
	for name, b := range all {
		if strings.HasPrefix(name, "short") && name[6] > '3' {
			continue
		}
		check(t, name, xz(t, b, "preset=0"), b, 8<<20)
		check(t, name, xz(t, b, "preset=6,dict=4KiB,lc=0,lp=4,pb=0"), b, 4<<10)
	}
}

// TestWindow decodes into a buffer and keeps only the bytes that the dictionary
// needs.
func TestWindow(t *testing.T) {
	const dict = 1 << 16
	for name, want := range contents() {
		z := compress(t, want, lzma.Writer2Config{DictCap: dict})
		var d lzma2.Decoder
		d.Reset(bytes.NewReader(z), dict)
		var all []byte
		buf, n := make([]byte, dict+lzma2.MaxChunk), 0
		for {
			room, err := d.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if keep := min(n, dict); n+room > len(buf) || n > 2*dict {
				n = copy(buf, buf[n-keep:n])
			}
			got, err := d.Decode(buf, n, n+min(room, 1000))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, buf[n:got]...)
			n = got
		}
		if !bytes.Equal(all, want) {
			t.Errorf("%s differs", name)
		}
	}
}

// TestChunks has chunks made by hand.
func TestChunks(t *testing.T) {
	f := func(z string, want string) {
		t.Helper()
		var d lzma2.Decoder
		got, err := decode(&d, []byte(z), 4096, max(len(want), 3), 99)
		if want == "" && err == nil {
			t.Errorf("%q: no error", z)
		} else if want != "" && (err != nil || string(got) != want) {
			t.Errorf("%q: %q, %v; want %q", z, got, err, want)
		}
	}
	f("\x01\x00\x02abc\x00", "abc")
	f("\x01\x00\x02abc\x02\x00\x00d\x00", "abcd")
	f("\x01\x00\x02abc\x01\x00\x00d\x00", "abcd")
	f("", "")
	f("\x00", "")
	f("\x01\x00\x02abc", "")                     // no end
	f("\x01\x00\x02ab", "")                      // cut
	f("\x01\x00\x03abcd\x00", "")                // more than three
	f("\x02\x00\x02abc\x00", "")                 // no dictionary to continue with
	f("\x03\x00\x02abc\x00", "")                 // no such chunk
	f("\x7f\x00\x02abc\x00", "")                 // neither
	f("\xc0\x00\x02\x00\x05\x5dabcdef\x00", "")  // no dictionary
	f("\xe0\x00\x02\x00\x05\xffabcdef\x00", "")  // bad properties
	f("\xe0\x00\x02\x00\x05\x30abcdef\x00", "")  // lc+lp above 4
	f("\xe0\x00\x02\x00\x03\x5d\x00bcd\x00", "") // too short for a range coder
	f("\xe0\x00\x02\x00\x05\x5dabcdef\x00", "")  // the first byte is not 0
	f("\xe0\x00\x02\x00\x05\x5d\x00bcdef\x00", "")
	f("\x01\x00\x00a\x80\x00\x02\x00\x05\x00bcdef\x00", "") // no properties yet
	f("\x01\x00\x00a\xa0\x00\x02\x00\x05\x00bcdef\x00", "") // neither
}

// accepted decodes input that may be bad, into room for n bytes.
func accepted(z []byte, dict, n int) ([]byte, bool) {
	var d lzma2.Decoder
	got, err := decode(&d, z, dict, n, n)
	return got, err == nil
}

// reference does the same with the other library.
func reference(z []byte, dict, n int) ([]byte, bool) {
	r, err := lzma.Reader2Config{DictCap: max(dict, lzma.MinDictCap)}.NewReader2(bytes.NewReader(z))
	if err != nil {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(r, int64(n)+1))
	return b, err == nil && len(b) == n
}

// TestDamaged cuts and changes small inputs everywhere. Inputs that are accepted
// nevertheless must give the same result as the other library.
func TestDamaged(t *testing.T) {
	all := contents()
	for _, b := range [][]byte{all["text"][:500], all["mixed"][69_800:70_300], all["records"][:600], all["zeros"][:2000]} {
		z := compress(t, b, lzma.Writer2Config{DictCap: 1 << 12})
		for n := range z {
			if _, ok := accepted(z[:n], 1<<12, len(b)); ok {
				t.Errorf("%d of %d bytes are accepted", n, len(z))
			}
		}
		for i := range 8 * len(z) {
			bad := bytes.Clone(z)
			bad[i/8] ^= 1 << (i % 8)
			for _, n := range []int{len(b), len(b) / 2} {
				got, ok := accepted(bad, 1<<12, n)
				if want, wok := reference(bad, 1<<12, n); ok && wok && !bytes.Equal(got, want) {
					t.Errorf("bit %d changed: %q, want %q", i, got, want)
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	all := contents()
	for _, b := range [][]byte{all["text"][:300], all["mixed"][69_900:70_200], all["records"][:400], all["zeros"][:2000], {}, {'a'}} {
		f.Add(compress(f, b, lzma.Writer2Config{}), uint16(len(b)), uint16(4096))
		f.Add(compress(f, b, lzma.Writer2Config{Properties: &lzma.Properties{LC: 1, LP: 3, PB: 1}}), uint16(len(b)), uint16(100))
	}
	f.Add([]byte("\x01\x00\x02abc\x02\x00\x00d\x00"), uint16(4), uint16(1))
	f.Fuzz(func(t *testing.T, z []byte, n, dict uint16) {
		var d lzma2.Decoder
		whole, err := decode(&d, z, int(dict)+1, int(n), int(n))
		steps, serr := decode(&d, z, int(dict)+1, int(n), 7)
		if (err == nil) != (serr == nil) || err == nil && !bytes.Equal(whole, steps) {
			t.Fatalf("%d bytes, %v; in steps %d bytes, %v", len(whole), err, len(steps), serr)
		}
		if err != nil {
			return
		}
		if want, ok := reference(z, int(dict)+1, int(n)); ok && !bytes.Equal(whole, want) {
			t.Fatalf("%q, want %q", whole, want)
		}
	})
}

func TestAllocs(t *testing.T) {
	b := contents()["records"]
	z := compress(t, b, lzma.Writer2Config{})
	buf := make([]byte, len(b))
	var d lzma2.Decoder
	r := bytes.NewReader(z)
	if n := testing.AllocsPerRun(5, func() {
		r.Reset(z)
		d.Reset(r, 8<<20)
		if _, err := d.Decode(buf, 0, len(buf)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkDecode compares with the other library, and with the program xz,
// whose start is part of its time.
func BenchmarkDecode(b *testing.B) {
	all := contents()
	data := bytes.Repeat(slicesOf(all["records"]), 4)
	z := xz(b, data, "preset=0")
	if z == nil {
		z = compress(b, data, lzma.Writer2Config{})
	}
	b.Run("this", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		buf := make([]byte, len(data))
		var d lzma2.Decoder
		for b.Loop() {
			d.Reset(bytes.NewReader(z), 8<<20)
			if _, err := d.Decode(buf, 0, len(buf)); err != nil {
				b.Fatal(err)
			}
		}
		if !bytes.Equal(buf, data) {
			b.Fatal("differs")
		}
	})
	b.Run("ulikunitz", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		buf := make([]byte, len(data))
		for b.Loop() {
			r, err := lzma.Reader2Config{}.NewReader2(bytes.NewReader(z))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(r, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("xz", func(b *testing.B) {
		path, err := exec.LookPath("xz")
		if err != nil {
			b.Skip(err)
		}
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			cmd := exec.Command(path, "-dc", "--format=raw", "--lzma2=preset=0")
			cmd.Stdin = bytes.NewReader(z)
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// slicesOf spreads the counters of records so that they do not compress too
// well.
func slicesOf(records []byte) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	b := bytes.Clone(records)
	for i := 0; i < len(b); i += 24 {
		b[i] = byte(rnd.Uint32())
	}
	return b
}
