// Package lc implements pmlc, which controls the metrics that a running pmlogger records.
//
//	echo 'log mandatory on every 5 seconds kernel.all.load' | pmlc -P
//
// Statements are read a character at a time and no further than needed, since prompts, line
// numbers in messages, and the text skipped after a mistake depend on it.
package lc
