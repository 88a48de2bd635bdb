package cli

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/internal/getopt"
)

// ParseDebug returns the names that a -D argument sets, for tools that read
// their options themselves. Such tools also call [Env.Debug].
func ParseDebug(spec string) (names []string, ok bool) { return getopt.ParseDebug(spec) }

// Debug returns the debug options that the environment variable PCP_DEBUG
// sets. If it is wrong, Debug says so on Stderr and returns none, as the C
// library does when a program starts to use it.
func (e *Env) Debug() []string {
	spec := e.Getenv("PCP_DEBUG")
	names, ok := getopt.ParseDebug(spec)
	if !ok {
		fmt.Fprintf(e.Stderr, "Error: $PCP_DEBUG=%s is not valid, ignored\n", spec)
	}
	return names
}

// Debug returns the debug options that PCP_DEBUG and -D set. Some may appear
// twice.
func (o *Options) Debug() []string { return o.debugs }

// Debugging reports whether PCP_DEBUG or -D sets the debug option name. Any
// tool accepts all options that pmdbg lists; those for which a tool prints
// something are in the field Debug of its [Command].
func (o *Options) Debugging(name string) bool { return slices.Contains(o.debugs, name) }

// debug sets the options of a -D argument.
func (o *Options) debug(spec string) {
	names, ok := getopt.ParseDebug(spec)
	if !ok {
		o.Usagef("unrecognized debug options specification (%s)", spec)
	}
	o.debugs = append(o.debugs, names...)
}
