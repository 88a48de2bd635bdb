package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/internal/testing/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// A memory is a Store in memory.
type memory struct {
	mu       sync.Mutex
	files    map[string][]byte
	requests map[string]int
	ignore   bool // conditions
	fail     error
}

func newMemory() *memory {
	return &memory{files: make(map[string][]byte), requests: make(map[string]int)}
}

func versionOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

func (s *memory) begin(ctx context.Context, what string) error {
	s.requests[what]++
	return errors.Join(ctx.Err(), s.fail)
}

func (s *memory) setFail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

func (s *memory) Read(ctx context.Context, name string) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "read"); err != nil {
		return nil, "", err
	}
	data, ok := s.files[name]
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	return slices.Clone(data), versionOf(data), nil
}

func (s *memory) write(ctx context.Context, name string, data []byte, ok func(old []byte, there bool) bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "write"); err != nil {
		return "", err
	}
	if old, there := s.files[name]; !ok(old, there) && !s.ignore {
		return "", objects.ErrConflict
	}
	s.files[name] = slices.Clone(data)
	return versionOf(data), nil
}

func (s *memory) Create(ctx context.Context, name string, data []byte) (string, error) {
	return s.write(ctx, name, data, func(_ []byte, there bool) bool { return !there })
}

func (s *memory) Replace(ctx context.Context, name string, data []byte, version string) (string, error) {
	return s.write(ctx, name, data, func(old []byte, there bool) bool { return there && versionOf(old) == version })
}

func (s *memory) Put(ctx context.Context, name string, data []byte) error {
	_, err := s.write(ctx, name, data, func([]byte, bool) bool { return true })
	return err
}

func (s *memory) List(ctx context.Context, dir string) (list []objects.Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "list"); err != nil {
		return nil, err
	}
	for name, data := range s.files {
		if rest, ok := strings.CutPrefix(name, dir+"/"); ok && !strings.Contains(rest, "/") {
			list = append(list, objects.Entry{Name: rest, Size: int64(len(data)), Version: versionOf(data)})
		}
	}
	slices.SortFunc(list, func(a, b objects.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (s *memory) Remove(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "remove"); err != nil {
		return err
	}
	delete(s.files, name)
	return nil
}

// A gate is a way to a Store that can be shut: requests wait, as those of a process that is stopped, or fail.
type gate struct {
	Store
	mu   sync.Mutex
	wait chan struct{}
	fail error
}

func (g *gate) pass() error {
	g.mu.Lock()
	wait := g.wait
	g.mu.Unlock()
	if wait != nil {
		<-wait
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fail
}

// pause stops all requests until resume is called.
func (g *gate) pause() (resume func()) {
	wait := make(chan struct{})
	g.mu.Lock()
	g.wait = wait
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		g.wait = nil
		g.mu.Unlock()
		close(wait)
	}
}

func (g *gate) setFail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

func (g *gate) Replace(_ context.Context, name string, data []byte, version string) (string, error) {
	if err := g.pass(); err != nil {
		return "", err
	}
	return g.Store.Replace(context.Background(), name, data, version) // a request whose time is over may have been made
}

func (g *gate) List(ctx context.Context, dir string) ([]objects.Entry, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.Store.List(ctx, dir)
}

// A recorder is a member of a fleet for tests.
type recorder struct {
	id   string
	gate gate
	stop context.CancelFunc
	done chan error

	mu      sync.Mutex
	members []string
	lost    int // how often it has lost its lease
	events  []string
}

// join starts a recorder.
func join(t *testing.T, s Store, id string) *recorder {
	t.Helper()
	r := &recorder{id: id, gate: gate{Store: s}, done: make(chan error, 1)}
	m, err := New(Config{
		Store: &r.gate, ID: id,
		Changed: func(members []string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.members = members; members == nil {
				r.lost++
			}
		},
		Event: func(text string, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.events = append(r.events, fmt.Sprint(text, " ", err))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.done <- m.Run(ctx) }()
	return r
}

// is reports whether the recorder knows the given members.
func (r *recorder) is(members ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Equal(r.members, members)
}

// known returns the members that the recorder knows.
func (r *recorder) known() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.members)
}

// losses returns how often the recorder has lost its lease.
func (r *recorder) losses() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// happened returns the events so far.
func (r *recorder) happened() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s: members %v, events %q", r.id, r.members, r.events)
}

