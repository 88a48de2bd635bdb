// Package free implements pcp-free, which reports free and used memory like free(1), live or
// from archives.
//
//	pcp free -m
//	pcp -a archive -S +1hour free
package free
