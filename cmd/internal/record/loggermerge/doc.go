// Package loggermerge is pmlogger_merge: it makes one archive of several, such as those
// of a day.
//
//	pcp logger-merge -f '20261121.??.??' 20261121
//
// The new archive is complete or not there at all, and the old ones are removed only
// when it has been read back and is on the disk. See transaction for what a process
// that is killed leaves, and what its next call makes of it.
package loggermerge