// until waits until ok, and returns the time that it took, which must be at most limit.
func until(t *testing.T, limit time.Duration, what string, ok func() bool, rs ...*recorder) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		synctest.Wait()
		took := time.Since(began)
		if ok() {
			return took
		}
		if took >= limit {
			t.Fatalf("not so after %v: %s; %v", took, what, rs)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// end stops recorders and checks that they give up their leases.
func end(t *testing.T, s *memory, rs ...*recorder) {
	t.Helper()
	for _, r := range rs {
		r.stop()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		if s.files[recorders+"/"+r.id] != nil {
			t.Errorf("%s has not given up its lease", r.id)
		}
	}
}

// TestJoin has three recorders join and leave: the others know at once.
func TestJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		a := join(t, s, "a")
		if took := until(t, time.Minute, "a is alone", func() bool { return a.is("a") }, a); took > 0 {
			t.Errorf("alone after %v", took)
		}
		b, c := join(t, s, "b"), join(t, s, "c")
		until(t, Renew, "three know each other", func() bool {
			return a.is("a", "b", "c") && b.is("a", "b", "c") && c.is("a", "b", "c")
		}, a, b, c)
		time.Sleep(time.Hour)
		if a.losses()+b.losses()+c.losses() > 0 || !a.is("a", "b", "c") {
			t.Errorf("%v %v %v", a, b, c)
		}
		b.stop()
		if err := <-b.done; err != nil {
			t.Error(err)
		}
		took := until(t, Renew, "b has left", func() bool { return a.is("a", "c") && c.is("a", "c") }, a, c)
		t.Logf("a recorder that leaves is replaced after %v", took)
		end(t, s, a, c)
		if len(s.files) > 0 {
			t.Errorf("files remain: %v", s.files)
		}
	})
}

// TestKilled has recorders end without notice, at different moments between two renewals. Their leases expire, and they are forgotten
// later.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		rs := make([]*recorder, 3)
		for i := range rs {
			rs[i] = join(t, s, fmt.Sprint("r", i))
			time.Sleep(700 * time.Millisecond)
		}
		longest := time.Duration(0)
		for i := range 20 {
			time.Sleep(10*time.Second + time.Duration(i)*150*time.Millisecond)
			name := fmt.Sprint("dead", i)
			dead := join(t, s, name)
			until(t, 2*Renew, "it has joined", func() bool { return slices.Contains(rs[0].known(), name) && slices.Contains(rs[1].known(), name) }, rs...)
			time.Sleep(time.Duration(i) * 150 * time.Millisecond)
			dead.gate.setFail(errors.New("killed"))
			took := until(t, 30*time.Second, "it is replaced", func() bool { return rs[0].is("r0", "r1", "r2") && rs[1].is("r0", "r1", "r2") }, rs...)
			longest = max(longest, took)
			dead.stop()
			<-dead.done
		}
		t.Logf("a recorder that ends without notice is replaced after at most %v", longest)
		if longest > 20*time.Second {
			t.Errorf("too late")
		}
		time.Sleep(Forget + time.Minute)
		synctest.Wait()
		if len(s.files) != 3 {
			t.Errorf("files remain: %v", s.files)
		}
		end(t, s, rs...)
	})
}

// TestPaused stops a recorder for a minute, as SIGSTOP does. Others take its hosts. When it continues, it notices that it has lost
// its lease before it does anything else, and joins again.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		a, b := join(t, s, "a"), join(t, s, "b")
		until(t, Renew, "two", func() bool { return a.is("a", "b") && b.is("a", "b") }, a, b)
		resume := b.gate.pause()
		until(t, 20*time.Second, "a is alone", func() bool { return a.is("a") }, a, b)
		time.Sleep(time.Minute)
		if !b.is("a", "b") {
			t.Errorf("a paused recorder learned something: %v", b)
		}
		resume()
		took := until(t, 2*Renew, "b joins again", func() bool { return b.losses() == 1 && a.is("a", "b") && b.is("a", "b") }, a, b)
		t.Logf("a recorder that continues has lost its lease, and joins again after %v", took)
		if a.losses() > 0 {
			t.Errorf("%v", a)
		}
		end(t, s, a, b)
	})
}

// TestAway has the store fail for all recorders, for different times: no lease expires, and no recorder gives up its hosts. If it fails
// for one recorder only, the others take its hosts, and it keeps them too.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		rs := []*recorder{join(t, s, "a"), join(t, s, "b"), join(t, s, "c")}
		all := []string{"a", "b", "c"}
		same := func() bool {
			return !slices.ContainsFunc(rs, func(r *recorder) bool { return !r.is(all...) || r.losses() > 0 })
		}
		until(t, Renew, "three", same, rs...)
		for i := range 60 {
			s.setFail(errors.New("503 Slow Down"))
			time.Sleep(time.Duration(i) * 900 * time.Millisecond)
			s.setFail(nil)
			for range 20 {
				time.Sleep(time.Second)
				if synctest.Wait(); !same() {
					t.Fatalf("after %d seconds away: %v", i, rs)
				}
			}
		}
		if !slices.ContainsFunc(rs[0].happened(), func(e string) bool { return strings.Contains(e, "does not answer") && strings.Contains(e, "503") }) {
			t.Errorf("%v", rs[0])
		}
		rs[1].gate.setFail(errors.New("no route"))
		until(t, 20*time.Second, "b is replaced", func() bool { return rs[0].is("a", "c") && rs[2].is("a", "c") }, rs...)
		time.Sleep(time.Hour)
		if !rs[1].is(all...) {
			t.Errorf("without the store it gave up its hosts: %v", rs[1])
		}
		rs[1].gate.setFail(nil)
		until(t, 2*Renew, "b joins again", func() bool { return rs[1].losses() == 1 && rs[0].is(all...) && rs[1].is(all...) }, rs...)
		end(t, s, rs...)
	})
}

