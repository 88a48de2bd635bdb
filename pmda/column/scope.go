package column

import "github.com/go-pcp/pcp"

// Scoped returns the sources with a Scope among those of the metrics and their
// dependencies.
func (a *Agent) Scoped(ids []pcp.PMID) Set {
	want := make(Set, len(a.sources))
	for _, id := range ids {
		if m := a.metric(id); m != nil && m.scoped {
			want[m.source] = true
		}
	}
	a.close(want)
	return want
}

// ScopedInDom is Scoped for the instances of a domain.
func (a *Agent) ScopedInDom(indom pcp.InDom) Set {
	want := make(Set, len(a.sources))
	if d := a.indom(indom); d != nil && d.block.source.Scope != 0 {
		want[d.block.source.number] = true
	}
	a.close(want)
	return want
}

// Empty reports whether there is no source in the set.
func (s Set) Empty() bool {
	for _, in := range s {
		if in {
			return false
		}
	}
	return true
}

// Has reports whether one of the sources want is of the scope.
func (a *Agent) Has(want Set, scope Scope) bool {
	for i, s := range a.sources {
		if want[i] && s.Scope == scope {
			return true
		}
	}
	return false
}

// ReadScope reads those of the sources want that are of the scope, and nothing that
// they build on.
func (a *Agent) ReadScope(want Set, scope Scope) {
	for i, s := range a.sources {
		if want[i] && s.Scope == scope {
			a.readSource(s)
		}
	}
}

// ClearScope has those of the sources want that are of the scope report nothing.
func (a *Agent) ClearScope(want Set, scope Scope) {
	for i, s := range a.sources {
		if want[i] && s.Scope == scope {
			for _, b := range s.Blocks {
				b.Clear()
			}
		}
	}
}
