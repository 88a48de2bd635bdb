package pmapi

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// A trace prints what the debug options ask for about one context, in the layout
// of the C library. Without options there is no trace: all methods of a nil
// *trace may be called and print nothing.
//
// Except for its log, a trace is used by one request at a time, as a source is.
type trace struct {
	log    *debug.Log
	handle int // -1 before there is a context

	// The source in which dumps look up names. Meanwhile nothing else is printed.
	lookup source
	quiet  bool
}

// newTrace returns a trace for another context, nil if log has no options.
func newTrace(log *debug.Log) *trace {
	if log == nil {
		return nil
	}
	return &trace{log: log, handle: -1}
}

// another returns a trace of the same log for another context.
func (t *trace) another() *trace {
	if t == nil {
		return nil
	}
	return newTrace(t.log)
}

// share has a duplicated connection print by t, as its context does.
func (t *trace) share(h *host) {
	if t != nil {
		h.trace = t
	}
}

// duplicated prints the result of pmDupContext.
func (t *trace) duplicated(src source, err error) {
	if t == nil {
		return
	}
	if err == nil {
		t.handle = t.log.OpenContext()
	}
	if t.on(debugname.Context) {
		if err != nil {
			t.printf("pmDupContext() -> %d\n", int32(pcp.Code(err)))
		} else {
			t.printf("pmDupContext() -> %d\n", t.handle)
			t.context(src)
		}
	}
	t.leave(err, t.handle, "")
}

// on reports whether a debug option is set and its lines are wanted now.
func (t *trace) on(name string) bool { return t != nil && !t.quiet && t.log.On(name) }

func (t *trace) printf(format string, args ...any) { t.log.Printf(format, args...) }

// errText is what the C library prints of an error.
func errText(err error) string { return pcp.Code(err).Error() }

// clean returns s as it can be printed: what a collector sends may have characters
// that terminals take for commands.
func clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unprintable reports whether r is a control character.
func unprintable(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }

// enter prints the beginning of a call of the PMAPI, with -D pmapi.
func (t *trace) enter(format string, args ...any) {
	if t.on(debugname.PMAPI) {
		t.printf(format+" <:", args...)
	}
}

// leave prints the result of the call: n and more details, or an error.
func (t *trace) leave(err error, n int, more string) {
	switch {
	case !t.on(debugname.PMAPI):
	case err != nil:
		t.printf(":> returns %s\n", errText(err))
	default:
		t.printf(":> returns %d%s\n", n, more)
	}
}

// newContext prints that a context is about to be made.
func (t *trace) newContext(kind SourceKind, name string) {
	t.enter("pmNewContext(%d, %s)", contextType(kind), contextName(kind, name, "\""))
}

// contextType returns the PM_CONTEXT_* of a kind.
func contextType(kind SourceKind) int {
	switch kind {
	case SourceHost:
		return 1
	case SourceArchive:
		return 2
	}
	return 3
}

func contextName(kind SourceKind, name, quote string) string {
	if kind == SourceLocal {
		return "NULL"
	}
	return quote + clean(HidePassword(name)) + quote
}

// opened prints that a context has been made of src, or why not.
func (t *trace) opened(kind SourceKind, name string, src source, err error) {
	if t == nil {
		return
	}
	if err == nil {
		t.handle = t.log.OpenContext()
	}
	if t.on(debugname.Context) {
		call := fmt.Sprintf("pmNewContext(%d, %s)", contextType(kind), contextName(kind, name, ""))
		if err != nil {
			t.printf("%s -> %d, curr_handle=%d\n", call, int32(pcp.Code(err)), t.log.CurrentContext())
		} else {
			t.printf("%s -> %d\n", call, t.handle)
			t.context(src)
		}
	}
	t.leave(err, t.handle, "")
}

