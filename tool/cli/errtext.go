package cli

import (
	"errors"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// ErrText returns what the C tools print for err: the text of the PMAPI status
// or system error in it (pmErrStr(3)). What has none in C says all that it has to.
func ErrText(err error) string {
	if e, ok := errors.AsType[*archive.ExpandError](err); ok {
		return e.Error()
	}
	return pcp.Code(err).Error()
}
