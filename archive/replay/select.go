package replay

import (
	"math/bits"
	"slices"

	"github.com/go-pcp/pcp"
)

// A selection finds metrics by PMID, in open addressing: each set of each record is
// looked up in it.
type selection struct {
	ids   []pcp.PMID
	slots []int32 // index of ids, -1 for none
	shift uint

	at []int // the user's data of each of ids
}

// is reports whether the selection has ids, in that order.
func (s *selection) is(ids []pcp.PMID) bool { return len(s.slots) > 0 && slices.Equal(s.ids, ids) }

// set makes s a selection of ids. Of equal ones, the first is found.
func (s *selection) set(ids []pcp.PMID) {
	s.ids = append(s.ids[:0], ids...)
	s.at = make([]int, len(ids))
	n := max(bits.Len(uint(2*len(ids))), 3)
	s.shift = uint(32 - n)
	s.slots = make([]int32, 1<<n)
	for i := range s.slots {
		s.slots[i] = -1
	}
	for i := range s.ids {
		s.put(i)
	}
}

func (s *selection) put(i int) {
	k := s.hash(s.ids[i])
	for s.slots[k] >= 0 {
		if s.ids[s.slots[k]] == s.ids[i] {
			return
		}
		k = (k + 1) & (len(s.slots) - 1)
	}
	s.slots[k] = int32(i)
}

func (s *selection) hash(id pcp.PMID) int { return int(uint32(id) * 0x9e3779b1 >> s.shift) }

// find returns the index of a metric, -1 if it is not selected.
func (s *selection) find(id pcp.PMID) int {
	for k := s.hash(id); ; k = (k + 1) & (len(s.slots) - 1) {
		i := s.slots[k]
		if i < 0 || s.ids[i] == id {
			return int(i)
		}
	}
}
