package timectl

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/browser"
	"github.com/go-pcp/pcp/internal/timecontrol"
)

// page has the window's files.
//
//go:embed page
var page embed.FS

// The size of the window.
const (
	windowWidth  = 720
	windowHeight = 330
)

const (
	// opening is how long a browser may take to show the window.
	opening = 30 * time.Second
	// reloading is how long a window that was closed may take to come back, as when it is reloaded.
	reloading = 2 * time.Second
	// polling is how long a request for the state waits for a change.
	polling = 20 * time.Second
	// maxBody is the largest length of a command.
	maxBody = 4 << 10
)

// A window is the control in a window of the browser. It serves a page on this machine to the user with the token.
type window struct {
	server *timecontrol.Server
	clone  func() *controller // returns a controller for one command
	bell   *bell
	token  string
	first  timecontrol.Source // what the window shows first
	tick   time.Duration      // the shortest time between two answers about the state
	quit   func()

	mu      sync.Mutex
	seen    bool // a page has asked for the state
	waiting int  // requests for the state under way
	closed  *time.Timer
	opened  chan struct{} // closed with seen
}

func newWindow(c *controller, first timecontrol.Source, quit func()) *window {
	return &window{
		server: c.server, clone: c.clone, bell: c.bell, token: rand.Text(), first: first,
		tick: redraw, quit: quit, opened: make(chan struct{}),
	}
}

// show opens the window and serves it until ctx is done. It calls quit when the window is closed. If none appears it returns an
// error at once.
func (w *window) show(ctx context.Context, c *controller) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: w.handler(), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve(l)
	}()
	defer func() {
		s.Close()
		<-served
	}()
	win, err := browser.NewWindow(c.env, "http://"+l.Addr().String()+"/#"+w.token, windowWidth, windowHeight)
	if err != nil {
		return err
	}
	defer win.Close()
	done := win.Done()
	timeout := time.NewTimer(opening)
	defer timeout.Stop()
	for open := false; !open; {
		select {
		case <-w.opened:
			open = true
		case err := <-done:
			if err != nil {
				return fmt.Errorf("the browser ended: %w", err)
			}
			done = nil // it asked another browser for the window
		case <-timeout.C:
			return fmt.Errorf("the browser did not show the window within %v", opening)
		case <-ctx.Done():
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// handler serves the page to all, and the rest to the user with the token.
func (w *window) handler() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the files are part of the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /state", w.private(w.state))
	mux.HandleFunc("POST /do", w.private(w.do))
	mux.HandleFunc("POST /closed", w.private(w.gone))
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(rw, r)
	})
}

func (w *window) private(f http.HandlerFunc) http.HandlerFunc {
	want := []byte("Bearer " + w.token)
	return func(rw http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(rw, "the token is missing: use the window that pmtime opened", http.StatusForbidden)
			return
		}
		f(rw, r)
	}
}

// A toolsState is what the page shows of a control.
type toolsState struct {
	Source    string  `json:"source"`
	State     string  `json:"state"`
	Mode      string  `json:"mode"`
	Delta     float64 `json:"delta"` // seconds
	Speed     float64 `json:"speed"`
	Position  float64 `json:"position"` // seconds since 1970
	Start     float64 `json:"start"`
	End       float64 `json:"end"`
	Clock     string  `json:"clock"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Zone      string  `json:"zone"`
	Followers int     `json:"followers"`
	Known     bool    `json:"known"` // a tool has described its times
}

// A windowState is the answer to a request for the state.
type windowState struct {
	N     int          `json:"n"` // of changes; the next request gives it as after
	First string       `json:"first"`
	Tools []toolsState `json:"tools"`
}

// state answers when there are changes after those that the page knows.
func (w *window) state(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	if !w.seen {
		w.seen = true
		close(w.opened)
	}
	if w.closed != nil {
		w.closed.Stop()
		w.closed = nil
	}
	w.waiting++
	w.mu.Unlock()
	defer w.answered(r)
	after, err := strconv.Atoi(r.FormValue("after"))
	if err != nil {
		after = -1
	}
	n, next := w.bell.state()
	if n == after {
		timer := time.NewTimer(polling)
		defer timer.Stop()
		select {
		case <-next:
			time.Sleep(w.tick) // more changes may follow at once
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
		n, _ = w.bell.state()
	}
	rw.Header().Set("Content-Type", "application/json")
	st := windowState{N: n, First: sourceName(w.first)}
	for _, source := range []timecontrol.Source{timecontrol.Archive, timecontrol.Host} {
		st.Tools = append(st.Tools, toolsOf(w.server.Control(source).Report()))
	}
	json.NewEncoder(rw).Encode(st)
}

func toolsOf(st timecontrol.Status) toolsState {
	modes := map[timecontrol.Mode]string{timecontrol.NormalMode: "normal", timecontrol.FastMode: "fast", timecontrol.StepMode: "step"}
	t := toolsState{
		Source: sourceName(st.Source), State: st.State.String(), Mode: modes[st.Mode], Delta: st.Delta.Seconds(), Speed: st.Speed,
		Position: seconds(st.Position), Clock: clock(st), Zone: st.Zone, Followers: st.Followers,
		Known: st.Source == timecontrol.Host || described(st),
	}
	if st.Source == timecontrol.Archive {
		t.Start, t.End = seconds(st.Start), seconds(st.End)
		from, to := st, st
		from.Position, to.Position = st.Start, st.End
		t.From, t.To = clock(from), clock(to)
	}
	return t
}

func seconds(t pcp.Timestamp) float64 { return float64(t.Sec) + float64(t.Nsec)/1e9 }

// do carries out a command: {"source": "archive", "line": "goto @10:00"}.
func (w *window) do(rw http.ResponseWriter, r *http.Request) {
	var order struct{ Source, Line string }
	b, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err == nil {
		err = json.Unmarshal(b, &order)
	}
	if err != nil {
		http.Error(rw, "not a command: "+err.Error(), http.StatusBadRequest)
		return
	}
	c := w.clone()
	var printed strings.Builder
	c.out = func(s string) { printed.WriteString(s) }
	switch order.Source {
	case sourceName(timecontrol.Archive):
		c.choose(timecontrol.Archive)
	case sourceName(timecontrol.Host):
		c.choose(timecontrol.Host)
	default:
		http.Error(rw, "the source is archive or host", http.StatusBadRequest)
		return
	}
	switch err := c.do(order.Line); {
	case errors.Is(err, errQuit):
		rw.WriteHeader(http.StatusNoContent)
		w.quit()
	case err != nil:
		http.Error(rw, err.Error(), http.StatusBadRequest)
	default:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(rw, printed.String())
	}
}

// answered ends a request for the state. A page that ends its last request goes away: its message about that may have
// come before the request.
func (w *window) answered(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	if w.waiting == 0 && r.Context().Err() != nil {
		w.leave()
	}
}

// gone is called when the page goes away: its window was closed, or it will be loaded again.
func (w *window) gone(rw http.ResponseWriter, _ *http.Request) {
	rw.WriteHeader(http.StatusNoContent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave()
}

// leave ends the control, unless a page asks for the state then or before.
func (w *window) leave() {
	if w.closed != nil {
		return
	}
	w.closed = time.AfterFunc(reloading, func() {
		w.mu.Lock()
		here := w.waiting > 0
		w.closed = nil
		w.mu.Unlock()
		if !here {
			w.quit()
		}
	})
}
