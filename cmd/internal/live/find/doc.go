// Package find is pmfind: it looks for collectors and proxies in the network.
//
//	pmfind -m probe=192.168.1.0/24
//	pmfind -S -m shell
package find
