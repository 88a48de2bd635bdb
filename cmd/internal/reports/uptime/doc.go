// Package uptime implements pcp-uptime, which reports how long a host has been running like uptime(1), live or
// from archives.
//
//	pcp -h app1 uptime
package uptime
