// Package dumplog implements pmdumplog, which prints the contents of an archive.
//
//	pmdumplog -a 20260101                   everything
//	pmdumplog -L 20260101                   whose it is, and from when to when
//	pmdumplog 20260101 kernel.all.load      the values of one metric
//	pmdumplog -v 20260101.index             a file of it in hex
package dumplog
