package pmapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/pmns"
)

// A Mode says which values a fetch returns (PM_MODE_*).
type Mode int

// Modes. The numbers are those of C.
const (
	ModeLive   Mode = 0 // PM_MODE_LIVE: those of now; the one mode of a collector
	ModeInterp Mode = 1 // PM_MODE_INTERP: those at given times, see package replay
	ModeForw   Mode = 2 // PM_MODE_FORW: those of the next record; how an archive starts
	ModeBack   Mode = 3 // PM_MODE_BACK: those of the record before
)

// ArchiveOptions say how archives are opened and replayed. The zero value has
// the defaults of the C library without environment variables, which it does
// not look at.
type ArchiveOptions = replay.Options

// OpenArchive opens archives. It is pmNewContext(PM_CONTEXT_ARCHIVE).
//
// The specification is the base name of an archive or the name of any of its
// files, compressed or not; a directory, for all archives in it; or several of
// these separated by commas. Several are replayed as one, with a mark between each
// two. They must be of one host, else the error is pcp.ErrLogHost, must not
// start at the same time (pcp.ErrLogOverlap; that they overlap otherwise shows
// when replay gets there), and must agree on each metric
// (pcp.ErrLogChangeType and the like).
//
// The context starts in ModeForw before the first record. All calls of Context
// work on it but Store, which returns pcp.ErrNotHost. Instances and labels
// are those as of its time: that of the last record, or with ModeInterp of the next
// fetch.
func OpenArchive(spec string) (*Context, error) { return OpenArchiveOptions(spec, ArchiveOptions{}) }

// OpenArchiveOptions is OpenArchive with options.
func OpenArchiveOptions(spec string, o ArchiveOptions) (*Context, error) {
	set, err := replay.Open(spec, o)
	if err != nil {
		if !strings.Contains(err.Error(), spec) || spec == "" {
			err = fmt.Errorf("archive %q: %w", spec, err)
		}
		return nil, err
	}
	return newContext(newRecording(set, set.NewCursor())), nil
}

// A recording is the source of an archive context.
type recording struct {
	mu     sync.Mutex // held by each call
	set    *replay.Set
	cur    *replay.Cursor
	tree   *pmns.Tree // made when first needed
	closed bool
}

func newRecording(set *replay.Set, cur *replay.Cursor) *recording {
	return &recording{set: set, cur: cur}
}

// begin takes the recording for a call, which ends with r.mu.Unlock.
func (r *recording) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return errClosed
	}
	return nil
}

// nameSpace makes the name space. The mutex is held.
func (r *recording) nameSpace() *pmns.Tree {
	if r.tree == nil {
		r.tree = pmns.New()
		for name, id := range r.set.Meta().NamesInOrder() {
			// A name that cannot be, below a leaf or the like, is not there for C either.
			_ = r.tree.Prepend(name, id)
		}
	}
	return r.tree
}

func (r *recording) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	var first error
	for i, name := range names {
		if id, ok := r.set.Meta().LookupName(name); ok {
			ids[i] = id
			continue
		}
		if first == nil {
			_, err := r.nameSpace().Lookup(name)
			if err == nil {
				err = pcp.ErrName
			}
			first = nameError(name, pcp.Code(err))
		}
	}
	return first
}

func (r *recording) names(ctx context.Context, id pcp.PMID) ([]string, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	names := r.set.Meta().Names(id)
	if len(names) == 0 {
		return nil, pcp.ErrPMID
	}
	return names, nil
}

func (r *recording) children(ctx context.Context, name string) ([]pmns.Child, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	return r.nameSpace().Children(name)
}

func (r *recording) leaves(ctx context.Context, name string) ([]string, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	var names []string
	err := r.nameSpace().Walk(name, func(name string, _ pcp.PMID) bool {
		names = append(names, name)
		return true
	})
	return names, err
}

func (r *recording) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	var first error
	for i, id := range ids {
		d, err := r.set.Meta().Desc(id)
		if err == nil {
			descs[i] = d
		} else if first == nil {
			first = err
		}
	}
	return first
}

func (r *recording) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if err := r.begin(ctx); err != nil {
		return "", err
	}
	defer r.mu.Unlock()
	s, err := r.set.Meta().Text(kind, ident)
	if err == nil {
		return s, nil
	}
	// What the C library says if an archive has no help texts of a kind at all.
	if !r.set.Meta().HasText(kind) {
		return "", pcp.ErrNotHost
	}
	return "", pcp.ErrText
}

func (r *recording) labels(ctx context.Context, _ *Context, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	sets, known := r.set.Meta().LookupLabels(kind, ident, r.cur.Origin())
	if !known && kind.Level() == pcp.LabelContext {
		// What is known of an archive without labels.
		set, err := pcp.StringLabels(pcp.LabelContext, "hostname", r.set.Label().Host)
		if err != nil {
			return nil, err
		}
		sets = []pcp.LabelSet{set}
	}
	return sets, nil
}

