// Package logdiff is pmdiff: what differs between the averages of two archives,
// or of two times of one.
package logdiff
