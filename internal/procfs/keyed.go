package procfs

import "bytes"

// MaxKeys is how many lines of one file a Keyed looks at.
const MaxKeys = 8192

// A Keyed reads files of lines "key value", such as /proc/vmstat, or "key:
// value kB", such as /proc/meminfo. It remembers which key came in which line,
// so that a file whose layout has not changed costs one comparison a line.
type Keyed struct {
	cols  map[string]int
	lines []keyedLine
}

type keyedLine struct {
	key string
	col int // -1: not wanted
}

// NewKeyed returns a reader that reports the keys of cols under the numbers
// they map to. It keeps cols, which must not change.
func NewKeyed(cols map[string]int) *Keyed { return &Keyed{cols: cols} }

// Parse calls set with the number and value of each wanted key in b. Before
// the key, prefix is skipped where a line starts with it ("Node 0 "). Lines
// that are not of this form are passed over.
func (k *Keyed) Parse(b, prefix []byte, set func(col int, v uint64)) {
	for i := 0; len(b) > 0 && i < MaxKeys; i++ {
		if len(prefix) > 0 {
			b = bytes.TrimPrefix(b, prefix)
		}
		if i == len(k.lines) {
			k.lines = append(k.lines, keyedLine{col: -1})
		}
		l := &k.lines[i]
		n := len(l.key)
		if n == 0 || len(b) <= n || string(b[:n]) != l.key || !keyEnd(b[n]) {
			n = 0
			for n < len(b) && !keyEnd(b[n]) && b[n] != '\n' {
				n++
			}
			// One string for each change of the layout, none afterwards.
			l.key, l.col = string(b[:n]), -1
			if col, ok := k.cols[l.key]; ok {
				l.col = col
			}
		}
		b = b[n:]
		if l.col >= 0 {
			if len(b) > 0 && b[0] == ':' {
				b = b[1:]
			}
			v, rest, ok := Uint(b)
			if ok {
				set(l.col, v)
			}
			b = rest
		}
		if len(b) > 0 && b[0] == '\n' {
			b = b[1:]
			continue
		}
		n = 0 // the rest of a line is a few bytes: faster than bytes.IndexByte
		for n < len(b) && b[n] != '\n' {
			n++
		}
		b = b[min(n+1, len(b)):]
	}
}

func keyEnd(c byte) bool { return c == ' ' || c == ':' || c == '\t' }
