package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// accept decodes a body; if that is accepted, the PDU must survive being
// encoded and decoded again, and the error of a refused body must be a protocol
// error.
func accept(t *testing.T, where string, typ wire.Type, body []byte) bool {
	t.Helper()
	p, err := wire.Decode(wire.Header{Type: typ}, body)
	if err != nil {
		if !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("%s: %v: refused with %v, want pcp.ErrIPC", where, typ, err)
		}
		return false
	}
	again := wire.Append(nil, 0, p)[wire.HeaderSize:]
	// The encoding of a decoded PDU is bounded by its size: a number stored in a
	// block may shrink, a string may gain its NUL, a name its padding.
	if len(again) > 2*len(body)+16 {
		t.Errorf("%s: %v: %d bytes become %d", where, typ, len(body), len(again))
	}
	q, err := wire.Decode(wire.Header{Type: typ}, again)
	if err != nil {
		t.Errorf("%s: %v: encoded again, refused: %v\n% x\n% x", where, typ, err, body, again)
		return true
	}
	if !reflect.DeepEqual(p, q) {
		if a, b := describe(p), describe(q); a != b {
			t.Errorf("%s: %v: decoded again differently (-first +second):\n%s", where, typ, cmp.Diff(a, b))
		}
	}
	return true
}

// TestTruncated cuts each capture at each length. The missing bytes may be the
// padding at the end of a PDU, or a whole value of a PDU without a length;
// everything else is refused.
func TestTruncated(t *testing.T) {
	for _, c := range captures(t) {
		body := c.body()
		for n := range body {
			if !accept(t, c.where, c.header().Type, body[:n:n]) {
				continue
			}
			switch typ := c.header().Type; typ {
			case wire.TypeAttr:
			case wire.TypeError:
				if n != 4 {
					t.Errorf("%s: ERROR cut to %d accepted", c.where, n)
				}
			case wire.TypeText, wire.TypePMNSNames, wire.TypePMNSChild, wire.TypePMNSTraverse,
				wire.TypeInstanceReq, wire.TypeInstance, wire.TypeLogStatus:
				if strings.Trim(string(body[n:]), "~") != "" {
					t.Errorf("%s: %v cut to %d accepted", c.where, typ, n)
				}
			default:
				t.Errorf("%s: %v cut to %d of %d accepted", c.where, typ, n, len(body))
			}
		}
	}
}

// TestMutated puts extreme numbers in place of each word, and changes bytes at
// random, always the same.
func TestMutated(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	nasty := []uint32{0, 1, 2, 3, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0x3fffffff, 0x40000000, 0x20000001, 0x00ffffff, 0x00010000}
	accepted := 0
	for _, c := range captures(t) {
		if t.Failed() {
			return // reports for one capture are enough
		}
		body := slices.Clone(c.body())
		for i := 0; i+4 <= len(body); i += 4 {
			was := binary.BigEndian.Uint32(body[i:])
			for _, w := range nasty {
				binary.BigEndian.PutUint32(body[i:], w)
				if accept(t, c.where, c.header().Type, body) {
					accepted++
				}
			}
			binary.BigEndian.PutUint32(body[i:], was)
		}
		for range 200 {
			bad := slices.Clone(body)
			for range 1 + rnd.IntN(3) {
				bad[rnd.IntN(len(bad))] = byte(rnd.Uint32())
			}
			if accept(t, c.where, c.header().Type, bad) {
				accepted++
			}
		}
		// The body of one type with the header of another.
		for typ := wire.TypeError; typ <= wire.TypeDescs; typ++ {
			accept(t, c.where, typ, body)
		}
		for typ := wire.TypeLogControl; typ <= wire.TypeLogStatus; typ++ {
			accept(t, c.where, typ, body)
		}
	}
	if accepted == 0 {
		t.Error("no mutation was accepted: the test tests nothing")
	}
}

