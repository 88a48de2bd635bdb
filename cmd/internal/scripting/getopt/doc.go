// Package getopt is pmgetopt: it parses the options of shell scripts.
//
//	eval set -- $(pmgetopt --config=usage --progname=$prog -- "$@")
//
// The configuration is the usage message of the script, one option a line, and
// the script gets its arguments in one form: short options where there are any,
// each argument quoted, and "--" before the rest.
//
// C's reading of a configuration is peculiar in places, and this one does the
// same, as scripts rely on it; comments mark each such place.
package getopt
