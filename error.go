package pcp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"syscall"
)

// An Error is a PMAPI status: a PM_ERR_* code or a negated errno. It is sent
// unchanged in PDUs. Compare with errors.Is(err, pcp.ErrTimeout). A negated errno
// also matches its syscall.Errno and the corresponding fs.Err*.
//
// In some PDUs an Error is a count or has bits of state; it is not negative then.
// 0 means success.
type Error int32

// maxErrno bounds the errno values: from its negation down the codes are PCP's
// own (PM_ERR_BASE).
const maxErrno = 12345

// MaxErrorLen is the size of C callers' buffers for a message (PM_MAXERRMSGLEN).
// No message is longer.
const MaxErrorLen = 128

// Error returns the message of e as pmErrStr(3) returns it.
func (e Error) Error() string {
	switch {
	case e == 0:
		return "No error"
	case e < ErrNYI:
		return authErrorString(e)
	case e < 0 && e > -maxErrno:
		return errnoString(int(-e))
	}
	for i := range errorTable {
		if errorTable[i].code == e {
			return errorTable[i].text
		}
	}
	return "No such PMAPI error code (" + strconv.Itoa(int(e)) + ")"
}

// Symbol returns the C name of e, such as PM_ERR_PMID, or "" if e is not one
// of the PM_ERR_* codes.
func (e Error) Symbol() string {
	for i := range errorTable {
		if errorTable[i].code == e {
			return errorTable[i].symbol
		}
	}
	return ""
}

// Is reports whether e matches target, for errors.Is. A negated errno matches its
// syscall.Errno and the errors of io/fs that this errno matches, ErrPermission
// matches fs.ErrPermission, ErrTimeout context.DeadlineExceeded, and ErrEOF
// io.EOF.
func (e Error) Is(target error) bool {
	switch target {
	case fs.ErrPermission:
		if e == ErrPermission {
			return true
		}
	case context.DeadlineExceeded:
		if e == ErrTimeout {
			return true
		}
	case io.EOF:
		return e == ErrEOF
	}
	if e >= 0 || e <= -maxErrno {
		return false
	}
	errno := syscall.Errno(-e)
	if t, ok := target.(syscall.Errno); ok {
		return errno == t
	}
	return errno.Is(target)
}

// Timeout reports whether e means that something took too long. With it an Error
// is a time-out in the sense of package net.
func (e Error) Timeout() bool {
	return e == ErrTimeout || e == -Error(syscall.ETIMEDOUT)
}

// Code returns the status to send to a peer for err: 0 for nil, the Error or the
// negated syscall.Errno that err wraps, ErrTimeout for a deadline, ErrEOF for the
// end of a stream, -EINTR for a cancelled context, otherwise ErrGeneric. Of an
// error that wraps several, the first one counts.
func Code(err error) Error {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[Error](err); ok {
		return e
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != 0 && errno < maxErrno {
		return -Error(errno)
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return ErrTimeout
	}
	switch {
	case errors.Is(err, context.Canceled):
		return -Error(syscall.EINTR)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrEOF
	case errors.Is(err, fs.ErrPermission):
		return ErrPermission
	case errors.Is(err, fs.ErrNotExist):
		return -Error(syscall.ENOENT)
	case errors.Is(err, fs.ErrExist):
		return -Error(syscall.EEXIST)
	case errors.Is(err, errors.ErrUnsupported):
		return ErrNYI
	}
	return ErrGeneric
}

// Errors returns every PM_ERR_* code in use, in the order of pmerr -l.
func Errors() iter.Seq[Error] {
	return func(yield func(Error) bool) {
		for i := range errorTable {
			if !yield(errorTable[i].code) {
				return
			}
		}
	}
}

// authErrorString returns the message of a status below the last PM_ERR_*
// code. These are the codes of the SASL library, moved down by that number. A
// SASL status moved back up is above -1000; lower ones once were those of the
// library for secure sockets.
func authErrorString(e Error) string {
	code := int(e) - int(ErrNYI)
	if code < -1000 {
		return "Unknown secure sockets error " + strconv.Itoa(int(e)) + " (" + strconv.Itoa(code) + ")"
	}
	if -code < len(saslText) && saslText[-code] != "" {
		return "Authentication - " + saslText[-code]
	}
	return "Authentication - undefined error!"
}
