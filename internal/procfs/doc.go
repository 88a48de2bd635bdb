// Package procfs reads small kernel files again and again at little cost, and
// has the scanners that their parsers are made of.
//
//	f := procfs.NewFile("/proc/loadavg")
//	b, err := f.Read() // valid until the next Read
//
// A [File] stays open and is read from its start each time. The scanners take
// and return slices of the same buffer and allocate nothing. They accept any
// bytes: missing fields are reported as such, and nothing panics.
package procfs
