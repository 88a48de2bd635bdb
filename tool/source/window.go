package source

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/tool/cli"
)

// Window returns the time window that the options leave of a source, of which
// c is the context: of a collector from now on. With ParseConfig.Multi and
// several archives it is what they span together. What is wrong Window says
// itself; an error means that the tool must exit.
func (o *Options) Window(ctx context.Context, c *pmapi.Context, loc *time.Location) (pcptime.Window, error) {
	first, last := pcp.TimestampOf(time.Now()), pcptime.Never
	if a, ok := c.Archive(); ok {
		var err error
		if first, last, err = o.bounds(ctx, a); err != nil {
			o.env.Flush()
			return pcptime.Window{}, err
		}
	}
	return o.window(first, last, loc)
}

func (o *Options) window(first, last pcp.Timestamp, loc *time.Location) (pcptime.Window, error) {
	w, _, err := pcptime.ParseWindow(pcptime.Bounds{Start: o.Start, Finish: o.Finish, Align: o.Align, Origin: o.Origin}, first, last, loc)
	if err != nil {
		o.env.Errorf("invalid time window.\n%v", err)
		o.env.Flush()
	}
	return w, err
}

// bounds returns when archives start and end (__pmBoundaryOptions).
func (o *Options) bounds(ctx context.Context, c *pmapi.ArchiveContext) (first, last pcp.Timestamp, err error) {
	if len(o.Archives) == 1 {
		return o.archiveBounds(ctx, c, o.Archives[0])
	}
	for i, path := range o.Archives {
		one, err := o.OpenArchive(path)
		if err != nil {
			o.env.Errorf("Cannot open archive %s: %s", path, cli.ErrText(err))
			return first, last, err
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

func (o *Options) archiveBounds(ctx context.Context, c *pmapi.ArchiveContext, path string) (first, last pcp.Timestamp, err error) {
	label, err := c.Label(ctx)
	if err != nil {
		o.env.Errorf("Cannot get archive %s label record: %s", path, cli.ErrText(err))
		return first, last, err
	}
	last, err = c.End(ctx)
	if err != nil {
		last = pcptime.Never
		o.damaged(path, err)
	}
	return label.Start, last, nil
}

// damaged warns that the end of an archive cannot be found.
func (o *Options) damaged(path string, err error) {
	o.env.FlushOut()
	fmt.Fprintf(o.env.Stderr, "%s: Cannot locate end of archive %s: %s\n", o.env.ProgName(), path, cli.ErrText(err))
	fmt.Fprint(o.env.Stderr, "\nWARNING: This archive is sufficiently damaged that it may not be possible to\n"+
		"         produce complete information.  Continuing and hoping for the best.\n\n")
}
