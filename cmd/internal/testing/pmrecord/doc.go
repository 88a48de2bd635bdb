// Package pmrecord tests pmapi/record with the commands of the program, pmlogger and pmafm, and
// against the C library.
package pmrecord
