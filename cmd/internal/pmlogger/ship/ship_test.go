package ship

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Built(m) }

var start = time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)

// generate writes an archive of n samples, one each ten seconds.
func generate(t testing.TB, path string, begin time.Time, n int) {
	t.Helper()
	im, err := importer.Start(path, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	load, err := im.NewMetric("kernel.all.load", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	reads, err := im.NewMetric("disk.all.read", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		load.PutDouble(random.Float64())
		reads.PutInt(int64(i * 7))
		if err := im.Write(begin.Add(time.Duration(i) * 10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	at := begin.Add(time.Duration(n) * 10 * time.Second)
	for _, suffix := range []string{".0", ".meta", ".index"} {
		if err := os.Chtimes(path+suffix, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// generated writes n archives, of some hours each, in a directory of its own.
func generated(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "www")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		begin := start.Add(time.Duration(i) * 4 * time.Hour)
		generate(t, filepath.Join(dir, begin.Format("20060102.15.04")), begin, 1400)
	}
	return dir
}

func compress(t testing.TB, dir string) {
	t.Helper()
	list, err := janitor.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if _, err := janitor.CompressArchive(t.Context(), a, janitor.Zstd, false); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, srv *objectstest.Server) *objects.Dir {
	t.Helper()
	address := t.TempDir()
	getenv := os.Getenv
	if srv != nil {
		address, getenv = "s3://bucket/site", srv.Getenv
	}
	d, err := objects.OpenDir(address, getenv)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// events are the news of a Shipper.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(_, text string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		text += ": " + err.Error()
	}
	e.list = append(e.list, text)
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.list, "\n")
}

func shipper(t testing.TB, d *objects.Dir, dir string, cfg Config) (*Shipper, *events) {
	t.Helper()
	e := new(events)
	cfg.Dir, cfg.Event = d, e.add
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Set([]Host{{Name: "www", Path: dir}})
	return s, e
}

// checkStored checks that the store has each file of a directory of archives, bit for bit, and an index that lists them. It
// returns the number of archives.
func checkStored(t testing.TB, d *objects.Dir, dir string) int {
	t.Helper()
	host, err := d.Sub("www")
	if err != nil {
		t.Fatal(err)
	}
	x, err := readIndexes(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	list, err := janitor.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := host.List(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, a := range list {
		entry := x.archives[filepath.Base(a.Base)]
		if entry == nil || !entry.Complete || len(entry.Files) != len(a.Files) {
			t.Errorf("%s is not in the index as it is: %+v", a.Base, entry)
			continue
		}
		for _, day := range archiveindex.Days(entry.Begin, entry.End) {
			if x.days[day].Find(entry.Name) == nil {
				t.Errorf("%s is not in the index of %s", entry.Name, day)
			}
		}
		for _, f := range a.Files {
			names++
			in, err := os.Open(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			sums, err := objects.Sum(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Verify(t.Context(), filepath.Base(f.Path), sums); err != nil {
				t.Error(err)
			}
			if i := slices.IndexFunc(entry.Files, func(x archiveindex.File) bool { return x.Name == filepath.Base(f.Path) }); i < 0 || entry.Files[i].SHA256 != sums.SHA256 {
				t.Errorf("the index has not the checksum of %s", f.Path)
			}
		}
	}
	files := slices.DeleteFunc(stored, func(e objects.Entry) bool { return e.Dir })
	if len(files) != names {
		t.Errorf("%d files are stored, and %d are here", len(files), names)
	}
	return len(list)
}

// TestShip stores archives, and stores nothing a second time, also after a restart.
func TestShip(t *testing.T) {
	for _, srv := range []*objectstest.Server{nil, objectstest.Start(t, false), objectstest.Start(t, true)} {
		d, dir := open(t, srv), generated(t, 3)
		s, news := shipper(t, d, dir, Config{now: func() time.Time { return start }})
		if s.Once(t.Context()); s.Status()[0].Shipped != 0 || s.Status()[0].Waiting != 3 {
			t.Errorf("archives that are not compressed: %+v", s.Status())
		}
		compress(t, dir)
		if !s.Once(t.Context()) {
			t.Errorf("%+v, %v", s.Status(), news)
		}
		if n := checkStored(t, d, dir); n != 3 {
			t.Errorf("%d archives", n)
		}
		st := s.Status()[0]
		if st.Shipped != 3 || st.Waiting != 0 || st.Bytes == 0 {
			t.Errorf("%+v", st)
		}
		list, err := janitor.List(dir)
		if err != nil || !s.Shipped(list[0]) {
			t.Errorf("%v, %v", list, err)
		}
		for _, again := range []*Shipper{s, must(shipper(t, d, dir, Config{}))} {
			again.Once(t.Context())
			if n := again.Status()[0].Bytes; again != s && n != 0 || again == s && n != st.Bytes {
				t.Errorf("%d bytes were sent again", n)
			}
		}
		// A changed file is not stored.
		if err := os.WriteFile(list[0].Files[0].Path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		if list, err = janitor.List(dir); err != nil || slices.ContainsFunc(list, func(a *janitor.Archive) bool {
			return s.Shipped(a) && slices.ContainsFunc(a.Files, func(f janitor.File) bool { return f.Size == 1 })
		}) {
			t.Errorf("a changed archive counts as stored: %v", err)
		}
	}
}

func must(s *Shipper, _ *events) *Shipper { return s }

// TestGrowing stores the finished volumes of an archive that is being written, with its metadata.
func TestGrowing(t *testing.T) {
	d, dir := open(t, nil), filepath.Join(t.TempDir(), "www")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "20261120.22.00")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: 3, PID: int32(os.Getpid()), Start: pcp.TimestampOf(start), Host: "www", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(60, 2, 0)
	desc := pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	if err := w.Desc(desc, "a.b"); err != nil {
		t.Fatal(err)
	}
	sample := 0
	put := func(n int) {
		for range n {
			at := pcp.TimestampOf(start.Add(time.Duration(sample) * time.Second))
			sample++
			if err := w.WriteResult(&pcp.Result{Time: at, Sets: []pcp.ValueSet{{PMID: id, Values: []pcp.Value{pcp.Uint32Value(uint32(sample))}}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	s, news := shipper(t, d, dir, Config{})
	tidy := func() {
		list, err := janitor.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := janitor.CompressArchive(t.Context(), list[0], janitor.Zstd, janitor.Written(list[0])); err != nil {
			t.Fatal(err)
		}
		s.Once(t.Context())
	}
	put(100)
	tidy()
	if s.Status()[0].Bytes != 0 {
		t.Errorf("the volume that is being written was sent: %v", news)
	}
	if err := w.NewVolume(); err != nil {
		t.Fatal(err)
	}
	put(100)
	tidy()
	a, err := archive.Open(d.Address("www/20261120.22.00"))
	if err != nil {
		t.Fatalf("%v, %v", err, news)
	}
	if end, err := a.End(); err != nil || end != pcp.TimestampOf(start.Add(99*time.Second)) {
		t.Errorf("the stored part ends at %v, %v", end, err)
	}
	a.Close()
	sent := s.Status()[0].Bytes
	put(100)
	tidy()
	if s.Status()[0].Bytes != sent {
		t.Error("something was sent without a finished volume")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	tidy()
	if checkStored(t, d, dir) != 1 || !s.Status()[0].Complete {
		t.Errorf("%+v, %v", s.Status(), news)
	}
}

// TestSameName stores archives with one name of two recorders.
func TestSameName(t *testing.T) {
	d := open(t, nil)
	for i := range 2 {
		dir := filepath.Join(t.TempDir(), "www")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		generate(t, filepath.Join(dir, "20261120.22.00"), start.Add(time.Duration(i)*time.Second), 20)
		s, news := shipper(t, d, dir, Config{Plain: true})
		if !s.Once(t.Context()) {
			t.Error(news)
		}
	}
	list, err := archive.Open(d.Address("www/20261120.22.00"))
	if err != nil || list.Label().Start != pcp.TimestampOf(start) {
		t.Errorf("the first one was replaced: %v", err)
	}
	host, _ := d.Sub("www")
	x, err := readIndexes(t.Context(), host)
	if err != nil || len(x.archives) != 2 {
		t.Fatalf("%v, %v", x, err)
	}
	for name := range x.archives {
		if _, err := archive.Open(host.Address(name)); err != nil {
			t.Error(err)
		}
	}
}

// TestFaults ships while the store is away, busy, slow or answers in part: in the end all is stored, and nothing local is removed before.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request){
		"away": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"busy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Millisecond)
			panic(http.ErrAbortHandler)
		},
		"cut": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "<")
			panic(http.ErrAbortHandler)
		},
		"request cut": func(w http.ResponseWriter, r *http.Request) {
			io.CopyN(io.Discard, r.Body, 10)
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := objectstest.Start(t, false)
			d, dir := open(t, srv), generated(t, 3)
			compress(t, dir)
			var ill atomic.Bool
			ill.Store(true)
			srv.Before(func(w http.ResponseWriter, r *http.Request) bool {
				if ill.Load() || srv.Requests.Load()%3 == 0 {
					fault(w, r)
					return true
				}
				return false
			})
			s, news := shipper(t, d, dir, Config{Every: 10 * time.Millisecond})
			policy := janitor.Policy{Shipped: s.Shipped, Dropped: s.Dropped, KeepShipped: -1}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if s.Once(ctx) || !strings.Contains(news.String(), "are not shipped, 3 wait") {
				t.Errorf("the store is ill: %v", news)
			}
			removed, err := janitor.Cull(dir, policy, start, func(*janitor.Archive) bool { return false })
			if err != nil || len(removed) > 0 {
				t.Errorf("%q were removed, %v", removed, err)
			}
			ill.Store(false)
			for !s.Once(ctx) && ctx.Err() == nil {
			}
			srv.Before(nil)
			if checkStored(t, d, dir) != 3 || !strings.Contains(news.String(), "are shipped again") {
				t.Errorf("%v", news)
			}
			if removed, err := janitor.Cull(dir, policy, time.Now(), func(*janitor.Archive) bool { return false }); err != nil || len(removed) != 3 {
				t.Errorf("%q were removed, %v", removed, err)
			}
		})
	}
}

// TestSpool exceeds the bound on local archives while the store is away: those that are stored are removed first, and the
// others are reported.
func TestSpool(t *testing.T) {
	srv := objectstest.Start(t, false)
	d, dir := open(t, srv), generated(t, 2)
	compress(t, dir)
	s, news := shipper(t, d, dir, Config{})
	if !s.Once(t.Context()) {
		t.Fatal(news)
	}
	srv.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	// Older than those that are stored.
	for i := range 2 {
		begin := start.Add(time.Duration(i-5) * 4 * time.Hour)
		generate(t, filepath.Join(dir, begin.Format("20060102.15.04")), begin, 1400)
	}
	compress(t, dir)
	s.Once(t.Context())
	list, err := janitor.List(dir)
	if err != nil || len(list) != 4 {
		t.Fatal(err)
	}
	policy := janitor.Policy{MaxBytes: list[0].Size + list[1].Size + list[2].Size/2, Shipped: s.Shipped, Dropped: s.Dropped}
	none := func(*janitor.Archive) bool { return false }
	if removed, err := janitor.Cull(dir, policy, time.Now(), none); err != nil || len(removed) != 2 || removed[0] != list[2].Base || s.Status()[0].Dropped != 0 {
		t.Errorf("%q, %v", removed, err)
	}
	policy.MaxBytes = list[1].Size
	if removed, err := janitor.Cull(dir, policy, time.Now(), none); err != nil || len(removed) != 1 || removed[0] != list[0].Base {
		t.Errorf("%q, %v", removed, err)
	}
	want := fmt.Sprintf("the archive %s was removed and had not been shipped", list[0].Base)
	if st := s.Status()[0]; st.Dropped != 1 || st.Names[0] != filepath.Base(list[0].Base) || !strings.Contains(news.String(), want) {
		t.Errorf("%+v, %v", st, news)
	}
}

// TestReady restarts a recorder whose local archives are stored, except new ones that take long: those that are stored are known before the first
// new one is sent, and before that none may be removed. While the store is away, this does not last.
func TestReady(t *testing.T) {
	srv := objectstest.Start(t, false)
	d, dir := open(t, srv), generated(t, 3)
	compress(t, dir)
	if s, news := shipper(t, d, dir, Config{}); !s.Once(t.Context()) {
		t.Fatal(news)
	}
	for i := range 2 {
		begin := start.Add(time.Duration(i-5) * 4 * time.Hour)
		generate(t, filepath.Join(dir, begin.Format("20060102.15.04")), begin, 1400)
	}
	compress(t, dir)
	list, err := janitor.List(dir)
	if err != nil || len(list) != 5 {
		t.Fatal(err)
	}
	none := func(*janitor.Archive) bool { return false }
	now := start.Add(100 * time.Hour)
	s, news := shipper(t, d, dir, Config{now: func() time.Time { return now }})
	policy := janitor.Policy{MaxBytes: list[0].Size + list[1].Size + list[4].Size/2, Shipped: s.Shipped, Dropped: s.Dropped, Ready: s.Ready}
	if removed, err := janitor.Cull(dir, policy, now, none); err != nil || len(removed) > 0 {
		t.Errorf("%q were removed before the index was read, %v", removed, err)
	}
	sent := 0
	srv.Before(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		if sent++; sent == 1 {
			if !s.Ready(dir) || !s.Shipped(list[2]) || !s.Shipped(list[4]) || s.Shipped(list[0]) {
				t.Error("what is stored is not known when the first file is sent")
			}
			if removed, err := janitor.Cull(dir, policy, now, none); err != nil || len(removed) != 3 || removed[0] != list[2].Base {
				t.Errorf("%q were removed, %v", removed, err)
			}
		}
		return false
	})
	if s.Once(t.Context()); sent == 0 || s.Status()[0].Dropped != 0 {
		t.Errorf("%+v: %v", s.Status(), news)
	}

	srv.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	s, _ = shipper(t, d, dir, Config{now: func() time.Time { return now }})
	if s.Once(t.Context()); s.Ready(dir) {
		t.Error("the index is read although the store is away")
	}
	now = now.Add(2 * time.Minute)
	if !s.Ready(dir) {
		t.Error("a store that is away keeps archives from being removed")
	}
	if s.Ready(dir + "x") {
		t.Error("a directory that is not set is ready")
	}
}

// TestDone checks Done, which reports whether all archives of a host that has moved are stored.
func TestDone(t *testing.T) {
	srv := objectstest.Start(t, false)
	d, dir := open(t, srv), generated(t, 2)
	now := start.Add(time.Hour)
	life := Lifecycle{Steps: []Step{{"1min", time.Minute, 0}}, Reduce: func(context.Context, string, string, time.Duration) error {
		t.Error("the other recorder has the life cycle")
		return nil
	}}
	s, news := shipper(t, d, dir, Config{Every: time.Millisecond, Lifecycle: life, now: func() time.Time { return now }})
	h := Host{Name: "www", Path: dir, Moved: true}
	s.Set([]Host{h})
	f := func(what string, want bool) {
		t.Helper()
		s.Once(t.Context())
		if s.Done(h, now.Add(-time.Second)) != want {
			t.Errorf("%s: done is %v: %+v, %v", what, !want, s.Status(), news)
		}
	}
	f("not compressed", false)
	compress(t, dir)
	srv.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	f("the store is away", false)
	srv.Before(nil)
	f("all is stored", true)
	if s.Done(h, now) || s.Done(Host{Name: "www", Path: dir + "x"}, time.Time{}) || s.Done(Host{Name: "w", Path: dir}, time.Time{}) {
		t.Error("another time or host is done")
	}
	w, err := archive.Create(filepath.Join(dir, "20261122.22.00"), archive.WriterConfig{Label: archive.Label{Version: 3, PID: int32(os.Getpid()), Start: pcp.TimestampOf(start), Host: "www", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	f("an archive is written", false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	empty := Host{Name: "none", Path: dir + "none"}
	s.Set([]Host{empty})
	s.Once(t.Context())
	if !s.Done(empty, now.Add(-time.Second)) {
		t.Error("a host without a directory is not done")
	}
}

// reduce makes archives with longer intervals by the program.
func reduce(t testing.TB, environ []string) func(ctx context.Context, from, to string, interval time.Duration) error {
	return Reducer(func(ctx context.Context, out *bytes.Buffer, args ...string) int {
		cmd := exec.CommandContext(ctx, twin.Tool(t, "pmlogreduce"), args...)
		cmd.Stdout, cmd.Stderr, cmd.Env = out, out, environ
		if err := cmd.Run(); err != nil {
			return 1
		}
		return 0
	})
}

// TestLifecycle makes archives with longer intervals, and removes old ones.
func TestLifecycle(t *testing.T) {
	srv := objectstest.Start(t, false)
	environ := os.Environ()
	for name, value := range srv.Env() {
		environ = append(environ, name+"="+value)
	}
	for _, srv := range []*objectstest.Server{nil, srv} {
		d, dir := open(t, srv), generated(t, 3)
		compress(t, dir)
		life, err := ParseLifecycle("raw=30d,1min=1y,1h=forever")
		if err != nil {
			t.Fatal(err)
		}
		life.Reduce = reduce(t, environ)
		now := start.Add(13 * time.Hour)
		run := func() (*Status, *events) {
			s, news := shipper(t, d, dir, Config{Lifecycle: life, now: func() time.Time { return now }})
			s.Once(t.Context())
			return &s.Status()[0], news
		}
		count := func(name string) (archives, days int) {
			host, err := d.Sub(name)
			if err != nil {
				t.Fatal(err)
			}
			x, err := readIndexes(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			list, err := host.List(t.Context(), ".")
			if err != nil {
				t.Fatal(err)
			}
			if files := slices.DeleteFunc(list, func(e objects.Entry) bool { return e.Dir }); len(files) != 3*len(x.archives) {
				t.Errorf("%s: %d files of %d archives", name, len(files), len(x.archives))
			}
			return len(x.archives), len(x.days)
		}
		st, news := run()
		if st.Rollups != 6 || st.Expired != 0 || len(news.list) > 0 {
			t.Errorf("%+v, %v", st, news)
		}
		if st, _ := run(); st.Rollups != 0 || st.Bytes != 0 {
			t.Errorf("again: %+v", st)
		}
		objects.Register(func(name string) string {
			if srv != nil {
				return srv.Getenv(name)
			}
			return ""
		})
		for step, want := range map[string]int{"1min": 234, "1h": 4} {
			a, err := archive.Open(d.Address("rollup/" + step + "/www/20261120.22.00"))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range a.Records(a.Label().Start, archive.Forward) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != want {
				t.Errorf("%s: %d records, not %d", step, n, want)
			}
			a.Close()
		}
		// The local archives are gone: the others are made from those that are stored.
		if list, err := d.List(t.Context(), "rollup/1h/www"); err != nil || len(list) != 10 {
			t.Errorf("%v, %v", list, err)
		}
		hours, _ := d.Sub("rollup/1h/www")
		for _, day := range []string{"20261120", "20261121"} {
			if err := hours.Remove(t.Context(), archiveindex.NameOf(day)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if st, news := run(); st.Rollups != 3 {
			t.Errorf("from the store: %+v, %v", st, news)
		}
		for _, c := range []struct {
			after          time.Duration
			raw, min, hour int
		}{{29 * 24 * time.Hour, 3, 3, 3}, {30*24*time.Hour + 5*time.Hour, 2, 3, 3}, {31 * 24 * time.Hour, 0, 3, 3}, {366 * 24 * time.Hour, 0, 0, 3}} {
			now = start.Add(c.after)
			st, news := run()
			raw, _ := count("www")
			minute, _ := count("rollup/1min/www")
			hour, days := count("rollup/1h/www")
			if raw != c.raw || minute != c.min || hour != c.hour || days != 2 {
				t.Errorf("after %v: %d raw, %d of a minute, %d of an hour, wanted %+v; %+v %v", c.after, raw, minute, hour, c, st, news)
			}
		}
	}
}

// TestParseLifecycle reads life cycles.
func TestParseLifecycle(t *testing.T) {
	l, err := ParseLifecycle("1h=forever,raw=12h,1min=2w")
	if err != nil || l.Raw != 12*time.Hour || len(l.Steps) != 2 || l.Steps[0] != (Step{"1min", time.Minute, 14 * 24 * time.Hour}) || l.Steps[1] != (Step{"1h", time.Hour, 0}) {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := ParseLifecycle("off"); err != nil || l.Raw != 0 || l.Steps != nil {
		t.Errorf("%+v, %v", l, err)
	}
	for _, text := range []string{"raw=30d,1min=30d,1h=30d", "raw=forever", "raw=1h,1h=1y", "raw=forever,1min=forever"} {
		if _, err := ParseLifecycle(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	const form, interval, noRaw = "not of the form", "not an interval that readers look for: 1min, 1h", "has no raw=AGE"
	for _, c := range [][2]string{
		{"", form},
		{"raw", form},
		{"raw=", form},
		{"raw=d", form},
		{"raw=0d", form},
		{"raw=-1d", form},
		{"raw=3x", form},
		{"raw=1d,raw=2d", form},
		{"raw=99999999y", form},
		{"2min", form},
		{"raw=1d,2min=1y", interval},
		{"25h=1d", interval},
		{"01h=1d", interval},
		{"h=1d", interval},
		{"1=1d", interval},
		{"../1h=1d", interval},
		{"1min=1y", noRaw},
		{"1h=forever,1min=1y", noRaw},
		{"raw=30d,1min=7d", "keeps 1min for a shorter time than raw"},
		{"raw=30d,1min=1y,1h=30d", "keeps 1h for a shorter time than 1min"},
		{"raw=forever,1h=1y", "keeps 1h for a shorter time than raw"},
	} {
		if _, err := ParseLifecycle(c[0]); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want %q", c[0], err, c[1])
		}
	}
	if _, err := New(Config{Dir: new(objects.Dir), Lifecycle: Lifecycle{Steps: []Step{{}}}}); err == nil {
		t.Error("a life cycle without Reduce is accepted")
	}
}

// TestKill kills the command that stores archives at random times, until it is not killed: the store has each archive bit for bit, with
// all archives of longer intervals, and no file is missing here.
func TestKill(t *testing.T) {
	kills := longtest.N(4, 60)
	srv := objectstest.Start(t, false)
	srv.Before(func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(time.Millisecond)
		return false
	})
	dir := generated(t, 3)
	compress(t, dir)
	environ := append(os.Environ(), "HOME="+t.TempDir())
	for name, value := range srv.Env() {
		environ = append(environ, name+"="+value)
	}
	before, err := janitor.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	seed := longtest.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	run := func(limit time.Duration, to string) (done bool) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, twin.Tool(t, "pcp"), "archive", "ship", "--lifecycle", "raw=99y,1min=99y,1h=forever", dir, to)
		cmd.Env = environ
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return true
	}
	run(time.Minute, "s3://bucket/first") // the program is built, and in memory, for the next one
	began := time.Now()
	run(time.Minute, "s3://bucket/second")
	whole, killed, rounds := time.Since(began), 0, 0
	for killed < kills {
		rounds++
		d, err := objects.OpenDir(fmt.Sprintf("s3://bucket/site%d", rounds), srv.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		for limit := time.Duration(0); ; {
			if limit = time.Duration(random.Int64N(int64(whole))); killed >= kills {
				limit = time.Minute
			}
			if run(limit, d.String()) {
				break
			}
			killed++
		}
		if checkStored(t, d, dir) != 3 {
			t.Error("archives are missing")
		}
		for _, step := range []string{"1min", "1h"} {
			host, _ := d.Sub("rollup/" + step + "/www")
			if x, err := readIndexes(t.Context(), host); err != nil || len(x.archives) != 3 {
				t.Errorf("%s: %v, %v", step, x, err)
			}
		}
	}
	after, err := janitor.List(dir)
	if err != nil || len(after) != len(before) || identity(after[0]) != identity(before[0]) {
		t.Errorf("the archives here have changed: %v", err)
	}
	t.Logf("%d kills in %d rounds, with seed %d", killed, rounds, seed)
}
