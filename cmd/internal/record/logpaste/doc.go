// Package logpaste is pmlogpaste: it makes an archive of a text, the value of
// one metric at the present time.
//
//	uptime | pmlogpaste -o report -m report.uptime
package logpaste
