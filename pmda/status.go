package pmda

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/go-pcp/pcp"
)

// status returns the code that a client gets for err. known is false if err lacks
// a code; then it is pcp.ErrGeneric and the caller logs err.
func status(err error) (code pcp.Error, known bool) {
	if code, known = errors.AsType[pcp.Error](err); known && code < 0 {
		return code, true
	}
	if code = pcp.Code(err); code < 0 {
		return code, code != pcp.ErrGeneric
	}
	return pcp.ErrGeneric, false
}

// A PanicError means that an agent panicked. Its status is pcp.ErrGeneric.
type PanicError struct {
	Value any    // what the agent panicked with
	At    string // where, in one line: the innermost functions with file and line
}

// Error returns the value of the panic, but not its place.
func (e *PanicError) Error() string { return fmt.Sprintf("agent panicked: %v", e.Value) }

// Unwrap makes clients see pcp.ErrGeneric.
func (e *PanicError) Unwrap() error { return pcp.ErrGeneric }

// protect calls fn and returns its error, or a [PanicError] if it panics.
func protect(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanic(v)
		}
	}()
	return fn()
}

// newPanic returns the error for a panic from which the caller recovered v.
func newPanic(v any) *PanicError { return &PanicError{Value: v, At: panicSite()} }

// panicSite returns the functions that led to the panic being recovered, the
// innermost first, down to the function that made the call.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	var b strings.Builder
	for n := 0; n < 6; {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, "/pmda.protect") || strings.Contains(f.Function, "/pmda.(*Runner).") {
			break
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			if n++; n > 1 {
				b.WriteString(" < ")
			}
			fmt.Fprintf(&b, "%s %s:%d", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			break
		}
	}
	return b.String()
}
