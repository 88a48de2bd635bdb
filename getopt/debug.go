package getopt

import (
	"fmt"
	"slices"

	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// EnvDebug returns the debug options that the environment variable PCP_DEBUG
// sets. If it is wrong, EnvDebug reports that on Stderr and returns none, as
// the C library does when a program starts to use it.
func (p *Program) EnvDebug() []string {
	spec := p.Config.Getenv("PCP_DEBUG")
	names, ok := debug.Parse(spec)
	if !ok {
		fmt.Fprintf(p.Stderr, "Error: $PCP_DEBUG=%s is not valid, ignored\n", spec)
	}
	return names
}

// Debug returns the debug options that PCP_DEBUG and -D set. Some may appear
// twice.
func (o *Options) Debug() []string { return o.debugs }

// Debugging reports whether PCP_DEBUG or -D sets the debug option name. A
// program accepts all options that pmdbg lists, whether it prints anything for them or not.
func (o *Options) Debugging(name string) bool { return slices.Contains(o.debugs, name) }

// DebugLog returns the log on Stderr of the debug options that PCP_DEBUG and -D set,
// nil if they set none: as far as they have been read.
func (o *Options) DebugLog() *debug.Log {
	if o.debugLog == nil {
		names := o.debugs
		if len(names) > 0 && o.p.seven() {
			names = append(slices.Clip(names), debugname.Version7)
		}
		o.debugLog = debug.New(o.p.Stderr, names...)
		o.debugLog.SetZone(o.p.Local())
		if o.debugLog.On(debugname.Config) {
			o.p.Config.Trace(o.debugLog.Printf)
		}
	}
	return o.debugLog
}

// debug sets the options of a -D argument.
func (o *Options) debug(spec string) {
	names, ok := debug.Parse(spec)
	if !ok {
		o.Usagef("unrecognized debug options specification (%s)", spec)
	}
	o.debugs = append(o.debugs, names...)
	o.debugLog = nil
}
