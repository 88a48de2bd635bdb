package push_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/internal/pacing"
)

// startOf is when the first archive of a directory begins. The others follow a day apart.
const startOf = 1_700_000_000

// newDay makes the archive of a day, which the caller closes.
func newDay(t *testing.T, dir, host string, day int) *writer {
	t.Helper()
	start := pcp.Timestamp{Sec: startOf + int64(day)*86400}
	w, err := archive.Create(filepath.Join(dir, start.Time().UTC().Format("20060102.15.04")), archive.WriterConfig{
		Label: archive.Label{Host: host, PID: 7, Start: start}, IndexBytes: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Desc(pcp.Desc{PMID: pcp.NewPMID(60, 1, 2), InDom: pcp.InDomNull, Type: pcp.TypeU64}, "a.b"); err != nil {
		t.Fatal(err)
	}
	return &writer{t: t, w: w, n: int64(day) * 86400}
}

// makeDays makes complete archives of several days.
func makeDays(t *testing.T, dir, host string, days int) {
	t.Helper()
	for day := range days {
		w := newDay(t, dir, host, day)
		w.add(20)
		if err := w.w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A news collects the events of a Sender.
type news struct {
	mu   sync.Mutex
	list []string
}

func (n *news) event(text string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprint(text, ": ", err))
}

func (n *news) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.list, "\n")
}

// send starts a Sender that looks and tries again often.
func send(t *testing.T, dir, host string, n *news, urls ...string) *push.Sender {
	t.Helper()
	cfg := push.SenderConfig{Dir: dir, Host: host, Poll: 5 * time.Millisecond, Delays: pacing.Backoff{First: 5 * time.Millisecond, Longest: 20 * time.Millisecond}}
	if n != nil {
		cfg.Event = n.event
	}
	for _, url := range urls {
		cfg.Receivers = append(cfg.Receivers, push.Config{URL: url, Timeout: time.Second})
	}
	s, err := push.NewSender(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	return s
}

// awaitArchives waits until a Sender has pushed a number of archives to their ends.
func awaitArchives(t *testing.T, s *push.Sender, n int) {
	t.Helper()
	await(t, fmt.Sprint(n, " archives"), func() bool { return s.Status().Archives == n })
}

// bases lists the archives of a directory.
func bases(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.meta*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range list {
		list[i], _, _ = archive.BaseName(path)
	}
	return list
}

// removeArchive removes an archive, the metadata first.
func removeArchive(t *testing.T, base string) {
	t.Helper()
	list, err := filepath.Glob(base + ".*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	for _, path := range list {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// sameArchives checks that a receiver has the archives of a host, each once and byte for byte.
func sameArchives(t *testing.T, dir, pushed string) {
	t.Helper()
	want, got := bases(t, dir), bases(t, pushed)
	if len(got) != len(want) {
		t.Errorf("%d archives arrived, want %d: %v", len(got), len(want), got)
		return
	}
	for i := range want { // both names have the time of the start
		compare(t, want[i], got[i])
	}
}

// TestSender pushes a directory: archives of a week, a growing archive, and a later one. Another Sender, with
// and without the list of the first, sends nothing twice.
func TestSender(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	makeDays(t, dir, "www", 7)
	if _, err := janitor.Compress(t.Context(), bases(t, dir)[2]+".0", janitor.Zstd); err != nil {
		t.Fatal(err)
	}
	h := receive(t, to)
	var mu sync.Mutex
	var order []int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/logger/label" {
			b, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(b))
			if l, err := archive.DecodeLabel(b); err == nil {
				mu.Lock()
				order = append(order, l.Start.Sec)
				mu.Unlock()
			}
		}
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	w := newDay(t, dir, "www", 7)
	w.add(3)
	s := send(t, dir, "www", nil, srv.URL)
	awaitArchives(t, s, 7)
	pushed := filepath.Join(to, "www")
	size := func() int64 {
		st, err := os.Stat(filepath.Join(pushed, "20231121.22.13.0"))
		if err != nil {
			return 0
		}
		return st.Size()
	}
	await(t, "the growing archive", func() bool { return size() > 0 })
	before := size()
	w.add(5)
	await(t, "more of it", func() bool { return size() > before })
	if err := w.w.NewVolume(); err != nil {
		t.Fatal(err)
	}
	w.add(4)
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	awaitArchives(t, s, 8)
	last := newDay(t, dir, "www", 8)
	last.add(2)
	if err := last.w.Close(); err != nil {
		t.Fatal(err)
	}
	s.Drain(time.Minute)
	sameArchives(t, dir, pushed)
	if !slices.IsSorted(order) || len(order) != 9 {
		t.Errorf("archives were begun in the order %v", order)
	}
	if st := s.Status(); st.Waiting != 0 || st.Lost != 0 || st.Refused != 0 || st.Err != "" || st.Receiver != srv.URL || st.Sent == 0 {
		t.Errorf("status %+v", st)
	}
	for _, lost := range []bool{false, true} {
		if lost {
			if err := os.WriteFile(filepath.Join(dir, ".pushed"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var n news
		s := send(t, dir, "www", &n, srv.URL)
		if lost {
			awaitArchives(t, s, 9)
		}
		s.Drain(time.Minute)
		if st := s.Status(); st.Sent != 0 || (st.Archives > 0) != lost || strings.Contains(n.String(), "is not known") != lost {
			t.Errorf("without its list %v: %+v, %s", lost, st, &n)
		}
	}
	sameArchives(t, dir, pushed)
}

// TestSenderWeek has a receiver that is away for a week, in which archives are made, compressed and removed. It gets
// the archives that are left, and the log has the removed one.
func TestSenderWeek(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	srv := httptest.NewServer(receive(t, to))
	away := httptest.NewServer(nil)
	away.Close()
	var there atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !there.Load() {
			panic(http.ErrAbortHandler)
		}
		srv.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	defer srv.Close()
	var n news
	s := send(t, dir, "www", &n, front.URL)
	makeDays(t, dir, "www", 8)
	list := bases(t, dir)
	for _, base := range list[:6] {
		for _, end := range []string{".0", ".meta"} {
			if _, err := janitor.Compress(t.Context(), base+end, janitor.Zstd); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, "an attempt", func() bool { return s.Status().Err != "" && s.Status().Waiting == 8 })
	removeArchive(t, list[0])
	await(t, "the removal", func() bool { return s.Status().Lost == 1 })
	there.Store(true)
	awaitArchives(t, s, 7)
	s.Drain(time.Minute)
	sameArchives(t, dir, filepath.Join(to, "www"))
	for _, want := range []string{front.URL + " is tried again later", "archive 20231114.22.13 was removed before all of it was pushed", front.URL + " accepts archives again"} {
		if strings.Count(n.String(), want) != 1 {
			t.Errorf("want %q once in\n%s", want, &n)
		}
	}
}

// TestSenderShares has three receivers. Hosts are spread over them, each host's archives go to the first that
// answers, and return to it.
func TestSenderShares(t *testing.T) {
	var urls, dirs []string
	var down [3]atomic.Bool
	var counts [3]atomic.Int32
	for i := range 3 {
		to := t.TempDir()
		h := receive(t, to)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down[i].Load() {
				panic(http.ErrAbortHandler)
			}
			if strings.HasPrefix(r.URL.Path, "/logger/volume") {
				counts[i].Add(1)
			}
			h.ServeHTTP(w, r)
		}))
		defer srv.Close()
		urls, dirs = append(urls, srv.URL), append(dirs, to)
	}
	// The order of the list does not matter, and the owner is that of the hash.
	for n := range 12 {
		host, dir := fmt.Sprintf("h%d", n), t.TempDir()
		makeDays(t, dir, host, 2)
		list := slices.Clone(urls)
		if n%2 > 0 {
			slices.Reverse(list)
		}
		s := send(t, dir, host, nil, list...)
		awaitArchives(t, s, 2)
		s.Drain(time.Minute)
		owner := rendezvous.Owner(host, urls)
		sameArchives(t, dir, filepath.Join(dirs[owner], host))
		for i := range dirs {
			if list, _ := filepath.Glob(filepath.Join(dirs[i], host, "*")); i != owner && len(list) > 0 {
				t.Errorf("%s is also at receiver %d", host, i)
			}
		}
	}
	used := 0 // which receivers have a host depends on their ports
	for i := range counts {
		if counts[i].Load() > 0 {
			used++
		}
	}
	if used < 2 {
		t.Errorf("%d of 3 receivers have hosts", used)
	}
	order := rendezvous.Order("www", urls)
	first, second := order[0], order[1]
	dir := t.TempDir()
	w := newDay(t, dir, "www", 0)
	var n news
	s := send(t, dir, "www", &n, urls...)
	grows := func(i int) {
		t.Helper()
		before := counts[i].Load()
		w.add(3)
		await(t, fmt.Sprint("receiver ", i), func() bool { return counts[i].Load() > before })
	}
	grows(first)
	down[first].Store(true)
	grows(second)
	grows(second)
	down[first].Store(false)
	await(t, "the return", func() bool { return s.Status().Receiver == urls[first] })
	grows(first)
	if err := w.w.Close(); err != nil {
		t.Fatal(err)
	}
	s.Drain(time.Minute)
	sameArchives(t, dir, filepath.Join(dirs[first], "www")) // all of it
	if len(bases(t, filepath.Join(dirs[second], "www"))) != 1 {
		t.Error("the second receiver has no part")
	}
	if !strings.Contains(n.String(), "archives are pushed to "+urls[second]) {
		t.Errorf("news:\n%s", &n)
	}
}

// TestSenderFull fills a receiver. Nothing is lost, and pushing continues when there is room.
func TestSenderFull(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	makeDays(t, dir, "www", 5)
	var files int64
	for _, base := range bases(t, dir) {
		list, err := archive.FindFiles(base)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range list.All() {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			files += st.Size()
		}
	}
	var h atomic.Pointer[logger.Handler]
	limit := func(n int64) {
		fresh, err := logger.New(logger.Config{Dir: to, Anybody: true, Zone: time.UTC, MaxHost: n})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { fresh.Close() })
		h.Store(fresh)
	}
	limit(files / 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.Load().ServeHTTP(w, r) }))
	defer srv.Close()
	var n news
	s := send(t, dir, "www", &n, srv.URL)
	await(t, "a refusal", func() bool { return strings.Contains(s.Status().Err, "there is no room") })
	if done := s.Status().Archives; done == 0 || done == 5 {
		t.Errorf("%d archives are complete", done)
	}
	limit(files)
	awaitArchives(t, s, 5)
	s.Drain(time.Minute)
	sameArchives(t, dir, filepath.Join(to, "www"))
	if n := strings.Count(n.String(), "there is no room"); n < 1 || n > 3 {
		t.Errorf("the refusal is logged %d times", n)
	}
}

