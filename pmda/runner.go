package pmda

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A Runner calls one agent for its host: [Serve], the collector, or a local
// context of pmapi. It finds out once which optional interfaces the agent has.
// Around each call it does the duties of every host: it asks the [Checker],
// puts the client into the context, recovers from a panic, checks the results
// of the agent, fills in missing ones, and logs errors without a status for
// clients.
//
// The host looks after queues, time limits, and whether an agent knows a client.
// A host makes one call at a time; only Doing, Rename and Prepare may be called meanwhile.
type Runner struct {
	agent     Agent
	name      atomic.Pointer[string]
	log       *slog.Logger
	help      Texter // asked before texter
	spacer    NameSpacer
	refresher Refresher
	preparer  Preparer
	texter    Texter
	labeler   Labeler
	storer    Storer
	namer     DynamicNamer // never nil
	dynamic   bool         // the agent is a DynamicNamer itself
	attrs     AttributeReceiver
	ender     ContextEnder
	changer   Changer
	checker   Checker
	narrator  Narrator
	finisher  Finisher

	mu       sync.Mutex // guards the following fields
	panics   int        // so far
	failures failures
}

// RunnerOptions are the settings of [NewRunner]; the zero value has the defaults.
type RunnerOptions struct {
	Name string       // of the agent, for the log and the label "agent"; "" if it is not known
	Log  *slog.Logger // nil discards
	Help Texter       // asked for help texts before the agent; may be nil
}

// NewRunner returns a Runner for a.
func NewRunner(a Agent, o RunnerOptions) *Runner {
	r := &Runner{agent: a, log: o.Log, help: o.Help}
	r.Rename(o.Name)
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.spacer, _ = a.(NameSpacer)
	if r.namer, r.dynamic = a.(DynamicNamer); !r.dynamic {
		// Names are found even if the name space has only a dynamic root for the agent.
		r.namer = ownNames{sync.OnceValue(func() TreeNamer { return TreeNamer{cmp.Or(r.NameSpace(), pmns.New())} })}
	}
	r.refresher, _ = a.(Refresher)
	r.preparer, _ = a.(Preparer)
	r.texter, _ = a.(Texter)
	r.labeler, _ = a.(Labeler)
	r.storer, _ = a.(Storer)
	r.attrs, _ = a.(AttributeReceiver)
	r.ender, _ = a.(ContextEnder)
	r.changer, _ = a.(Changer)
	r.checker, _ = a.(Checker)
	r.narrator, _ = a.(Narrator)
	r.finisher, _ = a.(Finisher)
	return r
}

// Rename changes [RunnerOptions.Name]. It may be called at any time.
func (r *Runner) Rename(name string) { r.name.Store(&name) }

// Agent returns the agent.
func (r *Runner) Agent() Agent { return r.agent }

// NameSpace returns the agent's own name space, nil if there is none
// ([NameSpacer]).
func (r *Runner) NameSpace() *pmns.Tree {
	if r.spacer == nil {
		return nil
	}
	return r.spacer.NameSpace()
}

// Dynamic reports whether the agent is a [DynamicNamer].
func (r *Runner) Dynamic() bool { return r.dynamic }

// Refreshes reports whether the agent is a [Refresher].
func (r *Runner) Refreshes() bool { return r.refresher != nil }

// Attributes reports whether the agent is an [AttributeReceiver].
func (r *Runner) Attributes() bool { return r.attrs != nil }

// EndsContexts reports whether the agent is a [ContextEnder].
func (r *Runner) EndsContexts() bool { return r.ender != nil }

// Done reports whether the agent wants to end ([Finisher]).
func (r *Runner) Done() bool { return r.finisher != nil && r.finisher.Done() }

// Doing describes the agent's current work, "" if unknown ([Narrator]).
func (r *Runner) Doing() string {
	if r.narrator == nil {
		return ""
	}
	return r.narrator.Doing()
}

