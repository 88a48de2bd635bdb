// Package agenttest compares an agent with an agent of a collector, for tests.
package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// An Agent is an agent that can be compared.
type Agent interface {
	pmda.Agent
	pmda.NameSpacer
	pmda.Texter
}

// A Real is an agent that a collector serves.
type Real struct {
	*pmapi.Context
	Names []string // in the order of the name space
	IDs   []pcp.PMID
}

// Dial connects to a collector, and finds the metrics of a domain below the roots.
func Dial(t testing.TB, address string, domain int, roots ...string) *Real {
	t.Helper()
	c, err := pmapi.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &Real{Context: c}
	for _, root := range roots {
		for name, err := range c.Traverse(t.Context(), root) {
			if err != nil {
				t.Fatalf("%s: %v", root, err)
			}
			r.Names = append(r.Names, name)
		}
	}
	if r.IDs, err = c.LookupName(t.Context(), r.Names...); err != nil {
		t.Fatal(err)
	}
	for i, id := range r.IDs {
		if id.Domain() != domain {
			t.Fatalf("%s is %v, want domain %d", r.Names[i], id, domain)
		}
	}
	return r
}

// Start starts a real collector with one more agent, whose line of pmcd.conf and name space
// are given, and finds its metrics below the roots, which are words.
func Start(t testing.TB, line, namespace, roots string, env ...string) *Real {
	t.Helper()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}, Lines: []string{line}, PMNS: namespace, Env: env})
	domain, err := strconv.Atoi(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	return Dial(t, d.Unix, domain, strings.Fields(roots)...)
}

// Descriptors compares names, PMIDs and descriptors, and the order of the names with
// that of the collector, and wants help texts. Names that later reports may be missing in
// the collector.
func (r *Real) Descriptors(t testing.TB, a Agent, later func(name string) bool) {
	t.Helper()
	HelpTexts(t, a)
	names := r.Metrics(t, a, later)
	if got, want := tops(names), tops(r.Names); !slices.Equal(got, want) {
		t.Errorf("names in the order\n %v\nwant\n %v", got, want)
	}
}

// HelpTexts wants all metrics and instance domains of an agent to have help texts.
func HelpTexts(t testing.TB, a Agent) {
	t.Helper()
	for name, id := range a.NameSpace().All() {
		helpTexts(t, a, name, uint32(id), pcp.TextPMID)
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if desc.InDom != pcp.InDomNull {
			helpTexts(t, a, name, uint32(desc.InDom), pcp.TextInDom)
		}
	}
}