// TestSenderRefused has a receiver that refuses an archive for its contents. It does not hold up the others.
func TestSenderRefused(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	makeDays(t, dir, "www", 3)
	list := bases(t, dir)
	volume, err := os.ReadFile(list[1] + ".0")
	if err != nil {
		t.Fatal(err)
	}
	volume[len(volume)-1] ^= 1 // the length at the end of a record
	if err := os.WriteFile(list[1]+".0", volume, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.meta"), []byte("this is not an archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(receive(t, to))
	defer srv.Close()
	var n news
	s := send(t, dir, "www", &n, srv.URL)
	awaitArchives(t, s, 2)
	s.Drain(time.Minute)
	if st := s.Status(); st.Refused != 1 || st.Lost != 0 {
		t.Errorf("status %+v", st)
	}
	for _, want := range []string{"archive 20231115.22.13 is refused by " + srv.URL, "archive other cannot be pushed"} {
		if strings.Count(n.String(), want) != 1 {
			t.Errorf("want %q once in\n%s", want, &n)
		}
	}
}

// TestSenderHostile has receivers with harmful answers: endless, slow, without sense, redirections. Each is left for
// a good one, which gets everything.
func TestSenderHostile(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for name, answer := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for b := bytes.Repeat([]byte(" "), 1<<16); ; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		},
		"slow": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "{")
			http.NewResponseController(w).Flush()
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		},
		"words": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "good morning") },
		"none":  func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"success":true}`) },
		"negative": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"archive":7,"meta":-5,"index":-9,"volume":-1,"bytes":-7,"success":true}`)
		},
		"small": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"archive":7,"meta":3,"index":3,"success":true}`)
		},
		"large": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"archive":7,"meta":1e300,"success":true}`)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
		"refuses": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, strings.Repeat("x", 1<<20), http.StatusForbidden)
		},
		"absent":  func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"forgets": func(w http.ResponseWriter, r *http.Request) { http.Error(w, `{"success":false}`, http.StatusGone) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, to := t.TempDir(), t.TempDir()
			bad := httptest.NewServer(answer)
			defer bad.Close()
			good := httptest.NewServer(receive(t, to))
			defer good.Close()
			host := "" // one of which the bad receiver is the owner
			for n := 0; host == ""; n++ {
				if h := fmt.Sprint("h", n); rendezvous.Owner(h, []string{bad.URL, good.URL}) == 0 {
					host = h
				}
			}
			makeDays(t, dir, host, 2)
			s := send(t, dir, host, nil, good.URL, bad.URL)
			awaitArchives(t, s, 2)
			s.Drain(time.Minute)
			sameArchives(t, dir, filepath.Join(to, host))
		})
	}
}

