// Package timectl is pcp time, and pmtime: it moves the tools that follow it
// through time.
//
//	pcp time &          # prints port=43334
//	pcp val -p 43334 -a 20261121 kernel.all.load
package timectl
