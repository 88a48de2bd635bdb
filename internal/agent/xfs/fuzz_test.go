package xfs

import (
	"bytes"
	"testing"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda/column"
)

type blockParser struct {
	*parser
	block *column.Block
}

// testParser returns the parser of an agent.
func testParser() blockParser {
	b := column.NewBlocks(statMetrics(allStats(), false), column.Layout{})[0]
	return blockParser{newParser(b), b}
}

func FuzzStats(f *testing.F) {
	for kernel := 2; kernel <= 6; kernel++ {
		f.Add([]byte(statsOf(kernel, 9*kernel)))
	}
	f.Add([]byte(oddStats))
	f.Add([]byte("log 0 1\nlog 18446744073709551615 1\nqm\x00 1"))
	p := testParser()
	f.Fuzz(func(t *testing.T, b []byte) {
		row := p.block.Row(0)
		p.parse(b, row)
		p.parseQuota(b, row)
		for i, c := range row {
			if !c.OK {
				t.Errorf("column %d has no value", i)
			}
		}
		// A repeated line has no effect: lines are found at any place.
		once := append([]column.Cell(nil), row...)
		if len(b) == 0 || b[len(b)-1] != '\n' {
			return
		}
		p.parse(append(bytes.Clone(b), b...), row)
		p.parseQuota(b, row)
		for i, c := range row {
			if c != once[i] {
				t.Errorf("column %d is %d, then %d", i, once[i].Bits, c.Bits)
			}
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"", " 1 2", "-1", "+", "\t\v18446744073709551616x", "00018446744073709551615", "--1", "-99999999999999999999999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, ok := ctext.Strtoull(b, 10)
		if !bytes.HasSuffix(b, rest) || ok == (len(rest) == len(b)) || !ok && v != 0 {
			t.Errorf("%q: %d, %q, %t", b, v, rest, ok)
		}
	})
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte("/dev/sda1 / xfs rw 0 0\n"))
	f.Add([]byte("/dev/sda1  /  xfs\x00"))
	f.Add([]byte("   "))
	f.Fuzz(func(t *testing.T, b []byte) {
		for len(b) > 0 {
			var l []byte
			l, b = ctext.CutLine(b, maxLine)
			if device, ok := mountedXFS(l); ok && (!bytes.HasPrefix(device, []byte("/dev")) || bytes.IndexByte(device, ' ') >= 0) {
				t.Errorf("device %q", device)
			}
		}
	})
}
