// Package helptext is newhelp and chkhelp: they make the help text files of
// agents, and look into them.
//
//	newhelp -n root_simple -o help simple.help
//	chkhelp -n root_simple -H help simple.color
//
// The format is that of package pmda/help.
package helptext
