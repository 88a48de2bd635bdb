package cli

import (
	"strings"
	"time"
)

// FinishTime returns the time at which -T says to stop, counting from now; the
// zero time if it says nothing. Only intervals are supported yet; a mistake is
// noted for Done.
func (o *Options) FinishTime(now time.Time) time.Time {
	if o.Finish == "" {
		return time.Time{}
	}
	spec := o.Finish[skipSpace(o.Finish, 0):]
	if strings.HasPrefix(spec, "@") {
		o.Unsupported("times of day and dates (-T " + o.Finish + ") are")
		return time.Time{}
	}
	spec = strings.TrimPrefix(spec, "+")
	d, err := ParseInterval(spec)
	if err != nil {
		o.runtimef("invalid time window.\n%v", err)
		return time.Time{}
	}
	return now.Add(d)
}