func (r *recording) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	if inst != pcp.InNull {
		view := r.set.Meta().View(indom, r.cur.Origin())
		if n, ok := view.Name(inst); ok {
			return []pcp.Instance{{Inst: inst, Name: n}}, nil
		}
	}
	rec, err := r.set.Meta().InDom(indom, r.cur.Origin())
	if err != nil || inst == pcp.InNull && name == "" {
		return rec.Instances, err
	}
	if name != "" {
		if i := findInstance(rec.Instances, name); i >= 0 {
			return rec.Instances[i : i+1], nil
		}
	}
	return nil, pcp.ErrInstLog
}

// lastInstance returns an instance as it is at the end of the archive.
func (r *recording) lastInstance(indom pcp.InDom, name string) (int32, error) {
	end, err := r.set.End()
	if err != nil {
		return 0, err
	}
	rec, err := r.set.Meta().InDom(indom, end)
	if err != nil {
		return 0, err
	}
	i := findInstance(rec.Instances, name)
	if i < 0 {
		return 0, fmt.Errorf("instance %q of %v: %w", name, indom, pcp.ErrInstLog)
	}
	return rec.Instances[i].Inst, nil
}

// findInstance returns the index of the instance that name selects: the one
// of just that name, or else the first that matches. -1 is none.
func findInstance(list []pcp.Instance, name string) int {
	part := -1
	for i := range list {
		if list[i].Name == name {
			return i
		}
		if part < 0 && pcp.MatchInstance(list[i].Name, name) {
			part = i
		}
	}
	return part
}

func (r *recording) fetch(ctx context.Context, c *Context, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	defer r.mu.Unlock()
	c.mu.Lock()
	profile := &c.profile
	if !profile.IsAll() {
		profile = profile.Clone()
	}
	c.mu.Unlock()
	if r.cur.Mode() != replay.Interp && allEvents(ids) {
		// As no record has these the C library takes the next one.
		err := r.cur.Next(ctx, keep, res)
		if err == nil {
			at := res.Time
			res.Reset()
			res.Time = at
			for _, id := range ids {
				res.AddError(id, 0)
			}
		}
		return 0, err
	}
	return 0, r.cur.Fetch(ctx, ids, profile, keep, res)
}

func allEvents(ids []pcp.PMID) bool {
	for _, id := range ids {
		if !isEvent(id) {
			return false
		}
	}
	return true
}

func (r *recording) store(context.Context, *pcp.Result) error { return pcp.ErrNotHost }

func (r *recording) reconnect(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.mu.Unlock()
	return nil
}

func (r *recording) dup(ctx context.Context) (source, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	r.set.Retain()
	n := newRecording(r.set, r.cur.Clone())
	n.tree = r.tree
	return n, nil
}

func (r *recording) hostName() string { return r.set.Label().Host }

func (r *recording) pduCounts() (sent, received PDUCounts) { return sent, received }

func (r *recording) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	r.closed = true
	r.cur.Close()
	return r.set.Close()
}

// Kind tells what the context is on.
func (c *Context) Kind() SourceKind {
	switch c.src.(type) {
	case *recording:
		return SourceArchive
	case *local:
		return SourceLocal
	}
	return SourceHost
}

// recording returns the source of an archive context for a call, which ends
// with r.mu.Unlock and c.unlock.
func (c *Context) recording(ctx context.Context) (*recording, error) {
	r, ok := c.src.(*recording)
	if !ok {
		return nil, pcp.ErrNotArchive
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		c.unlock()
		return nil, err
	}
	return r, nil
}

func (c *Context) release(r *recording) {
	r.mu.Unlock()
	c.unlock()
}

// SetMode says what is fetched from now on, from where and with which step
// (pmSetMode(3)). When nil keeps the time of the context. A step is needed with
// ModeInterp: each fetch moves the time by it, a negative one backwards.
//
// The one mode of a collector is ModeLive, which no archive has: all other
// combinations are pcp.ErrMode.
func (c *Context) SetMode(mode Mode, when *pcp.Timestamp, delta time.Duration) error {
	r, err := c.recording(context.Background())
	switch {
	case errors.Is(err, pcp.ErrNotArchive):
		if mode == ModeLive {
			return nil
		}
		return fmt.Errorf("mode %d of a collector: %w", mode, pcp.ErrMode)
	case err != nil:
		return err
	}
	defer c.release(r)
	return r.cur.SetMode(replay.Mode(mode), when, delta)
}

// ModeDelta returns the step that C programs give pmSetMode(3) as a number of a unit,
// one of pcp.TimeNsec to pcp.TimeHour, with PM_XTB_SET; without that it is
// pcp.TimeMsec. Any other unit counts as that too.
func ModeDelta(n int32, unit int) time.Duration {
	switch unit {
	case pcp.TimeNsec:
		return time.Duration(n)
	case pcp.TimeUsec:
		return time.Duration(n) * time.Microsecond
	case pcp.TimeSec:
		return time.Duration(n) * time.Second
	case pcp.TimeMin:
		return time.Duration(n) * time.Minute
	case pcp.TimeHour:
		return time.Duration(n) * time.Hour
	}
	return time.Duration(n) * time.Millisecond
}

