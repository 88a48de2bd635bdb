// Package logmv is pmlogmv, pmlogcp and pmlogls: it renames, copies and lists
// the files of an archive.
//
// All files of the new name are there before the first one of the old name goes,
// and what is there already is never written over. If something fails or a
// signal comes before that, the new files are removed; after it, the work is
// finished. The C tool then removes the new files all the same.
package logmv
