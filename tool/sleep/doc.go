// Package sleep is pmsleep: it waits for an interval.
//
//	pmsleep '1.5 sec'
package sleep