// TestSenderList checks the file of pushed archives.
func TestSenderList(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	makeDays(t, dir, "www", 3)
	srv := httptest.NewServer(receive(t, to))
	defer srv.Close()
	s := send(t, dir, "www", nil, srv.URL)
	awaitArchives(t, s, 3)
	removeArchive(t, bases(t, dir)[0])
	var f struct {
		Archives []struct{ Archive, Receiver string }
	}
	await(t, "the list to shrink", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, ".pushed"))
		return err == nil && json.Unmarshal(b, &f) == nil && len(f.Archives) == 2
	})
	s.Drain(time.Minute)
	if s.Status().Lost != 0 || f.Archives[0].Archive != "20231115.22.13" || f.Archives[0].Receiver != srv.URL {
		t.Errorf("%+v, %+v", s.Status(), f)
	}
	// Another receiver gets the archives that are left.
	other := t.TempDir()
	next := httptest.NewServer(receive(t, other))
	defer next.Close()
	s = send(t, dir, "www", nil, next.URL)
	awaitArchives(t, s, 2)
	s.Drain(time.Minute)
	sameArchives(t, dir, filepath.Join(other, "www"))
}

// TestSecrets checks that tokens are not sent in the clear, and the other errors of a configuration.
func TestSecrets(t *testing.T) {
	f := func(want string, cfgs ...push.Config) {
		t.Helper()
		_, err := push.NewSender(push.SenderConfig{Dir: t.TempDir(), Host: "h", Receivers: cfgs})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfgs, err, want)
		}
	}
	f("is not encrypted", push.Config{URL: "http://collector:44322", Token: "x"})
	f("is not encrypted", push.Config{URL: "https://a"}, push.Config{URL: "http://192.0.2.1", Token: "x"})
	f("", push.Config{URL: "https://collector", Token: "x"})
	f("", push.Config{URL: "http://localhost", Token: "x"}, push.Config{URL: "http://127.0.0.1:1", Token: "x"})
	f("", push.Config{URL: "http://[::1]:44322", Token: "x"})
	f("", push.Config{URL: "http://collector"})
	f("", push.Config{URL: "http://collector", Token: "x", Socket: "/run/s"})
	f("named twice", push.Config{URL: "http://a"}, push.Config{URL: "http://a:44322"})
	f("there is no receiver")
	f("not of the form", push.Config{URL: "a:44322"})

	path := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{
		"secret": "secret", "www secret\n": "secret", "www secret push=www*,db quota=1gb\nother 2\n": "secret", "  secret  push=a": "secret",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := push.ReadToken(path); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if err := os.WriteFile(path, []byte("\nsecret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := push.ReadToken(path); err == nil {
		t.Error("a file without a token in its first line")
	}
	if _, err := push.ReadToken(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
