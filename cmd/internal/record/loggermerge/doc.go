// Package loggermerge implements pmlogger_merge, which merges several archives, such as
// those of a day, into one.
//
//	pcp logger-merge -f '20261121.??.??' 20261121
//
// The new archive is complete or does not exist, and the old ones are removed only
// after it has been synced to disk and read back. See transaction for the files that a
// killed process leaves, and how the next call handles them.
package loggermerge
