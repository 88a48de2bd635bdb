// Package top is pcp top: a screen that shows what a host does, now or in archives.
//
//	pcp top
//	pcp top -h web1
//	pcp top -a 20261121 -S @14:30
//
// What is shown is in internal/ui, which knows no terminal, and what it shows in internal/model, which knows no
// screen; this package has the options, the terminal, and the outputs for scripts.
package top
