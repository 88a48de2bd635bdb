package faults

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// attackFor returns how long an attack takes: PCP_ATTACK, or five minutes in the long form.
func attackFor(t *testing.T) time.Duration {
	t.Helper()
	d := time.Duration(longtest.N(2, 300)) * time.Second
	if s := os.Getenv("PCP_ATTACK"); s != "" {
		var err error
		if d, err = time.ParseDuration(s); err != nil {
			t.Fatalf("PCP_ATTACK: %v", err)
		}
	}
	return d
}

// TestAttackArchives has a pmproxy find archives that are damaged, more and more of them, and other ones in their places.
// Its good client gets the values of a good archive meanwhile.
func TestAttackArchives(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 7))
	shared := newSite(t, "")
	c := startPMCD(shared)
	c.await("the collector serves", func() error { return fetches(shared, time.Time{}) })
	s := newSite(t, fmt.Sprint("127.0.0.1:", shared.port))
	if err := writeArchive(s); err != nil {
		t.Fatal(err)
	}
	// The damaged files are those of another host.
	dir := filepath.Join(s.archives(), "other")
	if err := writeRecords(filepath.Join(dir, "20200101"), "other", 10); err != nil {
		t.Fatal(err)
	}
	var good [3][]byte
	exts := [3]string{".0", ".meta", ".index"}
	for i, ext := range exts {
		var err error
		if good[i], err = os.ReadFile(filepath.Join(dir, "20200101"+ext)); err != nil {
			t.Fatal(err)
		}
	}
	p := startProxy(s)
	var id []string
	p.await("it serves the good archive", func() error {
		err := s.get(s.port, "/series/query", url.Values{"expr": {metric + `{hostname == "host"}`}}, &id)
		if err == nil && len(id) != 1 {
			err = fmt.Errorf("series: %q", id)
		}
		return err
	})
	var longest time.Duration
	archives, asked := 0, 0
	for end := time.Now().Add(attackFor(t)); time.Now().Before(end); {
		for range 20 {
			base := filepath.Join(dir, fmt.Sprintf("bad%03d", archives%200))
			for i, ext := range exts {
				b := append([]byte(nil), good[i]...)
				switch rnd.IntN(4) {
				case 0:
					b = b[:rnd.IntN(len(b)+1)]
				case 1, 2:
					for range 1 + rnd.IntN(4) {
						b[rnd.IntN(len(b))] ^= 1 << rnd.IntN(8)
					}
				}
				if err := os.WriteFile(base+ext, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			archives++
		}
		began := time.Now()
		var values []struct{ Value string }
		if err := s.get(s.port, "/series/values", url.Values{"series": id, "samples": {"100"}}, &values); err != nil || len(values) != 10 {
			t.Fatalf("after %d archives: %d values, %v", archives, len(values), err)
		}
		// All that is found, so that the damaged ones are read.
		if err := s.get(s.port, "/series/metrics", url.Values{"match": {"*"}}, nil); err != nil {
			t.Fatalf("after %d archives: %v", archives, err)
		}
		asked += 2
		longest = max(longest, time.Since(began))
	}
	t.Logf("attack: archives: %v, %d damaged archives; a client of pmproxy: %d requests, at most %v for two", attackFor(t), archives, asked, longest.Round(time.Microsecond))
	p.stop()
	c.stop()
}

// TestAttackKills kills a recorder at any moment, again and again, while another client of its collector is served. All
// archives can be read, and each has values.
func TestAttackKills(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 8))
	shared := newSite(t, "")
	c := startPMCD(shared)
	c.await("the collector serves", func() error { return fetches(shared, time.Time{}) })
	source := fmt.Sprint("127.0.0.1:", shared.port)
	var longest time.Duration
	kills, asked := 0, 0
	for end := time.Now().Add(attackFor(t)); time.Now().Before(end); kills++ {
		d := daemons[1+kills%2]
		s := newSite(t, source)
		p := d.up(s)
		for stop := time.Now().Add(time.Duration(rnd.IntN(200)) * time.Millisecond); time.Now().Before(stop); asked++ {
			began := time.Now()
			if err := fetches(shared, began); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(began))
		}
		p.kill()
		if err := d.sound(s); err != nil {
			t.Errorf("kill %d, of %s: %v", kills, d.name, err)
		}
		os.RemoveAll(s.dir)
		if err := os.Mkdir(s.dir, fs.ModePerm); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("attack: kills: %v, %d recorders killed; another client: %d connections with a fetch, at most %v", attackFor(t), kills, asked, longest.Round(time.Microsecond))
	c.stop()
}
