// Package xsos implements pcp-xsos of PCP 7.2, which shows the state of a host at one time: system, memory,
// storage, network and processes.
//
//	pcp xsos --all
//	pcp -a archive -O @10:00 xsos -m
package xsos
