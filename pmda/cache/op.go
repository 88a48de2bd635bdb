package cache

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
)

// ShowAll makes all inactive instances active and returns how many there were
// (PMDA_CACHE_ACTIVE).
func (c *Cache[T]) ShowAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setAll(Inactive, Active)
}

// HideAll makes all active instances inactive and returns how many there were
// (PMDA_CACHE_INACTIVE).
func (c *Cache[T]) HideAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.setAll(Active, Inactive)
}

func (c *Cache[T]) setAll(from, to State) int {
	n := 0
	for _, e := range c.entries {
		if e.State == from {
			e.State = to
			n++
		}
	}
	if n > 0 {
		c.list = nil
	}
	return n
}

// CullAll forgets all instances and returns how many there were (PMDA_CACHE_CULL).
func (c *Cache[T]) CullAll() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.insts)
	for _, e := range c.entries {
		if e.State != culled {
			e.Key = "" // no other instance will take it
			c.cull(e)
		}
	}
	clear(c.keys)
	if n > 0 {
		c.dirty |= dirtyInst
	}
	return n
}

// Size returns how many instances were ever added (PMDA_CACHE_SIZE).
func (c *Cache[T]) Size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

// Count returns how many instances are in a state (PMDA_CACHE_SIZE_ACTIVE,
// PMDA_CACHE_SIZE_INACTIVE).
func (c *Cache[T]) Count(s State) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, e := range c.insts {
		if e.State == s {
			n++
		}
	}
	return n
}

// Reuse makes new instances take the lowest free number from now on, instead of
// one more than the highest (PMDA_CACHE_REUSE).
func (c *Cache[T]) Reuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reuse = true
}

// Reorg frees the memory and the numbers of culled instances (PMDA_CACHE_REORG).
// That also happens by itself now and then.
func (c *Cache[T]) Reorg() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reorg()
}

func (c *Cache[T]) reorg() {
	c.entries = slices.DeleteFunc(c.entries, func(e *entry[T]) bool { return e.State == culled })
}

// Strings makes c a cache of any strings, as Options.Strings does
// (PMDA_CACHE_STRINGS). It must be called before the first instance is added.
func (c *Cache[T]) Strings() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size > 0 {
		return ErrNotEmpty
	}
	c.opts.Strings = true
	return nil
}

// Resize sets the largest number that an instance may get (pmdaCacheResize);
// the file keeps it. If an instance has a larger one already, the error is
// pcp.ErrTooBig.
func (c *Cache[T]) Resize(maximum int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if maximum < 0 {
		return pcp.ErrSign
	}
	if n := len(c.entries); n > 0 && maximum < c.entries[n-1].Inst {
		return pcp.ErrTooBig
	}
	c.maxInst = maximum
	c.dirty |= dirtyStamp
	return nil
}

// Purge forgets the instances that were not active for the time unused and
// returns how many there were. It calls gone, if not nil, for each
// (pmdaCachePurge, pmdaCachePurgeCallback). The time counts from saving: an
// instance that was not saved since it was last active stays.
func (c *Cache[T]) Purge(unused time.Duration, gone func(Entry[T])) int {
	c.mu.Lock()
	epoch := c.opts.Now().Unix() - int64(unused/time.Second)
	var purged []Entry[T]
	for _, e := range c.entries {
		if e.State != culled && e.stamp != 0 && e.stamp < epoch {
			purged = append(purged, e.Entry)
			c.cull(e)
		}
	}
	if len(purged) > 0 {
		c.dirty |= dirtyInst
	}
	c.mu.Unlock()
	if gone != nil {
		for _, e := range purged {
			gone(e)
		}
	}
	return len(purged)
}

// Dump writes the cache for a human reader (PMDA_CACHE_DUMP).
func (c *Cache[T]) Dump(w io.Writer) error {
	c.mu.Lock()
	b := c.dump(nil)
	c.mu.Unlock()
	_, err := w.Write(b)
	return err
}

// DumpAll is Dump, and also writes how often keys had to be hashed
// (PMDA_CACHE_DUMP_ALL). It cannot show the C library's hash chains.
func (c *Cache[T]) DumpAll(w io.Writer) error {
	c.mu.Lock()
	b := c.dump(nil)
	if c.tries != [maxTries]int{} {
		b = append(b, "pmdaCacheStoreKey hash stats ...\n"...)
	}
	for i, n := range c.tries {
		switch {
		case n == 0:
		case i == 0:
			b = fmt.Appendf(b, "hash once: %d times\n", n)
		default:
			b = fmt.Appendf(b, "%d hash attempts: %d times\n", i+1, n)
		}
	}
	c.mu.Unlock()
	_, err := w.Write(b)
	return err
}

func (c *Cache[T]) dump(b []byte) []byte {
	mode, state := 0, c.dirty
	if c.reuse {
		mode = 1
	}
	if c.opts.Strings {
		state |= isStrings
	}
	b = fmt.Appendf(b, "pmdaCacheDump: indom %v: nentry=%d ins_mode=%d hstate=%d hsize=%d\n",
		c.indom, c.size, mode, state, c.buckets)
	for _, e := range c.entries {
		if e.State == culled {
			b = fmt.Appendf(b, "(%10d) %8s\n", e.Inst, "empty")
			continue
		}
		word := "active"
		if e.State == Inactive {
			word = "inactive"
		}
		b = fmt.Appendf(b, " %10d  %8s %s %s", e.Inst, word, pointer(e.Value), e.Name)
		if short := c.short(e.Name); len(short) < len(e.Name) {
			b = fmt.Appendf(b, " [match len=%d]", len(short))
		}
		if e.Key != "" {
			b = fmt.Appendf(b, " [key=0x%x]", e.Key)
		}
		b = append(b, '\n')
	}
	return b
}

// pointer prints a value stored with an instance as C's %p does.
func pointer(v any) string {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return "(nil)"
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		if r.IsNil() {
			return "(nil)"
		}
		return fmt.Sprintf("%#x", r.Pointer())
	case reflect.Uintptr:
		if r.Uint() != 0 {
			return fmt.Sprintf("%#x", r.Uint())
		}
	}
	if r.IsZero() {
		return "(nil)"
	}
	return fmt.Sprintf("%v", v)
}
