package pmapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/pmns"
)

// A traced is a source that prints the calls of a context. It is the outermost layer,
// and is used only if there is a log.
type traced struct {
	source
	trace *trace
}

// another returns a trace for another context, nil if s is.
func (s *traced) another() *trace {
	if s == nil {
		return nil
	}
	return s.trace.another()
}

func (s *traced) location() Location {
	at := s.source.location()
	if s.trace.on(debugname.PMNS) {
		s.trace.printf("pmGetPMNSLocation() -> %s\n", locationText(at))
	}
	return at
}

func locationText(at Location) string {
	switch at {
	case PMNSLocal:
		return "Local"
	case PMNSRemote:
		return "Remote"
	}
	return "Archive"
}

func (s *traced) lookupNames(ctx context.Context, names []string, ids []pcp.PMID) error {
	t := s.trace
	t.enter("pmLookupName(%d, %s, ...)", len(names), ends("name", names, clean))
	err := s.source.lookupNames(ctx, names, ids)
	found := 0
	for _, id := range ids {
		if id != pcp.PMIDNull {
			found++
		}
	}
	status := err // as in C, one found name is enough
	if found > 0 {
		status = nil
	}
	t.leave(status, found, fmt.Sprintf(" (%s)", ends("pmid", ids, pcp.PMID.String)))
	if t.on(debugname.PMNS) {
		if t.names() == PMNSLocal {
			t.localNames(names, ids)
		}
		if status != nil {
			t.printf("pmLookupName(%d, ...) -> %s\n", len(names), errText(status))
		} else {
			t.printf("pmLookupName(%d, ...) -> %d\n", len(names), found)
		}
	}
	return err
}

// names returns where names are looked up.
func (t *trace) names() Location { return t.lookup.location() }

// localNames prints the names found in a name space of our own.
func (t *trace) localNames(names []string, ids []pcp.PMID) {
	var b strings.Builder
	fmt.Fprintf(&b, "pmLookupName(%d, ...) using local PMNS returns %d and ...\n", len(names), len(names))
	for i, name := range names {
		fmt.Fprintf(&b, "  name[%d]: \"%s\"", i, clean(name))
		if ids[i] != pcp.PMIDNull {
			fmt.Fprintf(&b, " PMID: 0x%x %v", uint32(ids[i]), ids[i])
		}
		b.WriteByte('\n')
	}
	t.printf("%s", b.String())
}

func (s *traced) children(ctx context.Context, name string) ([]pmns.Child, error) {
	children, err := s.source.children(ctx, name)
	if t := s.trace; t.on(debugname.PMNS) {
		switch {
		case err != nil:
			t.printf("pmGetChildren(name=\"%s\") -> %s\n", clean(name), errText(err))
		case len(children) == 0:
			t.printf("pmGetChildren(name=\"%s\") -> leaf\n", clean(name))
		default:
			var b strings.Builder
			fmt.Fprintf(&b, "pmGetChildren(name=\"%s\") -> namelist & statuslist dump: numnames = %d\n", clean(name), len(children))
			for i, c := range children {
				kind := "non-leaf"
				if c.Leaf {
					kind = "leaf"
				}
				fmt.Fprintf(&b, "  name[%d]: \"%s\" (%s)\n", i, clean(c.Name), kind)
			}
			t.printf("%s", b.String())
		}
	}
	return children, err
}

func (s *traced) leaves(ctx context.Context, name string) ([]string, error) {
	t := s.trace
	t.enter("pmTraversePMNS(%s, ...)", clean(name))
	names, err := s.source.leaves(ctx, name)
	t.leave(err, len(names), "")
	return names, err
}

func (s *traced) descs(ctx context.Context, ids []pcp.PMID, descs []pcp.Desc) error {
	t := s.trace
	if len(ids) == 1 {
		t.enter("pmLookupDesc(%v, ...)", ids[0])
	} else {
		t.enter("pmLookupDescs(%d, %s, ...)", len(ids), ends("desc", ids, pcp.PMID.String))
	}
	err := s.source.descs(ctx, ids, descs)
	found := 0
	for i := range descs {
		if descs[i].PMID != pcp.PMIDNull {
			found++
		}
	}
	switch {
	case len(ids) == 1:
		t.leave(err, 0, "")
	case found > 0:
		t.leave(nil, found, "")
	default:
		t.leave(err, 0, "")
	}
	return err
}

func (s *traced) text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	t := s.trace
	if kind&pcp.TextPMID != 0 {
		t.enter("pmLookupText(%v, 0x%x, ...)", pcp.PMID(ident), uint32(kind))
	} else {
		t.enter("pmLookupInDomText(%v, 0x%x, ...)", pcp.InDom(ident), uint32(kind))
	}
	text, err := s.source.text(ctx, ident, kind)
	t.leave(err, 0, "")
	return text, err
}