// words builds a body.
func words(w ...uint32) []byte {
	var b []byte
	for _, v := range w {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

// TestHostile decodes PDUs written to do harm. Each is refused, with a message
// that names the offset, before memory is allocated.
func TestHostile(t *testing.T) {
	const huge = 0x7fffffff
	f := func(typ wire.Type, message string, body []byte) {
		t.Helper()
		_, err := wire.Decode(wire.Header{Type: typ}, body)
		if err == nil || !errors.Is(err, pcp.ErrIPC) || !strings.Contains(err.Error(), message) {
			t.Errorf("%v % x: %v, want %q", typ, body, err, message)
		}
	}
	f(wire.TypeControlReq, "type 0x700a: unknown", nil)
	f(0x7018, "type 0x7018: unknown", nil)
	f(wire.TypeError, "offset 20: 4 bytes too many", words(0, 0, 0))
	f(wire.TypeFetch, "offset 24: 2147483647 elements in 4 bytes", words(0, 0, 0, huge, 1))
	f(wire.TypeFetch, "offset 24: -1 elements", words(0, 0, 0, 0xffffffff, 1))
	f(wire.TypeFetch, "offset 24: an empty list", words(0, 0, 0, 0))
	f(wire.TypeHighResFetch, "offset 32: 4 bytes too many", words(0, 0, 0, 1, 1, 2))
	f(wire.TypeProfile, "context -1", words(0xffffffff, 0, 0, 0))
	f(wire.TypeProfile, "instance domains", words(0, 0, 0x10000000, 0))
	f(wire.TypeProfile, "offset 36: 1073741824 instances in 0 bytes", words(0, 0, 1, 0, 9, 0, 0x40000000, 0))
	f(wire.TypeProfile, "offset 36: -1 instances", words(0, 0, 1, 0, 9, 0, 0xffffffff, 0))
	f(wire.TypeDescIDs, "status 0", words(0, 1, 1))
	f(wire.TypeDescs, "offset 12: 2 elements in 20 bytes", words(2, 1, 2, 3, 4, 5))
	f(wire.TypeInstanceReq, "offset 28: 5 elements in 4 bytes", words(1, 0, 0, 0, 5, 0x61616161))
	f(wire.TypeInstance, "offset 16: 2147483647 elements", words(1, huge))
	f(wire.TypeInstance, "offset 24: -1 elements", words(1, 1, 7, 0xffffffff))
	f(wire.TypeText, "offset 16: 2147483647 elements in 0 bytes", words(1, huge))
	f(wire.TypeCreds, "1025 credentials where 1024 are accepted", append(words(1025), make([]byte, 4*1025)...))
	f(wire.TypePMNSNames, "2 names with 1 statuses", words(100, 1, 2, 0, 0, 0, 0))
	f(wire.TypePMNSNames, "longer than the 3 bytes claimed", words(3, 0, 1, 4, 0x61616161))
	f(wire.TypePMNSNames, "offset 20: -3 elements", words(0, 0, 0xfffffffd))
	f(wire.TypeAttr, "4096 bytes where 4095 are accepted", make([]byte, 4+4096))
	f(wire.TypeLabelReq, "label type 0x101", words(1, 0x101))
	f(wire.TypeLabel, "offset 24: 268435456 elements", words(1, 1, 0, 0x10000000))
	f(wire.TypeLabel, "255 labels", words(1, 1, 0, 1, 0, 255, 0, 0))
	f(wire.TypeLabel, "offset 32: 254 labels in 0 bytes", words(1, 1, 0, 1, 0, 254, 0, 0))
	f(wire.TypeLabel, "labels of 65535 bytes", words(1, 1, 0, 1, 0, 1, 44, 65535))
	f(wire.TypeLabel, "labels of 4 bytes at offset 44 of 44", words(1, 1, 0, 1, 0, 0, 44, 4))
	f(wire.TypeLabel, "labels of 4 bytes at offset 8 of 44", words(1, 1, 0, 1, 0, 0, 8, 4))
	f(wire.TypeLabel, "a label outside its 2 bytes", words(1, 1, 0, 1, 0, 1, 12, 2, 2<<16|1<<8, 0))
	f(wire.TypeLabel, "more text than the PDU", words(1, 1, 0, 2, 0, 0, 12, 40, 0, 0, 12, 40))
	f(wire.TypeResult, "offset 20: -1 elements", words(0, 0, 0xffffffff))
	f(wire.TypeResult, "offset 20: 1 elements in 4 bytes", words(0, 0, 1, 9))
	f(wire.TypeResult, "offset 28: values past the end", words(0, 0, 1, 9, huge, 0, 0, 0))
	f(wire.TypeResult, "offset 28: values past the end", words(0, 0, 1, 9, 1))
	f(wire.TypeResult, "offset 44: a set past the end", words(0, 0, 2, 9, 1, 0, 0, 0))
	f(wire.TypeResult, "offset 32: an unknown value format", words(0, 0, 1, 9, 1, 3, 0, 0))
	f(wire.TypeResult, "offset 32: bytes that belong to no value", words(0, 0, 1, 9, 0, 0))
	f(wire.TypeResult, "block is outside", words(0, 0, 1, 9, 1, 1, 0, 0))
	f(wire.TypeResult, "block is outside", words(0, 0, 1, 9, 1, 1, 0, 11))
	f(wire.TypeResult, "block is outside", words(0, 0, 1, 9, 1, 1, 0, 0xffffffff))
	f(wire.TypeResult, "offset 44: a block of a wrong length", words(0, 0, 1, 9, 1, 1, 0, 11, 6<<24|3))
	f(wire.TypeResult, "offset 44: a block of a wrong length", words(0, 0, 1, 9, 1, 1, 0, 11, 6<<24|5))
	f(wire.TypeResult, "offset 44: a number cut short", words(0, 0, 1, 9, 1, 1, 0, 11, 3<<24|8, 0))
	f(wire.TypeResult, "offset 44: a number cut short", words(0, 0, 1, 9, 1, 1, 0, 11, 4<<24|7, 0))
	f(wire.TypeResult, "blocks that overlap", words(0, 0, 1, 9, 2, 1, 0, 13, 1, 13, 6<<24|8, 0))
	f(wire.TypeHighResResult, "offset 12: 1 sets in 0 bytes", words(1, 0, 0, 0, 0))
	f(wire.TypeHighResResult, "offset 12: -2 sets", words(0xfffffffe, 0, 0, 0, 0))
	f(0x8004, "type 0x8004: unknown", nil)
	f(wire.TypeLogRequest, "offset 16: 4 bytes too many", words(1, 2))
	f(wire.TypeLogControl, "offset 24: 2147483647 elements in 0 bytes", words(11, 2, 1000, huge))
	f(wire.TypeLogControl, "offset 24: -1 elements", words(11, 2, 1000, 0xffffffff))
	f(wire.TypeLogControl, "offset 32: 1073741824 elements in 8 bytes", words(11, 2, 1000, 1, 9, 0x40000000, 1, 2))
	f(wire.TypeLogControl, "offset 44: 0 bytes where a word should be", words(11, 2, 1000, 2, 9, 1, 0, 0))
	f(wire.TypeLogControl, "offset 36: 4 bytes too many", words(11, 2, 1000, 1, 9, 0xffffffff, 0))
	f(wire.TypeLogStatusV2, "offset 264: 4 bytes too many", make([]byte, 256))
	f(wire.TypeLogStatusV2, "offset 56: a string of 64 bytes without its end", bytes.Repeat([]byte("a"), 252))
	f(wire.TypeLogStatus, "offset 64: a string of 257 bytes where 256 are accepted", append(make([]byte, 52), words(257, 0, 0, 0, 0, 0)...))
	f(wire.TypeLogStatus, "offset 84: a string of 4294967295 bytes", append(make([]byte, 52), words(0, 0, 0, 0, 0, 0xffffffff)...))
	f(wire.TypeLogStatus, "offset 88: 3 bytes where a string of 4 should be", append(append(make([]byte, 52), words(4, 0, 0, 0, 0, 0)...), "ab\x00"...))
	f(wire.TypeLogStatus, "offset 88: a string of 4 bytes without its end", append(append(make([]byte, 52), words(4, 0, 0, 0, 0, 0)...), "abcd"...))
	f(wire.TypeLogStatus, "offset 88: 4 bytes too many", append(make([]byte, 52), words(0, 0, 0, 0, 0, 0, 0)...))
}

// TestLenient checks forms that are accepted although we never send them.
func TestLenient(t *testing.T) {
	f := func(typ wire.Type, body []byte, want string) {
		t.Helper()
		p, err := wire.Decode(wire.Header{Type: typ}, body)
		if err != nil {
			t.Errorf("%v % x: %v", typ, body, err)
			return
		}
		if diff := cmp.Diff(want, describe(p)); diff != "" {
			t.Errorf("%v % x (-want +got):\n%s", typ, body, diff)
		}
	}
	f(wire.TypeText, append(words(0x11000011, 2), "ab"...), "= Text 0x11000011 \"ab\"\n")
	f(wire.TypePMNSTraverse, append(words(0, 2), "ab~~junk"...), "= PMNSTraverse \"ab\"\n")
	f(wire.TypePMNSNames, words(0, 0, 0), "= PMNSNames status []\n")
	f(wire.TypeProfile, words(3, 7, 1, 0, 9, 0, 3, 0, 30, 10, 30),
		"= Profile context 3 state 1\n=   0.9 state 0 [10 30]\n")
	// A time that was never set, in a request to store.
	f(wire.TypeResult, words(1, 0xdeadbeef, 0), "= Result highres false 1.000000000\n")
	f(wire.TypeHighResResult, words(0, 0, 1, 0xdeadbeef, 0), "= Result highres true 1.000000000\n")
	// Numbers in blocks longer than they need, a string without its NUL, and a
	// type from the future.
	f(wire.TypeResult, words(0, 0, 1, 9, 4, 2, 0, 17, 1, 20, 2, 22, 3, 23, 5<<24|12, 0x3ff00000, 0, 0<<24|8, 7, 6<<24|4, 77<<24|8, 0x61626364),
		"= Result highres false 0.000000000\n=   0.0.9 format 2\n=     0 DOUBLE 1\n=     1 32 7\n=     2 STRING \"\"\n=     3 ??? \"abcd\"\n")
	f(wire.TypeText, words(0xffffffff, 0), "= Text 0xffffffff \"\"\n")
}

// TestTooBig checks the encoding of a value that no block can hold.
func TestTooBig(t *testing.T) {
	p := &wire.Result{}
	f := func(size int, want string) {
		t.Helper()
		p.Reset()
		p.AddSet(1)
		p.Add(pcp.BytesValue(pcp.TypeAggregate, make([]byte, size)))
		p.AddSet(2)
		p.Add(pcp.StringValue("after"))
		body := wire.AppendBody(p)
		var q wire.Result
		if err := q.DecodeBody(body); err != nil {
			t.Fatal(err)
		}
		if got := q.Sets[0]; want == "" && (got.Err != 0 || len(got.Values[0].Bytes()) != size) ||
			want != "" && (got.Err != pcp.ErrTooBig || got.Values != nil) {
			t.Errorf("a value of %d bytes arrives as error %d", size, int32(got.Err))
		}
		if got := string(q.Sets[1].Values[0].Bytes()); got != "after" {
			t.Errorf("the set after it holds %q", got)
		}
	}
	f(1<<24-1-4, "")
	f(1<<24-4, "too big")
}

// TestFormat checks the format in which sets made by hand are sent.
func TestFormat(t *testing.T) {
	f := func(vs pcp.ValueSet, want string) {
		t.Helper()
		vs.PMID = 1
		p := &wire.Result{Result: pcp.Result{Sets: []pcp.ValueSet{vs}}}
		var q wire.Result
		if err := q.DecodeBody(wire.AppendBody(p)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("= Result highres false 0.000000000\n=   0.0.1 "+want+"\n", describe(&q)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", vs, diff)
		}
	}
	values := func(v ...pcp.Value) []pcp.Value { return v }
	f(pcp.ValueSet{}, "error 0")
	f(pcp.ValueSet{Err: pcp.ErrInst}, "error -12360")
	f(pcp.ValueSet{Err: pcp.ErrInst, Values: values(pcp.Int32Value(1))}, "error -12360")
	f(pcp.ValueSet{Values: values(pcp.Int32Value(-1))}, "format 0\n=     -1 UNKNOWN 0xffffffff")
	f(pcp.ValueSet{ValFmt: pcp.ValDPtr, Values: values(pcp.Uint32Value(1))}, "format 1\n=     -1 U32 1")
	f(pcp.ValueSet{Values: values(pcp.DoubleValue(0.5))}, "format 1\n=     -1 DOUBLE 0.5")
	f(pcp.ValueSet{Values: values(pcp.StringValue("a").WithInst(3), pcp.StringValue("").WithInst(4))},
		"format 1\n=     3 STRING \"a\"\n=     4 STRING \"\"")
	f(pcp.ValueSet{ValFmt: pcp.ValSPtr, Values: values(pcp.FloatValue(0.5))}, "format 2\n=     -1 FLOAT 0.5")
}

func fuzzSeeds(f *testing.F) {
	for _, c := range captures(f) {
		f.Add(uint32(c.header().Type), c.body())
	}
	f.Add(uint32(wire.TypeResult), words(0, 0, 1, 9, 2, 1, 0, 13, 1, 13, 6<<24|8, 0))
	f.Add(uint32(wire.TypeHighResResult), words(0xfffffffe, 0, 0, 0, 0))
	f.Add(uint32(wire.TypeLabel), words(1, 1, 0, 2, 0, 0, 12, 40, 0, 0, 12, 40))
	f.Add(uint32(wire.TypeProfile), words(0, 0, 1, 0, 9, 0, 0x40000000, 0))
	f.Add(uint32(wire.TypePMNSNames), words(0x7fffffff, 2, 2, 0, 1, 0x61626364))
	f.Add(uint32(wire.TypeLogControl), words(11, 2, 1000, 2, 9, 0xffffffff, 9, 0x7fffffff))
	f.Add(uint32(wire.TypeLogStatus), append(make([]byte, 52), words(257, 0, 0, 0, 0, 0xffffffff)...))
}

func FuzzDecode(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, typ uint32, body []byte) {
		accept(t, "fuzz", wire.Type(typ), body)
	})
}

func FuzzDump(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, typ uint32, body []byte) {
		pdu := append(wire.AppendHeader(nil, wire.Header{Type: wire.Type(typ)}), body...)
		var b bytes.Buffer
		if err := wire.Dump(&b, pdu); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 100*len(pdu)+100 {
			t.Errorf("%d bytes dumped as %d", len(pdu), b.Len())
		}
	})
}

// FuzzReader reads a stream whose pieces the fuzzer chooses. It must give the
// bytes back in order, as whole PDUs.
func FuzzReader(f *testing.F) {
	for _, c := range captures(f) {
		f.Add(append(slices.Clone(c.pdu), c.pdu...), uint8(7))
	}
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x70\x00\x00\x00\x00\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		r := wire.NewReader(&pieces{stream, int(piece) + 1})
		r.Max = 4096
		left := stream
		for {
			h, body, err := r.Next()
			if err != nil {
				return
			}
			got := append(wire.AppendHeader(nil, h), body...)
			if !bytes.HasPrefix(left, got) || len(got) > 4096 {
				t.Fatalf("read % x, sent % x", got, left)
			}
			left = left[len(got):]
		}
	})
}
