package trace

import (
	"fmt"

	"github.com/go-pcp/pcp"
)

// An Error is a status of the trace library (PMTRACE_ERR_*), or a negated errno.
type Error int32

// errBase is the start of the library's own codes (PMTRACE_ERR_BASE).
const errBase = 12000

// Errors.
const (
	ErrTagName    Error = -errBase - 0  // PMTRACE_ERR_TAGNAME: the tag is empty
	ErrInProgress Error = -errBase - 1  // PMTRACE_ERR_INPROGRESS: begun already
	ErrNoProgress Error = -errBase - 2  // PMTRACE_ERR_NOPROGRESS: not begun, or ended already
	ErrNoSuchTag  Error = -errBase - 3  // PMTRACE_ERR_NOSUCHTAG: never begun
	ErrTagType    Error = -errBase - 4  // PMTRACE_ERR_TAGTYPE: not a kind of record
	ErrTagLength  Error = -errBase - 5  // PMTRACE_ERR_TAGLENGTH: longer than MaxTag
	ErrIPC        Error = -errBase - 6  // PMTRACE_ERR_IPC: the connection to the agent failed
	ErrEnvFormat  Error = -errBase - 7  // PMTRACE_ERR_ENVFORMAT: a variable cannot be read
	ErrTimeout    Error = -errBase - 8  // PMTRACE_ERR_TIMEOUT: the agent took too long
	ErrVersion    Error = -errBase - 9  // PMTRACE_ERR_VERSION: of the protocol
	ErrPermission Error = -errBase - 10 // PMTRACE_ERR_PERMISSION: the agent refuses this host
	ErrConnLimit  Error = -errBase - 11 // PMTRACE_ERR_CONNLIMIT: too many connections
)

// ErrText returns the text of a status, as pmtraceerrstr(3) does.
func ErrText(code int) string {
	switch {
	case code == 0:
		return "No error."
	case code < 0 && code > -errBase:
		return pcp.Error(code).Error()
	}
	switch Error(code) {
	case ErrTagName:
		return "Invalid tag name - tag names cannot be NULL"
	case ErrInProgress:
		return "Transaction is already in progress - cannot begin"
	case ErrNoProgress:
		return "Transaction is not currently in progress - cannot end"
	case ErrNoSuchTag:
		return "Transaction tag was not successfully initialised"
	case ErrTagType:
		return "Tag is already in use for a different type of tracing"
	case ErrTagLength:
		return "Tag name is too long (maximum 256 characters)"
	case ErrIPC:
		return "IPC protocol failure"
	case ErrEnvFormat:
		return "Unrecognised environment variable format"
	case ErrTimeout:
		return "Application timed out connecting to the PMDA"
	case ErrVersion:
		return "Incompatible versions between application and PMDA"
	case ErrPermission:
		return "Cannot connect to PMDA - permission denied"
	case ErrConnLimit:
		return "Cannot connect to PMDA - connection limit reached"
	}
	return "Unknown error code."
}

// Error returns the text of the status.
func (e Error) Error() string { return ErrText(int(e)) }

// A failure is an Error with its cause.
type failure struct {
	code  Error
	cause error
}

func (f *failure) Error() string   { return fmt.Sprintf("trace: %v: %v", f.code, f.cause) }
func (f *failure) Unwrap() []error { return []error{f.code, f.cause} }
