package pmapi

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
)

// A Mode selects the values that a fetch from archives returns (PM_MODE_*).
type Mode int

// Modes. The numbers are those of C. None is for a collector: its only mode,
// PM_MODE_LIVE, is implied.
const (
	ModeInterp Mode = 1 // PM_MODE_INTERP: values at given times, see package replay
	ModeForw   Mode = 2 // PM_MODE_FORW: values of the next record; how an archive starts
	ModeBack   Mode = 3 // PM_MODE_BACK: values of the record before
)

// ArchiveOptions configures how archives are opened and replayed. The zero
// value has the defaults of the C library without environment variables,
// which are ignored.
type ArchiveOptions = replay.Options

// An ArchiveContext is a Context on archives, with the calls that make sense for
// archives alone. [Context.Archive] returns that of a Context.
type ArchiveContext struct {
	*Context
	r *recording
}

// OpenArchive opens archives. It is pmNewContext(PM_CONTEXT_ARCHIVE).
//
// The specification is the base name of an archive or the name of any of its
// files, compressed or not; a directory, for all archives in it; or several of
// these separated by commas. Several are replayed as one, with a mark between each
// two. They must be of one host, else the error is pcp.ErrLogHost, must not
// start at the same time (pcp.ErrLogOverlap; any other overlap shows when replay
// gets there), and must agree on each metric (pcp.ErrLogChangeType and the like).
//
// The context starts in ModeForw before the first record. All calls of Context
// work on it but Store, which returns pcp.ErrNotHost. Instances and labels
// are those as of its time: the time of the last record, or with ModeInterp of the
// next fetch.
func OpenArchive(spec string) (*ArchiveContext, error) {
	return OpenArchiveOptions(spec, ArchiveOptions{})
}

// OpenArchiveOptions is OpenArchive with options.
func OpenArchiveOptions(spec string, o ArchiveOptions) (*ArchiveContext, error) {
	t := newTrace(o.Debug)
	t.newContext(SourceArchive, spec)
	set, err := replay.Open(spec, o)
	if err != nil {
		t.opened(SourceArchive, spec, nil, err)
		if !strings.Contains(err.Error(), spec) || spec == "" {
			err = fmt.Errorf("archive %q: %w", spec, err)
		}
		return nil, err
	}
	r := newRecording(set, set.NewCursor())
	t.opened(SourceArchive, spec, r, nil)
	return &ArchiveContext{newContext(r, t), r}, nil
}

// Archive returns c with the calls for archives, and reports whether it is on
// archives.
func (c *Context) Archive() (*ArchiveContext, bool) {
	r := c.src.archive()
	if r == nil {
		return nil, false
	}
	return &ArchiveContext{c, r}, true
}

// begin takes the context for a call, which ends with release.
func (a *ArchiveContext) begin(ctx context.Context) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	if err := a.r.begin(ctx); err != nil {
		a.unlock()
		return err
	}
	return nil
}

func (a *ArchiveContext) release() {
	a.r.mu.Unlock()
	a.unlock()
}

// SetMode sets the mode, position and step of the following fetches
// (pmSetMode(3)). When nil keeps the time of the context. ModeInterp needs a step:
// each fetch moves the time by it, a negative one backwards. Any other Mode is
// pcp.ErrMode.
func (a *ArchiveContext) SetMode(ctx context.Context, mode Mode, when *pcp.Timestamp, delta time.Duration) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	defer a.release()
	return a.r.cur.SetMode(replay.Mode(mode), when, delta)
}

// Mode returns the mode of the context.
func (a *ArchiveContext) Mode(ctx context.Context) (Mode, error) {
	if err := a.begin(ctx); err != nil {
		return 0, err
	}
	defer a.release()
	return Mode(a.r.cur.Mode()), nil
}

// FetchArchive returns the next record whole, in the direction of the mode; a mark
// is a result without sets (pmFetchArchive(3)). The profile is not applied. At the
// end the error is pcp.ErrEOL, with ModeInterp pcp.ErrMode.
func (a *ArchiveContext) FetchArchive(ctx context.Context) (*pcp.Result, error) {
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	defer a.release()
	res := new(pcp.Result)
	if err := a.r.cur.Next(ctx, true, res); err != nil {
		return nil, err
	}
	return res, nil
}

