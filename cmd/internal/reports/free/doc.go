// Package free is pcp-free: free and used memory, as free(1) shows it, live or from archives.
//
//	pcp free -m
//	pcp -a archive -S +1hour free
package free
