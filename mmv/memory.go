package mmv

import "unsafe"

// bytes returns n bytes of the file. They must be within it.
func (m *mapping) bytes(at, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.base, at)), n)
}

// word returns the word at a multiple of 8.
func (m *mapping) word(at int) *uint64 { return (*uint64)(unsafe.Add(m.base, at)) }

// record returns the value record at a multiple of 8.
func (m *mapping) record(at int) *[4]uint64 { return (*[4]uint64)(unsafe.Add(m.base, at)) }