// FetchArchiveOf is FetchArchive for some metrics, into a Result that is reused: it
// returns the next record that has any of them, with a set for each, or a mark. It is
// much faster where records have many others. The strings of res and other values of
// variable length are valid until the context's next call.
func (a *ArchiveContext) FetchArchiveOf(ctx context.Context, ids []pcp.PMID, res *pcp.Result) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.unlock()
	return a.src.nextOf(ctx, ids, res)
}

// Label returns the label of the first archive (pmGetArchiveLabel(3)).
func (a *ArchiveContext) Label(ctx context.Context) (archive.Label, error) {
	if err := a.begin(ctx); err != nil {
		return archive.Label{}, err
	}
	defer a.release()
	return a.r.set.Label(), nil
}

// End returns the time of the last record (pmGetArchiveEnd(3)). If the archive
// has grown, it is looked for again.
func (a *ArchiveContext) End(ctx context.Context) (pcp.Timestamp, error) {
	if err := a.begin(ctx); err != nil {
		return pcp.Timestamp{}, err
	}
	defer a.release()
	return a.r.set.End()
}

// Archives returns the archives of the context in the order of their start
// times. They belong to the context.
func (a *ArchiveContext) Archives(ctx context.Context) ([]*archive.Archive, error) {
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	defer a.release()
	return a.r.set.Archives(), nil
}

// Refresh reads the metadata added to an archive that still grows: new
// records are found without it, but new metrics, instances and labels are
// not. Contexts that are duplicates of each other must be at rest.
func (a *ArchiveContext) Refresh(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	defer a.release()
	a.r.tree = nil
	a.r.cur.Refreshed()
	return a.r.set.Refresh()
}

// GetInDomArchive returns all instances that an instance domain ever had in the
// archives, the latest ones first, each with its latest name
// (pmGetInDomArchive(3)). If there are none, the error is pcp.ErrInDomLog.
func (a *ArchiveContext) GetInDomArchive(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	if indom == pcp.InDomNull {
		return nil, pcp.ErrInDom
	}
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	defer a.release()
	return a.r.set.Instances(indom)
}

// LookupInDomArchive returns the instance that ever had a name, the latest one
// (pmLookupInDomArchive(3)), or pcp.ErrInstLog; see [Context.LookupInDom].
func (a *ArchiveContext) LookupInDomArchive(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	if indom == pcp.InDomNull {
		return 0, pcp.ErrInDom
	}
	if err := a.begin(ctx); err != nil {
		return 0, err
	}
	defer a.release()
	list, err := a.r.set.Instances(indom)
	if err != nil {
		return 0, err
	}
	if i := findInstance(list, name); i >= 0 {
		return list[i].Inst, nil
	}
	// Perhaps an earlier name of an instance.
	found, inst := false, int32(0)
	for rec := range a.r.set.Meta().History(indom) {
		if i := findInstance(rec.Instances, name); i >= 0 {
			found, inst = true, rec.Instances[i].Inst
		}
	}
	if !found {
		return 0, fmt.Errorf("instance %q of %v: %w", name, indom, pcp.ErrInstLog)
	}
	return inst, nil
}

// NameInDomArchive returns the latest name that an instance had
// (pmNameInDomArchive(3)), or pcp.ErrInstLog.
func (a *ArchiveContext) NameInDomArchive(ctx context.Context, indom pcp.InDom, inst int32) (string, error) {
	if indom == pcp.InDomNull {
		return "", pcp.ErrInDom
	}
	if err := a.begin(ctx); err != nil {
		return "", err
	}
	defer a.release()
	return a.r.set.InstanceName(indom, inst)
}

// lastInstance returns an instance as it is at the end of the archives.
func (a *ArchiveContext) lastInstance(ctx context.Context, indom pcp.InDom, name string) (int32, error) {
	if err := a.begin(ctx); err != nil {
		return 0, err
	}
	defer a.release()
	return a.r.lastInstance(indom, name)
}
