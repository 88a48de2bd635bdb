// Package logsize is pmlogsize: where the bytes of an archive go.
package logsize
