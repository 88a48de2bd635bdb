// Package helpfile reads and makes help text files, which agents of the C library
// read and newhelp(1) makes. People write a source, which is compiled into a
// pair of files with the suffixes .dir and .pag.
//
//	f, err := help.Open("/var/lib/pcp/pmdas/simple/help")
//	text, err := f.Text(uint32(id), pcp.TextOneLine|pcp.TextPMID)
//
// An agent of tables has its help in the tables. An agent that has files instead
// embeds the *File, which is a pmda.Texter.
//
// In the source an entry begins with a line
//
//	@ NAME ONELINE
//
// and continues with the help text up to the next such line. NAME is the name of
// a metric, its identifier as in 60.0.20, or that of an instance domain as in
// 60.1. Lines that begin with #, and those before the first entry, are left out.
// See [Compiler] for more.
package helpfile
