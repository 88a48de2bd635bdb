package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// rawResult is a result with values of each form.
func rawResult(highRes bool) *Result {
	p := &Result{HighRes: highRes}
	p.Time = pcp.Timestamp{Sec: 1_700_000_000, Nsec: 123_000}
	p.AddSet(pcp.NewPMID(60, 1, 2))
	for i := range int32(3) {
		p.Add(pcp.Uint32Value(uint32(i) * 5).WithInst(i))
	}
	p.AddError(pcp.NewPMID(60, 1, 3), pcp.ErrPMID)
	p.AddSet(pcp.NewPMID(60, 1, 4))
	for i := range int32(4) {
		p.Add(pcp.Uint64Value(uint64(i) << 40).WithInst(i))
	}
	p.AddSet(pcp.NewPMID(60, 1, 5))
	for i, s := range []string{"", "a", "ab", "abc", "abcd"} {
		p.Add(pcp.StringValue(s).WithInst(int32(i)))
	}
	p.AddSet(pcp.NewPMID(60, 1, 6))
	p.Add(pcp.BytesValue(pcp.TypeAggregate, []byte{1, 2, 3}).WithInst(pcp.InNull))
	return p
}

func idsOf(res *pcp.Result) (ids []pcp.PMID) {
	for i := range res.Sets {
		ids = append(ids, res.Sets[i].PMID)
	}
	return ids
}

// TestRawResult checks that the sets behind heads of other lengths decode as from the PDU.
func TestRawResult(t *testing.T) {
	for _, highRes := range []bool{false, true} {
		p := rawResult(highRes)
		body := p.appendBody(nil)
		var raw RawResult
		if !raw.Take(body, highRes, idsOf(&p.Result)) || raw.Time != p.Time || raw.Sets != len(p.Sets) {
			t.Fatalf("Take: %+v", raw)
		}
		for _, head := range []int{12, 16, 20, 64} {
			b := raw.Append(make([]byte, head), head)
			if len(b) != head+raw.Len() {
				t.Errorf("Append appends %d bytes, not %d", len(b)-head, raw.Len())
			}
			var res pcp.Result
			if err := valueset.Decode(&res, b, head, raw.Sets, valueset.PDU); err != nil {
				t.Fatal(err)
			}
			again := Result{HighRes: highRes, Result: res}
			again.Time = p.Time
			if got := again.appendBody(nil); !bytes.Equal(got, body) {
				t.Errorf("behind %d bytes:\n% x, want\n% x", head, got, body)
			}
		}
		if got := p.appendBody(nil); !bytes.Equal(got, body) {
			t.Error("Append changes the PDU")
		}
	}
}

// TestRawResultRefuses checks that bodies that would be encoded in another form are
// refused.
func TestRawResultRefuses(t *testing.T) {
	p := rawResult(true)
	ids := idsOf(&p.Result)
	body := p.appendBody(nil)
	f := func(what string, change func(b []byte) []byte) {
		t.Helper()
		b := change(bytes.Clone(body))
		if raw := (RawResult{Sets: 7}); raw.Take(b, true, ids) || raw.Sets != 0 {
			t.Errorf("%s: taken", what)
		}
	}
	put := func(at int, w uint32) func(b []byte) []byte {
		return func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[at:], w)
			return b
		}
	}
	f("other count", put(0, uint32(len(ids)-1)))
	f("count too large", put(0, 1<<30))
	f("other metric", put(highResHead, 5))
	f("values past the end", put(highResHead+4, 1<<28))
	f("unknown format", put(highResHead+8, 9))
	f("bytes too many", func(b []byte) []byte { return append(b, 0, 0, 0, 0) })
	for n := range body {
		f("cut short", func(b []byte) []byte { return b[:n] })
	}
	second := highResHead + 12 + 3*8 + 8 // set of numbers of 64 bits
	word := binary.BigEndian.Uint32(body[second+12+4:])
	f("blocks that overlap", put(second+12+8+4, word))
	f("block outside", put(second+12+4, 1<<28))
	at := valueset.At(word)
	f("number of a wrong length", put(at, valueset.Head(pcp.TypeU64, 16)))
	f("block without contents", put(at, valueset.Head(pcp.TypeU64, 4)))
	f("block longer than what is there", put(at, valueset.Head(pcp.TypeAggregate, 1<<20)))
	text := bytes.Index(body, []byte("ab\x00~"))
	f("string without an end", func(b []byte) []byte { b[text+2] = 'c'; return b })
	f("other padding", func(b []byte) []byte { b[text+3] = 0; return b })
}

// FuzzRawResult checks that a taken body gives the same record as a decoded and encoded one.
func FuzzRawResult(f *testing.F) {
	for _, highRes := range []bool{false, true} {
		f.Add(rawResult(highRes).appendBody(nil), highRes)
	}
	f.Fuzz(func(t *testing.T, body []byte, highRes bool) {
		p := Result{HighRes: highRes}
		if p.DecodeBody(body) != nil {
			p.Sets = []pcp.ValueSet{{}, {}}
			if new(RawResult).Take(body, highRes, idsOf(&p.Result)) {
				t.Fatal("taken, but not good")
			}
			return
		}
		var raw RawResult
		if !raw.Take(body, highRes, idsOf(&p.Result)) {
			return
		}
		again := p.appendBody(nil)
		head := resultHead
		if highRes {
			head = highResHead
		}
		if got := raw.Append(nil, head); !bytes.Equal(got, again[head:]) {
			t.Fatalf("% x, want % x", got, again[head:])
		}
	})
}
