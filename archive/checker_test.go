package archive_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// layouts returns records of several layouts, as pmlogger writes them.
func layouts(t testing.TB) [][]byte {
	t.Helper()
	var list [][]byte
	var res pcp.Result
	add := func() {
		b, err := archive.AppendResult(nil, &res, archive.Version3)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
		res.Reset()
	}
	for k := range 4 {
		res.Time = at(int64(k))
		for m := range 5 + k {
			res.AddSet(pcp.NewPMID(510, k, m))
			for i := range m {
				switch (m + k) % 3 {
				case 0:
					res.Add(pcp.Uint32Value(uint32(i)).WithInst(int32(i)))
				case 1:
					res.Add(pcp.Uint64Value(uint64(i)).WithInst(int32(i)))
				default:
					res.Add(pcp.StringValue("some text"[:i+1]).WithInst(int32(i)))
				}
			}
		}
		res.AddError(pcp.NewPMID(510, 9, 9), pcp.ErrAgain)
		add()
	}
	res.Time = at(9)
	res.AddSet(pcp.NewPMID(510, 1, 1))
	for i := range 21 { // more than are compared at a time
		res.Add(pcp.Uint64Value(1).WithInst(int32(i)))
	}
	add()
	return list
}

// TestChecker damages records: Check and DecodeResult refuse the same records,
// whether or not Check has seen good ones of the layout.
func TestChecker(t *testing.T) {
	good := layouts(t)
	var primed archive.Checker
	var s archive.SetScanner
	for range 3 {
		for i, b := range good {
			s.Start(b, archive.Version3)
			if err := primed.Check(&s); err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 40_000 {
		b := bytes.Clone(good[rnd.IntN(len(good))])
		at := rnd.IntN(len(b))
		switch rnd.IntN(5) {
		case 0:
			b[at] ^= 1 << rnd.IntN(8)
		case 1:
			b[at] = byte(rnd.Uint32())
		case 2:
			clear(b[at:min(len(b), at+rnd.IntN(20))])
		case 3:
			b = b[:at]
		default:
			b = append(b, byte(at))
		}
		var res pcp.Result
		want := archive.DecodeResult(&res, b, archive.Version3)
		if want != nil {
			refused++
		}
		s.Start(b, archive.Version3)
		if err := primed.Check(&s); (err == nil) != (want == nil) {
			t.Fatalf("%x: Check = %v, but DecodeResult = %v", b, err, want)
		}
		var fresh archive.Checker
		if err := fresh.Check(&s); (err == nil) != (want == nil) {
			t.Fatalf("%x: first Check = %v, but DecodeResult = %v", b, err, want)
		}
	}
	if refused < 10_000 {
		t.Errorf("%d of 40,000 damaged records are refused", refused)
	}
}

// TestCheckerAllocs checks that checking similar records allocates nothing.
func TestCheckerAllocs(t *testing.T) {
	good := layouts(t)
	var c archive.Checker
	var s archive.SetScanner
	check := func() {
		for _, b := range good {
			s.Start(b, archive.Version3)
			if err := c.Check(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	check()
	check()
	if n := testing.AllocsPerRun(100, check); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzChecker(f *testing.F) {
	for _, b := range layouts(f) {
		f.Add(b, b, true)
		f.Add(b, b[:len(b)-4], false)
	}
	f.Fuzz(func(t *testing.T, first, second []byte, v3 bool) {
		version := archive.Version2
		if v3 {
			version = archive.Version3
		}
		var c archive.Checker
		for _, b := range [][]byte{first, first, second, first} {
			var s archive.SetScanner
			var res pcp.Result
			s.Start(b, version)
			err, want := c.Check(&s), archive.DecodeResult(&res, b, version)
			if (err == nil) != (want == nil) {
				t.Fatalf("Check = %v, but DecodeResult = %v", err, want)
			}
		}
	})
}