// Introduce sends the agent all attributes of a client, before its first request.
// It stops at the first error.
func (r *Runner) Introduce(ctx context.Context, client *Client) error {
	if r.attrs == nil {
		return nil
	}
	for key, value := range client.Attributes() {
		if err := r.Attribute(ctx, client, key, value); err != nil {
			return err
		}
	}
	return nil
}

// Attribute sends the agent one attribute of a client ([AttributeReceiver]).
func (r *Runner) Attribute(ctx context.Context, client *Client, key AttrKey, value string) (err error) {
	if r.attrs == nil {
		return nil
	}
	defer r.finish(wire.TypeAttr, &err)
	return r.attrs.Attribute(ctx, client, key, value)
}

// EndContext notifies the agent that a client has gone ([ContextEnder]).
func (r *Runner) EndContext(client *Client) {
	if r.ender == nil {
		return
	}
	var err error
	defer r.finish(wire.TypeError, &err)
	r.ender.EndContext(client)
}

// Fetch answers one request for values: [Runner.Check], [Runner.Prepare],
// [Runner.Refresh] and [Runner.Values].
func (r *Runner) Fetch(ctx context.Context, req *FetchRequest) (wire.State, error) {
	if err := r.Check(ctx, req.Client); err != nil {
		return 0, err
	}
	r.Prepare(ctx, req.PMIDs)
	if err := r.Refresh(ctx, req.PMIDs); err != nil {
		return 0, err
	}
	return r.Values(ctx, req)
}

// Check asks the agent whether a client may have its request ([Checker]). All
// methods that answer requests do that themselves, except Refresh and Values: a
// host that refreshes once for many requests calls Check for each before that.
func (r *Runner) Check(ctx context.Context, client *Client) (err error) {
	if r.checker == nil {
		return nil
	}
	defer r.finish(wire.TypeFetch, &err)
	return r.checker.Check(WithClient(ctx, client))
}

// Prepares reports whether the agent is a [Preparer].
func (r *Runner) Prepares() bool { return r.preparer != nil }

// Prepare has the agent read slow sources for metrics ([Preparer]). It may be called
// while other calls run. A host that has several clients calls it before a fetch has
// its turn.
func (r *Runner) Prepare(ctx context.Context, ids []pcp.PMID) {
	if r.preparer == nil {
		return
	}
	var err error
	defer r.finish(wire.TypeFetch, &err)
	r.preparer.Prepare(ctx, ids)
}

// Refresh makes the agent read its source for metrics ([Refresher]).
func (r *Runner) Refresh(ctx context.Context, ids []pcp.PMID) (err error) {
	if r.refresher == nil {
		return nil
	}
	defer r.finish(wire.TypeFetch, &err)
	return r.refresher.Refresh(ctx, ids)
}

// Values fetches the metrics that the last Refresh covered. The state has
// wire.LabelChange and wire.NamesChange set if the agent reports such changes
// ([Changer]).
func (r *Runner) Values(ctx context.Context, req *FetchRequest) (state wire.State, err error) {
	defer r.finish(wire.TypeFetch, &err)
	if err := r.agent.Fetch(ctx, req); err != nil {
		return 0, err
	}
	if err := CheckResult(req); err != nil {
		return 0, err
	}
	if r.changer == nil {
		return 0, nil
	}
	names, labels := r.changer.Changes()
	if labels {
		state |= wire.LabelChange
	}
	if names {
		state |= wire.NamesChange
	}
	return state, nil
}

// CheckResult returns an error unless an agent kept to the contract of Fetch: one
// set for each metric, in order. The status of the error is pcp.ErrIPC.
func CheckResult(req *FetchRequest) error {
	sets := req.Result.Sets
	if len(sets) != len(req.PMIDs) {
		return &contractError{fmt.Sprintf("%d metrics where %d were asked for", len(sets), len(req.PMIDs))}
	}
	for i, id := range req.PMIDs {
		if sets[i].PMID != id {
			return &contractError{fmt.Sprintf("%v where %v was asked for", sets[i].PMID, id)}
		}
	}
	return nil
}

// A contractError means that an agent broke the contract of Fetch.
type contractError struct{ what string }

