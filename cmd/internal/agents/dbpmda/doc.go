// Package dbpmda implements dbpmda, the debugger for agents: it takes the role of the
// collector, sends an agent single requests from a user or a script, and prints the
// agent's answers.
//
//	dbpmda> open pipe /usr/libexec/pcp/bin/pmdasimple -d 253
//	dbpmda> getdesc on
//	dbpmda> fetch simple.color
//
// Its input and error messages match dbpmda(1) to the character, since test suites of
// agents compare its output: the input is read and echoed a character at a time, and an
// error points at the last character needed to detect it.
//
// "open dso" finds the agents of this program by name, since it cannot load a C shared
// object.
package dbpmda