// context dumps a context that has been made of src (__pmDumpContext).
func (t *trace) context(src source) {
	var b strings.Builder
	fmt.Fprintf(&b, "Dump Contexts: current -> contexts[%d] handle %[1]d\n", t.handle)
	fmt.Fprintf(&b, "contexts[%d] handle %[1]d:", t.handle)
	switch src := src.(type) {
	case *host:
		state := "CONNECTED"
		conn, ok := src.usable()
		if !ok {
			state = "NOT CONNECTED"
		}
		fmt.Fprintf(&b, " host %s: pmcd=%s profile=NOT_SENT fd=%d origin=0.000000000 delta=0.000000000",
			clean(src.name()), state, fdOf(conn))
	case *local:
		b.WriteString(" standalone: profile=NOT_SENT")
	case *recording:
		origin := src.cur.Origin()
		fmt.Fprintf(&b, " log %s: mode=FORW profile=NOT_SENT origin=%d.%09d delta=0.000000000",
			clean(src.set.Archives()[0].Path()), origin.Sec, origin.Nsec)
	default:
		b.WriteString(" profile=NOT_SENT")
	}
	b.WriteByte('\n')
	appendProfile(&b, pcp.InDomNull, new(pcp.Profile))
	t.printf("%s", b.String())
}

// profile dumps a profile, of all instance domains or of one.
func (t *trace) profile(indom pcp.InDom, p *pcp.Profile) {
	var b strings.Builder
	appendProfile(&b, indom, p)
	t.printf("%s", b.String())
}

// appendProfile is __pmDumpProfile.
func appendProfile(b *strings.Builder, indom pcp.InDom, p *pcp.Profile) {
	fmt.Fprintf(b, "Dump Instance Profile state=%s, %d profiles", profileState(p.State), len(p.InDoms))
	if indom != pcp.InDomNull {
		fmt.Fprintf(b, ", dump restricted to indom=%d [%v]", int32(indom), indom)
	}
	b.WriteByte('\n')
	for i := range p.InDoms {
		d := &p.InDoms[i]
		if indom != pcp.InDomNull && indom != d.InDom {
			continue
		}
		fmt.Fprintf(b, "\tProfile [%d] indom=%d [%v] state=%s %d instances\n", i, int32(d.InDom), d.InDom, profileState(d.State), len(d.Insts))
		if len(d.Insts) > 0 {
			b.WriteString("\t\tInstances:")
			for _, inst := range d.Insts {
				fmt.Fprintf(b, " [%d]", inst)
			}
			b.WriteByte('\n')
		}
	}
}

func profileState(s pcp.ProfileState) string {
	if s == pcp.ProfileInclude {
		return "INCLUDE"
	}
	return "EXCLUDE"
}

// result dumps a result (__pmDumpResult). It asks src for names and descriptors, as
// the C library does, and prints nothing of that: no value of res may be in
// memory that a request overwrites.
func (t *trace) result(ctx context.Context, src source, res *pcp.Result) {
	if t.quiet {
		return
	}
	t.quiet = true
	defer func() { t.quiet = false }()
	zone := t.log.Zone()
	var b []byte
	b = fmt.Appendf(b, "__pmResult dump from %p timestamp: %d.%09d ", res, res.Time.Sec, res.Time.Nsec)
	b = res.Time.AppendHighResStamp(b, zone)
	b = fmt.Appendf(b, " numpmid: %d\n", len(res.Sets))
	for i := range res.Sets {
		vs := &res.Sets[i]
		b = fmt.Appendf(b, "  %v (", vs.PMID)
		var names []string
		var err error
		if src != nil {
			names, err = src.names(ctx, vs.PMID)
		}
		if src == nil || err != nil || len(names) == 0 {
			names = []string{"<noname>"}
		}
		b = append(b, clean(strings.Join(names, ", "))...)
		b = append(b, "):"...)
		switch {
		case vs.Err != 0:
			b = fmt.Appendf(b, " %v\n", vs.Err)
			continue
		case len(vs.Values) == 0:
			b = append(b, " No values returned!\n"...)
			continue
		}
		desc, known := t.desc(ctx, src, vs.PMID)
		b = fmt.Appendf(b, " numval: %d valfmt: %d vlist[]:\n", len(vs.Values), vs.ValFmt)
		for _, v := range vs.Values {
			if len(vs.Values) > 1 || v.Inst != pcp.InNull {
				name := "???"
				if known {
					if list, err := src.instances(ctx, desc.InDom, v.Inst, ""); err == nil && len(list) > 0 {
						name = `"` + clean(list[0].Name) + `"`
					}
				}
				b = fmt.Appendf(b, "    inst [%d or %s] value ", v.Inst, name)
			} else {
				b = append(b, "   value "...)
			}
			as := v.Type()
			if known {
				as = desc.Type
			}
			b = append(b, clean(string(v.AppendPrint(nil, as, 1, zone)))...)
			b = append(b, '\n')
		}
	}
	t.log.Write(b)
}

