package columns_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/columns"
)

// mend writes the checksums of the parts of a file that has been changed, as far as they are found, so that
// the decoders see the bytes.
func mend(b []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	const footer = 28
	if len(b) < footer+8 {
		return
	}
	foot := b[len(b)-footer:]
	off, n := binary.LittleEndian.Uint64(foot), binary.LittleEndian.Uint64(foot[8:])
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return
	}
	index := b[off : off+n]
	binary.LittleEndian.PutUint32(foot[16:], crc32.Checksum(index, table))
}

// FuzzFile reads whatever a file of columns may be: nothing may panic, and memory is bounded by the size of the file.
func FuzzFile(f *testing.F) {
	base := filepath.Join(f.TempDir(), "g")
	g := generate(f, base)
	id := g.desc(1, pcp.TypeDouble, pcp.NewInDom(60, 1))
	other := g.desc(2, pcp.TypeU64, pcp.InDomNull)
	for i := range 300 {
		g.r.Reset()
		g.r.Time = start
		g.r.Time.Sec += int64(10 * i)
		g.r.AddSet(id)
		for inst := i / 100; inst < i/100+2; inst++ {
			g.r.Add(pcp.DoubleValue(float64(i*inst) / 10).WithInst(int32(inst)))
		}
		if i%50 == 0 {
			g.r.AddError(other, pcp.ErrAgain)
		} else {
			g.r.AddSet(other)
			g.r.Add(pcp.Uint64Value(uint64(i * i * i % 977)).WithInst(pcp.InNull))
		}
		g.must(g.w.WriteResult(&g.r))
	}
	g.close()
	if err := columns.Make(context.Background(), base, ""); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(columns.Path(base))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		mend(b)
		file, err := columns.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		times, err := file.Times()
		if err != nil {
			return
		}
		for _, m := range file.Marks() {
			_ = times[m]
		}
		for _, id := range []pcp.PMID{id, other} {
			m, err := file.Metric(id)
			if err != nil {
				continue
			}
			n := 0
			for at, run := range m.Records {
				if at != n {
					t.Fatalf("sample %d, want %d", at, n)
				}
				for k := run.From; k < run.To; k++ {
					_ = times[k]
					n++
				}
			}
			if n != m.Len() {
				t.Fatalf("%d records, want %d", n, m.Len())
			}
			for i := range m.Columns {
				read(&m.Columns[i], m.Len())
			}
		}
	})
}

// read reads all values of a column, or up to an error.
func read(c *columns.Column, most int) {
	var r columns.Reader
	r.Reset(c)
	n := 0
	for _, run := range c.Runs {
		if run.From < 0 || run.To > most || run.From >= run.To {
			panic("a run is out of range")
		}
		n += run.To - run.From
	}
	for at := 0; at < n; {
		list, err := r.Chunk(at)
		if err != nil {
			return
		}
		at += len(list)
	}
}

// FuzzColumn reads the chunks of a column, whose bytes have checksums in files.
func FuzzColumn(f *testing.F) {
	f.Add([]byte{3, 1 << 4, 0, 1, 2}, uint8(pcp.TypeU64), uint16(3))
	f.Add([]byte{3, 3<<4 | 2, 0, 3, 2, 4, 6}, uint8(pcp.TypeDouble), uint16(3))
	f.Add([]byte{2, 1, 2, 4, 2, 2, 9, 0}, uint8(pcp.TypeFloat), uint16(2))
	f.Add([]byte{200, 1, 3, 0, 4, 0x28, 0xb5, 0x2f, 0xfd}, uint8(pcp.Type32), uint16(200))
	f.Fuzz(func(t *testing.T, b []byte, typ uint8, n uint16) {
		c := columns.NewColumn(pcp.Type(typ%6), b, int(n)+1)
		read(&c, int(n)+1)
	})
}
