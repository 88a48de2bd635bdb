// Package lc is pmlc: it controls what a running pmlogger records.
//
//	echo 'log mandatory on every 5 seconds kernel.all.load' | pmlc -P
//
// Statements are read a character at a time and no further than they must be, since prompts, the
// numbers of lines in messages, and what is skipped behind a mistake depend on it.
package lc
