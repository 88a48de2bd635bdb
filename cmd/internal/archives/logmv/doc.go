// Package logmv implements pmlogmv, pmlogcp and pmlogls, which rename, copy and list
// the files of an archive.
//
// All new files exist before the first old file is removed, and existing files are
// never overwritten. If an error or a signal occurs before that, the new files are
// removed; after it, the work is finished, where the C tool still removes the new
// files.
package logmv
