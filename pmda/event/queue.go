package event

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Errors of queues, with the numbers of the C library.
const (
	ErrNoQueue = pcp.Error(-int32(syscall.EINVAL)) // the queue was shut down, or has no room for any bytes
	ErrExists  = pcp.Error(-int32(syscall.EEXIST)) // there is a queue of the name
)

// A Decoder adds the records of one event to an array (pmdaEventDecodeCallBack).
// An event may have no record, one, or several. A Decoder must not keep data or
// use the queue. If it returns an error, that is logged and the event counts as
// missed.
type Decoder func(a *Array, data []byte, at pcp.Timestamp) error

// Queues are the queues of an agent and the clients that read them.
type Queues struct {
	log *slog.Logger

	mu      sync.Mutex // guards the queues, too
	queues  map[string]*Queue
	clients map[*pmda.Client]struct{}
}

// NewQueues returns an empty set of queues; log may be nil.
func NewQueues(log *slog.Logger) *Queues {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Queues{log: log, queues: map[string]*Queue{}, clients: map[*pmda.Client]struct{}{}}
}

// New makes a queue that holds at most maxBytes of events, and at most that many
// events, even if they are empty (pmdaEventNewQueue). It may be called while the
// agent serves clients (pmdaEventNewActiveQueue).
func (s *Queues) New(name string, maxBytes int) (*Queue, error) {
	if maxBytes <= 0 {
		return nil, fmt.Errorf("event queue %s of %d bytes: %w", name, maxBytes, ErrNoQueue)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues[name] != nil {
		return nil, fmt.Errorf("event queue %s: %w", name, ErrExists)
	}
	q := &Queue{s: s, name: name, max: maxBytes, readers: map[*pmda.Client]*reader{}}
	s.queues[name] = q
	return q, nil
}

// Named returns a queue, nil if there is none of the name (pmdaEventQueueHandle).
func (s *Queues) Named(name string) *Queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queues[name]
}

// NewClient counts a client that has not asked for events yet
// (pmdaEventNewClient). Clients that ask are counted without it.
func (s *Queues) NewClient(client *pmda.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[client] = struct{}{}
}

// Clients returns how many clients there are (pmdaEventClients).
func (s *Queues) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// EndContext forgets a client and frees the events that only this client still
// had to get. It implements pmda.ContextEnder (pmdaEventEndClient).
func (s *Queues) EndContext(client *pmda.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, client)
	for _, q := range s.queues {
		q.leave(client)
	}
}

// A Queue keeps events until all of its clients have them.
type Queue struct {
	s    *Queues
	name string
	max  int

	// s.mu guards the fields below.
	restricted bool
	shutdown   bool
	readers    map[*pmda.Client]*reader
	active     int    // readers that have fetched
	first      uint64 // number of events[0]
	events     []event
	size       int // bytes in events
	count      uint32
	bytes      uint64
}

type event struct {
	at   pcp.Timestamp
	data []byte
}

// A reader is a queue's state of a client.
type reader struct {
	active  bool   // it has fetched, and events are kept for it
	next    uint64 // number of the first event it has not got
	missed  uint32
	allowed bool
	denied  bool
	filter  func(data []byte) bool
}

// reader returns the reader of a client, a new one for a new client.
func (q *Queue) reader(client *pmda.Client) *reader {
	r := q.readers[client]
	if r == nil {
		r = &reader{}
		q.readers[client] = r
		q.s.clients[client] = struct{}{}
	}
	return r
}

// Append adds an event that happened at a time (pmdaEventQueueAppend). If there
// is no room, it drops the oldest events; an event larger than the queue is
// itself dropped. Append copies data.
func (q *Queue) Append(data []byte, at pcp.Timestamp) error {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.s.queues[q.name] != q {
		return ErrNoQueue
	}
	q.count++
	q.bytes += uint64(len(data))
	if len(data) > q.max {
		q.s.log.Warn("event too large for its queue", "queue", q.name, "bytes", len(data), "max", q.max)
		for _, r := range q.readers {
			if r.active {
				r.missed++
			}
		}
		return nil
	}
	n := 0
	for ; len(data) > q.max-q.size || len(q.events)-n >= q.max; n++ {
		q.size -= len(q.events[n].data)
	}
	q.drop(n)
	if q.active > 0 {
		q.events = append(q.events, event{at, append([]byte(nil), data...)})
		q.size += len(data)
	}
	return nil
}

