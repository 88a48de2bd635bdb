package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
)

// A fakeSender is a sender and, as fakeStorer, a storer. It has done all of a directory when its time has come.
type fakeSender struct {
	now  *time.Time
	list []send.Dir
	left []send.Dir
	most int                  // directories that were left, at a time
	when map[string]time.Time // by directory
}

func (f *fakeSender) Set(list []send.Dir)   { f.list = list }
func (f *fakeSender) Leave(list []send.Dir) { f.left, f.most = list, max(f.most, len(list)) }

func (f *fakeSender) Done(d send.Dir) bool {
	return slices.Contains(f.left, d) && !f.when[d.Path].After(*f.now)
}

type fakeStorer struct {
	now  *time.Time
	list []ship.Host
	away bool
	when map[string]time.Time
}

func (f *fakeStorer) Set(list []ship.Host) { f.list = list }

func (f *fakeStorer) Done(h ship.Host, since time.Time) bool {
	return slices.Contains(f.list, h) && !f.away && f.now.After(since) && !f.when[h.Path].After(*f.now)
}

// A course is a follower in a simulated time, with a sender and a storer.
type course struct {
	*follower
	t      *testing.T
	now    time.Time
	hosts  []string // that are recorded
	away   map[string]string
	joined bool
	out    fakeSender
	store  fakeStorer
	events []string
	tidied []string
}

func newCourse(t *testing.T, suffix string) *course {
	c := &course{t: t, now: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), away: make(map[string]string)}
	c.out = fakeSender{now: &c.now, when: make(map[string]time.Time)}
	c.store = fakeStorer{now: &c.now, when: make(map[string]time.Time)}
	c.follower = &follower{
		pace: usualPace, dir: t.TempDir(), suffix: suffix, out: &c.out, store: &c.store,
		recorded: func() (list []fleet.Status) {
			for _, name := range c.hosts {
				list = append(list, fleet.Status{Name: name, Dir: filepath.Join(c.dir, name)})
			}
			return list
		},
		others: func() (map[string]string, bool) { return c.away, c.joined },
		tidy:   func(_ context.Context, dir string) { c.tidied = append(c.tidied, filepath.Base(dir)) },
		event:  func(text string, _ error) { c.events = append(c.events, text) },
	}
	return c
}

// pass lets time pass, in steps.
func (c *course) pass(d time.Duration) {
	for end := c.now.Add(d); c.now.Before(end); {
		c.now = c.now.Add(max(usualPace.every, d/500))
		c.step(c.now)
	}
}

func (c *course) check(what string, moved, sending, storing int) {
	c.t.Helper()
	if n := c.count(); n != moved || len(c.out.list)-len(c.hosts) != sending || len(c.out.left) != sending || len(c.store.list)-len(c.hosts) != storing {
		c.t.Errorf("%s: %d hosts have moved, the archives of %d are sent (%d left), and of %d stored; want %d, %d, %d",
			what, n, len(c.out.list)-len(c.hosts), len(c.out.left), len(c.store.list)-len(c.hosts), moved, sending, storing)
	}
}

// TestFollower moves hosts while the server or the store is away: they are followed until all is sent and stored, unless they come back.
func TestFollower(t *testing.T) {
	c := newCourse(t, "-a")
	c.hosts = []string{"h0", "h1", "h2"}
	c.pass(time.Minute)
	c.check("recorded", 0, 0, 0)
	c.hosts = []string{"h0"}
	c.away["h1"] = filepath.Join(c.dir, "h1")
	never := c.now.Add(1000 * time.Hour)
	c.out.when[filepath.Join(c.dir, "h1")] = never
	c.store.away = true
	c.pass(5 * time.Second)
	c.check("two have moved", 2, 2, 2)
	if !slices.ContainsFunc(c.store.list, func(h ship.Host) bool { return h.Name == "h1" && h.Moved }) ||
		!slices.ContainsFunc(c.store.list, func(h ship.Host) bool { return h.Name == "h2" && !h.Moved }) {
		t.Errorf("%+v: h1 has another recorder, and h2 has none", c.store.list)
	}
	c.pass(100 * time.Hour)
	c.check("the store is away, and the server for h1", 2, 1, 2)
	c.hosts = []string{"h0", "h1"}
	c.pass(5 * time.Second)
	c.check("h1 is back", 1, 0, 1)
	c.hosts = []string{"h0"}
	c.store.away = false
	c.pass(5 * time.Second)
	c.check("h1 moves again", 1, 1, 1)
	c.pass(time.Minute)
	c.check("the store is back", 1, 1, 1)
	c.out.when[filepath.Join(c.dir, "h1")] = c.now
	c.pass(5 * time.Second)
	c.check("the server is back", 0, 0, 0)
	want := []string{
		"hosts no longer recorded here: 2; the rest of their archives is sent and stored", "hosts no longer recorded here: 1; the rest of their archives is sent and stored",
		"all archives of hosts no longer recorded here are sent and stored",
	}
	if !slices.Equal(c.events, want) {
		t.Errorf("events %q, want %q", c.events, want)
	}
}

