// Package logsize implements pmlogsize, which reports the sizes of the parts of an
// archive.
package logsize
