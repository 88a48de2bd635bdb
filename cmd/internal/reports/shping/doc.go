// Package shping implements pcp-shping, which reports whether commands and services answer, and how
// fast, as measured by the agent shping.
//
//	pcp shping
//	pcp -a archive shping http smtp
package shping
