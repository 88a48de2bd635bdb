package timectl

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/timecontrol"
)

// A stage is a server with a tool that follows an archive from 1000 to 2000 seconds, in steps of 10, at 1500.
type stage struct {
	t      *testing.T
	c      *controller
	client *timecontrol.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t}
	s.c = &controller{env: &cli.Env{Name: "pcp time", Stdout: io.Discard, Stderr: io.Discard}, bell: newBell(), mu: new(sync.Mutex)}
	s.c.server = timecontrol.NewServer(timecontrol.Config{UntilLast: true, Changed: s.c.bell.ring})
	s.c.choose(timecontrol.Archive)
	l, err := timecontrol.Listen(0, 45600)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.c.server.Serve(ctx, l) }()
	s.client, err = timecontrol.Dial(ctx, portOf(l.Addr().String()), timecontrol.Message{
		Source: timecontrol.Archive, Delta: 10 * time.Second, Position: pcp.Timestamp{Sec: 1500},
		Start: pcp.Timestamp{Sec: 1000}, End: pcp.Timestamp{Sec: 2000}, Zone: "UTC", ZoneLabel: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			m, err := s.client.Receive(ctx)
			if err != nil {
				return
			}
			if m.Command == timecontrol.Step {
				s.client.Ack(m.Position)
			}
		}
	}()
	s.until(func(st timecontrol.Status) bool { return st.Followers == 1 })
	return s
}

func portOf(addr string) (port int) {
	for _, c := range addr[strings.LastIndexByte(addr, ':')+1:] {
		port = 10*port + int(c-'0')
	}
	return port
}

// until waits for a state of the control of archives.
func (s *stage) until(ok func(timecontrol.Status) bool) {
	s.t.Helper()
	timeout := time.After(time.Minute)
	for {
		_, changed := s.c.bell.state()
		st := s.c.server.Control(timecontrol.Archive).Report()
		if ok(st) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			s.t.Fatalf("the control is %+v", st)
		}
	}
}

// at waits until the control is stopped, or between steps, at a time.
func (s *stage) at(sec int64) {
	s.t.Helper()
	s.until(func(st timecontrol.Status) bool { return st.Position.Sec == sec && !st.Waiting })
}

// TestKeys presses keys.
func TestKeys(t *testing.T) {
	s := newStage(t)
	var out bytes.Buffer
	k := &keyboard{c: s.c.clone(), w: &out}
	k.c.out = func(s string) { k.note = s }
	press := func(keys string, sec int64) {
		t.Helper()
		if k.press([]byte(keys)) {
			t.Errorf("%q ends the control", keys)
		}
		s.at(sec)
	}
	press("n", 1510)
	press("\x1b[C", 1520)
	press("\x1b[D", 1510)
	press("\x1b[6~", 1610)
	press("\x1b[5~\x1b[5~", 1410)
	press("\x1b[H", 1000)
	press("\x1bOF", 2000)
	press(":at 1200.5\r", 1200)
	press(":at 13y\x7fx\r", 1200)
	if k.note != `at: not a number of seconds: "13x"` {
		t.Errorf("note %q", k.note)
	}
	press(":goto +5min\x1b", 1200) // dropped
	press("]", 1200)
	press("n", 1220)
	press("[++", 1220)
	if st := k.c.status(); st.Speed != 4 || st.Delta != 10*time.Second {
		t.Errorf("%+v", st)
	}
	press("?", 1220)
	if k.note != keyHelp {
		t.Errorf("note %q", k.note)
	}
	k.draw()
	if got := out.String(); !strings.Contains(got, "\r\x1b[Karchive  stopped  Thu Jan  1 00:20:20.500 1970  steps 10s  speed 4  1 tool") {
		t.Errorf("drawn: %q", got)
	}
	if k.press([]byte("\x1b[99;9Z")); k.note != "" {
		t.Errorf("note %q", k.note)
	}
	// As fast as the tool can, to the end of the archive.
	press("f ", 1990)
	s.until(func(st timecontrol.Status) bool { return st.State == timecontrol.Stopped })
	if !k.press([]byte("q")) {
		t.Error("q does not end it")
	}
}

