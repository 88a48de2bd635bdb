// Package getopt is pmgetopt: it parses the options of shell scripts.
//
//	eval set -- $(pmgetopt --config=usage --progname=$prog -- "$@")
//
// The configuration is the usage message that the script wants to have, one
// option a line, and what the script gets is its arguments in one form: short
// options where there are any, each argument quoted, and "--" before the rest.
//
// Where C's reading of a configuration is peculiar the same is done here, as
// scripts have come to look right with it; each such place says so.
package getopt
