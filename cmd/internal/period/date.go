package period

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
)

// Date returns the time that the argument of an option such as -S names, and false if that depends on the start or the end of the
// archives. For -T, start is the time of -S.
func Date(spec string, start *pcp.Timestamp, loc *time.Location) (pcp.Timestamp, bool) {
	var found [2]pcp.Timestamp
	for i, t := range []time.Time{time.Date(1990, 1, 1, 0, 0, 0, 0, loc), time.Date(1991, 3, 5, 12, 34, 56, 0, loc)} {
		first := pcp.TimestampOf(t)
		if start != nil {
			first = *start
		}
		var err error
		if found[i], err = pcptime.ParseTime(spec, first, pcp.TimestampOf(t.AddDate(60, 0, 0)), loc); err != nil {
			return pcp.Timestamp{}, false
		}
	}
	return found[0], found[0] == found[1]
}
