// Package logdiff implements pmdiff, which compares the averages of two archives, or of
// two time windows of one archive.
package logdiff
