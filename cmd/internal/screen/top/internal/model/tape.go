package model

import "github.com/go-pcp/pcp"

// The limits of a Tape.
const (
	tapeSnapshots = 300
	tapeProcesses = 100_000
)

// A Tape keeps the newest snapshots of a live source, so that a user can step back to recent ones.
type Tape struct {
	list      []*Snapshot // the oldest first
	processes int
}

// Push adds a snapshot, and returns the removed ones, for [Sampler.Recycle].
func (t *Tape) Push(s *Snapshot) (gone []*Snapshot) {
	t.list = append(t.list, s)
	t.processes += len(s.Processes)
	n := 0
	for n < len(t.list)-2 && (len(t.list)-n > tapeSnapshots || t.processes > tapeProcesses) {
		t.processes -= len(t.list[n].Processes)
		n++
	}
	if n > 0 {
		gone = append(gone, t.list[:n]...)
		t.list = append(t.list[:0], t.list[n:]...)
	}
	return gone
}

// Len returns how many snapshots there are.
func (t *Tape) Len() int { return len(t.list) }

// At returns a snapshot, 0 being the oldest.
func (t *Tape) At(i int) *Snapshot { return t.list[i] }

// Find returns the index of the newest snapshot that is not later than a time, 0 if all are.
func (t *Tape) Find(at pcp.Timestamp) int {
	for i := len(t.list) - 1; i > 0; i-- {
		if t.list[i].Time.Compare(at) <= 0 {
			return i
		}
	}
	return 0
}
