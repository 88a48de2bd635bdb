package column

import "sync"

// Names gives names their instance numbers: 0, 1, 2, ... in the order in which they
// first appear. A name keeps its number when it goes and comes back. The zero Names
// is ready for use.
type Names struct {
	ids   map[string]int32
	names []string
	last  []int32 // the numbers found in the last pass, by position
	pos   int
	pass  uint64
	seen  []uint64 // by number: the pass that found it last

	shared *Numbers // gives numbers for several Names; nil: this one does
}

// Begin starts a pass over the names in the order of a file.
func (n *Names) Begin() {
	n.pos = 0
	n.pass++
}

// First reports whether this is its first call for a number in this pass: names
// that appear twice in a file are reported once.
func (n *Names) First(id int32) bool {
	for len(n.seen) <= int(id) {
		n.seen = append(n.seen, 0)
	}
	if n.seen[id] == n.pass {
		return false
	}
	n.seen[id] = n.pass
	return true
}

// ID returns the number of name and its one stored string. In the common case, that
// the name is where it was in the last pass, it costs a comparison.
func (n *Names) ID(name []byte) (int32, string) {
	at := n.pos
	n.pos++
	if at < len(n.last) {
		if id := n.last[at]; n.names[id] == string(name) {
			return id, n.names[id]
		}
	}
	id, ok := n.ids[string(name)]
	if !ok {
		if n.ids == nil {
			n.ids = make(map[string]int32)
		}
		if n.shared != nil {
			id, n.names = n.shared.id(name, n.names)
		} else {
			id = int32(len(n.names))
			n.names = append(n.names, string(name))
		}
		n.ids[n.names[id]] = id
	}
	if at >= len(n.last) {
		n.last = append(n.last, id)
	} else {
		n.last[at] = id
	}
	return id, n.names[id]
}

// Len returns how many numbers were given.
func (n *Names) Len() int { return len(n.names) }

// Name returns the name of a number that was given.
func (n *Names) Name(id int32) string { return n.names[id] }

// Share has n take its numbers from s from now on, which other Names may share. Names
// that have numbers keep them if n is the first to share s.
func (n *Names) Share(s *Numbers) {
	for _, name := range n.names {
		s.id([]byte(name), nil)
	}
	n.shared = s
}

// Numbers gives numbers to names for the Names of several agents, so that a name has
// the same number in all of them. It is safe for concurrent use.
type Numbers struct {
	mu    sync.Mutex
	ids   map[string]int32
	names []string
}

// id returns the number of name, and extends names up to that.
func (s *Numbers) id(name []byte, names []string) (int32, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[string(name)]
	if !ok {
		if s.ids == nil {
			s.ids = make(map[string]int32)
		}
		id = int32(len(s.names))
		s.names = append(s.names, string(name))
		s.ids[s.names[id]] = id
	}
	if len(names) <= int(id) {
		names = append(names, s.names[len(names):id+1]...)
	}
	return id, names
}
