// Package verify implements pcp-verify, which checks the installation of a collector, live or from an
// archive.
//
//	pcp verify
//	pcp verify --containers -h host
package verify
