package pmns

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// FuzzParse parses without a preprocessor, so that no input runs commands. An
// accepted name space must be the same after it was written and read again.
func FuzzParse(f *testing.F) {
	for _, b := range badFiles {
		f.Add([]byte(b.text))
	}
	f.Add([]byte("root {\n\tfoo 1:2:3\n\tbar\n\tdyn 4:*:*\n}\nbar {\n\tx 1:2:4\n}\n"))
	f.Add([]byte("root {\n\ta 1:*:*\n\tb :*:*\n: c\n\t5: : 6\n}\n#\n# 1 \"\"\n# 99999999999 \"x\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := Parse(bytes.NewReader(text), "F", true)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if _, err := tree.WriteTo(&b); err != nil {
			return // a name too long for a line with its PMID, or a path too long with its brace
		}
		again, err := Parse(bytes.NewReader(b.Bytes()), "F", true)
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, b.Bytes())
		}
		if got, want := leaves(again, ""), leaves(tree, ""); got != want {
			t.Fatalf("read back %q, want %q", got, want)
		}
	})
}

func BenchmarkLoadRoot(b *testing.B) {
	path := installedRoot(b)
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name string
		l    Loader
	}{{"raw", Loader{DupOK: true, Raw: true}}, {"cpp", Loader{DupOK: true}}} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(st.Size())
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bm.l.Load(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	tree, err := Load(installedRoot(b), true)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tree.Lookup("kernel.all.cpu.user"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNames(b *testing.B) {
	tree, err := Load(installedRoot(b), true)
	if err != nil {
		b.Fatal(err)
	}
	id, err := tree.Lookup("kernel.all.cpu.user")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tree.Names(id); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHugeSubtree checks the time: steps that are quadratic in C must not be so here.
func TestHugeSubtree(t *testing.T) {
	var b strings.Builder
	b.WriteString("root {\n")
	for i := range 100_000 {
		b.WriteString("n" + string(rune('a'+i%26)) + strings.Repeat("x", i%7) + "_")
		for n := i; n > 0; n /= 10 {
			b.WriteByte('0' + byte(n%10))
		}
		b.WriteString(" 1:1:1\n")
	}
	b.WriteString("}\n")
	tree, err := Parse(strings.NewReader(b.String()), "F", true)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := tree.Names(4<<20 | 1<<10 | 1); err != nil || len(names) != tree.Len() {
		t.Errorf("%d names of %d nodes, %v", len(names), tree.Len(), err)
	}
}
