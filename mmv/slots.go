package mmv

import "sync"

// A slot is one value: the four words of its record, in the file once it is
// mapped and in memory before. Every handle of a value is its slot.
type slot struct {
	rec *[4]uint64
	m   *metric
	at  int   // of its record; 0 if there is no record
	str *text // of a string only
}

// slots are the values of a metric, one, or one for each instance.
type slots struct{ list[slot] }

// grow adds n values of m. If they get a record in a file at once they need no
// memory for it.
func (s *slots) grow(m *metric, n int, inFile bool) {
	var recs [][4]uint64
	if !inFile {
		recs = make([][4]uint64, n)
	}
	first := 8
	if m.inDom == nil {
		first = 1
	}
	for i := range n {
		v := s.add(first)
		v.m = m
		if !inFile {
			v.rec = &recs[i]
		}
		if m.typ == TypeString {
			v.str = new(text)
		}
	}
}

// detach gives values without a record memory that no reader sees.
func (s *slots) detach() {
	for i := range s.n {
		if v := s.at(i); v.rec == nil {
			v.rec = new([4]uint64)
		}
	}
}

// stringCopies is the number of records of a string value. A new text is written
// to the next one, which then becomes the value, so that a reader that began to
// copy the old one finishes before it is overwritten. A slower reader notices
// that by the first word of the value, which counts: see [File.ReadText].
const stringCopies = 4

// text has the state of a string value other than its record.
type text struct {
	mu     sync.Mutex
	value  string // unless it is in the file
	copies int    // offset of the records that it alternates with
	turn   int    // the record with its value
}
