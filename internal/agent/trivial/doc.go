// Package trivial is the smallest possible agent: one metric, the time.
//
//	a, err := trivial.New(trivial.Domain)
package trivial
