package pcp

// PMAPI status codes. Each comment summarizes the meaning of the code;
// [Error.Error] returns the message of the C library. The numbers are part of the
// protocol, and retired ones are never used again.
const (
	ErrGeneric        Error = -12345 // PM_ERR_GENERIC: of any kind, or without a specific code
	ErrPMNS           Error = -12346 // PM_ERR_PMNS: a name space that cannot be read
	ErrNoPMNS         Error = -12347 // PM_ERR_NOPMNS: no name space is there
	ErrDupPMNS        Error = -12348 // PM_ERR_DUPPMNS: two names for one PMID where only one is allowed
	ErrText           Error = -12349 // PM_ERR_TEXT: no help text
	ErrAppVersion     Error = -12350 // PM_ERR_APPVERSION: a metric not supported by this version of the measured software
	ErrValue          Error = -12351 // PM_ERR_VALUE: no value, or one missing
	ErrTimeout        Error = -12353 // PM_ERR_TIMEOUT: no answer from the collector or agent in time
	ErrNoData         Error = -12354 // PM_ERR_NODATA: an archive without data
	ErrReset          Error = -12355 // PM_ERR_RESET: a metric that was set back
	ErrName           Error = -12357 // PM_ERR_NAME: no metric of this name
	ErrPMID           Error = -12358 // PM_ERR_PMID: no metric with this PMID
	ErrInDom          Error = -12359 // PM_ERR_INDOM: no such instance domain
	ErrInst           Error = -12360 // PM_ERR_INST: no such instance
	ErrUnit           Error = -12361 // PM_ERR_UNIT: units with a scale that does not exist
	ErrConv           Error = -12362 // PM_ERR_CONV: types or dimensions that do not convert
	ErrTrunc          Error = -12363 // PM_ERR_TRUNC: a number too large for the requested type
	ErrSign           Error = -12364 // PM_ERR_SIGN: a negative number for an unsigned type
	ErrProfile        Error = -12365 // PM_ERR_PROFILE: an invalid profile
	ErrIPC            Error = -12366 // PM_ERR_IPC: the peer sent an invalid PDU, or the connection is broken
	ErrEOF            Error = -12368 // PM_ERR_EOF: the other end closed the connection, or the file ends
	ErrNotHost        Error = -12369 // PM_ERR_NOTHOST: only a collector can do that
	ErrEOL            Error = -12370 // PM_ERR_EOL: the end of an archive
	ErrMode           Error = -12371 // PM_ERR_MODE: not in this mode of the context (pmSetMode)
	ErrLabel          Error = -12372 // PM_ERR_LABEL: a bad label record of an archive
	ErrLogRec         Error = -12373 // PM_ERR_LOGREC: a bad record of an archive
	ErrNotArchive     Error = -12374 // PM_ERR_NOTARCHIVE: only an archive can do that
	ErrLogFile        Error = -12375 // PM_ERR_LOGFILE: no such archive, or a part of it is missing
	ErrNoContext      Error = -12376 // PM_ERR_NOCONTEXT: no context, or a closed one
	ErrProfileSpec    Error = -12377 // PM_ERR_PROFILESPEC: instances without a domain
	ErrPMIDLog        Error = -12378 // PM_ERR_PMID_LOG: a metric that is not in the archive
	ErrInDomLog       Error = -12379 // PM_ERR_INDOM_LOG: an instance domain that is not in the archive
	ErrInstLog        Error = -12380 // PM_ERR_INST_LOG: an instance that is not in the archive
	ErrNoProfile      Error = -12381 // PM_ERR_NOPROFILE: a fetch without a profile before it
	ErrNoAgent        Error = -12386 // PM_ERR_NOAGENT: no agent serves the domain
	ErrPermission     Error = -12387 // PM_ERR_PERMISSION: the collector's access control, or a metric that cannot be set
	ErrConnLimit      Error = -12388 // PM_ERR_CONNLIMIT: the collector has as many clients as it takes
	ErrAgain          Error = -12389 // PM_ERR_AGAIN: no value yet; ask again
	ErrIsConn         Error = -12390 // PM_ERR_ISCONN: connected already
	ErrNotConn        Error = -12391 // PM_ERR_NOTCONN: not connected
	ErrNeedPort       Error = -12392 // PM_ERR_NEEDPORT: a port must be named
	ErrNonLeaf        Error = -12394 // PM_ERR_NONLEAF: the name of an inner node, not of a metric
	ErrType           Error = -12397 // PM_ERR_TYPE: an unknown type, or not that of the metric
	ErrThread         Error = -12398 // PM_ERR_THREAD: not from more than one thread; C only
	ErrNoContainer    Error = -12399 // PM_ERR_NOCONTAINER: no such container
	ErrBadStore       Error = -12400 // PM_ERR_BADSTORE: a value that the metric does not take
	ErrLogOverlap     Error = -12401 // PM_ERR_LOGOVERLAP: archives that overlap in time
	ErrLogHost        Error = -12402 // PM_ERR_LOGHOST: archives of different hosts
	ErrLogChangeType  Error = -12404 // PM_ERR_LOGCHANGETYPE: a metric whose type differs between archives
	ErrLogChangeSem   Error = -12405 // PM_ERR_LOGCHANGESEM: a metric whose semantics differ between archives
	ErrLogChangeInDom Error = -12406 // PM_ERR_LOGCHANGEINDOM: a metric whose instance domain differs between archives
	ErrLogChangeUnits Error = -12407 // PM_ERR_LOGCHANGEUNITS: a metric whose units differ between archives
	ErrNeedClientCert Error = -12408 // PM_ERR_NEEDCLIENTCERT: the collector asks for a certificate
	ErrBadDerive      Error = -12409 // PM_ERR_BADDERIVE: a derived metric that makes no sense
	ErrNoLabels       Error = -12410 // PM_ERR_NOLABELS: labels are not supported here
	ErrPMDAFenced     Error = -12411 // PM_ERR_PMDAFENCED: the agent is fenced off by the administrator
	ErrRecType        Error = -12412 // PM_ERR_RECTYPE: a record of an unknown type in an archive
	ErrFeature        Error = -12413 // PM_ERR_FEATURE: a feature of an archive that is not known
	ErrTLS            Error = -12414 // PM_ERR_TLS: encryption failed
	ErrBotch          Error = -12442 // PM_ERR_BOTCH: an internal fault
	ErrTooSmall       Error = -12443 // PM_ERR_TOOSMALL: too few elements, usually none
	ErrTooBig         Error = -12444 // PM_ERR_TOOBIG: too many elements, or one too large
	ErrFault          Error = -12445 // PM_ERR_FAULT: a deliberate fault of the QA suite's
	ErrPMDAReady      Error = -13393 // PM_ERR_PMDAREADY: an agent's word that it answers now; no failure
	ErrPMDANotReady   Error = -13394 // PM_ERR_PMDANOTREADY: the agent still starts; ask again
	ErrNYI            Error = -21344 // PM_ERR_NYI: not implemented
)

