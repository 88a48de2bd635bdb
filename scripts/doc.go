// Package scripts has the scripts of the Makefile; its tests are of the shell
// scripts.
package scripts