func (e *contractError) Error() string {
	return "agent answered for other metrics than it was asked for: " + e.what
}

func (e *contractError) Unwrap() error { return pcp.ErrIPC }

// Desc returns the descriptor of a metric.
func (r *Runner) Desc(ctx context.Context, client *Client, id pcp.PMID) (desc pcp.Desc, err error) {
	err = r.answer(ctx, client, wire.TypeDescReq, func(ctx context.Context) (err error) {
		desc, err = r.agent.Desc(ctx, id)
		return err
	})
	return desc, err
}

// Instances answers as pmdaInstance does. If the request gives the name or the
// number of an instance, the answer has only the other. If it gives neither
// (pcp.InNull and ""), the answer is the whole domain.
func (r *Runner) Instances(ctx context.Context, client *Client, indom pcp.InDom, inst int32, name string) (list []pcp.Instance, err error) {
	err = r.answer(ctx, client, wire.TypeInstanceReq, func(ctx context.Context) error {
		switch {
		case name == "" && inst == pcp.InNull:
			all, err := r.agent.Instances(ctx, indom)
			list = slices.Clone(all)
			return err
		case name == "":
			full, err := InstanceName(ctx, r.agent, indom, inst)
			list = []pcp.Instance{{Inst: pcp.InNull, Name: full}}
			return err
		case inst == pcp.InNull:
			n, err := LookupInstance(ctx, r.agent, indom, name)
			list = []pcp.Instance{{Inst: n}}
			return err
		}
		return pcp.ErrInst // pmdaInstance calls both a bogus argument
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Text returns a help text, or pcp.ErrText ([Texter]).
func (r *Runner) Text(ctx context.Context, client *Client, ident uint32, kind pcp.TextKind) (text string, err error) {
	err = r.answer(ctx, client, wire.TypeTextReq, func(ctx context.Context) error {
		if r.help != nil {
			if text, err = r.help.Text(ctx, ident, kind); err == nil {
				return nil
			}
		}
		if r.texter == nil {
			return pcp.ErrText
		}
		text, err = r.texter.Text(ctx, ident, kind)
		return err
	})
	return text, err
}

// Labels returns the labels of one level ([Labeler]). At the level of instances
// it returns those of the instances in profile; nil means all. The other levels
// have at most one set. If the agent has no labels at all, the domain has the
// name of the agent as its label.
func (r *Runner) Labels(ctx context.Context, client *Client, ident uint32, kind pcp.LabelFlags, profile *pcp.Profile) (sets []pcp.LabelSet, err error) {
	err = r.answer(ctx, client, wire.TypeLabelReq, func(ctx context.Context) error {
		if r.labeler == nil {
			name := *r.name.Load()
			if name == "" || kind.Level() != pcp.LabelDomain {
				return nil
			}
			set, err := pcp.StringLabels(pcp.LabelDomain, "agent", name)
			sets = []pcp.LabelSet{set}
			return err
		}
		all, err := r.labeler.Labels(ctx, ident, kind)
		if kind.Level() != pcp.LabelInstances {
			all = all[:min(1, len(all))]
		}
		sets = slices.Clone(all)
		if kind.Level() == pcp.LabelInstances && profile != nil {
			only := profile.InDom(pcp.InDom(ident))
			sets = slices.DeleteFunc(sets, func(s pcp.LabelSet) bool { return !only.Includes(s.Inst) })
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return sets, nil
}

// Store makes the agent set values, or returns pcp.ErrPermission if it is not a
// [Storer].
func (r *Runner) Store(ctx context.Context, client *Client, res *pcp.Result) error {
	return r.answer(ctx, client, wire.TypeResult, func(ctx context.Context) error {
		if r.storer == nil {
			return pcp.ErrPermission
		}
		return r.storer.Store(ctx, client, res)
	})
}

// LookupName returns the PMID of a name below a dynamic root, from the
// [DynamicNamer] or from the name space that the agent brings along.
func (r *Runner) LookupName(ctx context.Context, client *Client, name string) (id pcp.PMID, err error) {
	err = r.answer(ctx, client, wire.TypePMNSNames, func(ctx context.Context) (err error) {
		id, err = r.namer.LookupName(ctx, name)
		return err
	})
	if err != nil {
		return pcp.PMIDNull, err
	}
	return id, nil
}

// Names returns the names of a metric, from where LookupName finds them.
func (r *Runner) Names(ctx context.Context, client *Client, id pcp.PMID) (names []string, err error) {
	err = r.answer(ctx, client, wire.TypePMNSIDs, func(ctx context.Context) (err error) {
		names, err = r.namer.Names(ctx, id)
		return err
	})
	return names, err
}

// Children returns the children of a node below a dynamic root, or with
// traverse set all leaves below it; see [DynamicNamer].
func (r *Runner) Children(ctx context.Context, client *Client, name string, traverse bool) (list []pmns.Child, err error) {
	err = r.answer(ctx, client, wire.TypePMNSChild, func(ctx context.Context) (err error) {
		list, err = r.namer.Children(ctx, name, traverse)
		return err
	})
	return list, err
}

// answer makes the calls of a request that is not a fetch.
func (r *Runner) answer(ctx context.Context, client *Client, request wire.Type, calls func(ctx context.Context) error) (err error) {
	defer r.finish(request, &err)
	ctx = WithClient(ctx, client)
	if r.checker != nil {
		if err := r.checker.Check(ctx); err != nil {
			return err
		}
	}
	return calls(ctx)
}

// finish is deferred around calls: it turns a panic into an error, and logs
// errors without a status for clients.
func (r *Runner) finish(request wire.Type, err *error) {
	if v := recover(); v != nil {
		*err = newPanic(v)
	}
	if *err != nil {
		r.report(request, *err)
	}
}

// report logs an error that has no status, or is the agent's fault. Each is
// logged once a minute.
func (r *Runner) report(request wire.Type, err error) {
	_, known := status(err)
	p, panicked := err.(*PanicError)
	_, broke := err.(*contractError)
	if known && !panicked && !broke {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	msg, what := "request failed", err.Error()
	var attrs []any
	if name := *r.name.Load(); name != "" {
		attrs = append(attrs, "agent", name)
	}
	attrs = append(attrs, "request", request.String())
	if panicked {
		r.panics++
		msg, what = "agent panicked", p.At
		attrs = append(attrs, "panic", fmt.Sprint(p.Value), "at", p.At, "times", r.panics)
		if doing := r.Doing(); doing != "" {
			attrs = append(attrs, "doing", doing)
		}
	} else {
		attrs = append(attrs, "err", err)
	}
	if r.failures.isNew(what, time.Now()) {
		r.log.Error(msg, attrs...)
	}
}

// failures are the errors logged in the present minute, as they may come with
// every fetch.
type failures struct {
	began time.Time
	seen  map[string]bool
}

// maxFailures is how many different failures are logged a minute.
const maxFailures = 32

// isNew reports whether a failure must be logged.
func (f *failures) isNew(what string, now time.Time) bool {
	if now.Sub(f.began) >= time.Minute {
		f.began, f.seen = now, make(map[string]bool)
	}
	if f.seen[what] || len(f.seen) >= maxFailures {
		return false
	}
	f.seen[what] = true
	return true
}

// attrOrder is the order in which agents receive a client's attributes, which is
// that of C's hash table. Others follow by number.
var attrOrder = [...]AttrKey{
	AttrContainer, AttrProcessID, AttrGroupID, AttrUserID, AttrUserName,
}

// Attributes yields the attributes of a client in the order in which a collector
// sends them.
func (c *Client) Attributes() iter.Seq2[AttrKey, string] {
	return func(yield func(AttrKey, string) bool) {
		for _, key := range attrOrder {
			if value, ok := c.Attrs[key]; ok && !yield(key, value) {
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(c.Attrs)) {
			if !slices.Contains(attrOrder[:], key) && !yield(key, c.Attrs[key]) {
				return
			}
		}
	}
}
