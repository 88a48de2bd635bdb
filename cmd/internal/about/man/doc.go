// Package man is the command that writes the manual pages: section 1 from the
// table of commands, the same source that "pcp help" has, and section 5 from
// the texts in the directory pages.
//
//	pcp man /usr/local/share/man
package man
