package report

import (
	"time"

	"github.com/go-pcp/pcp"
)

// An environment reports whether it has a variable, which may be empty.
type environment interface{ IsSet(name string) bool }

// AppendValue appends v as [pcp.Value.AppendPrint] does. If PCP_SQUASH_NEWLINES is set in the
// environment, white space in a string is printed as spaces, so that the text is one line
// (pmPrintValue(3)).
func AppendValue(b []byte, env environment, v *pcp.Value, from pcp.Type, width int, loc *time.Location) []byte {
	start := len(b)
	b = v.AppendPrint(b, from, width, loc)
	if from == pcp.TypeString && env.IsSet("PCP_SQUASH_NEWLINES") {
		for i, c := range b[start:] {
			switch c {
			case '\t', '\n', '\v', '\f', '\r':
				b[start+i] = ' '
			}
		}
	}
	return b
}
