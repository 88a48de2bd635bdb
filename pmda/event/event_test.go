package event_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/event"
)

var _ pmda.ContextEnder = (*event.Queues)(nil)

const paramID = pcp.PMID(29<<22 | 134)

// plain makes one record of an event, with its text.
func plain(a *event.Array, data []byte, at pcp.Timestamp) error {
	if err := a.Add(at, pcp.EventPoint); err != nil {
		return err
	}
	return a.Param(paramID, pcp.BytesValue(pcp.TypeString, data))
}

// read returns the texts that a client gets, "missed N" for a missed record.
func read(t *testing.T, q *event.Queue, c *pmda.Client) string {
	t.Helper()
	v, err := q.Records(c, plain)
	if err == pmda.ErrNoValue {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	records, err := v.EventRecords()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, r := range records {
		if r.Flags == pcp.EventMissed {
			words = append(words, fmt.Sprint("missed ", r.Missed))
		} else {
			words = append(words, string(r.Params[0].Value.Bytes()))
		}
	}
	return strings.Join(words, " ")
}

func newQueue(t *testing.T, size int) (*event.Queues, *event.Queue, func(...string), func(*pmda.Client, string)) {
	t.Helper()
	s := event.NewQueues(nil)
	q, err := s.New("q", size)
	if err != nil {
		t.Fatal(err)
	}
	add := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := q.Append([]byte(text), pcp.Timestamp{Sec: 1}); err != nil {
				t.Error(err)
			}
		}
	}
	want := func(c *pmda.Client, want string) {
		t.Helper()
		if got := read(t, q, c); got != want {
			t.Errorf("client %d reads %q, want %q", c.ID, got, want)
		}
	}
	return s, q, add, want
}

// TestOnce has two clients that fetch at random: each gets every event once.
func TestOnce(t *testing.T) {
	s, q, add, want := newQueue(t, 100)
	a, b := &pmda.Client{ID: 1}, &pmda.Client{ID: 2}
	add("early")
	want(a, "")
	want(b, "")
	add("one", "two")
	want(a, "one two")
	want(a, "")
	add("three")
	want(a, "three")
	if got := q.Stats(); got != (event.Stats{Clients: 2, Count: 4, Bytes: 16, Memory: 11}) {
		t.Errorf("%+v", got)
	}
	want(b, "one two three")
	want(b, "")
	want(a, "")
	if got := q.Stats().Memory; got != 0 {
		t.Errorf("%d bytes are kept for nobody", got)
	}
	add("four")
	want(a, "four")
	if s.Clients() != 2 {
		t.Errorf("%d clients", s.Clients())
	}
	s.EndContext(b)
	if got := q.Stats(); got.Clients != 1 || got.Memory != 0 {
		t.Errorf("what only a client that left had not read is kept: %+v", got)
	}
	s.EndContext(a)
	s.EndContext(a)
	add("five")
	if got := q.Stats(); got.Clients != 0 || got.Memory != 0 || s.Clients() != 0 {
		t.Errorf("%+v", got)
	}
}

func TestMissed(t *testing.T) {
	_, q, add, want := newQueue(t, 10)
	a, b := &pmda.Client{ID: 1}, &pmda.Client{ID: 2}
	want(a, "")
	want(b, "")
	add("1111", "2222")
	want(a, "1111 2222")
	add("3333", "4444")
	want(b, "3333 4444 missed 2")
	want(a, "3333 4444")
	add("this is too large")
	want(a, "missed 1")
	want(a, "")
	for range 100 {
		add("") // empty events count, too
	}
	if got := read(t, q, b); got != strings.Repeat(" ", 10)+"missed 91" {
		t.Errorf("%q", got)
	}
}

func TestFilterAndAccess(t *testing.T) {
	_, q, add, want := newQueue(t, 100)
	a, b, c := &pmda.Client{ID: 1}, &pmda.Client{ID: 2}, &pmda.Client{ID: 3}
	q.SetFilter(a, func(data []byte) bool { return bytes.HasPrefix(data, []byte("x")) })
	q.SetAccess(b, false)
	want(a, "")
	want(b, pcp.ErrPermission.Error())
	want(c, "")
	add("x1", "y2", "x3")
	want(a, "x1 x3")
	want(b, pcp.ErrPermission.Error())
	want(c, "x1 y2 x3")
	if got := q.Stats().Memory; got != 0 {
		t.Errorf("%d bytes are kept", got)
	}
	q.SetFilter(a, nil)
	q.SetAccess(b, true)
	add("y4")
	want(a, "y4")
	want(b, "y4")
	want(c, "y4")
	q.Restrict()
	add("y5")
	want(c, pcp.ErrPermission.Error())
	want(a, "y5")
}

func TestShutdown(t *testing.T) {
	s, q, add, want := newQueue(t, 100)
	a := &pmda.Client{ID: 1}
	if _, err := s.New("q", 5); !errors.Is(err, event.ErrExists) {
		t.Errorf("a second queue of the name: %v", err)
	}
	if _, err := s.New("none", 0); !errors.Is(err, event.ErrNoQueue) {
		t.Errorf("a queue without room: %v", err)
	}
	want(a, "")
	q.Shutdown()
	add("still")
	want(a, "still")
	s.EndContext(a)
	if err := q.Append(nil, pcp.Timestamp{}); err != event.ErrNoQueue {
		t.Errorf("Append after the end: %v", err)
	}
	want(a, event.ErrNoQueue.Error())
	if s.Named("q") != nil {
		t.Error("the name is still taken")
	}
	again, err := s.New("q", 5)
	if err != nil || s.Named("q") != again {
		t.Error(err)
	}
	again.Shutdown()
	if s.Named("q") != nil {
		t.Error("a queue without clients ends at once")
	}
}

