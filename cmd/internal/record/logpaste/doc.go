// Package logpaste implements pmlogpaste, which writes an archive with a text as the
// value of one metric at the current time.
//
//	uptime | pmlogpaste -o report -m report.uptime
package logpaste
