package logsummary

import (
	"bufio"
	"encoding/binary"
	"io"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/valueset"
	"github.com/go-pcp/pcp/pcptime"
)

// sample encodes a record of version 2 with one set of two counters in blocks
// and one in situ.
func sample(at uint32) []byte {
	words := []uint32{
		at, 0, 2,
		29<<22 | 1, 2, uint32(pcp.ValDPtr), 1, 0, 2, 0, // words 4 and 6 of the set are offsets
		29<<22 | 2, 1, uint32(pcp.ValInSitu), 0xffffffff, at,
	}
	base := valueset.Word(4 * len(words))
	words[7], words[9] = base, base+3
	for i := range uint32(2) {
		words = append(words, uint32(pcp.TypeU64)<<24|12, 0, at*i)
	}
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// FuzzTake gives records to the scanner, which must not panic on valid ones.
func FuzzTake(f *testing.F) {
	f.Add(sample(5), sample(6))
	f.Add([]byte{}, sample(1))
	f.Add(sample(7)[:12], sample(8)[:60])
	f.Fuzz(func(t *testing.T, one, two []byte) {
		desc := func(id pcp.PMID, typ pcp.Type, indom pcp.InDom) *metric {
			return &metric{desc: pcp.Desc{PMID: id, Type: typ, InDom: indom, Sem: pcp.SemCounter}, known: true, counter: true}
		}
		tl := &tool{
			env: &cli.Env{Stdout: io.Discard, Stderr: io.Discard}, out: bufio.NewWriter(io.Discard),
			flags: flags{bins: 3}, metrics: map[pcp.PMID]*metric{
				29<<22 | 1: desc(29<<22|1, pcp.TypeU64, 29<<22|2),
				29<<22 | 2: desc(29<<22|2, pcp.TypeU32, pcp.InDomNull),
			},
		}
		tl.meta = new(archive.Meta)
		s := &scanner{t: tl, inline: true}
		s.begin()
		var check archive.Checker
		for now, body := range [][]byte{one, two, one, one, one, two, two, one} {
			rec := archive.Record{Body: body, Version: archive.Version2}
			if check.Record(&rec) != nil {
				continue
			}
			rec.Time = pcp.Timestamp{Sec: int64(now)}
			s.take(&rec)
			s.flush()
		}
	})
}

// TestRecord checks that the seed of the fuzz target is as intended.
func TestRecord(t *testing.T) {
	var res pcp.Result
	if err := archive.DecodeResult(&res, sample(9), archive.Version2); err != nil {
		t.Fatal(err)
	}
	if len(res.Sets) != 2 || len(res.Sets[0].Values) != 2 || res.Sets[0].Values[1].Uint64() != 9 {
		t.Errorf("decoded as %v", res.Sets)
	}
}

// TestAllocs checks that the number of allocations of a scan does not grow with the
// archive.
func TestAllocs(t *testing.T) {
	twin.Archives(t, 1)
	set, err := replay.Open(twin.SuiteRoot+"/archives/20041125", replay.Options{})
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	defer set.Close()
	tl := &tool{
		env: &cli.Env{Stdout: io.Discard, Stderr: io.Discard}, out: bufio.NewWriter(io.Discard),
		meta: set.Meta(), metrics: make(map[pcp.PMID]*metric), base: set.Label().Start,
		window: pcptime.Window{Start: set.Label().Start, Finish: pcp.Timestamp{Sec: pcp.MaxSec}},
	}
	scan := func() {
		if err := tl.scan(set, false); err != nil {
			t.Fatal(err)
		}
	}
	scan()
	if n := testing.AllocsPerRun(5, scan); n > 200 {
		t.Errorf("%v allocations for an archive whose metrics are known", n)
	}
}
