// Package diagnose is "pcp diagnose": it prints which resource of a host is short, what takes it, since when, and what changed.
//
//	pcp diagnose
//	pcp diagnose -a 20261121 -S @14:00 -T @15:00
package diagnose
