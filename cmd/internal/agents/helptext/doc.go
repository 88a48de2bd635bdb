// Package helptext implements newhelp and chkhelp, which create and inspect the help
// text files of agents.
//
//	newhelp -n root_simple -o help simple.help
//	chkhelp -n root_simple -H help simple.color
//
// The format is that of package internal/helpfile.
package helptext
