package logger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

var (
	trusted  = rest.Peer{Local: true, Trusted: true}
	other    = rest.Peer{Trusted: true, User: "other", Address: "192.0.2.1"}
	stranger = rest.Peer{Address: "192.0.2.1"}
)

// serve returns a handler on an empty directory.
func serve(t testing.TB, cfg Config) (*Handler, string) {
	t.Helper()
	dir := t.TempDir()
	cfg.Dir, cfg.Zone = filepath.Join(dir, "pushed"), time.UTC
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h, cfg.Dir
}

func do(h *Handler, p rest.Peer, method, path string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(rest.WithPeer(r.Context(), &p)))
	return w
}

// An answer is the response to a client.
type answer struct {
	Archive, Meta, Index, Volume, Bytes int
	Client, Message                     string
	Success                             bool
}

// post sends a request and checks its status.
func post(t *testing.T, h *Handler, p rest.Peer, path string, body []byte, status int) (a answer) {
	t.Helper()
	w := do(h, p, "POST", path, body)
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != status || a.Success != (status == 200) || w.Header().Get("Content-Type") != rest.TypeJSON {
		t.Fatalf("%s: %d %s, %v; want %d", path, w.Code, w.Body, err, status)
	}
	return a
}

// parts are the files of a small archive.
type parts struct{ label, meta, index, v0, v1 []byte }

