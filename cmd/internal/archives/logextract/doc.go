// Package logextract implements pmlogextract, which copies selected data from an
// archive or merges several archives into one.
//
//	pmlogextract -S '@09:00' -T '@10:00' 20260101 morning
//	pmlogextract -c disks.config 20260101 20260102 disks
//
// If all of a record is selected, its bytes are copied unchanged after a check that the
// C tool would write the same bytes. Metadata are written when the first record needs
// them, in the order and with the time stamps of the C tool, so that the files are
// equal except for the process number in the labels.
package logextract
