package derive

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
)

// A Definition is one derived metric of a [Set].
type Definition struct {
	Name    string
	Expr    string
	PMID    pcp.PMID
	OneLine string // help text, "" for none
	Help    string
}

// A definition is a Definition in a Set or a Binding. Its expression is known to
// be valid; the nodes are made when it is first bound.
type definition struct {
	Definition
	nodes atomic.Pointer[node]
	gone  atomic.Bool // it has been removed
	quiet bool        // missing operands are not reported
}

// tree returns the parsed expression.
func (d *definition) tree() *node {
	if n := d.nodes.Load(); n != nil {
		return n
	}
	n, _ := parse(d.Expr)
	d.nodes.Store(n)
	return n
}

// check parses the expression, or finds in another way that it is valid. With a log
// it traces the tokens.
func (d *definition) check(units *string, log *debug.Log) *syntaxError {
	if log == nil && accepts(d.Expr, units) {
		return nil
	}
	n, err := parseTraced(d.Expr, log)
	d.nodes.Store(n)
	return err
}

// maxDefinitions is the maximum number of definitions of a Set: the PMIDs of
// derived metrics, without those of event.flags and event.missed.
const maxDefinitions = 2048*pcp.MaxItem - int(firstItem-1)

// firstItem is the first item of the first cluster that is free: items 1 and 2
// are event.flags and event.missed, and no PMID has item 0.
const firstItem = 3

// A Set holds definitions of derived metrics, each with its own PMID. The zero
// Set is empty and ready for use.
//
// Definitions are never changed. Adding and removing them affects existing
// bindings. A Set can be used by several goroutines at a time.
type Set struct {
	// Debug is the log of what happens to the definitions and their values, for
	// -D derive: with -D appl0 also of the parsing of expressions, with
	// -D appl1 of their bindings, with -D appl2 of values. Debug and
	// Report must not be changed once there are bindings.
	Debug *debug.Log
	// Report is called for each error in a file, an [*Error], as soon as it is found. If
	// it is set, [Set.Read], [Set.Load] and the other calls that read files return no
	// [Errors].
	Report func(error)
	// Version7 makes bindings follow the C library since version 7: a definition that lacks an operand is reported as a
	// [*SemanticError], except for those of [Set.LoadBuiltin], and its name left out; the rate of a counter that goes
	// back has no value. It must not be changed once there are bindings.
	Version7 bool

	mu      sync.RWMutex
	defs    []*definition
	room    []definition   // for those to come
	byName  map[string]int // index in defs
	gone    int            // definitions that have been removed
	units   string         // see accepts
	started bool           // traceStart has been called

	controls controls
}

// setLimit sets the maximum number of definitions of s (PCP_DERIVED_GLOBAL_LIMIT).
// Further ones are refused; existing ones stay. With n <= 0 the limit is
// about two million. Unlike for [Set.SetControl], the environment does not matter.
func (s *Set) setLimit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.controls.limit = max(n, 0)
}

// Len returns the number of definitions of s.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.defs) - s.gone
}

// count returns the number of definitions, those that have been removed too.
func (s *Set) count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.defs)
}

// All returns the definitions in the order in which they were added.
func (s *Set) All() iter.Seq[Definition] {
	return func(yield func(Definition) bool) {
		for i := 0; ; i++ {
			s.mu.RLock()
			if i >= len(s.defs) {
				s.mu.RUnlock()
				return
			}
			d, gone := s.defs[i].Definition, s.defs[i].gone.Load()
			s.mu.RUnlock()
			if !gone && !yield(d) {
				return
			}
		}
	}
}

// Lookup returns the definition of name.
func (s *Set) Lookup(name string) (d Definition, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, ok := s.byName[name]
	if ok {
		d = s.defs[i].Definition
	}
	return d, ok
}

// snapshot returns the definitions from the nth on. Except for their texts they
// never change.
func (s *Set) snapshot(n int) []*definition {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.defs[n:len(s.defs):len(s.defs)]
}

// Add adds the metric name with the values of expr, which it checks for syntax
// only (pmRegisterDerivedMetric(3)). The existence of its metrics, and whether
// the expression makes sense for them, is only checked when it is bound. The
// error is an [*Error].
func (s *Set) Add(name, expr string) error {
	if err := s.add(name, expr); err != nil {
		return err
	}
	return nil
}

