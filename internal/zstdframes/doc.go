// Package zstdframes writes files in the .zst format that can be read at random, and finds the parts of such files.
//
// The contents are cut into pieces of equal length, each of which is a frame of its own. A skippable frame at the end has a table with
// their lengths: the seekable format of the zstd project, which all other decoders read as one file.
//
//	piece ... piece  table
//
//	table:  0x184D2A5E  length:32  entry ...  frames:32 flags:8 0x8F92EAB1
//	entry:  compressed:32  contents:32  [checksum:32, if flags has 0x80]
//
// Numbers are little-endian. Part of the file format; do not change.
package zstdframes
