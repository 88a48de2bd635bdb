package getopt

import (
	"errors"

	"github.com/go-pcp/pcp"
)

// ErrText returns what the C tools print for err: the text of the PMAPI status
// or system error in it (pmErrStr(3)). C does not have errors with a method
// NotInC, nor those without a status; for them ErrText returns the whole message.
func ErrText(err error) string {
	if e, ok := errors.AsType[interface {
		error
		NotInC()
	}](err); ok {
		return e.Error()
	}
	code := pcp.Code(err)
	if code == pcp.ErrGeneric && !errors.Is(err, pcp.ErrGeneric) {
		return err.Error() // which is more specific than a general error
	}
	return code.Error()
}
