package procfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeyed(t *testing.T) {
	k := NewKeyed(map[string]int{"a": 0, "b": 1, "Active(anon)": 2, "c": 3})
	f := func(in, prefix string, want map[int]uint64) {
		t.Helper()
		for range 2 { // as learnt, and as known
			got := make(map[int]uint64)
			k.Parse([]byte(in), []byte(prefix), func(col int, v uint64) { got[col] = v })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", in, diff)
			}
		}
	}
	f("a 1\nb 2\nc 3\n", "", map[int]uint64{0: 1, 1: 2, 3: 3})
	f("a 1\nx 9\nb 2\nc 3", "", map[int]uint64{0: 1, 1: 2, 3: 3}) // a line more
	f("b 5\na 6\n", "", map[int]uint64{0: 6, 1: 5})               // another order
	f("a:        1 kB\nActive(anon):  7 kB\n\nb:\nc: x\n", "", map[int]uint64{0: 1, 2: 7})
	f("ab 1\nb2 3\na", "", map[int]uint64{}) // keys that begin so
	f("Node 0 a: 1 kB\nNode 0 b: 2 kB\n", "Node 0 ", map[int]uint64{0: 1, 1: 2})
	f("", "", map[int]uint64{})
}

// FuzzKeyed compares with the results of a fresh reader for the same bytes.
func FuzzKeyed(f *testing.F) {
	f.Add([]byte("a 1\nb 2\n"), []byte("b 3\na 4\nc:5"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		cols := map[string]int{"a": 0, "b": 1, "c": 2, "": 3}
		parse := func(k *Keyed, b []byte) map[int]uint64 {
			got := make(map[int]uint64)
			k.Parse(b, nil, func(col int, v uint64) { got[col] = v })
			return got
		}
		k := NewKeyed(cols)
		parse(k, first)
		if diff := cmp.Diff(parse(NewKeyed(cols), second), parse(k, second)); diff != "" {
			t.Errorf("%q after %q (-fresh +used):\n%s", second, first, diff)
		}
	})
}
