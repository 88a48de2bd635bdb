package dbg

// A debugOption is one name that -D takes.
type debugOption struct {
	name string
	bit  int32 // DBG_TRACE_*, the number of old; 0 if it never had one
	text string
}

// debugOptions are in the order of the fields of pmDebugOptions. Scripts and
// debuggers know the names, bits and texts from pmdbg -l; do not change them.
var debugOptions = [...]debugOption{
	{"pdu", 1 << 0, "PDU traffic at the Xmit and Recv level"},
	{"fetch", 1 << 1, "Results from pmFetch"},
	{"profile", 1 << 2, "Changes and xmits for instance profile"},
	{"value", 1 << 3, "Metric value extraction and conversion"},
	{"context", 1 << 4, "Changes to PMAPI contexts"},
	{"indom", 1 << 5, "Instance domain operations"},
	{"pdubuf", 1 << 6, "PDU buffer operations"},
	{"log", 1 << 7, "Archive log manipulations"},
	{"logmeta", 1 << 8, "Archive metadata operations"},
	{"optfetch", 1 << 9, "optFetch magic"},
	{"af", 1 << 10, "Asynchronous event scheduling"},
	{"appl0", 1 << 11, "Application-specific flag 0"},
	{"appl1", 1 << 12, "Application-specific flag 1"},
	{"appl2", 1 << 13, "Application-specific flag 2"},
	{"pmns", 1 << 14, "PMNS operations"},
	{"libpmda", 1 << 15, "PMDA operations in libpcp_pmda"},
	{"timecontrol", 1 << 16, "Time control API"},
	{"pmc", 1 << 17, "Metrics class operations"},
	{"derive", 1 << 18, "Derived metrics functionality"},
	{"lock", 1 << 19, "Synchronization and lock tracing"},
	{"interp", 1 << 20, "Interpolate mode for archives"},
	{"config", 1 << 21, "Configuration parameters"},
	{"pmapi", 1 << 22, "PMAPI call tracing"},
	{"fault", 1 << 23, "Fault injection tracing"},
	{"auth", 1 << 24, "Authentication tracing"},
	{"discovery", 1 << 25, "Service discovery tracing"},
	{"attr", 1 << 26, "Connection attribute handling"},
	{"http", 1 << 27, "Trace HTTP operations in libpcp_web"},
	{"desperate", 1 << 30, "Verbose/Desperate level (developers only)"},
	{"deprecated", 0, "Report use of deprecated services"},
	{"exec", 0, "__pmProcessExec and related calls"},
	{"labels", 0, "Metric label metadata operations"},
	{"series", 0, "Time series tracing"},
	{"libweb", 0, "Trace services from libpcp_web"},
	{"alloc", 0, "Miscellaneous alloc/free operations"},
	{"services", 0, "Services and daemons"},
	{"appl3", 0, "Application-specific flag 3"},
	{"appl4", 0, "Application-specific flag 4"},
	{"appl5", 0, "Application-specific flag 5"},
	{"access", 0, "Access controls"},
	{"qa", 0, "QA (transient, developers only)"},
	{"search", 0, "Text search tracing"},
	{"query", 0, "libpcp_web query parsing and evaluation"},
	{"compress", 0, "Archive compress/decompress operations"},
	{"dev0", 0, "Developer flag 0"},
	{"dev1", 0, "Developer flag 1"},
	{"dev2", 0, "Developer flag 2"},
	{"pmlc", 0, "Protocol between pmlc and pmlogger"},
	{"appl6", 0, "Application-specific flag 6"},
	{"appl7", 0, "Application-specific flag 7"},
	{"appl8", 0, "Application-specific flag 8"},
	{"appl9", 0, "Application-specific flag 9"},
	{"tls", 0, "Transport Layer Security operations"},
}
