package eval

import "github.com/go-pcp/pcp"

// A Series has the values of a metric at a host, for all rules that use them.
type Series struct {
	ID   pcp.PMID
	Type pcp.Type
	Conv float64
	Set  *pcp.ValueSet // of the last fetch, in order of instances; nil if there are no values
	time float64       // of the last values
	nums []float64     // of set, in canonical units
	Have bool          // nums are those of set

	insts []int32 // of the last values
	turn  int     // the number of times that they have changed
}

// Arrive takes values that were fetched.
func (s *Series) Arrive(set *pcp.ValueSet, time float64) {
	s.Set, s.time = set, time
	same := len(s.insts) == len(set.Values)
	for i := 0; same && i < len(s.insts); i++ {
		same = s.insts[i] == set.Values[i].Inst
	}
	if same {
		return
	}
	s.turn++
	s.insts = s.insts[:0]
	for i := range set.Values {
		s.insts = append(s.insts, set.Values[i].Inst)
	}
}

// numbers returns the values as numbers. Values that are not numbers are 0.
func (s *Series) numbers() []float64 {
	if s.Have {
		return s.nums
	}
	values := s.Set.Values
	if cap(s.nums) < len(values) {
		s.nums = make([]float64, len(values))
	}
	s.nums = s.nums[:len(values)]
	for i := range values {
		f := 0.0
		switch v := &values[i]; {
		case v.Type() == s.Type && s.Type == pcp.TypeU32:
			f = s.Conv * float64(uint32(v.Bits()))
		case v.Type() == s.Type && s.Type == pcp.TypeU64:
			f = s.Conv * float64(v.Bits())
		case v.Type() == s.Type && s.Type == pcp.Type64:
			f = s.Conv * float64(int64(v.Bits()))
		case v.Type() == s.Type && s.Type == pcp.TypeDouble:
			f = s.Conv * v.Double()
		default:
			if n, err := v.As(s.Type).Extract(s.Type, pcp.TypeDouble); err == nil {
				f = s.Conv * n.Double()
			}
		}
		s.nums[i] = f
	}
	s.Have = true
	return s.nums
}
