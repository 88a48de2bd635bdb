// Package genmap is pmgenmap: it turns a list of metric names into arrays and
// constants for a program that fetches them.
//
//	pmgenmap pmnsmap.spec >pmnsmap.h
//	pcp genmap --go client pmnsmap.spec >pmnsmap.go
package genmap
