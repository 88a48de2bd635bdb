// Package loglabel implements pmloglabel, which checks and rewrites the labels of all
// files of an archive.
//
// Labels are written only if all of them can be: each file can be opened and has room
// for a label of the new version. The C tool writes those it can, and with -V
// overwrites the first records.
package loglabel
