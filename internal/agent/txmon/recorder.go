package txmon

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/go-pcp/pcp"
)

// A Recorder records transactions for an agent on this host. It may be used
// by many goroutines.
type Recorder struct {
	mu      sync.Mutex
	seg     segment
	records []record
	byName  map[string]record
}

// A Type has the recorded values of one type of transactions.
type Type struct {
	Name   string
	Offset int    // of its record in the segment
	Count  uint32 // since the agent started
	Resets uint32 // Count at the last reset
	Max    float32
	Sum    float64
}

// Attach finds the agent that has the key; 0 means [Key].
func Attach(key int) (*Recorder, error) {
	seg, err := attach(cmp.Or(key, Key))
	if err != nil {
		return nil, err
	}
	records, err := seg.records()
	if err != nil {
		detach(seg)
		return nil, err
	}
	r := &Recorder{seg: seg, records: records, byName: make(map[string]record, len(records))}
	for _, rec := range records {
		if _, ok := r.byName[rec.name()]; !ok { // the first counts
			r.byName[rec.name()] = rec
		}
	}
	return r, nil
}

// Close detaches the memory. The Recorder must not be used afterwards.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	seg := r.seg
	if seg == nil {
		return nil
	}
	r.seg, r.records, r.byName = nil, nil, nil
	return detach(seg)
}

// Level returns the values that the agent wants: 0 none, 1 counts, 2 times too.
func (r *Recorder) Level() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seg == nil {
		return 0
	}
	return int(r.seg.level())
}

// Record records a transaction with its duration in seconds. With a level of 0 it
// does nothing; an unknown type gives pcp.ErrInst.
func (r *Recorder) Record(typ string, seconds float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.byName[typ]
	if !ok {
		return fmt.Errorf("transaction type %q: %w", typ, pcp.ErrInst)
	}
	level := r.seg.level()
	if level == 0 {
		return nil
	}
	rec.setCount(rec.count() + 1)
	if level == 2 {
		took := float32(seconds)
		rec.setSum(rec.sum() + float64(took))
		if took > rec.max() {
			rec.setMax(took)
		}
	}
	return nil
}

// Types returns the values recorded so far.
func (r *Recorder) Types() []Type {
	r.mu.Lock()
	defer r.mu.Unlock()
	types := make([]Type, len(r.records))
	for i, rec := range r.records {
		types[i] = Type{rec.name(), int(order.Uint32(r.seg[headSize+4*i:])), rec.count(), rec.resets(), rec.max(), rec.sum()}
	}
	return types
}
