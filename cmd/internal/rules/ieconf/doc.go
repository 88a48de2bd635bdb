// Package ieconf is pmieconf: it shows rules for pmie, changes them, and writes the
// configuration that they make.
//
//	pmieconf modify per_disk.util threshold 80
package ieconf