// TestFollowerQueue moves a thousand hosts at once. Those for which it takes long do not keep the others waiting.
func TestFollowerQueue(t *testing.T) {
	c := newCourse(t, "-a")
	for i := range 1000 {
		c.hosts = append(c.hosts, fmt.Sprintf("h%03d", i))
	}
	c.pass(5 * time.Second)
	for i := range 40 {
		c.out.when[filepath.Join(c.dir, fmt.Sprintf("h%03d", i))] = c.now.Add(1000 * time.Hour)
	}
	c.hosts = nil
	c.pass(5 * time.Second)
	c.check("all have moved", 1000, followMany, followMany)
	c.pass(8 * time.Hour)
	c.check("40 are late", 40, followMany, 40)
	if c.out.most != followMany {
		t.Errorf("%d at a time", c.out.most)
	}
	c.pass(1000 * time.Hour)
	c.check("in the end", 0, 0, 0)
}

// TestFollowerScan starts a recorder with archives of hosts that others have now.
func TestFollowerScan(t *testing.T) {
	c := newCourse(t, "-a")
	other := t.TempDir()
	for _, path := range []string{
		"moved/20261120.09.00-a.meta", "again/20261120.09.00-a-07.meta.zst", "recorded/20261120.09.00-a.meta", "others/20261120.09.00-b-a.meta", "none/20261120.09.00.meta",
		"file/20261120.09.00-a.0", "deep/deep/20261120.09.00-a.meta",
	} {
		write(t, filepath.Join(c.dir, path), "x")
	}
	write(t, filepath.Join(c.dir, "20261120.09.00-a.meta"), "x")
	write(t, filepath.Join(other, "20261120.09.00-a.meta"), "x")
	c.away["elsewhere"], c.away["moved"] = other, filepath.Join(c.dir, "moved")
	c.hosts = []string{"recorded"}
	c.pass(time.Hour)
	c.check("the fleet is not known", 0, 0, 0)
	c.joined = true
	c.pass(30 * time.Second)
	c.check("soon after the start", 0, 0, 0)
	c.store.away = true
	c.pass(40 * time.Second)
	c.check("after a minute", 3, 3, 3)
	var names []string
	for _, d := range c.out.left {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"again", "elsewhere", "moved"}) {
		t.Errorf("%q are followed", names)
	}
	if !c.follows(other) || c.follows(filepath.Join(c.dir, "recorded")) {
		t.Error("it does not know what it follows")
	}
	c.store.away = false
	c.pass(time.Minute)
	c.check("all is sent and stored", 0, 0, 0)
	if len(c.events) != 2 || !strings.HasPrefix(c.events[0], "directories with archives of hosts no longer recorded here: 3;") {
		t.Errorf("events %q", c.events)
	}
}

// TestFollowerKeeps maintains the archives of hosts that have moved until none is left, as stored ones are removed later.
func TestFollowerKeeps(t *testing.T) {
	c := newCourse(t, "-a")
	c.keeps = true
	path := filepath.Join(c.dir, "h", "20261120.09.00-a.meta")
	write(t, path, "x")
	c.hosts = []string{"h"}
	c.pass(5 * time.Second)
	c.hosts = nil
	c.pass(time.Minute)
	c.check("all is stored", 0, 0, 1)
	c.maintain(t.Context())
	c.maintain(t.Context())
	if !slices.Equal(c.tidied, []string{"h"}) {
		t.Errorf("%q were maintained", c.tidied)
	}
	c.pass(time.Minute)
	c.check("it is here", 0, 0, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c.left[0].tidied = time.Time{}
	c.maintain(t.Context())
	c.pass(5 * time.Second)
	c.check("nothing is here", 0, 0, 0)
}

// TestOwnName finds the names of archives of a recorder.
func TestOwnName(t *testing.T) {
	f := func(base, suffix string, want bool) {
		t.Helper()
		if ownName(base, suffix) != want {
			t.Errorf("%s of %s: %v", base, suffix, !want)
		}
	}
	f("20261120.09.00-a", "-a", true)
	f("20261120.09.00-a-00", "-a", true)
	f("20261120.09.00-b-a", "-a", false)
	f("20261120.09.00-b-a", "-b-a", true)
	f("20261120.09.00-b", "-a", false)
	f("20261120.09.00-a-x0", "-a", false)
	f("20261120.09.00", "", false)
	f("-a", "-a", false)
	f("-00", "-00", false)
}
