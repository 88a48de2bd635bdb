// Package stdpmid has the numbers of domains that PCP has given to agents, for machines on
// which no PCP is installed.
//
//	n, ok := stdpmid.Number("LINUX") // 60, true
//
// Where there is one, the file stdpmid of the installed name space counts: an administrator
// can have added domains.
package stdpmid
