package alert

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// childEnv makes a test process the child that is killed: directory, address and a name.
const childEnv = "ALERT_TEST_CHILD"

func TestMain(m *testing.M) {
	if s := os.Getenv(childEnv); s != "" {
		if err := child(s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child prints the name of each alert that Act has accepted, until it is killed.
func child(s string) error {
	part := strings.Split(s, "\n")
	u, err := url.Parse(part[1])
	if err != nil {
		return err
	}
	m, err := New(Config{Receivers: []*Receiver{{Name: "hook", Kind: Webhook, URL: u}}, Dir: part[0]})
	if err != nil {
		return err
	}
	act := func(rule string, insts ...string) error {
		return m.Act(context.Background(), action(rule, deliver.Webhook, "hook", insts...))
	}
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s-%d", part[2], n)
		if err := act(name, name); err != nil {
			return err
		}
		fmt.Println(name)
		if n%2 == 1 {
			if err := act(name); err != nil {
				return err
			}
		}
	}
}

// decodeAlert reads the JSON form of an alert.
func decodeAlert(b []byte) (Alert, error) {
	var a Alert
	if err := json.Unmarshal(b, &a); err != nil {
		return Alert{}, err
	}
	return a, a.check()
}

// A ledger is a web hook that fails in all ways and counts the messages that it gets.
type ledger struct {
	mu   sync.Mutex
	n    int
	well bool
	end  chan struct{}
	keys map[string]map[string]bool // by instance and status
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	a, err := decodeAlert(body)
	if err != nil {
		w.WriteHeader(422)
		return
	}
	l.mu.Lock()
	n, well := l.n, l.well
	l.n++
	l.mu.Unlock()
	if !well {
		switch n % 6 {
		case 1:
			w.WriteHeader(500)
			return
		case 3:
			select {
			case <-r.Context().Done():
			case <-l.end:
			}
			return
		}
	}
	l.mu.Lock()
	what := a.Instance + " " + string(a.Status)
	if l.keys[what] == nil {
		l.keys[what] = make(map[string]bool)
	}
	l.keys[what][r.Header.Get("Idempotency-Key")] = true
	l.mu.Unlock()
	if !well && n%6 == 5 {
		panic(http.ErrAbortHandler) // the answer is lost
	}
}

// TestKilled kills a process that delivers alerts at any moment, and checks that the next
// process continues.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{keys: make(map[string]map[string]bool), end: make(chan struct{})}
	srv := httptest.NewUnstartedServer(l)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.Start()
	defer srv.Close()
	dir := filepath.Join(t.TempDir(), "spool")
	rounds := longtest.N(30, 300)
	random := rand.New(rand.NewPCG(longtest.Seed(t), 1))
	var promised []string
	for round := range rounds {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{dir, srv.URL, fmt.Sprint("r", round)}, "\n"))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + random.IntN(6) {
			if !lines.Scan() {
				break
			}
			promised = append(promised, lines.Text())
		}
		for range random.IntN(100000) { // within whatever it does by now
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			promised = append(promised, lines.Text())
		}
		if err := await.Exit(t, cmd); err == nil || cmd.ProcessState.Exited() {
			t.Fatalf("round %d: the process ended by itself: %v", round, err)
		}
	}
	l.mu.Lock()
	l.well = true
	l.mu.Unlock()
	close(l.end)
	m, err := New(Config{Receivers: []*Receiver{{Name: "hook", Kind: Webhook, URL: parseURL(t, srv.URL)}}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Adopt(nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m.Drain(ctx)
	if s := m.Standings()[0]; s.Waiting != 0 || s.Firing != 0 {
		t.Fatalf("left: %+v", s)
	}
	if len(promised) < rounds {
		t.Fatalf("%d alerts in %d rounds", len(promised), rounds)
	}
	for _, name := range promised {
		for _, status := range []Status{Firing, Resolved} {
			if n := len(l.keys[name+" "+string(status)]); n != 1 {
				t.Errorf("%s %s: %d messages of other keys", name, status, n)
			}
		}
	}
	for what, keys := range l.keys {
		if len(keys) != 1 {
			t.Errorf("%s: %d messages of other keys", what, len(keys))
		}
	}
	t.Logf("%d alerts in %d rounds, %d requests", len(promised), rounds, l.n)
}