// errorTable holds every status with its symbol and message, in the order in
// which pmerr -l prints them: related ones side by side, not by number.
var errorTable = [...]struct {
	code   Error
	symbol string
	text   string
}{
	{ErrGeneric, "PM_ERR_GENERIC", "Generic error, already reported above"},
	{ErrPMNS, "PM_ERR_PMNS", "Problems parsing PMNS definitions"},
	{ErrNoPMNS, "PM_ERR_NOPMNS", "PMNS not accessible"},
	{ErrDupPMNS, "PM_ERR_DUPPMNS", "Attempt to reload the PMNS"},
	{ErrText, "PM_ERR_TEXT", "One-line or help text is not available"},
	{ErrAppVersion, "PM_ERR_APPVERSION", "Metric not supported by this version of monitored application"},
	{ErrValue, "PM_ERR_VALUE", "Missing metric value(s)"},
	{ErrTimeout, "PM_ERR_TIMEOUT", "Timeout waiting for a response from PMCD"},
	{ErrNoData, "PM_ERR_NODATA", "Empty archive log file"},
	{ErrReset, "PM_ERR_RESET", "PMCD reset or configuration change"},
	{ErrName, "PM_ERR_NAME", "Unknown metric name"},
	{ErrPMID, "PM_ERR_PMID", "Unknown or illegal metric identifier"},
	{ErrInDom, "PM_ERR_INDOM", "Unknown or illegal instance domain identifier"},
	{ErrInst, "PM_ERR_INST", "Unknown or illegal instance identifier"},
	{ErrType, "PM_ERR_TYPE", "Unknown or illegal metric type"},
	{ErrUnit, "PM_ERR_UNIT", "Illegal pmUnits specification"},
	{ErrConv, "PM_ERR_CONV", "Impossible value or scale conversion"},
	{ErrTrunc, "PM_ERR_TRUNC", "Truncation in value conversion"},
	{ErrSign, "PM_ERR_SIGN", "Negative value in conversion to unsigned"},
	{ErrProfile, "PM_ERR_PROFILE", "Explicit instance identifier(s) required"},
	{ErrIPC, "PM_ERR_IPC", "IPC protocol failure"},
	{ErrTLS, "PM_ERR_TLS", "TLS protocol failure"},
	{ErrEOF, "PM_ERR_EOF", "IPC channel closed"},
	{ErrNotHost, "PM_ERR_NOTHOST", "Operation requires context with host source of metrics"},
	{ErrEOL, "PM_ERR_EOL", "End of PCP archive log"},
	{ErrMode, "PM_ERR_MODE", "Illegal mode specification"},
	{ErrLabel, "PM_ERR_LABEL", "Illegal label record at start of a PCP archive log file"},
	{ErrLogRec, "PM_ERR_LOGREC", "Corrupted record in a PCP archive log"},
	{ErrLogFile, "PM_ERR_LOGFILE", "Missing PCP archive log file"},
	{ErrNotArchive, "PM_ERR_NOTARCHIVE", "Operation requires context with archive source of metrics"},
	{ErrNoContext, "PM_ERR_NOCONTEXT", "Attempt to use an illegal context"},
	{ErrProfileSpec, "PM_ERR_PROFILESPEC", "NULL pmInDom with non-NULL instlist"},
	{ErrPMIDLog, "PM_ERR_PMID_LOG", "Metric not defined in the PCP archive log"},
	{ErrInDomLog, "PM_ERR_INDOM_LOG", "Instance domain identifier not defined in the PCP archive log"},
	{ErrInstLog, "PM_ERR_INST_LOG", "Instance identifier not defined in the PCP archive log"},
	{ErrNoProfile, "PM_ERR_NOPROFILE", "Missing profile - protocol botch"},
	{ErrNoAgent, "PM_ERR_NOAGENT", "No PMCD agent for domain of request"},
	{ErrPermission, "PM_ERR_PERMISSION", "No permission to perform requested operation"},
	{ErrConnLimit, "PM_ERR_CONNLIMIT", "PMCD connection limit for this host exceeded"},
	{ErrAgain, "PM_ERR_AGAIN", "Try again. Information not currently available"},
	{ErrIsConn, "PM_ERR_ISCONN", "Already Connected"},
	{ErrNotConn, "PM_ERR_NOTCONN", "Not Connected"},
	{ErrNeedPort, "PM_ERR_NEEDPORT", "A non-null port name is required"},
	{ErrNonLeaf, "PM_ERR_NONLEAF", "Metric name is not a leaf in PMNS"},
	{ErrPMDANotReady, "PM_ERR_PMDANOTREADY", "PMDA is not yet ready to respond to requests"},
	{ErrPMDAReady, "PM_ERR_PMDAREADY", "PMDA is now responsive to requests"},
	{ErrBotch, "PM_ERR_BOTCH", "Internal inconsistency detected or assertion failed"},
	{ErrTooSmall, "PM_ERR_TOOSMALL", "Insufficient elements in list"},
	{ErrTooBig, "PM_ERR_TOOBIG", "Result size exceeded"},
	{ErrFault, "PM_ERR_FAULT", "QA fault injected"},
	{ErrThread, "PM_ERR_THREAD", "Operation not supported for multi-threaded applications"},
	{ErrNoContainer, "PM_ERR_NOCONTAINER", "Container not found"},
	{ErrBadStore, "PM_ERR_BADSTORE", "Bad input to pmstore"},
	{ErrLogOverlap, "PM_ERR_LOGOVERLAP", "Archives overlap in time"},
	{ErrLogHost, "PM_ERR_LOGHOST", "Archives differ by host"},
	{ErrLogChangeType, "PM_ERR_LOGCHANGETYPE", "The type of a metric has changed in an archive"},
	{ErrLogChangeSem, "PM_ERR_LOGCHANGESEM", "The semantics of a metric has changed in an archive"},
	{ErrLogChangeInDom, "PM_ERR_LOGCHANGEINDOM", "The instance domain of a metric has changed in an archive"},
	{ErrLogChangeUnits, "PM_ERR_LOGCHANGEUNITS", "The units of a metric have changed in an archive"},
	{ErrNeedClientCert, "PM_ERR_NEEDCLIENTCERT", "PMCD requires a client certificate"},
	{ErrBadDerive, "PM_ERR_BADDERIVE", "Derived metric definition failed"},
	{ErrNoLabels, "PM_ERR_NOLABELS", "No support for metric label metadata"},
	{ErrPMDAFenced, "PM_ERR_PMDAFENCED", "PMDA is currently fenced and unable to respond to requests"},
	{ErrRecType, "PM_ERR_RECTYPE", "Incorrect record type in an archive"},
	{ErrFeature, "PM_ERR_FEATURE", "Archive feature not supported"},
	{ErrNYI, "PM_ERR_NYI", "Functionality not yet implemented"},
}
