// Package shping is pcp-shping: whether commands and services answer, and how fast, as the agent shping
// has tried them.
//
//	pcp shping
//	pcp -a archive shping http smtp
package shping
