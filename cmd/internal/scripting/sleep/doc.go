// Package sleep is pmsleep, which waits for an interval, and pmpause, which waits
// for a signal.
//
//	pmsleep '1.5 sec'
package sleep
