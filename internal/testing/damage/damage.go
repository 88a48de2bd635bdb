// Package damage damages archives, for tests only: it copies the files of an
// archive, and damages one of them as disks, networks and careless people do.
//
//	a, err := damage.Copy(t.TempDir(), "/path/of/archive")
//	for _, d := range a.Draw(seed, 200) {
//		err := a.Apply(d)
//		... // read a.Base
//		err = a.Restore()
//	}
//
// The drawn damages depend only on the seed and the files, so that a damage in
// a test's report can be reproduced. A Damage is also a plain struct, which a
// table of tests can hold, and whose String is Go source of it.
package damage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Kind is the kind of change to the bytes of a file.
type Kind int

// The kinds of damage.
const (
	Flip   Kind = iota // the bits of Bytes are inverted at At
	Write              // Bytes is written at At
	Zero               // N bytes from At become 0
	Delete             // N bytes from At are removed
	Insert             // Bytes is inserted at At
	Cut                // the file ends at At
)

var kindNames = [...]string{"Flip", "Write", "Zero", "Delete", "Insert", "Cut"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// A Damage is a change to one file of an archive.
type Damage struct {
	File  string // after the base name: ".0", ".meta.xz"
	Kind  Kind
	At    int
	N     int    // Zero and Delete: how many bytes
	Bytes string // Flip, Write and Insert
}

// String returns the damage as a literal of a table.
func (d Damage) String() string {
	switch d.Kind {
	case Zero, Delete:
		return fmt.Sprintf("{File: %q, Kind: %v, At: %d, N: %d}", d.File, d.Kind, d.At, d.N)
	case Cut:
		return fmt.Sprintf("{File: %q, Kind: %v, At: %d}", d.File, d.Kind, d.At)
	}
	return fmt.Sprintf("{File: %q, Kind: %v, At: %d, Bytes: %q}", d.File, d.Kind, d.At, d.Bytes)
}

// Of returns a damaged copy of the contents of a file. A change beyond the end of
// the file has no effect.
func (d Damage) Of(b []byte) []byte {
	at := max(0, min(d.At, len(b)))
	end := min(len(b), at+max(0, d.N))
	out := slices.Clone(b)
	switch d.Kind {
	case Flip:
		for i := 0; i < len(d.Bytes) && at+i < len(out); i++ {
			out[at+i] ^= d.Bytes[i]
		}
	case Write:
		copy(out[at:], d.Bytes)
	case Zero:
		clear(out[at:end])
	case Delete:
		out = slices.Delete(out, at, end)
	case Insert:
		out = slices.Insert(out, at, []byte(d.Bytes)...)
	case Cut:
		out = out[:at]
	}
	return out
}

// An Archive is a copy of an archive, to be damaged.
type Archive struct {
	Base  string   // the path that tools are given
	Files []string // the suffixes after Base in the names of the files, sorted

	whole   map[string][]byte
	damaged []string
}

// fileOf matches the suffix after the base name of an archive.
var fileOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\.(?:meta|index|\d+)(?:\.\w+)?$`) })

// Copy copies the files of the archive base into a directory.
func Copy(dir, base string) (*Archive, error) {
	paths, err := os.ReadDir(filepath.Dir(base))
	if err != nil {
		return nil, err
	}
	a := &Archive{Base: filepath.Join(dir, filepath.Base(base)), whole: make(map[string][]byte)}
	for _, p := range paths {
		suffix, ok := strings.CutPrefix(p.Name(), filepath.Base(base))
		if !ok || !fileOf().MatchString(suffix) {
			continue
		}
		b, err := os.ReadFile(base + suffix)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(a.Base+suffix, b, 0o600); err != nil {
			return nil, err
		}
		a.whole[suffix] = b
		a.Files = append(a.Files, suffix)
	}
	if len(a.Files) == 0 {
		return nil, fmt.Errorf("%s: no files of an archive", base)
	}
	slices.Sort(a.Files)
	return a, nil
}

// Size returns the length of a file before it was damaged.
func (a *Archive) Size(file string) int { return len(a.whole[file]) }

// Apply damages a file. Damages add up until Restore.
func (a *Archive) Apply(d Damage) error {
	if _, ok := a.whole[d.File]; !ok {
		return fmt.Errorf("%s: no file %s to damage", a.Base, d.File)
	}
	b, err := os.ReadFile(a.Base + d.File)
	if err != nil {
		return err
	}
	if !slices.Contains(a.damaged, d.File) {
		a.damaged = append(a.damaged, d.File)
	}
	return os.WriteFile(a.Base+d.File, d.Of(b), 0o600)
}

// Restore restores the files.
func (a *Archive) Restore() error {
	for _, file := range a.damaged {
		if err := os.WriteFile(a.Base+file, a.whole[file], 0o600); err != nil {
			return err
		}
	}
	a.damaged = nil
	return nil
}

// Draw returns n damages to any of the files, of all kinds. Small files are
// hit as often as large ones, and places near the start of a file and in it as
// often as each other: labels are where little damage does much.
func (a *Archive) Draw(seed uint64, n int) []Damage {
	return a.DrawFrom(seed, n, a.Files...)
}

// DrawFrom is Draw for some of the files.
func (a *Archive) DrawFrom(seed uint64, n int, files ...string) []Damage {
	rnd := rand.New(rand.NewPCG(seed, 0))
	list := make([]Damage, 0, n)
	for range n {
		file := files[rnd.IntN(len(files))]
		list = append(list, draw(rnd, file, len(a.whole[file])))
	}
	return list
}

// awkward are bytes that make a count or a length something else.
var awkward = [...]byte{0, 1, 2, 0x7f, 0x80, 0xfe, 0xff}

func draw(rnd *rand.Rand, file string, size int) Damage {
	d := Damage{File: file, Kind: Kind(rnd.IntN(int(Cut) + 1))}
	if size > 0 {
		d.At = rnd.IntN(size)
		if rnd.IntN(8) == 0 {
			d.At = rnd.IntN(min(size, 1024)) // the label, and the bytes after it
		}
	}
	// Words of the format are at multiples of 4 in most files.
	if rnd.IntN(2) == 0 {
		d.At &^= 3
	}
	few := [...]int{1, 2, 4, 8}[rnd.IntN(4)]
	many := few
	if rnd.IntN(2) == 0 {
		many = 1 + rnd.IntN(400)
	}
	switch d.Kind {
	case Flip:
		d.Bytes = string([]byte{1 << rnd.IntN(8)})
	case Write:
		b := make([]byte, few)
		for i := range b {
			b[i] = awkward[rnd.IntN(len(awkward))]
			if rnd.IntN(4) == 0 {
				b[i] = byte(rnd.Uint32())
			}
		}
		d.Bytes = string(b)
	case Zero, Delete:
		d.N = many
	case Insert:
		b := make([]byte, many)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		d.Bytes = string(b)
	}
	return d
}
