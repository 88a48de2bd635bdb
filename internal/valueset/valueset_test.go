package valueset

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

func words(w ...uint32) []byte {
	var b []byte
	for _, x := range w {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

func TestBlock(t *testing.T) {
	f := func(v pcp.Value, want ...uint32) {
		t.Helper()
		b := AppendBlock(nil, &v)
		if string(b) != string(words(want...)) {
			t.Errorf("AppendBlock(%v) = % x", v, b)
		}
		if n := BlocksSize([]pcp.Value{v, v}); n != 2*len(b) {
			t.Errorf("BlocksSize of two %v = %d, want %d", v, n, 2*len(b))
		}
	}
	f(pcp.Uint64Value(7), Head(pcp.TypeU64, 12), 0, 7)
	f(pcp.Uint32Value(7), Head(pcp.TypeU32, 8), 7)
	f(pcp.StringValue("abc"), Head(pcp.TypeString, 8), 0x61626300)
	f(pcp.StringValue("ab"), Head(pcp.TypeString, 7), 0x6162007e)
	f(pcp.BytesValue(pcp.TypeAggregate, []byte{1}), Head(pcp.TypeAggregate, 5), 0x017e7e7e)

	long := pcp.BytesValue(pcp.TypeAggregate, make([]byte, MaxBlock-BlockHead+1))
	if b := AppendBlock([]byte{1}, &long); len(b) != 1 {
		t.Errorf("a value of %d bytes has a block", len(long.Bytes()))
	}
	if n := BlocksSize([]pcp.Value{long}); n != -1 {
		t.Errorf("BlocksSize of a value that is too long = %d", n)
	}
}

func TestDecode(t *testing.T) {
	body := words(2,
		5, 1, uint32(pcp.ValDPtr), 3, Word(32),
		6, ^uint32(11),
		Head(pcp.TypeU32, 8), 9)
	f := func(kind Kind, change func([]byte), want string) {
		t.Helper()
		b := slices.Clone(body)
		if change != nil {
			change(b)
		}
		var res pcp.Result
		err := Decode(&res, b, 4, 2, kind)
		if want == "" {
			if err != nil || len(res.Sets) != 2 || res.Sets[1].Err != -12 {
				t.Errorf("Decode = %v, %v", res.Sets, err)
			}
			return
		}
		if _, ok := errors.AsType[*Error](err); !ok || !strings.Contains(err.Error(), want) || len(res.Sets) != 0 {
			t.Errorf("Decode = %v, %v, want %q", res.Sets, err, want)
		}
	}
	put := func(at int, w uint32) func([]byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[at:], w) }
	}
	f(PDU, nil, "")
	f(Record, nil, "")
	f(PDU, put(8, 100), "offset 8: values past the end")
	f(PDU, put(12, 7), "offset 12: an unknown value format")
	f(PDU, put(20, Word(28)), "is outside")
	f(PDU, put(32, Head(pcp.TypeU32, 3)), "offset 32: a block of a wrong length")
	f(PDU, put(32, Head(pcp.TypeU64, 8)), "offset 32: a number cut short")
	f(Record, put(32, Head(pcp.TypeU64, 8)), "") // it has bytes
	f(PDU, put(32, Head(pcp.TypeU32, 4)), "cut short")
	f(PDU, put(32, Head(pcp.TypeAggregate, 4)), "offset 32: bytes that belong to no value")
	f(Record, put(32, Head(pcp.TypeEvent, 8)), "offset 32: ")
	f(PDU, put(32, Head(pcp.TypeEvent, 8)), "")
}

func TestMove(t *testing.T) {
	body := words(2,
		5, 1, uint32(pcp.ValDPtr), 3, Word(32),
		6, ^uint32(11),
		Head(pcp.TypeU32, 8), 9)
	same, err := Move(body, 4, 2, []pcp.PMID{5, 6}, 8)
	if err != nil || !same {
		t.Fatalf("Move = %v, %v", same, err)
	}
	moved := append(make([]byte, 8), body...)
	var res pcp.Result
	if err := Decode(&res, moved, 12, 2, PDU); err != nil || res.Sets[0].Values[0].Uint32() != 9 {
		t.Errorf("moved: %v, %v", res.Sets, err)
	}
	if same, err := Move(words(1, 5, 0), 4, 1, []pcp.PMID{6}, 8); same || err != nil {
		t.Errorf("other metrics: %v, %v", same, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(words(1, 5, 1, uint32(pcp.ValDPtr), 3, Word(24), Head(pcp.TypeU32, 8), 9), 1)
	f.Add(words(0), 0)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if len(body) < 4 || !Fits(int32(min(max(n, -1), 1<<20)), len(body)-4) {
			return
		}
		var pdu, rec pcp.Result
		errPDU, errRec := Decode(&pdu, body, 4, n, PDU), Decode(&rec, body, 4, n, Record)
		if errPDU == nil && errRec == nil && len(pdu.Sets) != len(rec.Sets) {
			t.Errorf("%d sets and %d", len(pdu.Sets), len(rec.Sets))
		}
		_, errMove := Move(body, 4, n, nil, 0)
		if (errMove == nil) != (errPDU == nil) {
			t.Errorf("Decode: %v, Move: %v", errPDU, errMove)
		}
	})
}

func TestCanonical(t *testing.T) {
	body := words(2,
		5, 1, uint32(pcp.ValDPtr), 3, Word(32),
		6, ^uint32(11),
		Head(pcp.TypeU32, 8), 9)
	ids := []pcp.PMID{5, 6}
	if !Canonical(body, 4, ids) {
		t.Error("Canonical = false")
	}
	moved := append(make([]byte, 12), body[4:]...)
	Shift(moved[12:], 2, 2)
	if !Canonical(moved, 12, ids) {
		t.Errorf("after Shift: Canonical(% x) = false", moved)
	}
	if Canonical(moved, 12, ids[:1]) || Canonical(body, 4, []pcp.PMID{5, 7}) || Canonical(body[:4], 4, ids) {
		t.Error("Canonical of others = true")
	}
}
