// Package debugname has the names of debug options (pmDebugOptions(3)), which debug.New takes as strings.
package debugname

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

// Version7 is not an option. With this name in the list of debug.New the output has the layout of version 7 of the C library where
// that differs from version 6.
const Version7 = "version 7"
