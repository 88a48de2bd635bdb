// Package difftest holds the tests that run our tools and the C tools against
// the same collector, and compare their output to the last byte, and their exit
// statuses.
//
// The invocations are a table, in the files cases_*_test.go. A new tool, or a
// new option, needs lines there. Where an output cannot be the same, because
// it has the time of day in it or because we decided otherwise, the line names
// a noise or a difference; both have a list with their reasons in
// differences_test.go. A difference that has gone is a failure too.
package difftest