func TestDecodeError(t *testing.T) {
	var log bytes.Buffer
	s := event.NewQueues(slog.New(slog.NewTextHandler(&log, nil)))
	q, err := s.New("q", 100)
	if err != nil {
		t.Fatal(err)
	}
	c := &pmda.Client{}
	decode := func(a *event.Array, data []byte, at pcp.Timestamp) error {
		if err := plain(a, data, at); err != nil {
			return err
		}
		if string(data) == "bad" {
			return errors.New("it is bad")
		}
		return nil
	}
	if _, err := q.Records(c, decode); err != pmda.ErrNoValue {
		t.Error(err)
	}
	for _, text := range []string{"good", "bad", "better"} {
		if err := q.Append([]byte(text), pcp.Timestamp{}); err != nil {
			t.Error(err)
		}
	}
	v, err := q.Records(c, decode)
	if err != nil {
		t.Fatal(err)
	}
	records, err := v.EventRecords()
	if err != nil || len(records) != 3 || string(records[1].Params[0].Value.Bytes()) != "better" || records[2].Missed != 1 {
		t.Errorf("%v, %v", records, err)
	}
	if !strings.Contains(log.String(), "it is bad") {
		t.Errorf("log: %s", &log)
	}
}

func TestArrayLimits(t *testing.T) {
	a := &event.Array{}
	if err := a.Param(paramID, pcp.Int32Value(1)); err != event.ErrNoRecord {
		t.Error(err)
	}
	if err := a.AddMissed(pcp.Timestamp{}, 1); err != nil {
		t.Error(err)
	}
	if err := a.Param(paramID, pcp.Int32Value(1)); err != event.ErrNoRecord {
		t.Error(err)
	}
	if err := a.Add(pcp.Timestamp{}, pcp.EventPoint); err != nil {
		t.Error(err)
	}
	big := pcp.BytesValue(pcp.TypeAggregate, make([]byte, 1<<23))
	if err := a.Param(paramID, big); err != nil {
		t.Error(err)
	}
	if err := a.Param(paramID, big); err != pcp.ErrTooBig {
		t.Error(err)
	}
	if n := len(a.Value().Bytes()); n > pcp.ValLenMax-pcp.ValHeaderSize {
		t.Errorf("a value of %d bytes", n)
	}
	v := a.Value()
	a.Reset()
	if records, err := v.EventRecords(); err != nil || len(records) != 2 {
		t.Error(len(records), err)
	}
	if records, err := a.Value().EventRecords(); err != nil || len(records) != 0 {
		t.Error(len(records), err)
	}
}

// TestFull has more events than a value holds: the next value has the rest.
func TestFull(t *testing.T) {
	_, q, _, _ := newQueue(t, 1<<26)
	c := &pmda.Client{}
	q.Records(c, plain)
	for range 5 {
		if err := q.Append(make([]byte, 6<<20), pcp.Timestamp{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 2, 1} {
		v, err := q.Records(c, plain)
		if err != nil {
			t.Fatal(err)
		}
		if records, err := v.EventRecords(); err != nil || len(records) != want {
			t.Errorf("%d records, %v, want %d", len(records), err, want)
		}
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	s, q, add, _ := newQueue(t, 1<<20)
	clients := []*pmda.Client{{ID: 1}, {ID: 2}, {ID: 3}}
	for _, c := range clients {
		q.Records(c, plain)
	}
	const n = 500
	done, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			add(fmt.Sprint(i))
		}
	})
	for _, c := range clients {
		wg.Go(func() {
			for next := 0; next < n && done.Err() == nil; {
				for _, word := range strings.Fields(read(t, q, c)) {
					if word != fmt.Sprint(next) {
						t.Errorf("client %d gets %s after %d", c.ID, word, next-1)
						return
					}
					next++
				}
			}
			s.EndContext(c)
		})
	}
	wg.Wait()
	if got := q.Stats(); got.Clients != 0 || got.Count != n || got.Memory != 0 {
		t.Errorf("%+v", got)
	}
}

func Example() {
	queues := event.NewQueues(nil)
	logins, err := queues.New("logins", 64<<10)
	if err != nil {
		panic(err)
	}
	user := pcp.NewPMID(400, 0, 1)
	client := &pmda.Client{}
	fetch := func() {
		v, err := logins.Records(client, func(a *event.Array, data []byte, at pcp.Timestamp) error {
			if err := a.Add(at, pcp.EventPoint); err != nil {
				return err
			}
			return a.Param(user, pcp.StringValue(string(data)))
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		records, _ := v.EventRecords()
		for _, r := range records {
			fmt.Println(r.Flags, r.Params[0].PMID, r.Params[0].Value)
		}
	}
	fetch()
	logins.Append([]byte("ada"), pcp.TimestampOf(time.Now()))
	logins.Append([]byte("grace"), pcp.TimestampOf(time.Now()))
	fetch()
	fetch()
	// Output:
	// no value available
	// point 400.0.1 "ada"
	// point 400.0.1 "grace"
	// no value available
}

func BenchmarkQueue(b *testing.B) {
	s := event.NewQueues(nil)
	q, err := s.New("q", 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	clients := []*pmda.Client{{ID: 1}, {ID: 2}}
	line := []byte("Nov 21 12:00:00 host sshd[1]: session opened for user root")
	for _, c := range clients {
		q.Records(c, plain)
	}
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			if err := q.Append(line, pcp.Timestamp{}); err != nil {
				b.Fatal(err)
			}
		}
		for _, c := range clients {
			if _, err := q.Records(c, plain); err != nil {
				b.Fatal(err)
			}
		}
	}
}
