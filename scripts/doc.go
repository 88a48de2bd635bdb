// Package scripts has what the Makefile runs; its tests are of the shell scripts.
package scripts
