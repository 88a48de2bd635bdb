// Package logcheck is pmlogcheck: it examines archives for damage and for
// values that make no sense. The work is done by package archive/check.
package logcheck
