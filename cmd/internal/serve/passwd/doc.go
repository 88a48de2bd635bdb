// Package passwd is pcp passwd: it manages the accounts of the collector's own file.
//
//	pcp passwd add tux
//	pcp passwd list
//
// The file has no passwords, only the data to verify one; see docs/security.md.
package passwd