func TestStatusLine(t *testing.T) {
	st := timecontrol.Status{
		Source: timecontrol.Archive, State: timecontrol.Forward, Mode: timecontrol.NormalMode, Delta: time.Second, Speed: 2, Zone: "UTC",
		Start: pcp.Timestamp{Sec: 1000}, End: pcp.Timestamp{Sec: 2000}, Position: pcp.Timestamp{Sec: 1500}, Followers: 2,
	}
	f := func(width int, want string) {
		t.Helper()
		if got := statusLine(st, width); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	f(90, "archive  playing  Thu Jan  1 00:25:00 1970  [======|-------]  steps 1s  speed 2  2 tools")
	f(70, "archive  playing  Thu Jan  1 00:25:00 1970  steps 1s  speed 2  2 tools")
	st.Position, st.Mode = st.End, timecontrol.FastMode
	f(90, "archive  playing  Thu Jan  1 00:33:20 1970  [================|]  steps 1s  fast  2 tools")
	st = timecontrol.Status{Source: timecontrol.Archive, Mode: timecontrol.NormalMode, Delta: time.Second, Speed: 1}
	f(90, "archive  stopped  no tool has come yet  steps 1s  speed 1  0 tools")
}

// TestWindow asks the server of the window as its page does.
func TestWindow(t *testing.T) {
	s := newStage(t)
	ended := make(chan bool, 9)
	w := newWindow(s.c, timecontrol.Host, func() { ended <- true })
	w.tick = 0
	server := httptest.NewServer(w.handler())
	defer server.Close()
	ask := func(method, path, body, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if n, body := ask("GET", "/", "", ""); n != 200 || !strings.Contains(body, "Time control") || strings.Contains(body, w.token) {
		t.Errorf("page: %d %s", n, body)
	}
	for _, path := range []string{"/state", "/do", "/closed"} {
		method := "POST"
		if path == "/state" {
			method = "GET"
		}
		if n, _ := ask(method, path, `{"source":"archive","line":"quit"}`, "other"); n != 403 {
			t.Errorf("%s without the token: %d", path, n)
		}
	}
	var st windowState
	state := func(after string) toolsState {
		t.Helper()
		n, body := ask("GET", "/state?after="+after, "", w.token)
		if err := json.Unmarshal([]byte(body), &st); n != 200 || err != nil || len(st.Tools) != 2 {
			t.Fatalf("state: %d %s", n, body)
		}
		return st.Tools[0]
	}
	a := state("")
	if a.Source != "archive" || a.Position != 1500 || a.Start != 1000 || a.End != 2000 || a.Clock != "Thu Jan  1 00:25:00 1970" || a.Followers != 1 || !a.Known || a.Zone != "UTC" ||
		st.First != "host" || st.Tools[1].Source != "host" {
		t.Errorf("%+v", st)
	}
	do := func(line string, want int, wantBody string) {
		t.Helper()
		b, _ := json.Marshal(map[string]string{"source": "archive", "line": line})
		if n, body := ask("POST", "/do", string(b), w.token); n != want || strings.TrimSpace(body) != wantBody {
			t.Errorf("%s: %d %q", line, n, body)
		}
	}
	do("at 1250", 200, "")
	if a := state("-1"); a.Position != 1250 {
		t.Errorf("%+v", a)
	}
	do("next", 200, "")
	s.at(1260)
	do("speed x", 400, `speed: not a number above 0, up to 10000: "x"`)
	do("at nan", 400, `at: not a number of seconds: "nan"`)
	if n, _ := ask("POST", "/do", `{"source":"other","line":"play"}`, w.token); n != 400 {
		t.Errorf("another source: %d", n)
	}
	if n, _ := ask("POST", "/do", strings.Repeat(" ", maxBody+1), w.token); n != 400 {
		t.Errorf("a long command: %d", n)
	}
	// A reloaded page comes back.
	w.mu.Lock()
	if w.closed != nil {
		t.Error("the control would end although no page went away")
	}
	w.mu.Unlock()
	ask("POST", "/closed", "", w.token)
	state("")
	w.mu.Lock()
	if w.closed != nil {
		t.Error("the control would end although the page came back")
	}
	w.mu.Unlock()
	// So it does if the message about the first page comes later than the request of the second one. The control ends when that
	// one ends its request, without a message.
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		known := st
		for ctx.Err() == nil {
			r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/state?after="+strconv.Itoa(known.N), nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+w.token)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				json.NewDecoder(resp.Body).Decode(&known)
				resp.Body.Close()
			}
		}
	}()
	locked := func(f func() bool) func() bool {
		return func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return f()
		}
	}
	await.Until(t, "the second page waits", locked(func() bool { return w.waiting == 1 }))
	ask("POST", "/closed", "", w.token)
	await.Until(t, "the message has been weighed", locked(func() bool { return w.closed == nil }))
	select {
	case <-ended:
		t.Fatal("the control ends although a page is there")
	default:
	}
	leave()
	<-left
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the control does not end when the page has gone")
	}
	ask("POST", "/closed", "", w.token)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the control does not end when the window is closed")
	}
	do("quit", 204, "")
	<-ended
}

// FuzzKeys presses any keys. Every key must consume bytes, and the typed line has no control characters.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("n\x1b[C\x1b[6~:goto @10\r?"))
	f.Add([]byte(":\x1b\x1bO\x1b[\xff"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		for rest := keys; len(rest) > 0; {
			_, next := nextKey(rest)
			if len(next) >= len(rest) {
				t.Fatalf("%q: nothing is read", rest)
			}
			rest = next
		}
		k := &keyboard{typing: true}
		for rest := keys; len(rest) > 0 && k.typing; {
			var key string
			key, rest = nextKey(rest)
			k.edit(key)
		}
		if strings.ContainsAny(string(k.line), "\r\n\x1b") || len(k.line) > maxLine {
			t.Fatalf("line %q", string(k.line))
		}
	})
}
