// Package help is the format of help text files, which agents of the C library
// read and newhelp(1) makes: a source that people write, and the pair of files
// with the suffixes .dir and .pag that it is compiled into.
//
//	f, err := help.Open("/var/lib/pcp/pmdas/simple/help")
//	text, err := f.Text(uint32(id), pcp.TextOneLine|pcp.TextPMID)
//
// An agent of tables has its help in the tables. One that has files instead
// embeds the *File: its method Text is that of a pmda.Texter.
//
// In the source an entry begins with a line
//
//	@ NAME ONELINE
//
// and goes on with the help proper up to the next such line. NAME is the name of
// a metric, its identifier as in 60.0.20, or that of an instance domain as in
// 60.1. Lines that begin with # are left out, as is what comes before the first
// entry. [Compiler] says what else there is to know.
package help
