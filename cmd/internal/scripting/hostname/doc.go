// Package hostname is pmhostname: it prints the full name of a host.
//
//	pmhostname
//	pmhostname server7
package hostname
