// Package help is the command that lists the others and explains one.
//
//	pcp help
//	pcp help info
package help
