package source

import (
	"fmt"
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

// ArchiveZone returns the time zone in which to report times of an archive, and
// says on standard output which it is if one was asked for, as most tools do.
func (o *Options) ArchiveZone(a Archived) *time.Location {
	label := a.Label()
	switch {
	case o.HostZone:
		o.noteZone(&label)
		return pcptime.Zone(label.TimeZone)
	case o.TimeZoneSet:
		fmt.Fprintf(o.env.Stdout, "Note: timezone set to \"TZ=%s\"\n\n", o.TimeZone)
		return pcptime.Zone(o.TimeZone)
	}
	return o.env.Local()
}

// ArchiveWindow returns the time window that the options leave of an archive.
// What is wrong it says itself; an error means that the tool must exit.
func (o *Options) ArchiveWindow(a Archived, loc *time.Location) (pcptime.Window, error) {
	end, err := a.End()
	if err != nil {
		end = pcptime.Never
		o.damaged(o.Archives[0], err)
	}
	return o.window(a.Label().Start, end, loc)
}