// desc looks up a descriptor for a dump.
func (t *trace) desc(ctx context.Context, src source, id pcp.PMID) (pcp.Desc, bool) {
	if src == nil {
		return pcp.Desc{}, false
	}
	ids, descs := []pcp.PMID{id}, []pcp.Desc{{PMID: pcp.PMIDNull}}
	err := src.descs(ctx, ids, descs)
	return descs[0], err == nil && descs[0].PMID != pcp.PMIDNull
}

// instances dumps the instances that an answer has (__pmDumpInResult). One for a name
// has numbers alone, one for a number names alone.
func (t *trace) instances(indom pcp.InDom, list []pcp.Instance, numbers, names bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "pmInResult dump from %p for InDom %v (0x%x), numinst=%d\n", list, indom, uint32(indom), len(list))
	for i := range list {
		fmt.Fprintf(&b, "  [%d]", i)
		if numbers {
			fmt.Fprintf(&b, " inst=%d", list[i].Inst)
		}
		if names {
			fmt.Fprintf(&b, " name=\"%s\"", clean(list[i].Name))
		}
		b.WriteByte('\n')
	}
	t.printf("%s", b.String())
}

// nameList dumps names, perhaps with a status each (__pmDumpNameList).
func (t *trace) nameList(caller string, names []string, status []int32) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nnamelist dump: numnames = %d\n", caller, len(names))
	for i, name := range names {
		fmt.Fprintf(&b, "  name[%d]: \"%s\"\n", i, clean(name))
	}
	if len(status) > 0 {
		fmt.Fprintf(&b, "statuslist dump: numstatus = %d\n", len(status))
		for i, s := range status {
			fmt.Fprintf(&b, "  status[%d]: %d\n", i, s)
		}
	}
	t.printf("%s", b.String())
}

// idList dumps PMIDs (__pmDumpIDList).
func (t *trace) idList(caller string, ids []pcp.PMID) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nIDlist dump: numids = %d\n", caller, len(ids))
	for i, id := range ids {
		fmt.Fprintf(&b, "  PMID[%d]: 0x%08x %v\n", i, uint32(id), id)
	}
	t.printf("%s", b.String())
}

// changes prints the state bits that came with a fetch (__pmDumpFetchFlags).
func (t *trace) changes(c Changes) {
	var list []string
	if c&AgentChange != 0 {
		s := "agent(s)"
		if c&AddAgent != 0 {
			s += " added"
		}
		if c&RestartAgent != 0 {
			s += " restarted"
		}
		if c&DropAgent != 0 {
			s += " dropped"
		}
		list = append(list, s)
	}
	if c&LabelChange != 0 {
		list = append(list, "label change")
	}
	if c&NamesChange != 0 {
		list = append(list, "names change")
	}
	what := "PMCD state changes"
	if t.log.On(debugname.Version7) {
		what = "PMCD state"
	}
	t.printf("%s: %s\n", what, strings.Join(list, ", "))
}

// ends returns the first and the last element of a list as the C library names
// those of its arguments: "a[0] x ... a[n] y".
func ends[T any](label string, list []T, text func(T) string) string {
	if len(list) == 0 {
		return ""
	}
	s := fmt.Sprintf("%s[0] %s", label, text(list[0]))
	if n := len(list) - 1; n > 0 {
		s += fmt.Sprintf(" ... %s[%d] %s", label, n, text(list[n]))
	}
	return s
}
