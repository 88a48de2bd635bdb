// Package trivial is the smallest agent there can be: one metric, the time.
//
//	a, err := trivial.New(trivial.Domain)
package trivial
