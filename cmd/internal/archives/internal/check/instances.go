package check

// An instance has the last value of an instance.
type instance struct {
	id   int32
	nsec int32
	sec  int64
	last float64
}

// instances are those of a metric. Records mostly list them in the order of the
// previous record, with a few gone and a few new: the next instance is found by
// that order, and a map is used only for those that came back.
type instances struct {
	list  []instance
	order []int32         // of the last record, as indexes of list
	spare []int32         // room for the next order
	place map[int32]int32 // of all in list, once it is needed
	last  int32           // the largest id in list
}

// A seeker walks over the values of one record.
type seeker struct {
	at      int  // in order
	n       int  // values so far
	changed bool // the order differs from that of the last record; spare has the new one
}

// lookAhead is the number of instances that may be missing before the map is used.
const lookAhead = 8

func (p *instances) begin() seeker { return seeker{} }

// next returns the instance of the next value, and whether it is new. It is
// valid until the next call.
func (p *instances) next(s *seeker, id int32) (in *instance, fresh bool) {
	if s.at < len(p.order) && !s.changed {
		if in := &p.list[p.order[s.at]]; in.id == id {
			s.at++
			s.n++
			return in, false
		}
	}
	return p.find(s, id)
}

// find is next after a change of the order.
func (p *instances) find(s *seeker, id int32) (in *instance, fresh bool) {
	if !s.changed {
		s.changed = true
		p.spare = append(p.spare[:0], p.order[:s.n]...)
	}
	s.n++
	for i := s.at; i < min(s.at+lookAhead, len(p.order)); i++ {
		if k := p.order[i]; p.list[k].id == id {
			s.at = i + 1
			p.spare = append(p.spare, k)
			return &p.list[k], false
		}
	}
	if len(p.list) > 0 && id <= p.last {
		if p.place == nil {
			p.place = make(map[int32]int32, len(p.list))
			for k := range p.list {
				p.place[p.list[k].id] = int32(k)
			}
		}
		if k, ok := p.place[id]; ok {
			p.spare = append(p.spare, k)
			return &p.list[k], false
		}
	}
	k := int32(len(p.list))
	p.list = append(p.list, instance{id: id})
	if p.place != nil {
		p.place[id] = k
	}
	if k == 0 || id > p.last {
		p.last = id
	}
	p.spare = append(p.spare, k)
	return &p.list[k], true
}

// end takes over the order of the record.
func (p *instances) end(s *seeker) {
	if s.changed {
		p.order, p.spare = p.spare, p.order
	}
}

// has reports whether there is an instance.
func (p *instances) has(id int32) bool {
	for i := range p.list {
		if p.list[i].id == id {
			return true
		}
	}
	return false
}
