// Package lzwtest makes .Z files for tests, where compress(1) is not installed.
package lzwtest

const (
	magic     = "\x1f\x9d"
	clears    = 0x80 // in the third byte: code 256 clears the table
	clearCode = 256
	minWidth  = 9
	none      = -1
)

// Append compresses b as compress(1) does, with codes of at most width bits. If
// it can clear the table it does after that many codes.
func Append(out, b []byte, width uint, anew int) []byte {
	type entry struct {
		prefix int
		next   byte
	}
	first, flags := clearCode, byte(width)
	if anew > 0 {
		first, flags = clearCode+1, flags|clears
	}
	out = append(out, magic[0], magic[1], flags)
	var (
		table = make(map[entry]int)
		w     = uint(minWidth)
		group []byte // a bit each
		codes int    // since it began
	)
	flush := func(whole bool) {
		for whole && len(group) > 0 && len(group)%int(8*w) != 0 || len(group)%8 != 0 {
			group = append(group, 0)
		}
		for i := 0; i < len(group); i += 8 {
			var c byte
			for k, bit := range group[i : i+8] {
				c |= bit << k
			}
			out = append(out, c)
		}
		group = group[:0]
	}
	emit := func(code int) {
		if w < width && first+codes-1 == 1<<w {
			flush(true)
			w++
		}
		for k := range w {
			group = append(group, byte(code>>k)&1)
		}
		codes++
	}
	prefix := none
	for _, c := range b {
		if prefix == none {
			prefix = int(c)
			continue
		}
		if code, ok := table[entry{prefix, c}]; ok {
			prefix = code
			continue
		}
		emit(prefix)
		if code := first + codes - 1; code < 1<<width {
			table[entry{prefix, c}] = code
		}
		prefix = int(c)
		if codes == anew {
			emit(prefix)
			emit(clearCode)
			flush(true)
			clear(table)
			w, codes, prefix = minWidth, 0, none
		}
	}
	if prefix != none {
		emit(prefix)
	}
	flush(false)
	return out
}
