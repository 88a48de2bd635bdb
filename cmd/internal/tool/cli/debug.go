package cli

import "github.com/go-pcp/pcp/debug"

// ParseDebug returns the names that a -D argument sets, for tools that read
// their options themselves. Such tools also call [Env.Debug].
func ParseDebug(spec string) (names []string, ok bool) { return debug.Parse(spec) }

// Debug returns the debug options that the environment variable PCP_DEBUG
// sets. If it is wrong, Debug prints an error to Stderr and returns no options,
// as the C library does when a program starts to use it.
func (e *Env) Debug() []string { return e.program().EnvDebug() }
