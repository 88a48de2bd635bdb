// Package cache is for agents whose instances appear and disappear: it remembers the number of each name, whether the
// instance is present now, and the agent's data about it (pmdaCache(3)).
//
//	disks := cache.New[*disk](pcp.NewInDom(domain, 1), nil)
//	disks.Load()                    // the numbers that names had before
//	...
//	disks.HideAll()                 // in Refresh: hide all,
//	for _, d := range found {
//		disks.Store(d.name, d)      // show the present disks,
//	}
//	disks.Save()                    // write the file if something is new
//	...
//	&pmda.InDom{Serial: 1, List: disks.List}
//
// The numbers are those that libpcp_pmda gives for the same calls in the same
// order, and the file is the one it reads and writes, so an agent in C and its
// successor in Go continue each other's instances.
//
// # Names
//
// A name up to its first space is its short name, and short names are unique.
// A search for a short name finds the instance that has it; a search for a full
// name finds that name only:
//
//	in the cache   sought     found
//	foo            foo        yes
//	foo bar        foo        yes
//	foo bar        foo bar    yes
//	foo            foo bar    no, and it cannot be stored: ErrShortName
//	foo blah       foo bar    no, likewise
//
// # Concurrency
//
// All methods may be called from several goroutines. The agent guards the
// values of type T that it keeps with instances; the slices that List returns
// are never changed. A background refresher uses [Cache.Replace], so that no
// other goroutine sees the domain half filled.
package cache