// Mode returns the mode of the context.
func (c *Context) Mode() Mode {
	r, err := c.recording(context.Background())
	if err != nil {
		return ModeLive
	}
	defer c.release(r)
	return Mode(r.cur.Mode())
}

// Origin returns the time of an archive context: of its last record, or with
// ModeInterp of the next fetch. That of a collector is pcp.ErrNotArchive.
func (c *Context) Origin() (pcp.Timestamp, error) {
	r, err := c.recording(context.Background())
	if err != nil {
		return pcp.Timestamp{}, err
	}
	defer c.release(r)
	return r.cur.Origin(), nil
}

// FetchArchive returns the next record of an archive whole, in the direction of the
// mode; a mark is a result without sets (pmFetchArchive(3)). The profile has
// no say. At the end the error is pcp.ErrEOL, with ModeInterp pcp.ErrMode,
// of a collector pcp.ErrNotArchive.
func (c *Context) FetchArchive(ctx context.Context) (*pcp.Result, error) {
	res := new(pcp.Result)
	if err := c.fetchArchive(ctx, res, true); err != nil {
		return nil, err
	}
	return res, nil
}

// FetchArchiveInto is FetchArchive into a Result that is reused, of which strings
// and other values of variable length are valid until the context's next call.
func (c *Context) FetchArchiveInto(ctx context.Context, res *pcp.Result) error {
	return c.fetchArchive(ctx, res, false)
}

// FetchArchiveOf is FetchArchiveInto for some metrics: it returns the next record
// that has any of them, with a set for each, or a mark. It is much faster where
// records have many others.
func (c *Context) FetchArchiveOf(ctx context.Context, ids []pcp.PMID, res *pcp.Result) error {
	r, err := c.recording(ctx)
	if err != nil {
		return err
	}
	defer c.release(r)
	return r.cur.NextOf(ctx, ids, false, res)
}

func (c *Context) fetchArchive(ctx context.Context, res *pcp.Result, keep bool) error {
	r, err := c.recording(ctx)
	if err != nil {
		return err
	}
	defer c.release(r)
	return r.cur.Next(ctx, keep, res)
}

// ArchiveLabel returns the label of the first archive of the context
// (pmGetArchiveLabel(3)); pcp.ErrNotArchive if it is not on an archive.
func (c *Context) ArchiveLabel() (archive.Label, error) {
	r, err := c.recording(context.Background())
	if err != nil {
		return archive.Label{}, err
	}
	defer c.release(r)
	return r.set.Label(), nil
}

// ArchiveEnd returns the time of the last record (pmGetArchiveEnd(3)). It is
// found anew if the archive has grown.
func (c *Context) ArchiveEnd() (pcp.Timestamp, error) {
	r, err := c.recording(context.Background())
	if err != nil {
		return pcp.Timestamp{}, err
	}
	defer c.release(r)
	return r.set.End()
}

// Archives returns the archives of the context in the order of their start
// times, nil if it is on a collector. They belong to the context.
func (c *Context) Archives() []*archive.Archive {
	r, err := c.recording(context.Background())
	if err != nil {
		return nil
	}
	defer c.release(r)
	return r.set.Archives()
}

// Refresh takes in what was added to an archive that still grows: records that come
// are found without it, but not new metrics, instances and labels. Contexts
// that are duplicates of each other must be at rest.
func (c *Context) Refresh() error {
	r, err := c.recording(context.Background())
	if err != nil {
		return err
	}
	defer c.release(r)
	r.tree = nil
	r.cur.Refreshed()
	return r.set.Refresh()
}

// GetInDomArchive returns all instances that an instance domain ever had in the
// archive, the latest ones first, each with its latest name
// (pmGetInDomArchive(3)); pcp.ErrInDomLog if there are none.
func (c *Context) GetInDomArchive(indom pcp.InDom) ([]pcp.Instance, error) {
	if indom == pcp.InDomNull {
		return nil, pcp.ErrInDom
	}
	r, err := c.recording(context.Background())
	if err != nil {
		return nil, err
	}
	defer c.release(r)
	return r.set.Instances(indom)
}

// LookupInDomArchive returns the instance that ever had a name, the latest one
// (pmLookupInDomArchive(3)), or pcp.ErrInstLog; see [Context.LookupInDom].
func (c *Context) LookupInDomArchive(indom pcp.InDom, name string) (int32, error) {
	list, err := c.GetInDomArchive(indom)
	if err != nil {
		return 0, err
	}
	if i := findInstance(list, name); i >= 0 {
		return list[i].Inst, nil
	}
	// Perhaps an earlier name of an instance.
	r, err := c.recording(context.Background())
	if err != nil {
		return 0, err
	}
	defer c.release(r)
	found, inst := false, int32(0)
	for rec := range r.set.Meta().History(indom) {
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
func (c *Context) NameInDomArchive(indom pcp.InDom, inst int32) (string, error) {
	if indom == pcp.InDomNull {
		return "", pcp.ErrInDom
	}
	r, err := c.recording(context.Background())
	if err != nil {
		return "", err
	}
	defer c.release(r)
	return r.set.InstanceName(indom, inst)
}
