package dstat

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxColors is the index of the number of colours in a compiled description of a terminal (term(5)).
const maxColors = 13

// maxTerminfo is the maximum size of such a description.
const maxTerminfo = 32 << 10

// The layouts of descriptions: with numbers of 16 and of 32 bits.
const (
	terminfoMagic   = 0o432
	terminfoMagic32 = 0o1036
)

// readTerminfo reads the description of a terminal.
func readTerminfo(dirs []string, term string) ([]byte, error) {
	if term == "" || strings.ContainsAny(term, "/\x00") || term[0] == '.' {
		return nil, fs.ErrNotExist
	}
	for _, dir := range dirs {
		for _, sub := range []string{term[:1], hexByte(term[0])} {
			path := filepath.Join(dir, sub, term)
			if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > maxTerminfo {
				continue
			}
			if b, err := os.ReadFile(path); err == nil {
				return b, nil
			}
		}
	}
	return nil, fs.ErrNotExist
}

// anyTerminfo reports whether there is a directory of descriptions.
func anyTerminfo(dirs []string) bool {
	for _, dir := range dirs {
		if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
			return true
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

func hexByte(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

// terminfoNumber returns a number of a description, -1 if the terminal does not have it, and reports whether
// the description is valid up to it.
func terminfoNumber(b []byte, index int) (int, bool) {
	const head = 12
	if len(b) < head {
		return 0, false
	}
	field := func(i int) int { return int(int16(binary.LittleEndian.Uint16(b[2*i:]))) }
	size := 2
	switch field(0) {
	case terminfoMagic:
	case terminfoMagic32:
		size = 4
	default:
		return 0, false
	}
	names, flags, numbers := field(1), field(2), field(3)
	if names < 0 || flags < 0 || numbers < 0 {
		return 0, false
	}
	if index >= numbers {
		return -1, true
	}
	at := head + names + flags
	at += at & 1 // numbers begin at an even offset
	at += index * size
	if at+size > len(b) {
		return 0, false
	}
	if size == 4 {
		return int(int32(binary.LittleEndian.Uint32(b[at:]))), true
	}
	return int(int16(binary.LittleEndian.Uint16(b[at:]))), true
}
