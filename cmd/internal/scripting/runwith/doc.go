// Package runwith is pmpython, which runs the Python that pcp.conf names, and
// pmsocks, which runs a program through a SOCKS proxy. Each becomes the other
// program. It is also pmnewlog, which did such a thing and is retired.
//
//	pmpython script.py
//	pmsocks pmstat -h far.example.com
package runwith
