// Package genmap implements pmgenmap, which converts a list of metric names to arrays
// and constants for a program that fetches them.
//
//	pmgenmap pmnsmap.spec >pmnsmap.h
//	pcp genmap --go client pmnsmap.spec >pmnsmap.go
package genmap
