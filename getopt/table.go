package getopt

// The options that many tools share, with the texts for their usage messages
// (PMOPT_*). A tool puts those that it takes into its table; [Options.Parse] handles them.
var (
	OptAlign     = Option{Short: 'A', Long: "align", Arg: "TIME", Help: "align sample times on natural boundaries"}
	OptArchive   = Option{Short: 'a', Long: "archive", Arg: "FILE", Help: "metrics source is a PCP log archive"}
	OptContainer = Option{Long: "container", Arg: "NAME", Help: "specify an individual container to be queried"}
	OptDebug     = Option{Short: 'D', Long: "debug", Arg: "DBG"}
	OptDerived   = Option{Long: "derived", Arg: "FILE", Help: "load derived metric definitions from FILE(s)"}
	OptFinish    = Option{Short: 'T', Long: "finish", Arg: "TIME", Help: "end of the time window"}
	OptGuiMode   = Option{Short: 'g', Long: "guimode", Help: "start in GUI mode with new time control"}
	OptGuiPort   = Option{Short: 'p', Long: "guiport", Arg: "N", Help: "port for connection to existing time control"}
	OptHelp      = Option{Short: '?', Long: "help", Help: "show this usage message and exit"}
	OptHost      = Option{Short: 'h', Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host"}
	OptHostsFile = Option{Short: 'H', Long: "hostsfile", Arg: "FILE", Help: "read metric source hosts from a file"}
	OptHostZone  = Option{Short: 'z', Long: "hostzone", Help: "set reporting timezone to local time of metrics source"}
	OptInterval  = Option{Short: 't', Long: "interval", Arg: "DELTA", Help: "sampling interval"}
	OptLocalPMDA = Option{Short: 'L', Long: "local-PMDA", Help: "metrics source is local connection to a PMDA"}
	OptNameSpace = Option{Short: 'n', Long: "namespace", Arg: "FILE", Help: "use an alternative PMNS"}
	OptOrigin    = Option{Short: 'O', Long: "origin", Arg: "TIME", Help: "initial sample time within the time window"}
	OptSamples   = Option{Short: 's', Long: "samples", Arg: "N", Help: "terminate after this many samples"}
	OptSpecLocal = Option{Short: 'K', Long: "spec-local", Arg: "SPEC", Help: "optional additional PMDA spec for local connection"}
	OptStart     = Option{Short: 'S', Long: "start", Arg: "TIME", Help: "start of the time window"}
	OptTimeZone  = Option{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "set reporting timezone"}
	OptUniqNames = Option{Short: 'N', Long: "uniqnames", Arg: "FILE", Help: "like -n but only one name allowed for each PMID"}
	OptVersion   = Option{Short: 'V', Long: "version", Help: "display version number and exit"}

	OptArchiveList  = Option{Long: "archive-list", Arg: "FILES", Help: "comma-separated list of metric source archives"}
	OptArchiveFolio = Option{Long: "archive-folio", Arg: "FILE", Help: "read metric source archives from a folio"}
	OptHostList     = Option{Long: "host-list", Arg: "HOSTS", Help: "comma-separated list of metric source hosts"}

	// General are the options of tools that sample metrics (PMAPI_GENERAL_OPTIONS).
	General = []Option{
		{Help: "General options"},
		OptAlign, OptArchive, OptDebug, OptGuiMode, OptHost, OptNameSpace, OptOrigin, OptGuiPort,
		OptStart, OptSamples, OptFinish, OptInterval, OptTimeZone, OptHostZone, OptVersion, OptHelp,
	}
)
