package mmv

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// An index numbers names, from 0. Readers take no lock: names are only ever added,
// and a larger table replaces a half-full one. A writer holds a lock of the
// index's owner.
type index struct {
	seed  maphash.Seed
	table atomic.Pointer[[]atomic.Uint64] // a power of two of them: half a hash, and number+1
	names list[string]
}

// init makes room for n names.
func (x *index) init(n int) {
	x.seed = maphash.MakeSeed()
	t := make([]atomic.Uint64, 1<<bits.Len(uint(2*max(n, 7))))
	x.table.Store(&t)
}

// get returns half of the hash of name, and its number.
func (x *index) get(name string) (hash uint32, number int, ok bool) {
	hash = uint32(maphash.String(x.seed, name))
	t := *x.table.Load()
	for i := hash; ; i++ {
		e := t[i&uint32(len(t)-1)].Load()
		if e == 0 {
			return hash, 0, false
		}
		if uint32(e>>32) != hash {
			continue
		}
		if number = int(uint32(e)) - 1; *x.names.at(number) == name {
			return hash, number, true
		}
	}
}

// add adds a missing name, with the hash that get returned. Its number is the
// next.
func (x *index) add(hash uint32, name string) {
	*x.names.add(8) = name
	t := *x.table.Load()
	if 2*x.names.n > len(t) {
		old := t
		t = make([]atomic.Uint64, 2*len(old))
		for i := range old {
			if e := old[i].Load(); e != 0 {
				put(t, e)
			}
		}
		x.table.Store(&t)
	}
	put(t, uint64(hash)<<32|uint64(x.names.n))
}

func put(t []atomic.Uint64, e uint64) {
	for i := uint32(e >> 32); ; i++ {
		if p := &t[i&uint32(len(t)-1)]; p.Load() == 0 {
			p.Store(e)
			return
		}
	}
}