func makeArchive(t testing.TB, version int) parts {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{
		Version: version, PID: 7, Host: "www.example.com", TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1_700_000_000},
	}})
	if err != nil {
		t.Fatal(err)
	}
	id, indom := pcp.NewPMID(60, 1, 2), pcp.NewInDom(60, 1)
	for i := range 6 {
		at := pcp.Timestamp{Sec: 1_700_000_000 + int64(i)}
		if i == 0 {
			if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU64, InDom: indom, Sem: pcp.SemCounter}, "a.b"); err != nil {
				t.Fatal(err)
			}
			if err := w.InDom(at, indom, []pcp.Instance{{Inst: 1, Name: "one"}}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 3 {
			if err := w.NewVolume(); err != nil {
				t.Fatal(err)
			}
		}
		res := &pcp.Result{Time: at}
		res.AddSet(id)
		res.Add(pcp.Uint64Value(uint64(i)).WithInst(1))
		if err := w.WriteResult(res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return readParts(t, base)
}

func readParts(t testing.TB, base string) parts {
	t.Helper()
	read := func(end string) []byte {
		b, err := os.ReadFile(base + end)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	meta := read(".meta")
	n := archive.LabelSize(int(meta[7]))
	return parts{meta[:n], meta[n:], read(".index")[n:], read(".0")[n:], read(".1")[n:]}
}

// TestPush pushes archives of both versions, in pieces of all sizes, and compares the files.
func TestPush(t *testing.T) {
	for _, version := range []int{2, 3} {
		want := makeArchive(t, version)
		for _, size := range []int{1, 7, 50, 1 << 20} {
			h, dir := serve(t, Config{})
			id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
			for _, f := range []struct {
				path string
				b    []byte
			}{{"meta/" + id, want.meta}, {"index/" + id, want.index}, {"volume/0/" + id, want.v0}, {"volume/1/" + id, want.v1}} {
				for b := f.b; len(b) > 0; b = b[min(size, len(b)):] {
					post(t, h, trusted, "/logger/"+f.path, b[:min(size, len(b))], 200)
				}
			}
			base := filepath.Join(dir, "www.example.com", "20231114.22.13")
			if got := readParts(t, base); !bytes.Equal(got.meta, want.meta) || !bytes.Equal(got.index, want.index) || !bytes.Equal(got.v0, want.v0) || !bytes.Equal(got.v1, want.v1) {
				t.Errorf("version %d, pieces of %d: the files differ", version, size)
			}
			a, err := archive.Open(base)
			if err != nil {
				t.Fatal(err)
			}
			if n := a.Label(); n.Host != "www.example.com" || n.PID != 7 {
				t.Errorf("label %+v", n)
			}
			a.Close()
		}
	}
}

// TestNames checks that archives of the same minute get different names, even if compressed files exist.
func TestNames(t *testing.T) {
	h, dir := serve(t, Config{})
	want := makeArchive(t, 3)
	post(t, h, trusted, "/logger/label", want.label, 200)
	if err := os.WriteFile(filepath.Join(dir, "www.example.com", "20231114.22.13-01.meta.xz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := post(t, h, trusted, "/logger/label?client=%22x&polltimeout=5", want.label, 200)
	if a.Client != `"x` {
		t.Errorf("client %q", a.Client)
	}
	if _, err := os.Stat(filepath.Join(dir, "www.example.com", "20231114.22.13-02.index")); err != nil {
		t.Error(err)
	}
	for range maxClash - 2 {
		post(t, h, trusted, "/logger/label", want.label, 200)
	}
	post(t, h, trusted, "/logger/label", want.label, 409)
}

// TestDenied checks that only authorised clients can push, and only into their own archives.
func TestDenied(t *testing.T) {
	h, dir := serve(t, Config{Hosts: []string{"www.*"}})
	want := makeArchive(t, 3)
	post(t, h, stranger, "/logger/label", want.label, 403)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a stranger has made a directory")
	}
	id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
	post(t, h, other, "/logger/meta/"+id, want.meta, 410)
	post(t, h, stranger, "/logger/meta/"+id, want.meta, 403)
	post(t, h, other, "/logger/label?resume=true", want.label, 403)
	l, _ := archive.DecodeLabel(want.label)
	l.Host = "db"
	post(t, h, trusted, "/logger/label", l.Append(nil), 403)
	open, _ := serve(t, Config{Anybody: true})
	post(t, open, stranger, "/logger/label", want.label, 200)
	if w := do(h, stranger, "GET", "/logger/ping", nil); w.Code != 200 || w.Body.String() != "{\"success\":true}\r\n" {
		t.Errorf("ping: %d %s", w.Code, w.Body)
	}
}

// TestHostile sends harmful requests. None of their data reaches a file.
func TestHostile(t *testing.T) {
	h, dir := serve(t, Config{})
	want := makeArchive(t, 3)
	label := func(change func(l *archive.Label)) []byte {
		l, err := archive.DecodeLabel(want.label)
		if err != nil {
			t.Fatal(err)
		}
		change(&l)
		return l.Append(nil)
	}
	for _, name := range []string{"", ".", "..", "../x", "/etc", "a/b", "a b", "a\nb", ".hidden", "a\\b", "ä"} {
		post(t, h, trusted, "/logger/label", label(func(l *archive.Label) { l.Host = name }), 400)
	}
	for _, zone := range []string{"/etc/passwd", "../../x", "a b", ":/../x", "$(x)"} {
		post(t, h, trusted, "/logger/label", label(func(l *archive.Label) { l.TimeZone = zone }), 400)
		post(t, h, trusted, "/logger/label", label(func(l *archive.Label) { l.ZoneInfo = zone }), 400)
	}
	for _, b := range [][]byte{nil, want.label[:100], append(bytes.Clone(want.label), 0), make([]byte, 808), label(func(l *archive.Label) { l.Features = 1 }), label(func(l *archive.Label) { l.Start.Sec = 1 << 40 }), label(func(l *archive.Label) { l.Start.Nsec = -1 })} {
		post(t, h, trusted, "/logger/label", b, 422)
	}
	for _, q := range []string{"polltimeout=x", "polltimeout=-1", "polltimeout=NaN", "resume=perhaps"} {
		post(t, h, trusted, "/logger/label?"+q, want.label, 400)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(list) > 0 {
		t.Errorf("files: %v", list)
	}

	id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
	for _, path := range []string{"meta/0", "meta/" + id + "x", "meta/4294967296", "volume/-1/" + id, "volume/x/" + id, "volume/0", "meta/" + id + "?offset=-1"} {
		post(t, h, trusted, "/logger/"+path, nil, 400)
	}
	post(t, h, trusted, "/logger/meta/1", want.meta, 410)
	post(t, h, trusted, "/logger/volume/5000/"+id, want.v0, 413)
	post(t, h, trusted, "/logger/meta/"+id, make([]byte, MaxBody+1), 413)
	change := func(b []byte, at int, v uint32) []byte {
		b = bytes.Clone(b)
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	first := int(binary.BigEndian.Uint32(want.v0))
	for _, c := range []struct {
		path string
		b    []byte
	}{
		{"meta", change(want.meta, 0, 8)},
		{"meta", change(want.meta, 0, 1<<31)},
		{"meta", change(want.meta, 4, 99)},                     // unknown type
		{"volume/0", change(want.v0, 0, uint32(first-4))},      // wrong offset of the end
		{"volume/0", change(want.v0, first-4, 0)},              // wrong length at the end
		{"volume/0", change(want.v0, 16, 1<<30)},               // too many sets
		{"volume/0", change(want.v0, 12, 2e9)},                 // nanoseconds
		{"volume/0", append(bytes.Clone(want.v1), want.v0...)}, // back in time
		{"index", change(want.index, 12, 1<<31)},               // volume -1
	} {
		before := sizes(t, dir)
		if a := post(t, h, trusted, "/logger/"+c.path+"/"+id, c.b, 400); !strings.Contains(a.Message, "offset") {
			t.Errorf("%s: %s", c.path, a.Message)
		}
		if after := sizes(t, dir); after["www.example.com/20231114.22.13.meta"] != before["www.example.com/20231114.22.13.meta"] || after["www.example.com/20231114.22.13.0"] > 808 {
			t.Errorf("%s: was written: %v", c.path, after)
		}
	}
	// The archive can be continued after errors.
	post(t, h, trusted, "/logger/volume/0/"+id, want.v0, 200)
	post(t, h, trusted, "/logger/volume/1/"+id, want.v1[:5], 200)
	post(t, h, trusted, "/logger/volume/2/"+id, want.v1, 400)
	post(t, h, trusted, "/logger/volume/0/"+id, want.v0, 400)
	// Files that vanish, or are replaced by links, are not created again.
	meta := filepath.Join(dir, "www.example.com", "20231114.22.13.meta")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, want.label, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	post(t, h, trusted, "/logger/meta/"+id, want.meta, 410)
	post(t, h, trusted, "/logger/volume/1/"+id, want.v1, 410) // it has ended
	second := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
	meta = filepath.Join(dir, "www.example.com", "20231114.22.13-01.meta")
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, meta); err != nil {
		t.Fatal(err)
	}
	id = second
	post(t, h, trusted, "/logger/meta/"+id, want.meta, 410)
	if b, err := os.ReadFile(outside); err != nil || !bytes.Equal(b, want.label) {
		t.Errorf("a file outside was written: %v", err)
	}
	// A host directory that leads elsewhere is refused.
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "evil")); err != nil {
		t.Fatal(err)
	}
	post(t, h, trusted, "/logger/label", label(func(l *archive.Label) { l.Host = "evil" }), 500)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if w := do(h, trusted, method, "/logger/label", want.label); w.Code != 400 {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/logger/", "/logger/nothing", "/logger/metadata/1", "/logger/label?%zz"} {
		if w := do(h, trusted, "POST", path, nil); w.Code != 400 || w.Header().Get("Content-Type") != rest.TypeHTML {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// sizes returns the sizes of all files of a directory.
func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	m := map[string]int64{}
	for _, path := range list {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(dir, path)
		m[rel] = info.Size()
	}
	return m
}

// TestLimits checks that excessive requests are refused, and leave archives intact.
func TestLimits(t *testing.T) {
	want := makeArchive(t, 3)
	h, _ := serve(t, Config{MaxOpen: 1, MaxFile: 900, MaxTotal: 3 * 808})
	id := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
	post(t, h, trusted, "/logger/label", want.label, 503)
	post(t, h, trusted, "/logger/volume/0/"+id, nil, 200)
	post(t, h, trusted, "/logger/volume/0/"+id, want.v0[:binary.BigEndian.Uint32(want.v0)], 507) // the total
	h.quota.limit = 1 << 20
	post(t, h, trusted, "/logger/volume/0/"+id, want.v0, 507) // the file
	post(t, h, trusted, "/logger/volume/0/"+id, want.v0[:binary.BigEndian.Uint32(want.v0)], 200)
	h.waiting.Store(MaxWaiting - 3)
	post(t, h, trusted, "/logger/meta/"+id, want.meta[:10], 503)
	h.waiting.Store(0)
	post(t, h, trusted, "/logger/meta/"+id, want.meta[:10], 200)
	h.Reset()
	if n := h.waiting.Load(); n != 0 {
		t.Errorf("%d bytes wait after the end", n)
	}
	post(t, h, trusted, "/logger/meta/"+id, want.meta[10:], 410)
	h.Close()
	post(t, h, trusted, "/logger/label", want.label, 410)
}

// TestResume continues an archive after lost responses, and after the server was killed during a
// write.
func TestResume(t *testing.T) {
	for _, version := range []int{2, 3} {
		want := makeArchive(t, version)
		n := len(want.label)
		h, dir := serve(t, Config{})
		a := post(t, h, trusted, "/logger/label?resume=true", want.label, 200)
		if a.Meta != n {
			t.Errorf("a new archive: %+v", a)
		}
		id := strconv.Itoa(a.Archive)
		put := func(path string, offset int, b []byte, status int) {
			t.Helper()
			post(t, h, trusted, fmt.Sprintf("/logger/%s/%s?offset=%d", path, id, offset), b, status)
		}
		put("meta", n, want.meta[:30], 200)
		put("meta", n, want.meta[:30], 200)
		put("meta", n+10, want.meta[10:40], 200)
		put("meta", n+41, want.meta[41:], 409)
		put("volume/0", n, want.v0, 200)
		put("volume/1", n, want.v1[:9], 200)
		put("volume/0", n, want.v0, 200)
		if b := post(t, h, trusted, "/logger/label?resume=1", want.label, 200); b.Archive != a.Archive || b.Meta != n+40 || b.Volume != 1 || b.Bytes != n+9 {
			t.Errorf("the same archive: %+v", b)
		}
		// Killed during a write; the incomplete record is lost.
		first := filepath.Join(dir, "www.example.com", "20231114.22.13")
		f, err := os.OpenFile(first+".0", os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Write(want.v1[:5])
		f.Close()
		h.Close()
		if h, err = New(Config{Dir: dir, Zone: time.UTC}); err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := os.Remove(first + ".1"); err != nil {
			t.Fatal(err)
		}
		b := post(t, h, trusted, "/logger/label?resume=true", want.label, 200)
		if whole := int(binary.BigEndian.Uint32(want.meta)); b.Meta != n && b.Meta != n+whole || b.Index != n || b.Volume != 0 || b.Bytes != n+len(want.v0) {
			t.Errorf("after the end: %+v", b)
		}
		id = strconv.Itoa(b.Archive)
		put("meta", b.Meta, want.meta[b.Meta-n:], 200)
		put("volume/1", n, want.v1, 200)
		put("index", n, want.index, 200)
		if got := readParts(t, first); !bytes.Equal(got.meta, want.meta) || !bytes.Equal(got.index, want.index) || !bytes.Equal(got.v0, want.v0) || !bytes.Equal(got.v1, want.v1) {
			t.Errorf("version %d: the files differ", version)
		}
		put("volume/1", n+len(want.v1), want.v0, 400) // still back in time
	}
}

// TestTimeout checks that archives of silent clients end.
func TestTimeout(t *testing.T) {
	want := makeArchive(t, 3)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Config{Dir: dir, Zone: time.UTC, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		a := strconv.Itoa(post(t, h, trusted, "/logger/label", want.label, 200).Archive)
		b := strconv.Itoa(post(t, h, trusted, "/logger/label?polltimeout=200", want.label, 200).Archive)
		for range 3 {
			time.Sleep(50 * time.Second)
			post(t, h, trusted, "/logger/meta/"+a, nil, 200)
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		post(t, h, trusted, "/logger/meta/"+a, want.meta, 410)
		post(t, h, trusted, "/logger/meta/"+b, want.meta, 410)
		if len(h.pushes) != 0 {
			t.Errorf("%d archives", len(h.pushes))
		}
	})
}

// TestOpenAPI checks that the description has the existing commands.
func TestOpenAPI(t *testing.T) {
	h, _ := serve(t, Config{})
	w := do(h, stranger, "GET", "/logger/openapi.json", nil)
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || len(doc.Paths) != 6 {
		t.Fatalf("%v, %d paths", err, len(doc.Paths))
	}
	for path, item := range doc.Paths {
		path = strings.NewReplacer("{volume}", "0", "{archive}", "7").Replace(path)
		for method := range item {
			if w := do(h, trusted, strings.ToUpper(method), path, nil); w.Header().Get("Content-Type") != rest.TypeJSON {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}

// TestHostNames checks that no directory is created for an invalid host name, such as a command-line option.
func TestHostNames(t *testing.T) {
	for _, name := range []string{"www", "www.example.com", "10.0.0.7", "a_b", "x-1", "1", strings.Repeat("a", 63)} {
		if !goodHost(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{
		"", "-rf", "--help", "-", "a-", "-a.b", "a.-b", "a-.b", "a.--help", ".", "..", ".a", "a.", "a..b", "../a", "a/b", "a b", "a\nb", "$(id)", "~", "*", "a:b", "ä", strings.Repeat("a", 64),
		strings.Repeat("a.", 127) + "bc",
	} {
		if goodHost(name) {
			t.Errorf("%q is taken", name)
		}
		if len(name) > 60 {
			continue
		}
		h, dir := serve(t, Config{})
		l := archive.Label{Version: 3, PID: 7, Host: name, TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1_700_000_000}, Vol: archive.VolMeta}
		if w := do(h, trusted, "POST", "/logger/label", l.Append(nil)); w.Code != 400 {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
		}
		if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) > 0 {
			t.Errorf("%q: there are %v", name, list)
		}
	}
}

// FuzzPush pushes arbitrary bytes, in two pieces. Accepted archives must be readable.
func FuzzPush(f *testing.F) {
	for _, version := range []int{2, 3} {
		p := makeArchive(f, version)
		f.Add(p.label, p.meta, p.index, p.v0, 10)
		f.Add(p.label, p.meta[:50], p.index[:3], p.v0[:40], 1)
	}
	// Use a file system in memory if there is one: most of the time is spent creating and removing files.
	top, err := os.MkdirTemp("/dev/shm", "push")
	if err != nil {
		top = f.TempDir()
	}
	f.Cleanup(func() { os.RemoveAll(top) })
	f.Fuzz(func(t *testing.T, label, meta, index, data []byte, cut int) {
		dir, err := os.MkdirTemp(top, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		h, err := New(Config{Dir: dir, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		var a answer
		w := do(h, trusted, "POST", "/logger/label", label)
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if w.Code != 200 {
			if list, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(list) > 0 {
				t.Errorf("files of a label that is refused: %v", list)
			}
			return
		}
		for path, b := range map[string][]byte{"meta": meta, "index": index, "volume/0": data} {
			n := min(max(cut, 0), len(b))
			for _, b := range [][]byte{b[:n], b[n:]} {
				if w := do(h, trusted, "POST", fmt.Sprintf("/logger/%s/%d", path, a.Archive), b); w.Code != 200 && w.Code != 400 {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
		}
		list, err := filepath.Glob(filepath.Join(dir, "*", "*.meta"))
		if err != nil || len(list) != 1 {
			t.Fatalf("metadata: %v", list)
		}
		if m, err := archive.OpenFile(list[0]); err != nil {
			t.Error(err)
		} else {
			m.Close()
		}
		if data, err := os.Open(strings.TrimSuffix(list[0], "meta") + "0"); err == nil {
			defer data.Close()
			info, _ := data.Stat()
			v, _, err := archive.NewVolumeReader(data, info.Size())
			if err != nil {
				t.Fatal(err)
			}
			_ = v
		}
	})
}
