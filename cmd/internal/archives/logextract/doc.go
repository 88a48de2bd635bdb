// Package logextract is pmlogextract: it copies what is wanted out of one
// archive or merges several into one.
//
//	pmlogextract -S '@09:00' -T '@10:00' 20260101 morning
//	pmlogextract -c disks.config 20260101 20260102 disks
//
// Where all of a record is wanted its bytes are copied as they are, once it is
// clear that they are what the C tool would make of them. Metadata go out when
// the first record needs them, in the order and with the time stamps of the C
// tool, so that the files are equal but for the process number in the labels.
package logextract
