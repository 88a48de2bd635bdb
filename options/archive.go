package options

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Replay returns the mode, start and step with which tools show the values of
// an archive at regular times. As in C programs (pmTimeStateMode(3)) the start
// is a whole microsecond and the step a number of milliseconds, or of seconds
// if it is long.
func Replay(origin pcp.Timestamp, interval time.Duration) (pmapi.Mode, pcp.Timestamp, time.Duration) {
	const long = 24 * 24 * time.Hour
	origin.Nsec -= origin.Nsec % 1000
	if interval >= long+time.Second {
		return pmapi.ModeInterp, origin, interval.Truncate(time.Second)
	}
	return pmapi.ModeInterp, origin, interval.Truncate(time.Millisecond)
}

// An Archived is an archive, or several that are replayed as one.
type Archived interface {
	Label() archive.Label
	End() (pcp.Timestamp, error)
}

// ArchiveZone returns the time zone in which to report times of an archive, and with note
// prints it on standard output if one was requested, as most tools do.
func (o *Sources) ArchiveZone(a Archived, note bool) *time.Location {
	label := a.Label()
	switch {
	case o.opts.HostZone:
		if note {
			o.noteZone(label.Host, " from archive")
		}
		return pcptime.Zone(label.TimeZone)
	case o.opts.TimeZoneSet:
		return o.namedZone(note)
	}
	return o.program().Local()
}

// ArchiveWindow returns the time window that the options leave of an archive.
func (o *Sources) ArchiveWindow(a Archived, loc *time.Location) (pcptime.Window, error) {
	end, err := a.End()
	if err != nil {
		end = pcptime.Never
		o.damaged(o.opts.Archives[0], err)
	}
	return o.window(a.Label().Start, end, loc)
}
