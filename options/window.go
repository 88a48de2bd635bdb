package options

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// Window returns the time window of the options for the source of context c:
// for a collector from now on. With Program.Multi and several archives it is
// their span together.
func (o *Sources) Window(ctx context.Context, c *pmapi.Context, loc *time.Location) (pcptime.Window, error) {
	first, last := pcp.TimestampOf(time.Now()), pcptime.Never
	if a, ok := c.Archive(); ok {
		var err error
		if first, last, err = o.bounds(ctx, a); err != nil {
			return pcptime.Window{}, err
		}
	}
	return o.window(first, last, loc)
}

func (o *Sources) window(first, last pcp.Timestamp, loc *time.Location) (pcptime.Window, error) {
	w, _, err := pcptime.ParseWindow(o.opts.Bounds(), first, last, loc)
	if err != nil {
		err = fmt.Errorf("invalid time window.\n%w", err)
	}
	return w, err
}

// bounds returns when archives start and end (__pmBoundaryOptions).
func (o *Sources) bounds(ctx context.Context, c *pmapi.ArchiveContext) (first, last pcp.Timestamp, err error) {
	if len(o.opts.Archives) == 1 {
		return o.archiveBounds(ctx, c, o.opts.Archives[0])
	}
	for i, path := range o.opts.Archives {
		one, err := o.OpenArchive(path)
		if err != nil {
			return first, last, &Error{Text: fmt.Sprintf("Cannot open archive %s", path), Err: err}
		}
		start, end, err := o.archiveBounds(ctx, one, path)
		one.Close()
		if err != nil {
			return first, last, err
		}
		if i == 0 || start.Compare(first) < 0 {
			first = start
		}
		if i == 0 || end.Compare(last) > 0 {
			last = end
		}
	}
	return first, last, nil
}

func (o *Sources) archiveBounds(ctx context.Context, c *pmapi.ArchiveContext, path string) (first, last pcp.Timestamp, err error) {
	label, err := c.Label(ctx)
	if err != nil {
		return first, last, &Error{Text: fmt.Sprintf("Cannot get archive %s label record", path), Err: err}
	}
	last, err = c.End(ctx)
	if err != nil {
		last = pcptime.Never
		o.damaged(path, err)
	}
	return label.Start, last, nil
}

// damaged warns that the end of an archive cannot be found.
func (o *Sources) damaged(path string, err error) {
	o.flush()
	fmt.Fprintf(o.program().Stderr, "%s: Cannot locate end of archive %s: %s\n", o.program().Name, path, getopt.ErrText(err))
	fmt.Fprint(o.program().Stderr, "\nWARNING: This archive is sufficiently damaged that it may not be possible to\n"+
		"         produce complete information.  Continuing and hoping for the best.\n\n")
}
