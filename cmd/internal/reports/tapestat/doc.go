// Package tapestat implements pcp-tapestat, which reports the activity of tape drives like tapestat(1),
// live or from archives.
//
//	pcp -a archive tapestat -x t
package tapestat
