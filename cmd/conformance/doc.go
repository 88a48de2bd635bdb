// Conformance runs tests of the QA suite that comes with Performance Co-Pilot
// against the commands of this project: each test is a shell script that calls
// pminfo, pmval and others, and whose output must be that in a file.
//
//	cmd/conformance/run                          # the tests of must-pass.list
//	cmd/conformance/run 002 569:pmcd             # some tests
//	cmd/conformance/run -real 002:pmcd           # the same with the real commands
//	cmd/conformance/run -keep /tmp/k -v 569:pmcd # leaves output and differences there
//
// A test runs in namespaces of its own, in which our commands cover the real
// ones, whichever way it calls them. See README.md.
package main
