// Package completion is the command that prints a completion script for a
// shell, made from the table of commands.
//
//	source <(pcp completion bash)
package completion
