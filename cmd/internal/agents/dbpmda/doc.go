// Package dbpmda is dbpmda, the debugger for agents: it stands in for the
// collector, sends an agent one request at a time as a person or a script asks
// for it, and prints what the agent answers.
//
//	dbpmda> open pipe /usr/libexec/pcp/bin/pmdasimple -d 253
//	dbpmda> getdesc on
//	dbpmda> fetch simple.color
//
// What it reads, and how it answers mistakes, follows dbpmda(1) to the
// character, as test suites of agents compare its output: the input is taken a
// character at a time, echoed as it is taken, and an error points at the last
// character that had been needed to see it.
//
// "open dso" finds the agents of this program by name, for there is no way to
// load a C shared object into it.
package dbpmda
