package pmapi

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/pmns"
)

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
	return treeLeaves(r.nameSpace(), name)
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
	// The C library's error if an archive has no help texts of a kind at all.
	if !r.set.Meta().HasText(kind) {
		return "", pcp.ErrNotHost
	}
	return "", pcp.ErrText
}

func (r *recording) labels(ctx context.Context, _ profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	defer r.mu.Unlock()
	sets, known := r.set.Meta().LookupLabels(kind, ident, r.cur.Origin())
	if !known && kind.Level() == pcp.LabelContext {
		// The only label known of an archive without labels.
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

// instanceAt returns the name that an instance has at a time.
func (r *recording) instanceAt(indom pcp.InDom, inst int32, at pcp.Timestamp) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return "", errClosed
	}
	view := r.set.Meta().View(indom, at)
	if name, ok := view.Name(inst); ok {
		return name, nil
	}
	return "", pcp.ErrInstLog
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

// findInstance returns the index of the instance that name selects: the instance with
// exactly that name, or else the first that matches. If there is none, it returns -1.
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

func (r *recording) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, keep bool) (Changes, error) {
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	defer r.mu.Unlock()
	if len(ids) > 0 || r.cur.Mode() == replay.Interp {
		return 0, r.cur.Fetch(ctx, ids, p.Profile, keep, res)
	}
	for mark := true; mark; mark = len(res.Sets) == 0 { // a record of values has sets
		if err := r.cur.Next(ctx, keep, res); err != nil {
			return 0, err
		}
	}
	at := res.Time
	res.Reset()
	res.Time = at
	return 0, nil
}

func (r *recording) nextOf(ctx context.Context, ids []pcp.PMID, res *pcp.Result) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer r.mu.Unlock()
	return r.cur.NextOf(ctx, ids, false, res)
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

func (r *recording) kind() SourceKind { return SourceArchive }

func (r *recording) location() Location { return PMNSArchive }

func (r *recording) namesIn(t *pmns.Tree) nameSpace { return treeNames{t} }

func (r *recording) archive() *recording { return r }

func (r *recording) hostName(context.Context, profile) (string, error) {
	return r.set.Label().Host, nil
}

func (r *recording) timeZone(ctx context.Context, _ profile) (string, error) {
	if err := r.begin(ctx); err != nil {
		return "", err
	}
	defer r.mu.Unlock()
	return r.set.Label().TimeZone, nil
}

func (r *recording) ahead(context.Context, []pcp.Desc, bool) error { return nil }

func (r *recording) rest() {}

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
