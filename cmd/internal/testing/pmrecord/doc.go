// Package pmrecord tests pmapi/record with the commands of the program, pmlogger and pmafm, and
// beside the C library.
package pmrecord
