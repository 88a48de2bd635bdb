package backend

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// A known is what an agent last answered about its metrics. While the agent is overdue, clients get these answers:
// a metric whose agent is slow keeps its name, its descriptor and its instances. Values are not kept.
//
// The answers of an agent may depend on the user, so that all except descriptors are kept for each
// identity.
type known struct {
	mu    sync.RWMutex
	descs generations[pcp.PMID, pcp.Desc]
	ids   generations[knownName, pcp.PMID]
	names generations[knownID, []string]
	nodes generations[knownName, []pmns.Child]
	trees generations[knownName, []string]
	insts generations[knownInstance, []pcp.Instance]
}

type (
	knownName struct{ who, name string }
	knownID   struct {
		who string
		id  pcp.PMID
	}
	knownInstance struct {
		who   string
		indom pcp.InDom
		inst  int32
		name  string
	}
)

// maxKnown is how many bytes of answers of one kind a generation holds; an agent has two of each kind.
const maxKnown = 2 << 20

// generations is a map of limited size. When the present one is full it takes the place of the one before.
type generations[K comparable, V any] struct {
	now, before map[K]V
	size        int // about the bytes of those that were put into now
}

func (g *generations[K, V]) get(key K) (V, bool) {
	v, ok := g.now[key]
	if !ok {
		v, ok = g.before[key]
	}
	return v, ok
}

func (g *generations[K, V]) put(key K, v V, size int) {
	if size > maxKnown {
		delete(g.now, key)
		delete(g.before, key)
		return
	}
	if g.size += size; g.now == nil || g.size > maxKnown {
		g.before, g.now, g.size = g.now, make(map[K]V), size
	}
	g.now[key] = v
}

// recall returns the result of ask, and keeps the agent's answer with put. If the agent is overdue, it returns the
// last answer, from get, or if there is none pcp.ErrAgain.
func recall[T any](a *Agent, c *Caller, ask func() (T, error), get func() (T, bool), put func(T)) (T, error) {
	for again := false; ; again = true {
		var v T
		err := a.Usable()
		if err == nil {
			if v, err = ask(); err == nil {
				put(v)
				return v, nil
			}
		}
		if !errors.Is(err, pcp.ErrAgain) || c.abandoned {
			return v, err
		}
		if late := a.late.Load(); !late && !again {
			continue // it was overdue, and answers again by now
		} else if late {
			a.known.mu.RLock()
			defer a.known.mu.RUnlock()
			if old, ok := get(); ok {
				return old, nil
			}
		}
		return v, err
	}
}

// Desc returns the descriptor of a metric.
func (a *Agent) Desc(c *Caller, id pcp.PMID) (pcp.Desc, error) {
	k := &a.known
	get := func() (pcp.Desc, bool) { return k.descs.get(id) }
	return recall(a, c, func() (pcp.Desc, error) { return a.link.Desc(c, id) }, get, func(desc pcp.Desc) {
		k.mu.RLock()
		old, ok := k.descs.now[id]
		k.mu.RUnlock()
		if ok && old == desc {
			return // as nearly always
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.descs.put(id, desc, sizeOfDesc)
	})
}

// The memory of an answer in addition to its text: the entry of the map, the header of a string or
// slice.
const (
	sizeOfDesc     = 80
	sizeOfEntry    = 80
	sizeOfString   = 16
	sizeOfInstance = 24
)

// Instances answers pmdaInstance: for the whole of a domain, one number or one name.
func (a *Agent) Instances(c *Caller, indom pcp.InDom, inst int32, name string) ([]pcp.Instance, error) {
	k, key := &a.known, knownInstance{c.identity(), indom, inst, name}
	get := func() ([]pcp.Instance, bool) { return k.insts.get(key) }
	return recall(a, c, func() ([]pcp.Instance, error) { return a.link.Instances(c, indom, inst, name) }, get, func(list []pcp.Instance) {
		size := sizeOfEntry + len(key.who) + len(name)
		for _, in := range list {
			size += sizeOfInstance + len(in.Name)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.insts.put(key, list, size)
	})
}

// Names returns the names of a metric of the dynamic part of the name space.
func (a *Agent) Names(c *Caller, id pcp.PMID) ([]string, error) {
	k, key := &a.known, knownID{c.identity(), id}
	get := func() ([]string, bool) { return k.names.get(key) }
	return recall(a, c, func() ([]string, error) { return a.link.Names(c, id) }, get, func(names []string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.names.put(key, names, sizeOfEntry+len(key.who)+sizeOfNames(names))
	})
}

func sizeOfNames(names []string) (n int) {
	for _, name := range names {
		n += sizeOfString + len(name)
	}
	return n
}

// Lookup returns the metric of a name of the dynamic part of the name space.
func (a *Agent) Lookup(c *Caller, name string) (pcp.PMID, error) {
	k, key := &a.known, knownName{c.identity(), name}
	get := func() (pcp.PMID, bool) { return k.ids.get(key) }
	return recall(a, c, func() (pcp.PMID, error) { return a.link.Lookup(c, name) }, get, func(id pcp.PMID) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if old, ok := k.ids.now[key]; !ok || old != id {
			k.ids.put(key, id, sizeOfEntry+len(key.who)+len(name))
		}
	})
}

// Children returns the children of a node of the dynamic part of the name space.
func (a *Agent) Children(c *Caller, name string) ([]pmns.Child, error) {
	k, key := &a.known, knownName{c.identity(), name}
	get := func() ([]pmns.Child, bool) { return k.nodes.get(key) }
	return recall(a, c, func() ([]pmns.Child, error) { return a.link.Children(c, name) }, get, func(list []pmns.Child) {
		size := sizeOfEntry + len(key.who) + len(name)
		for _, ch := range list {
			size += sizeOfInstance + len(ch.Name)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.nodes.put(key, slices.Clone(list), size)
	})
}

// Traverse returns the names of all metrics below a node of the dynamic part of the name space, or ErrNoNames for an
// agent in process without dynamic names.
func (a *Agent) Traverse(c *Caller, name string) ([]string, error) {
	k, key := &a.known, knownName{c.identity(), name}
	get := func() ([]string, bool) { return k.trees.get(key) }
	return recall(a, c, func() ([]string, error) { return a.link.Traverse(c, name) }, get, func(names []string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.trees.put(key, names, sizeOfEntry+len(key.who)+len(name)+sizeOfNames(names))
	})
}

// identity returns the attributes that an agent's answers may depend on, in addition to the question: the
// client's user and container.
func (c *Caller) identity() string {
	if c.client == nil || len(c.client.Attrs) == 0 {
		return ""
	}
	if c.who == "" {
		var b strings.Builder
		for _, key := range []pmda.AttrKey{pmda.AttrUserName, pmda.AttrUserID, pmda.AttrGroupID, pmda.AttrContainer} {
			b.WriteString(c.client.Attrs[key])
			b.WriteByte(0)
		}
		c.who = b.String()
	}
	return c.who
}
