package archive_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/internal/compressed/lzwtest"
)

// many returns an archive whose volume is much larger than the read size, and
// compresses well.
func many(version int, records uint32) *maker {
	m := newMaker(version)
	m.desc(pcp.Desc{PMID: load, Type: pcp.TypeU32, InDom: dom, Sem: pcp.SemInstant}, "load")
	for i := range records {
		if i%1000 == 0 {
			m.entry(1000 + i)
		}
		m.result(1000+i, i)
	}
	return m
}

// compressors write the format of the suffix; those that are programs are left
// out if they are not installed.
var compressors = map[string]func(t *testing.T, b []byte) []byte{
	".gz": func(t *testing.T, b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		w.Write(b)
		w.Close()
		return out.Bytes()
	},
	".zst": func(t *testing.T, b []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	},
	".Z": func(_ *testing.T, b []byte) []byte {
		return lzwtest.Append(nil, b, 14, 100000)
	},
	".bz2":  program("bzip2", "-c"),
	".lzma": program("xz", "-c", "--format=lzma"),
	".xz":   program("xz", "-c"),
	".xz ":  program("xz", "-c", "--block-size=70000"),                    // the blank is not part of it
	".xz  ": program("xz", "-c", "--block-size=8192", "--check=sha256"),   // nor are these
	".xz c": program("xz", "-c", "--block-size=1000000", "--check=crc32"), // nor the c
}

func program(name string, args ...string) func(*testing.T, []byte) []byte {
	return func(t *testing.T, b []byte) []byte {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil
		}
		cmd := exec.Command(path, args...)
		cmd.Stdin = bytes.NewReader(b)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out
	}
}

// readAll returns the times of all records and the bytes of all values.
func readAll(t *testing.T, base string, dir archive.Direction) (times []int64, sum uint64) {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	from := a.Label().Start
	if dir == archive.Backward {
		if from, err = a.End(); err != nil {
			t.Fatal(err)
		}
	}
	for res, err := range a.Records(from, dir) {
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, res.Time.Sec)
		sum += res.Sets[0].Values[1].Bits()
	}
	return times, sum
}

// TestCompressed reads the same archive as each kind of compressed files.
func TestCompressed(t *testing.T) {
	m := many(archive.Version3, 30000)
	plain := m.write(t)
	times, sum := readAll(t, plain, archive.Forward)
	if len(times) != 30000 {
		t.Fatalf("%d records", len(times))
	}
	for kind, compress := range compressors {
		suffix, _, _ := bytes.Cut([]byte(kind), []byte(" "))
		base := filepath.Join(t.TempDir(), "a")
		for part, b := range map[string][]byte{".meta": m.meta, ".0": m.data, ".index": m.index} {
			z := compress(t, b)
			if z == nil {
				t.Logf("SKIPPED: no program for %s", suffix)
				break
			}
			if err := os.WriteFile(base+part+string(suffix), z, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(base + ".meta" + string(suffix)); err != nil {
			continue
		}
		if got, s := readAll(t, base, archive.Forward); !slices.Equal(got, times) || s != sum {
			t.Errorf("%q: %d records with sum %d, want %d with %d", kind, len(got), s, len(times), sum)
		}
		got, s := readAll(t, base, archive.Backward)
		slices.Reverse(got)
		if !slices.Equal(got, times) || s != sum {
			t.Errorf("%q backwards: %d records with sum %d, want %d with %d", kind, len(got), s, len(times), sum)
		}
		damageCompressed(t, base+".0"+string(suffix), base)
	}
}

// damageCompressed cuts and damages a compressed volume: readers must return
// errors and not panic.
func damageCompressed(t *testing.T, path, base string) {
	t.Helper()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		bad := bytes.Clone(good)
		if at := len(good) * i / 24; i%2 == 0 {
			bad = bad[:at]
		} else {
			bad[at] ^= 0x55
		}
		os.WriteFile(path, bad, 0o666)
		a, err := archive.Open(base)
		if err != nil {
			if pcp.Code(err) == 0 {
				t.Errorf("%s: %v carries no code", path, err)
			}
			continue
		}
		for _, err := range a.Records(a.Label().Start, archive.Forward) {
			if err != nil && pcp.Code(err) == 0 {
				t.Errorf("%s: %v carries no code", path, err)
			}
		}
		a.Close()
	}
}

// TestAllocs checks that reading records does not allocate.
func TestAllocs(t *testing.T) {
	m := many(archive.Version3, 5000)
	v, _, err := archive.NewVolumeReader(bytes.NewReader(m.data), int64(len(m.data)))
	if err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	for range 10 {
		if err := v.Next(&res); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(1000, func() {
		if err := v.Next(&res); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
}

func BenchmarkVolume(b *testing.B) {
	m := many(archive.Version3, 10000)
	b.SetBytes(int64(len(m.data)))
	b.ReportAllocs()
	var res pcp.Result
	for b.Loop() {
		v, _, err := archive.NewVolumeReader(bytes.NewReader(m.data), int64(len(m.data)))
		if err != nil {
			b.Fatal(err)
		}
		for {
			if err := v.Next(&res); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
