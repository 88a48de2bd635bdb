package cache

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// A State is whether an instance is present now.
type State int

// States. The numbers are those of the C library.
const (
	Active   State = 8 // PMDA_CACHE_ACTIVE: part of the instance domain
	Inactive State = 9 // PMDA_CACHE_INACTIVE: hidden, but its number is remembered

	culled State = 5 // PMDA_CACHE_EMPTY: forgotten, but its number is not yet free
)

// ErrShortName refuses a name whose part before the first space already
// belongs to another instance (-EINVAL in C).
const ErrShortName = pcp.Error(-int32(syscall.EINVAL))

// ErrNotEmpty refuses a setting that must come before the first instance
// (-E2BIG in C).
const ErrNotEmpty = pcp.Error(-int32(syscall.E2BIG))

// maxInst is the largest instance number unless Resize sets another.
const maxInst = math.MaxInt32

// maxTries is how often a key is hashed again when its number is taken.
const maxTries = 10

// Options are the settings of New; the zero value has the defaults.
type Options struct {
	// Dir is where the file is; "" means DefaultDir(config.Process()).
	Dir string
	// Strings makes a cache of any strings, not of instances: names that differ
	// only after a space are different names (PMDA_CACHE_STRINGS).
	Strings bool
	// Log gets a line for each odd line of a file; nil discards.
	Log *slog.Logger
	// Now is the clock for the times in the file; nil means time.Now.
	Now func() time.Time
}

// An Entry is an instance in a cache.
type Entry[T any] struct {
	Inst  int32
	Name  string
	State State
	Value T      // as last stored; the zero T after Load
	Key   string // "" if it was stored without one
}

// A Cache holds the instances of one domain.
type Cache[T any] struct {
	indom pcp.InDom
	opts  Options

	mu      sync.Mutex
	entries []*entry[T]          // by ascending number; with those culled until the next Reorg
	insts   map[int32]*entry[T]  // by number, without those culled
	names   map[string]*entry[T] // likewise by short name
	keys    map[string]*entry[T] // likewise by key; the lowest number where a key is there twice
	twice   bool                 // a key may be there twice, by a file or Resize
	list    []pcp.Instance       // the active ones; nil if it must be made again
	reuse   bool                 // free numbers are given again (ins_mode)
	dirty   int                  // of dirtyInst, dirtyStamp
	maxInst int32
	// size counts the instances ever added, and buckets is the size that the
	// C library's hash table has for so many. Numbers of culled instances
	// become free whenever it grows, so both help decide which number a
	// name gets.
	size, buckets int
	tries         [maxTries]int
}

const (
	dirtyInst  = 1 // instances added or culled
	dirtyStamp = 2 // times of instances must be written
	isStrings  = 4 // in dumps only
)

type entry[T any] struct {
	Entry[T]
	stamp int64 // when it was saved after it had last been active; 0 means not yet
}

