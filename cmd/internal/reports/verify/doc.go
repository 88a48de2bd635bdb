// Package verify is pcp-verify: it checks how a collector is installed, live or as an archive has it.
//
//	pcp verify
//	pcp verify --containers -h host
package verify
