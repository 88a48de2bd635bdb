package source

import (
	"path"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/period"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pcptime"
)

// narrow replaces the directories in a specification of archives by archives: those in stores by their archives that the window of the
// options needs, and with older ones by roll-ups and archives, if the recorded archives of the start of the window have expired.
func (o *Options) narrow(spec string, rollUps bool) string {
	if o.env.Config().IsSet("PCP_IGNORE_MARK_RECORDS") {
		return spec
	}
	from, to, ok := o.dates()
	if !ok {
		return spec
	}
	names := strings.Split(spec, ",")
	for i, name := range names {
		if _, _, file := archive.BaseName(path.Base(name)); file || name == "" {
			continue
		}
		if !storage.Remote(name) && len(period.RollUps(name)) == 0 {
			continue
		}
		list, ok := period.Archives(name, from, to)
		if ok && list[0].Start.Compare(from) <= 0 {
			names[i] = period.Spec(list)
			continue
		}
		var before []period.Archive
		recorded := true
		if rollUps {
			before, recorded = period.Before(name, from, to)
		}
		switch {
		case !recorded:
			list = before
		case ok:
			list = append(before, list...)
		case len(before) > 0:
			list = append(before, period.Archive{Path: name})
		default:
			continue
		}
		names[i] = period.Spec(list)
	}
	return strings.Join(names, ",")
}

// dates returns the window of the options, if its start does not depend on the archives. The end is the zero time if it does, or if
// there is none.
func (o *Options) dates() (from, to pcp.Timestamp, ok bool) {
	b := o.Bounds()
	if b.Start == nil {
		return from, to, false
	}
	loc := o.env.Local()
	if o.TimeZoneSet {
		loc = pcptime.Zone(o.TimeZone)
	}
	from, ok = period.Date(*b.Start, nil, loc)
	if !ok {
		return from, to, false
	}
	if b.Finish != nil {
		if to, ok = period.Date(*b.Finish, &from, loc); !ok {
			to = pcp.Timestamp{}
		}
	}
	if o.HostZone { // it is known when an archive is open
		from = from.Add(-anyZone)
		if !to.IsZero() {
			to = to.Add(anyZone)
		}
	}
	return from, to, true
}

// anyZone is more than the difference of any two time zones.
const anyZone = 27 * time.Hour
