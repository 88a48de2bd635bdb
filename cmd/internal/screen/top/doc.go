// Package top is pcp top: a screen that shows the activity of a host, now or in archives.
//
//	pcp top
//	pcp top -h web1
//	pcp top -a 20261121 -S @14:30
//
// The views are in internal/ui, which knows no terminal, and their data in internal/model, which knows no
// screen; this package has the options, the terminal, and the outputs for scripts.
package top
