package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/prompb"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A database counts the samples of simple.color for one instance, by their times. It answers no queries.
type database struct {
	away atomic.Bool
	url  string

	mu    sync.Mutex
	times map[int64]int
}

func newDatabase(t *testing.T) *database {
	d := &database{times: make(map[int64]int)}
	srv := httptest.NewServer(d)
	t.Cleanup(srv.Close)
	d.url = srv.URL
	return d
}

func (d *database) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return
	case d.away.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case strings.HasSuffix(r.URL.Path, "/query"):
		http.NotFound(w, r)
		return
	}
	var req prompb.WriteRequest
	if b, err = s2.Decode(nil, b); err == nil {
		err = req.Unmarshal(b)
	}
	if err != nil || r.Header.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
		http.Error(w, "version 1.0 only", http.StatusUnsupportedMediaType)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range req.Timeseries {
		if slices.ContainsFunc(s.Labels, func(l prompb.Label) bool { return l.Name == "__name__" && l.Value == "simple_color" }) &&
			slices.ContainsFunc(s.Labels, func(l prompb.Label) bool { return l.Name == "instname" && l.Value == "red" }) {
			for _, sample := range s.Samples {
				if sample.Value == sample.Value { // others are stale markers
					d.times[sample.Timestamp]++
				}
			}
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *database) count() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.times {
		n += k
	}
	return n
}

// TestMoved moves hosts to another recorder while the database and the object storage are away, and restarts the recorder that had them: in the end the
// database has each sample once, and all archives are stored.
func TestMoved(t *testing.T) {
	t.Parallel()
	long := longtest.Enabled()
	db, srv := newDatabase(t), objectstest.Start(t, false)
	var away atomic.Bool
	srv.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return away.Load()
	})
	s := newSite(t, 6)
	for name, value := range srv.Env() {
		s.environ = append(s.environ, name+"="+value)
	}
	if !long {
		s.environ = append(s.environ, paceVariable+"=1")
	}
	start := func(id, dir string) *child {
		t.Helper()
		return s.start(id, dir, "--remote-write", db.url, "--ship", "s3://bucket/site", "--lifecycle", "off")
	}
	a := start("a", "da")
	s.until(time.Minute, "all hosts are recorded, and sent", func() bool { return s.count(time.Time{}, "da") == 6 && db.count() > 12 })
	db.away.Store(true)
	away.Store(true)
	b := start("b", "db")
	s.until(time.Minute, "hosts have moved", func() bool { return s.single("da", "db") })
	var moved []string
	for _, host := range s.hosts {
		if len(s.archives("db", host)) > 0 {
			moved = append(moved, host)
		}
	}
	count := func() int {
		var st state
		text, err := os.ReadFile(filepath.Join(s.dir, "da", statusName))
		if err != nil || json.Unmarshal(text, &st) != nil {
			return -1
		}
		return st.Moved
	}
	s.until(time.Minute, "the status has them", func() bool { return count() == len(moved) })
	if long {
		time.Sleep(11 * time.Minute)
		if n := count(); n != len(moved) {
			t.Errorf("the archives of %d hosts are followed, not of %d", n, len(moved))
		}
	}
	a.signal(syscall.SIGTERM)
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &a.out)
	}
	if !long {
		away.Store(false) // it is not asked often when it is away
	}
	a = start("a", "da")
	s.until(3*time.Minute, "the recorder finds them again", func() bool { return count() == len(moved) })
	if long {
		time.Sleep(time.Minute)
	}
	away.Store(false)
	db.away.Store(false)
	const done = "all archives of hosts no longer recorded here are sent and stored"
	s.until(4*time.Minute, "all is sent and stored", func() bool { return strings.Contains(a.out.String(), done) })
	// While the first recorder was away, the other may have recorded more hosts.
	s.until(4*time.Minute, "the other has sent and stored all too", func() bool {
		out := b.out.String()
		return !strings.Contains(out, "hosts no longer recorded here: ") || strings.Contains(out, done)
	})
	s.until(time.Minute, "the status has none of them", func() bool { return count() == 0 })
	a.signal(syscall.SIGTERM)
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &a.out)
	}
	b.signal(syscall.SIGTERM)
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, &b.out)
	}

	want := make(map[int64]int)
	total, lost, twice, archives := 0, 0, 0, 0
	site, err := objects.OpenDir("s3://bucket/site", srv.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range s.hosts {
		for _, dir := range []string{"da", "db"} {
			list, err := filepath.Glob(filepath.Join(s.dir, dir, host, "*.meta*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range list {
				base, _, _ := strings.Cut(path, ".meta")
				archives++
				for _, at := range s.times(base) {
					want[at.UnixMilli()]++
					total++
				}
				files, err := filepath.Glob(base + ".*")
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					here, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					there, _, err := site.Read(t.Context(), host+"/"+filepath.Base(file))
					if err != nil || !bytes.Equal(here, there) {
						t.Errorf("%s is stored with %d bytes of %d: %v", file, len(there), len(here), err)
					}
				}
			}
		}
	}
	for at, n := range want {
		lost += max(0, n-db.times[at])
	}
	for at, n := range db.times {
		twice += max(0, n-want[at])
	}
	text := fmt.Sprintf("%d of %d hosts moved: %d archives are stored, %d samples are recorded, %d were lost, and %d sent twice", len(moved), len(s.hosts), archives, total, lost, twice)
	t.Log(text)
	if lost > 0 || twice > 0 || total == 0 || len(moved) == 0 {
		t.Error(text)
	}
}