// TestSameID starts a second recorder with the identifier of another one, which is refused, and one after the first was killed, which
// gets the lease when it has expired.
func TestSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		a := join(t, s, "a")
		time.Sleep(time.Minute)
		began := time.Now()
		if err := <-join(t, s, "a").done; !errors.Is(err, ErrTaken) {
			t.Errorf("a second one: %v", err)
		}
		t.Logf("refused after %v", time.Since(began))
		time.Sleep(time.Minute)
		if !a.is("a") || a.losses() > 0 {
			t.Errorf("the first one: %v", a)
		}
		resume := a.gate.pause()
		b := join(t, s, "a")
		took := until(t, 20*time.Second, "the lease has expired", func() bool { return b.is("a") }, b)
		t.Logf("a recorder that was killed is in the fleet again after %v", took)
		resume()
		if err := <-a.done; !errors.Is(err, ErrTaken) || a.losses() != 1 {
			t.Errorf("the first one continues: %v", err)
		}
		if !b.is("a") {
			t.Errorf("%v", b)
		}
		end(t, s, b)
	})
}

// TestUnanswered has renewals that are made, although no answer comes.
func TestUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		a := join(t, s, "a")
		until(t, 0, "joined", func() bool { return a.is("a") }, a)
		for range 5 {
			resume := a.gate.pause()
			time.Sleep(requestTime + 5*time.Second) // its time is over when it is made
			resume()
			time.Sleep(time.Minute)
		}
		if a.losses() > 0 || !a.is("a") {
			t.Errorf("%v", a)
		}
		end(t, s, a)
	})
}

// TestUnsuitable has stores that cannot be used.
func TestUnsuitable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		s.ignore = true
		if err := <-join(t, s, "a").done; !errors.Is(err, errIgnored) {
			t.Errorf("a store that ignores conditions: %v", err)
		}
		for _, fail := range []error{fs.ErrPermission, fs.ErrNotExist} {
			s := newMemory()
			s.fail = fmt.Errorf("s3://archives: %w", fail)
			if err := <-join(t, s, "a").done; !errors.Is(err, fail) {
				t.Errorf("%v: %v", fail, err)
			}
		}
		s = newMemory()
		s.fail = errors.New("connection refused")
		a := join(t, s, "a")
		time.Sleep(time.Hour)
		s.setFail(nil)
		until(t, Renew, "it answers", func() bool { return a.is("a") }, a)
		end(t, s, a)
	})
	for _, id := range []string{"", "-a", ".a", "a/b", "a_b", "ä", strings.Repeat("a", maxID+1)} {
		if _, err := New(Config{ID: id}); err == nil {
			t.Errorf("%q is accepted", id)
		}
	}
}

// TestMoves checks which hosts have no owner, one, or two, while recorders join, leave and are killed: none is without an owner for
// longer than the lease of the killed one, and those that need not move do not.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		var rs []*recorder
		for i := range 10 {
			rs = append(rs, join(t, s, fmt.Sprint("r", i)))
			time.Sleep(137 * time.Millisecond)
		}
		time.Sleep(2 * Renew)
		owners := func() map[string][]string {
			m := make(map[string][]string)
			for i := range 1000 {
				host := fmt.Sprint("host", i)
				for _, r := range rs {
					members := r.known()
					if i := rendezvous.Owner(host, members); i >= 0 && members[i] == r.id {
						m[host] = append(m[host], r.id)
					}
				}
			}
			return m
		}
		before := owners()
		rs[3].gate.setFail(errors.New("killed"))
		rs[3].stop()
		<-rs[3].done
		rs[3].mu.Lock()
		rs[3].members = nil
		rs[3].mu.Unlock()
		until(t, 20*time.Second, "each host has an owner", func() bool { return len(owners()) == 1000 }, rs...)
		time.Sleep(2 * Renew)
		synctest.Wait()
		after, moved := owners(), 0
		for host, list := range after {
			if len(list) != 1 {
				t.Errorf("%s has owners %v", host, list)
			}
			if list[0] != before[host][0] {
				moved++
				if before[host][0] != "r3" {
					t.Errorf("%s moved from %v to %v", host, before[host], list)
				}
			}
		}
		t.Logf("%d of 1000 hosts moved", moved)
		end(t, s, slices.Delete(rs, 3, 4)...)
	})
}

// TestCost counts requests.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		var rs []*recorder
		for i := range 10 {
			rs = append(rs, join(t, s, fmt.Sprint("r", i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		s.mu.Lock()
		clear(s.requests)
		s.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.mu.Lock()
		n := maps.Clone(s.requests)
		s.mu.Unlock()
		t.Logf("each of 10 recorders makes %d writes, %d lists and %d reads a minute", n["write"]/100, n["list"]/100, n["read"]/100)
		if n["write"] > 2100 || n["list"] > 2100 || n["read"] > 0 {
			t.Errorf("requests in 10 minutes: %v", n)
		}
		end(t, s, rs...)
	})
}