// Metrics compares names, PMIDs and descriptors. It returns the names that both should have.
func (r *Real) Metrics(t testing.TB, a Agent, later func(name string) bool) []string {
	t.Helper()
	ctx := t.Context()
	var names []string
	tree := a.NameSpace()
	for name := range tree.All() {
		if later == nil || !later(name) {
			names = append(names, name)
		} else if slices.Contains(r.Names, name) {
			t.Errorf("%s is served by the collector, too", name)
		}
	}
	for _, name := range r.Names {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range names {
		id, err := r.LookupName(ctx, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _ := tree.Lookup(name); got != id[0] {
			t.Errorf("%s is %v, want %v", name, got, id[0])
		}
		want, err := r.LookupDesc(ctx, id[0])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := a.Desc(ctx, id[0]); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	return names
}

// tops returns names in their order, leaves before the subtrees next to them:
// collectors differ in that.
func tops(names []string) []string {
	names = slices.Clone(names)
	seen := make(map[string]int)
	for i, name := range names {
		for prefix := range prefixes(name) {
			if _, ok := seen[prefix]; !ok {
				seen[prefix] = i
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		as, bs := strings.Split(a, "."), strings.Split(b, ".")
		for i := range min(len(as), len(bs)) {
			if as[i] == bs[i] {
				continue
			}
			aLeaf, bLeaf := i == len(as)-1, i == len(bs)-1
			if aLeaf != bLeaf {
				if aLeaf {
					return -1
				}
				return 1
			}
			return seen[strings.Join(as[:i+1], ".")] - seen[strings.Join(bs[:i+1], ".")]
		}
		return len(as) - len(bs)
	})
	return names
}

func prefixes(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range name {
			if name[i] == '.' && !yield(name[:i]) {
				return
			}
		}
		yield(name)
	}
}

func helpTexts(t testing.TB, a Agent, name string, ident uint32, what pcp.TextKind) {
	t.Helper()
	for _, kind := range [...]pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
		text, err := a.Text(t.Context(), ident, what|kind)
		if err != nil || strings.TrimSpace(text) == "" || kind == pcp.TextOneLine && strings.Contains(text, "\n") {
			t.Errorf("%s: text %#x is %q, %v", name, what|kind, text, err)
		}
	}
}

// Instances compares the members of an instance domain.
func (r *Real) Instances(t testing.TB, a pmda.Agent, indom pcp.InDom) {
	t.Helper()
	want, wantErr := r.GetInDom(t.Context(), indom)
	got, err := a.Instances(t.Context(), indom)
	if pcp.Code(err) != pcp.Code(wantErr) || !slices.Equal(got, want) {
		t.Errorf("%v: %v, %v, want %v, %v", indom, got, err, want, wantErr)
	}
}

// Values compares the values of metrics, or the errors in their place. The metrics of IDs
// are compared if ids is empty. same may accept a difference that is intended.
func (r *Real) Values(t testing.TB, a pmda.Agent, same func(id pcp.PMID, got, want string) bool, ids ...pcp.PMID) {
	t.Helper()
	if len(ids) == 0 {
		ids = r.IDs
	}
	want, err := r.Fetch(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	got := Fetch(t, a, nil, ids...)
	for i, id := range ids {
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Errorf("%v: %v", id, err)
		}
		g, w := Text(&got.Sets[i], desc.Type), Text(&want.Sets[i], desc.Type)
		if g != w && (same == nil || !same(id, g, w)) {
			t.Errorf("%s (%v):\n got %s\nwant %s", r.name(id), id, g, w)
		}
	}
}

func (r *Real) name(id pcp.PMID) string {
	if i := slices.Index(r.IDs, id); i >= 0 {
		return r.Names[i]
	}
	return "metric"
}

// Text returns the values of a set as text.
func Text(set *pcp.ValueSet, kind pcp.Type) string {
	if set.Err != 0 {
		return "error " + set.Err.Error()
	}
	var b strings.Builder
	for _, v := range set.Values {
		fmt.Fprintf(&b, " %d=%v", v.Inst, v.As(kind))
	}
	return b.String()
}

// Fetch refreshes the agent and fetches metrics from it.
func Fetch(t testing.TB, a pmda.Agent, profile *pcp.Profile, ids ...pcp.PMID) *pcp.Result {
	t.Helper()
	var err error
	if r, ok := a.(pmda.Refresher); ok {
		err = r.Refresh(t.Context(), ids)
	}
	req := &pmda.FetchRequest{Client: &pmda.Client{}, Profile: profile, PMIDs: ids, Result: new(pcp.Result)}
	if err = errors.Join(err, a.Fetch(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if len(req.Result.Sets) != len(ids) {
		t.Fatalf("%d sets for %d metrics", len(req.Result.Sets), len(ids))
	}
	return req.Result
}

// Lookup returns the PMIDs of names of an agent.
func Lookup(t testing.TB, tree *pmns.Tree, names ...string) []pcp.PMID {
	t.Helper()
	ids := make([]pcp.PMID, len(names))
	for i, name := range names {
		var err error
		if ids[i], err = tree.Lookup(name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return ids
}

// Refresh calls Refresh and Fetch of an agent again and again, for benchmarks and to count
// allocations. The function that it returns does so once.
func Refresh(t testing.TB, a interface {
	pmda.Agent
	pmda.Refresher
}, ids []pcp.PMID,
) func() {
	t.Helper()
	req := &pmda.FetchRequest{Client: &pmda.Client{}, PMIDs: ids, Result: new(pcp.Result)}
	ctx := context.Background()
	return func() {
		req.Result.Reset()
		if err := errors.Join(a.Refresh(ctx, ids), a.Fetch(ctx, req)); err != nil {
			t.Fatal(err)
		}
	}
}