func (s *Set) add(name, expr string) *Error {
	bad := func(column int, msg string) *Error {
		return &Error{Name: name, Expr: expr, Column: column, Msg: msg}
	}
	if !validName(name) {
		return bad(0, "Illegal derived metric name")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var log *debug.Log // of the parser
	s.started = s.started || s.Debug == nil
	if s.Debug != nil {
		s.traceStart()
		s.traceName(name, expr)
		log = s.tracing(traceParse)
	}
	if limit := s.controls.limit; len(s.defs) >= maxDefinitions || limit > 0 && len(s.defs)-s.gone >= limit {
		return bad(0, "Too many global derived metrics")
	}
	if _, ok := s.byName[name]; ok {
		return bad(0, "Duplicate global derived metric name")
	}
	d := s.next()
	d.Definition = Definition{Name: name, Expr: expr, PMID: pmidOf(len(s.defs))}
	if err := d.check(&s.units, log); err != nil {
		return bad(err.pos, err.msg)
	}
	if s.byName == nil {
		s.byName = make(map[string]int)
	}
	s.byName[name] = len(s.defs)
	s.defs = append(s.defs, d)
	s.room = s.room[1:]
	if s.Debug != nil {
		s.traceAdded(indexBase+len(s.defs)-1, d)
	}
	return nil
}

// Remove removes the definition of name (pmUnregisterDerived(3)): it disappears from the
// bindings, and no other definition gets its PMID. It reports whether there was one.
func (s *Set) Remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.byName[name]
	if ok {
		delete(s.byName, name)
		s.defs[i].gone.Store(true)
		s.gone++
	}
	return ok
}

// expect makes room for n definitions in an empty set.
func (s *Set) expect(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = make(map[string]int, n)
		s.defs = make([]*definition, 0, n)
	}
}

// next returns the place for the next definition.
func (s *Set) next() *definition {
	if len(s.room) == 0 {
		s.room = make([]definition, min(max(len(s.defs), 8), 256))
	}
	return &s.room[0]
}

// pmidOf returns the PMID of the nth definition of a set.
func pmidOf(n int) pcp.PMID {
	n += firstItem - 1
	return pcp.NewPMID(pcp.DomainDynamic, n/pcp.MaxItem, n%pcp.MaxItem+1)
}

// indexOf is the inverse of pmidOf. It returns a negative number for a PMID
// that no definition can have.
func indexOf(id pcp.PMID) int {
	if !id.IsDerived() {
		return -1
	}
	return id.Cluster()*pcp.MaxItem + id.Item() - firstItem
}

// validName reports whether name can be defined: components that begin with a
// letter, joined by dots. The C library accepts a dot at the end.
func validName(name string) bool {
	return pcp.ValidName(strings.TrimSuffix(name, "."))
}

// AddText gives a help text to the metric name (pmAddDerivedText(3)): kind is
// pcp.TextOneLine or pcp.TextHelp. The error is pcp.ErrName for a name that is
// not defined, pcp.ErrText for a text that already exists, and pcp.ErrSet for
// another kind.
func (s *Set) AddText(name string, kind pcp.TextKind, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.byName[name]
	if !ok {
		return pcp.ErrName
	}
	return s.defs[i].addText(kind, text)
}

func (d *Definition) addText(kind pcp.TextKind, text string) error {
	var to *string
	switch kind {
	case pcp.TextOneLine:
		to = &d.OneLine
	case pcp.TextHelp:
		to = &d.Help
	default:
		return fmt.Errorf("help text of kind %s: %w", kind, pcp.ErrText)
	}
	if *to != "" {
		return pcp.ErrText
	}
	*to = text
	return nil
}

// Text returns a help text as pmLookupText(3) does: for pcp.TextHelp the one-line
// text if there is no longer text, unless kind has pcp.TextDirect. Without a text
// it returns pcp.ErrText.
func (d *Definition) Text(kind pcp.TextKind) (string, error) {
	text := ""
	switch {
	case kind&pcp.TextOneLine != 0:
		text = d.OneLine
	case kind&pcp.TextHelp != 0:
		if text = d.Help; text == "" && kind&pcp.TextDirect == 0 {
			text = d.OneLine
		}
	}
	if text == "" {
		return "", pcp.ErrText
	}
	return text, nil
}
