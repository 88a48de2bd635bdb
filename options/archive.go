package options

import (
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Replay returns how tools set the mode of an archive to show what was at
// regular times. As C programs do (pmTimeStateMode(3)) they start at a
// microsecond and go in steps of milliseconds, or of seconds if they are long.
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
// says on standard output which it is if one was asked for, as most tools do.
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
