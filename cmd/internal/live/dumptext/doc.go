// Package dumptext is pmdumptext: it writes the values of metrics in columns, one line a sample, live or
// from archives.
//
//	pcp dumptext -m disk.dev.read 'kernel.all.load[1]'
//	pcp dumptext -a archive -imu -c file
package dumptext