func (s *traced) labels(ctx context.Context, p profile, kind pcp.LabelFlags, ident uint32) ([]pcp.LabelSet, error) {
	t := s.trace
	t.enter("dolabels(%d, 0x%x[%s], ...)", int32(ident), uint8(kind), kind)
	sets, err := s.source.labels(ctx, p, kind, ident)
	t.leave(err, len(sets), "")
	return sets, err
}

func (s *traced) instances(ctx context.Context, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	t := s.trace
	switch {
	case name != "":
		t.enter("pmLookupInDom(%v, %s)", indom, clean(name))
	case inst != pcp.InNull:
		t.enter("pmNameInDom(%v, %d, ...)", indom, inst)
	default:
		t.enter("pmGetInDom(%v, ...)", indom)
	}
	list, err := s.source.instances(ctx, indom, inst, name)
	switch {
	case len(list) == 0:
		t.leave(err, 0, "")
	case name != "":
		t.leave(err, int(list[0].Inst), "")
	case inst != pcp.InNull:
		t.leave(err, 0, fmt.Sprintf(" (name %s)", clean(list[0].Name)))
	default:
		t.leave(err, len(list), "")
	}
	return list, err
}

func (s *traced) fetch(ctx context.Context, p profile, ids []pcp.PMID, res *pcp.Result, _ bool) (Changes, error) {
	t := s.trace
	if len(ids) > 0 {
		t.enter("pmFetch(%d, %s, ...)", len(ids), ends("pmid", ids, pcp.PMID.String))
	}
	// The dump makes requests: what the values point to must outlive these.
	changes, err := s.source.fetch(ctx, p, ids, res, true)
	if len(ids) > 0 {
		t.leave(err, int(changes), "")
	}
	if err == nil && s.kind() == SourceLocal && t.on(debugname.Fetch) {
		t.localFetch(res)
	}
	t.fetched(ctx, s.source, changes, res, err)
	return changes, err
}

// fetched prints what a fetch returned.
func (t *trace) fetched(ctx context.Context, src source, changes Changes, res *pcp.Result, err error) {
	if !t.on(debugname.Fetch) {
		return
	}
	t.printf("pmFetch returns ...\n")
	if err != nil {
		t.printf("Error: %s\n", errText(err))
		return
	}
	if changes != 0 {
		t.changes(changes)
	}
	t.result(ctx, src, res)
}

// localFetch prints how many values agents in the process returned.
func (t *trace) localFetch(res *pcp.Result) {
	for i := range res.Sets {
		vs := &res.Sets[i]
		if vs.Err != 0 {
			t.printf("__pmFetchLocal: [%d] PMID=%v nval=%v\n", i, vs.PMID, vs.Err)
		} else {
			t.printf("__pmFetchLocal: [%d] PMID=%v nval=%d\n", i, vs.PMID, len(vs.Values))
		}
	}
}

func (s *traced) store(ctx context.Context, res *pcp.Result) error {
	t := s.trace
	t.enter("pmStore(...) %s", ends("pmid", res.Sets, func(vs pcp.ValueSet) string { return vs.PMID.String() }))
	err := s.source.store(ctx, res)
	t.leave(err, 0, "")
	return err
}

func (s *traced) hostName(ctx context.Context, p profile) (string, error) {
	t := s.trace
	if t.on(debugname.Context) {
		t.printf("pmGetHostName context(%d) -> 0\n", t.handle)
	}
	name, err := s.source.hostName(ctx, p)
	if t.on(debugname.Context) {
		t.printf("pmGetHostName reset(%d) -> 0\n", t.handle)
	}
	return name, err
}

func (s *traced) reconnect(ctx context.Context) error {
	t := s.trace
	t.enter("pmReconnectContext(%d)", t.handle)
	err := s.source.reconnect(ctx)
	if t.on(debugname.Context) {
		if err != nil {
			t.printf("pmReconnectContext(%d), failed: %s\n", t.handle, clean(err.Error()))
		} else {
			t.printf("pmReconnectContext(%d), done\npmReconnectContext(%[1]d) -> %[1]d\n", t.handle)
		}
	}
	t.leave(err, t.handle, "")
	return err
}

// close may be called at any time: it does not look whether a dump is under way.
func (s *traced) close() error {
	log, handle := s.trace.log, s.trace.handle
	err := s.source.close()
	if err == nil {
		log.CloseContext(handle)
	}
	if log.On(debugname.Context) && err == nil {
		log.Printf("pmDestroyContext(%d) -> 0, curr_handle=%d\n", handle, log.CurrentContext())
	}
	if log.On(debugname.PMAPI) {
		if err != nil {
			log.Printf("pmDestroyContext(%d) <::> returns %s\n", handle, errText(err))
		} else {
			log.Printf("pmDestroyContext(%d) <::> returns 0\n", handle)
		}
	}
	return err
}

// profileChange prints a change of the profile, with -D profile.
func (s *traced) profileChange(call string, indom pcp.InDom, p *pcp.Profile) {
	if log := s.trace.log; log.On(debugname.Profile) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s() indom: %v\n", call, indom)
		appendProfile(&b, indom, p)
		log.Printf("%s", b.String())
	}
}
