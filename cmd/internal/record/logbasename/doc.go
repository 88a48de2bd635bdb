// Package logbasename implements pmlogbasename(1), which prints the archive name of a
// file.
package logbasename