// drop removes the first n events, whose size is no longer counted.
func (q *Queue) drop(n int) {
	if n == 0 {
		return
	}
	clear(q.events[:n])
	q.events = q.events[n:]
	q.first += uint64(n)
	for _, r := range q.readers {
		if r.active && r.next < q.first {
			r.missed += uint32(q.first - r.next)
			r.next = q.first
		}
	}
}

// free drops the events that all readers have got.
func (q *Queue) free() {
	upTo := q.first + uint64(len(q.events))
	for _, r := range q.readers {
		if r.active {
			upTo = min(upTo, r.next)
		}
	}
	n := int(upTo - q.first)
	for _, e := range q.events[:n] {
		q.size -= len(e.data)
	}
	q.drop(n)
}

// Records returns the events that client has not got yet, as the value of a
// metric of pcp.TypeEvent (pmdaEventQueueRecords). If there are none, or the
// filter rejects all, it returns pmda.ErrNoValue. If events were missed, the
// last record has their number. A client that may not read the queue gets
// pcp.ErrPermission. The next value has the events that do not fit.
func (q *Queue) Records(client *pmda.Client, decode Decoder) (pcp.Value, error) {
	return q.records(client, &Array{}, decode)
}

// HighResRecords is Records for a metric of pcp.TypeHighResEvent.
func (q *Queue) HighResRecords(client *pmda.Client, decode Decoder) (pcp.Value, error) {
	return q.records(client, NewHighResArray(), decode)
}

func (q *Queue) records(client *pmda.Client, a *Array, decode Decoder) (pcp.Value, error) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	if q.s.queues[q.name] != q {
		return pcp.Value{}, ErrNoQueue
	}
	r := q.reader(client)
	if !r.active {
		r.active = true
		r.next = q.first // events that others still wait for are new to it
		q.active++
	}
	defer q.free()
	events := q.events[r.next-q.first:]
	if r.denied || q.restricted && !r.allowed {
		r.next += uint64(len(events))
		r.missed = 0
		return pcp.Value{}, pcp.ErrPermission
	}
	for _, e := range events {
		if r.filter == nil || r.filter(e.data) {
			before := *a
			if err := decode(a, e.data, e.at); err != nil {
				*a = Array{b: a.b[:len(before.b)], highRes: a.highRes, records: before.records}
				if errors.Is(err, pcp.ErrTooBig) && a.records > 0 {
					break
				}
				q.s.log.Error("event left out", "queue", q.name, "bytes", len(e.data), "err", err)
				r.missed++
			}
		}
		r.next++
	}
	if r.missed > 0 && a.AddMissed(pcp.TimestampOf(time.Now()), r.missed) == nil {
		r.missed = 0
	}
	if a.Len() == 0 {
		return pcp.Value{}, pmda.ErrNoValue
	}
	return a.Value(), nil
}

// Restrict makes the queue answer only to clients that SetAccess or SetFilter
// lets in. Queues of the C library always work this way.
func (q *Queue) Restrict() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.restricted = true
}

// SetAccess sets whether a client may read the queue (pmdaEventSetAccess).
func (q *Queue) SetAccess(client *pmda.Client, allow bool) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	r := q.reader(client)
	r.allowed, r.denied = allow, !allow
}

// SetFilter gives a client only the events for which keep returns true, and lets
// it in; nil removes the filter (pmdaEventSetFilter). keep must not use the
// queue.
func (q *Queue) SetFilter(client *pmda.Client, keep func(data []byte) bool) {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	r := q.reader(client)
	r.filter, r.allowed, r.denied = keep, true, false
}

func (q *Queue) leave(client *pmda.Client) {
	r := q.readers[client]
	if r == nil {
		return
	}
	delete(q.readers, client)
	if !r.active {
		return
	}
	q.active--
	q.free()
	if q.active == 0 && q.shutdown {
		q.release()
	}
}

// Shutdown ends the queue at once, or when its last client has left
// (pmdaEventQueueShutdown). Its name is free from then on.
func (q *Queue) Shutdown() {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	q.shutdown = true
	if q.active == 0 && q.s.queues[q.name] == q {
		q.release()
	}
}

func (q *Queue) release() {
	delete(q.s.queues, q.name)
	q.events, q.size = nil, 0
}

// Stats are the counts of a queue, which an agent may export.
type Stats struct {
	Clients uint32 // that read it (pmdaEventQueueClients)
	Count   uint32 // events that ever arrived (pmdaEventQueueCounter)
	Bytes   uint64 // their bytes (pmdaEventQueueBytes)
	Memory  uint64 // bytes held now (pmdaEventQueueMemory)
}

// Stats returns the present counts.
func (q *Queue) Stats() Stats {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return Stats{uint32(q.active), q.count, q.bytes, uint64(q.size)}
}