// New returns an empty cache for the instances of indom; nil options are the
// defaults.
func New[T any](indom pcp.InDom, opts *Options) *Cache[T] {
	c := &Cache[T]{
		indom:   indom,
		insts:   make(map[int32]*entry[T]),
		names:   make(map[string]*entry[T]),
		keys:    make(map[string]*entry[T]),
		maxInst: maxInst,
		buckets: 16,
	}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Log == nil {
		c.opts.Log = slog.New(slog.DiscardHandler)
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	return c
}

// InDom returns the instance domain.
func (c *Cache[T]) InDom() pcp.InDom { return c.indom }

// short returns the part of a name by which it is unique.
func (c *Cache[T]) short(name string) string {
	if c.opts.Strings {
		return name
	}
	short, _, _ := strings.Cut(name, " ")
	return short
}

// find returns the instance that has the short name of name, and whether name
// selects it.
func (c *Cache[T]) find(name string) (e *entry[T], ok bool) {
	short := c.short(name)
	e = c.names[short]
	return e, e != nil && (len(name) == len(short) || e.Name == name)
}

// Store makes an instance active, and adds it with the next free number if it
// is new (pmdaCacheStore with PMDA_CACHE_ADD).
func (c *Cache[T]) Store(name string, v T) (inst int32, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store(name, v)
}

func (c *Cache[T]) store(name string, v T) (int32, error) {
	e, ok := c.find(name)
	switch {
	case e == nil:
		var err error
		if e, err = c.insert(name, pcp.InNull); err != nil {
			return 0, err
		}
		c.dirty |= dirtyInst
	case !ok:
		return 0, ErrShortName
	}
	c.activate(e, "", v)
	return e.Inst, nil
}

// StoreKey is Store for an instance whose number follows from a key, so that
// it is the same each time the agent starts and on every host
// (pmdaCacheStoreKey). If key is empty, the name is the key. The error is
// pcp.ErrInst if one key is used for two names, or one name with two keys.
func (c *Cache[T]) StoreKey(name string, key []byte, v T) (inst int32, err error) {
	if len(key) == 0 {
		key = []byte(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.find(name)
	switch {
	case e == nil:
		if inst, err = c.guess(key); err != nil {
			return 0, err
		}
		c.reuse = true
		if e, err = c.insert(name, inst); err != nil {
			return 0, err
		}
		c.dirty |= dirtyInst
	case e.Key != string(key):
		return 0, pcp.ErrInst
	case !ok:
		return 0, ErrShortName
	}
	c.activate(e, string(key), v)
	return e.Inst, nil
}

// guess finds a free number for key.
func (c *Cache[T]) guess(key []byte) (int32, error) {
	h := uint32(0)
	for i := range maxTries {
		h = Hash(key, h)
		inst := int32(h % (uint32(c.maxInst) + 1))
		e := c.insts[inst]
		if e == nil {
			c.tries[i]++
			return inst, nil
		}
		if e.Key == string(key) {
			return 0, pcp.ErrInst
		}
	}
	return 0, pcp.ErrGeneric
}

func (c *Cache[T]) activate(e *entry[T], key string, v T) {
	if e.Key != key {
		c.setKey(e, key)
	}
	if e.State != Active {
		e.State, c.list = Active, nil
	}
	e.Value = v
	e.stamp = 0
	c.dirty |= dirtyStamp
}

// Hide makes an instance inactive (PMDA_CACHE_HIDE).
func (c *Cache[T]) Hide(name string) (inst int32, err error) {
	return c.change(name, Inactive)
}

// Cull forgets an instance (PMDA_CACHE_CULL).
func (c *Cache[T]) Cull(name string) (inst int32, err error) {
	return c.change(name, culled)
}

func (c *Cache[T]) change(name string, to State) (int32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.find(name)
	switch {
	case e == nil:
		return 0, pcp.ErrInst
	case !ok:
		return 0, ErrShortName
	case to == culled:
		c.cull(e)
		c.dirty |= dirtyInst
	default:
		e.State, c.list = to, nil
	}
	return e.Inst, nil
}

// cull takes an instance out of all indexes. Its number stays taken until the
// next Reorg.
func (c *Cache[T]) cull(e *entry[T]) {
	delete(c.insts, e.Inst)
	delete(c.names, c.short(e.Name))
	e.State, c.list = culled, nil
	if e.Key != "" {
		c.setKey(e, "")
	}
	var none T
	e.Value = none
}

// setKey changes the key of an instance.
func (c *Cache[T]) setKey(e *entry[T], key string) {
	if old := e.Key; old != "" && c.keys[old] == e {
		delete(c.keys, old)
		e.Key = ""
		if c.twice {
			for _, other := range c.entries {
				if other.Key == old && other.State != culled {
					c.keys[old] = other
					break
				}
			}
		}
	}
	e.Key = key
	if key == "" {
		return
	}
	other := c.keys[key]
	if other != nil {
		c.twice = true
	}
	if other == nil || e.Inst < other.Inst {
		c.keys[key] = e
	}
}

// insert adds an inactive instance with the number inst, or with the next free
// one if that is InNull.
func (c *Cache[T]) insert(name string, inst int32) (*entry[T], error) {
	if name == "" && !c.opts.Strings {
		return nil, pcp.ErrGeneric
	}
	at := 0
	if inst != pcp.InNull {
		// Before a culled one of the same number.
		at, _ = slices.BinarySearchFunc(c.entries, inst, func(e *entry[T], inst int32) int {
			return cmp.Compare(e.Inst, inst)
		})
	} else if inst, at = c.next(); inst < 0 {
		c.opts.Log.Error("too many instances", "indom", c.indom.String())
		return nil, pcp.ErrGeneric
	}
	e := &entry[T]{Entry: Entry[T]{Inst: inst, Name: name, State: Inactive}}
	c.entries = slices.Insert(c.entries, at, e)
	c.size++
	if c.size > 4*c.buckets {
		c.buckets *= 2
		c.reorg()
	}
	c.insts[inst] = e
	c.names[c.short(name)] = e
	return e, nil
}

// next returns the next free number and its place among the entries, or a
// negative number if there is none.
func (c *Cache[T]) next() (inst int32, at int) {
	n := len(c.entries)
	if !c.reuse {
		if n == 0 {
			return 0, 0
		}
		if last := c.entries[n-1].Inst; last < c.maxInst {
			return last + 1, n
		}
		c.reuse = true
	}
	// Numbers of culled instances count as taken, and a number that was reused
	// before it was free counts twice.
	free := int64(0)
	for i, e := range c.entries {
		if free < int64(e.Inst) {
			return int32(free), i
		}
		free++
	}
	if free > int64(c.maxInst) {
		return -1, 0
	}
	return int32(free), n
}

// Lookup returns an instance by its number, or pcp.ErrInst (pmdaCacheLookup).
func (c *Cache[T]) Lookup(inst int32) (Entry[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.insts[inst]; e != nil {
		return e.Entry, nil
	}
	return Entry[T]{}, pcp.ErrInst
}

// LookupName returns the instance that a name selects, or pcp.ErrInst
// (pmdaCacheLookupName). If only the short name matches an instance, the error
// is ErrShortName, as documented in pmdaCache(3); the C library's code returns
// that instance instead.
func (c *Cache[T]) LookupName(name string) (Entry[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.find(name)
	switch {
	case e == nil:
		return Entry[T]{}, pcp.ErrInst
	case !ok:
		return Entry[T]{}, ErrShortName
	}
	return e.Entry, nil
}

// LookupKey returns the instance that was stored with a key, or pcp.ErrInst
// (pmdaCacheLookupKey).
func (c *Cache[T]) LookupKey(key []byte) (Entry[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.keys[string(key)]; e != nil {
		return e.Entry, nil
	}
	return Entry[T]{}, pcp.ErrInst
}

// List returns the active instances by ascending number. It is meant for the
// field List of a pmda.InDom, and never fails. The slice is not changed later.
func (c *Cache[T]) List(context.Context) ([]pcp.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		list := make([]pcp.Instance, 0, len(c.insts))
		for _, e := range c.entries {
			if e.State == Active {
				list = append(list, pcp.Instance{Inst: e.Inst, Name: e.Name})
			}
		}
		c.list = list
	}
	return c.list, nil
}

// Value makes the Value function of a metric, which calls f with the value
// stored with the instance. An instance that is not active has no value.
func (c *Cache[T]) Value(f func(T) (pcp.Value, error)) func(inst int32, i int) (pcp.Value, error) {
	return func(inst int32, _ int) (pcp.Value, error) {
		c.mu.Lock()
		e := c.insts[inst]
		if e == nil || e.State != Active {
			c.mu.Unlock()
			return pcp.Value{}, pcp.ErrInst
		}
		v := e.Value
		c.mu.Unlock()
		return f(v)
	}
}

// All returns all instances as they are when the loop starts, inactive ones
// too, by ascending number.
func (c *Cache[T]) All() iter.Seq[Entry[T]] {
	return func(yield func(Entry[T]) bool) {
		c.mu.Lock()
		all := make([]Entry[T], 0, len(c.insts))
		for _, e := range c.entries {
			if e.State != culled {
				all = append(all, e.Entry)
			}
		}
		c.mu.Unlock()
		for _, e := range all {
			if !yield(e) {
				return
			}
		}
	}
}

// Active returns the active instances, as All does (PMDA_CACHE_WALK_REWIND and
// PMDA_CACHE_WALK_NEXT).
func (c *Cache[T]) Active() iter.Seq[Entry[T]] {
	return func(yield func(Entry[T]) bool) {
		for e := range c.All() {
			if e.State == Active && !yield(e) {
				return
			}
		}
	}
}

// Replace makes the instances that all yields active and hides the others, in
// one step for other goroutines. all must not use the cache. Replace leaves out
// names that cannot be stored; the error lists them.
func (c *Cache[T]) Replace(all iter.Seq2[string, T]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setAll(Active, Inactive)
	var errs []error
	for name, v := range all {
		if _, err := c.store(name, v); err != nil {
			errs = append(errs, &nameError{name, err})
		}
	}
	return errors.Join(errs...)
}

type nameError struct {
	name string
	err  error
}

func (e *nameError) Error() string { return "instance \"" + e.name + "\": " + e.err.Error() }
func (e *nameError) Unwrap() error { return e.err }
