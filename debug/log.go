package debug

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// The options for which this module's packages print something
// (pmDebugOptions(3)).
const (
	PDU         = "pdu"         // PDUs sent and received
	Fetch       = "fetch"       // requests for values and their results
	Profile     = "profile"     // profiles of instances
	Value       = "value"       // conversion and scaling of values
	Context     = "context"     // opening and closing of contexts
	InDom       = "indom"       // requests about instance domains
	Archive     = "log"         // archives: files, records, positions
	LogMeta     = "logmeta"     // archives: metadata
	OptFetch    = "optfetch"    // groups of fetches
	AF          = "af"          // timed events
	Appl0       = "appl0"       // for each program to use
	Appl1       = "appl1"       // for each program to use
	Appl2       = "appl2"       // for each program to use
	PMLC        = "pmlc"        // the ports of pmlogger and the files found there
	PMNS        = "pmns"        // the name space
	LibPMDA     = "libpmda"     // agents
	TimeControl = "timecontrol" // time control
	Derive      = "derive"      // derived metrics
	Interp      = "interp"      // interpolation
	Config      = "config"      // configuration
	PMAPI       = "pmapi"       // calls of the client library
	Auth        = "auth"        // authentication
	Attr        = "attr"        // attributes of a connection
	Desperate   = "desperate"   // more of everything
	Labels      = "labels"      // labels
	TLS         = "tls"         // secure connections
)

// A Log prints the messages of its options. A nil *Log has no options. Many
// goroutines may use a Log at a time.
type Log struct {
	on []string

	mu       sync.Mutex
	w        io.Writer
	contexts int // number of contexts so far
	current  int // the number of the current one and 1, 0 for none
	zone     *time.Location
}

// New returns a Log that prints the messages of the named options to w. Without
// names it returns nil.
func New(w io.Writer, names ...string) *Log {
	if len(names) == 0 {
		return nil
	}
	return &Log{on: slices.Clone(names), w: w}
}

// On reports whether an option is set.
func (l *Log) On(name string) bool { return l != nil && slices.Contains(l.on, name) }

// Any reports whether one of several options is set.
func (l *Log) Any(names ...string) bool { return slices.ContainsFunc(names, l.On) }

// Printf prints regardless of the options: the caller checks On first. On a nil
// *Log it does nothing.
func (l *Log) Printf(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format, args...)
}

// Write writes b at once, as Printf does.
func (l *Log) Write(b []byte) (int, error) {
	if l == nil {
		return len(b), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
