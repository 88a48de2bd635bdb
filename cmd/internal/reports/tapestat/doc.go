// Package tapestat is pcp-tapestat: what tape drives do, as tapestat(1) shows it, live or from archives.
//
//	pcp -a archive tapestat -x t
package tapestat
