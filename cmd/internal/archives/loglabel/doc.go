// Package loglabel is pmloglabel: it checks the labels of all files of an
// archive, and rewrites them.
//
// Labels are written only if all of them can be: each file can be opened and has
// room for a label of the version wanted. The C tool writes what it can, and
// with -V over the first records.
package loglabel
