package mmv

import (
	"sync/atomic"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A String is a text of at most 255 bytes (TypeString, pcp.SemDiscrete unless
// the definition sets another). A nil String does nothing.
type String slot

// String defines a text with a single value.
func (r *Registry) String(def Metric) *String {
	return (*String)(r.single(stringDef(def), TypeString))
}

func stringDef(def Metric) Metric {
	if def.Sem == 0 {
		def.Sem = pcp.SemDiscrete
	}
	return def
}

// Set replaces the text (mmv_set_string(3)). It is cut at 255 bytes, not
// within a character, and at a NUL. A reader sees the old text or the new one:
// the text is written to a record that is not in use, which then becomes the value.
func (s *String) Set(text string) {
	if s != nil {
		(*slot)(s).setString(text)
	}
}

// Value returns the text.
func (s *String) Value() string {
	if s == nil {
		return ""
	}
	s.str.mu.Lock()
	defer s.str.mu.Unlock()
	if at := int(s.rec[1]); s.at != 0 && at != 0 {
		return textOf(s.m.r.m.bytes(at, stringSize))
	}
	return s.str.value
}

// cutText returns the part of s that fits into a string record.
func cutText(s string) string {
	s = ctext.String(s)
	if len(s) < StringMax {
		return s
	}
	n := StringMax - 1
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			n = i
			break
		}
	}
	return s[:n]
}

// setString makes value the text of s.
func (s *slot) setString(value string) {
	t := s.str
	value = cutText(value)
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.at == 0 {
		t.value = value
		return
	}
	if t.copies == 0 && !s.m.r.roomForCopies(s) {
		return
	}
	t.turn = (t.turn + 1) % stringCopies
	at := t.copies + t.turn*stringSize
	b := s.m.r.m.bytes(at, stringSize)
	clear(b[copy(b, value):])
	// The C library keeps the length in the first half of the first word,
	// which no reader uses. The other half counts texts.
	_, count := splitWord(s.rec[0])
	atomic.StoreUint64(&s.rec[0], joinWords(uint32(len(value)), count+1))
	atomic.StoreUint64(&s.rec[1], uint64(at))
}

// roomForCopies gives a string of a fixed file the records that it alternates
// with: the file is as libpcp_mmv makes it until the first text is set, then the
// records are added at its end and a new generation makes readers load it again.
func (r *Registry) roomForCopies(s *slot) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || !r.opt.Fixed {
		return false
	}
	at := r.fixedEnd
	if err := r.m.allocate(at, stringCopies*stringSize); err != nil {
		r.fail(err)
		return false
	}
	r.fixedEnd = at + stringCopies*stringSize
	s.str.copies = at
	next := nextGeneration(atomic.LoadUint64(r.m.word(hdrG1)))
	atomic.StoreUint64(r.m.word(hdrG1), next)
	atomic.StoreUint64(r.m.word(hdrG2), next)
	return true
}
