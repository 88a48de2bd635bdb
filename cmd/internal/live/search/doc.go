// Package search is pmsearch, which finds metrics, instance domains and instances
// by the words of their names and help texts.
//
//	pmsearch kernel idle
package search
