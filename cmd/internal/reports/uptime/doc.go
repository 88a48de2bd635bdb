// Package uptime is pcp-uptime: how long a host has been running, as uptime(1) shows it, live or from archives.
//
//	pcp -h app1 uptime
package uptime
