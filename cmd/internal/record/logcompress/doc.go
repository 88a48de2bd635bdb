// Package logcompress implements pmlogcompress and pmlogdecompress of PCP 7, which compress and decompress the files of
// archives.
//
//	pmlogcompress -V 20261121
//	pmlogdecompress -t /tmp 20261121
package logcompress
