package cli

import "github.com/go-pcp/pcp"

// ErrText returns what the C tools print for err: the text of the PMAPI status
// or system error in it (pmErrStr(3)).
func ErrText(err error) string { return pcp.Code(err).Error() }
